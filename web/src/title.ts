/** The title of the tab: the name of the graph, so that tabs of several graphs can be told apart. */

import { effect } from '@preact/signals'
import type { Explorer } from './explorer'
import { labelOf } from './screens'
import { plain } from './text/format'

export function startTitle(explorer: Explorer): void {
  effect(() => {
    const { screen, branch } = explorer.view.value
    const about = explorer.about.value
    const graph = about && graphName(about)
    const parts = [screen === 'graph' ? '' : labelOf(screen), graph && (branch ? `${graph} (${branch})` : graph), 'Mycel']
    document.title = plain(parts.filter(Boolean).join(' · '))
  })
}

/** The name of the graph for people. */
export const graphName = (about: { graph?: string; workspace: string | null; name: string }): string =>
  about.graph ?? about.workspace ?? about.name
