/** The address bar: it follows the view, and the view follows it. */

import { effect } from '@preact/signals'
import type { Explorer } from './explorer'
import { fromFragment, toFragment, type View } from './view'

const PAUSE_MS = 60

/** Changes of these parts are steps of the browser's history; others replace the address. */
const place = ({ screen, branch, group, by, route, selected, from, to, named }: View): string =>
  JSON.stringify([screen, branch, group, by, route && { ...route, cost: 0 }, selected, from, to, named])

export function startAddress(explorer: Explorer): void {
  let written = location.hash
  let before = place(explorer.view.peek())
  let timer = 0
  effect(() => {
    const view = explorer.view.value
    clearTimeout(timer)
    timer = window.setTimeout(() => {
      const next = `#${toFragment(view)}`
      if (next === written) return
      written = next
      const now = place(view)
      if (now === before) history.replaceState(null, '', next)
      else history.pushState(null, '', next)
      before = now
    }, PAUSE_MS)
  })
  window.addEventListener('popstate', () => {
    if (location.hash === written) return
    written = location.hash
    const view = fromFragment(location.hash)
    before = place(view)
    void explorer.go(view)
  })
}
