/** The keys that work everywhere on the page. */

import type { Explorer } from './explorer'
import { complain } from './notices'
import { stage } from './screens/graph'
import { helpOpen } from './screens/help'
import { savedOpen } from './screens/saved-views'
import { stepInTime } from './screens/time-strip'

export function startShortcuts(explorer: Explorer): void {
  document.addEventListener('keydown', (event) => {
    // The page itself is asked for open dialogs, because a dialog reports its closing a moment late.
    if (event.defaultPrevented || event.isComposing || document.querySelector('dialog[open]')) return
    const target = event.composedPath()[0]
    if (target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))) return
    if (press(event, explorer)) event.preventDefault()
  })
}

/** Runs the action of a key; returns false if the key has none. */
function press(event: KeyboardEvent, explorer: Explorer): boolean {
  const { screen, table } = explorer.view.value
  const control = event.ctrlKey || event.metaKey
  if (control && event.key.toLowerCase() === 'z') void (event.shiftKey ? explorer.redo() : explorer.undo())
  else if (control && event.key.toLowerCase() === 'y') void explorer.redo()
  else if (control || event.altKey) return false
  else if (event.key === '/') document.getElementById('search')?.focus()
  else if (event.key === '?') helpOpen.value = true
  else if (screen !== 'graph') return false
  else if (event.key === 'Escape') explorer.select(null)
  else if (event.key === 'f') stage.value?.fit()
  else if (event.key === 'v') savedOpen.value = explorer.source.abilities.time
  else if (event.key === 'l') void explorer.relayout()
  else if (event.key === 't') explorer.look({ table: !table })
  else if (event.key === '[' || event.key === ']') {
    if (explorer.source.abilities.time) stepInTime(explorer, event.key === '[' ? -1 : 1).catch(complain)
  } else return false
  return true
}
