/** The title of the tab: the name of the graph, so that tabs of several graphs can be told apart. */

import { effect } from '@preact/signals'
import type { Explorer } from './explorer'
import { plain } from './text/format'
import type { Screen } from './view'

const NAMES: Partial<Record<Screen, string>> = {
  query: 'Query', timeline: 'Timeline', compare: 'Compare', missing: 'Missing', conflicts: 'Conflicts', workspaces: 'Workspaces',
}

export function startTitle(explorer: Explorer): void {
  effect(() => {
    const { screen, branch } = explorer.view.value
    const about = explorer.about.value
    const graph = about && graphName(about)
    const parts = [NAMES[screen], graph && (branch ? `${graph} (${branch})` : graph), 'Mycel']
    document.title = plain(parts.filter(Boolean).join(' · '))
  })
}

/** The name of the graph for people. */
export const graphName = (about: { graph?: string; workspace: string | null; name: string }): string => about.graph ?? about.workspace ?? about.name
