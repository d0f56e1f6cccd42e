/** How much of the graph the canvas shows, in words. */

import type { Explorer } from '../explorer'
import { GROUP_PREFIX } from '../graph/scene'
import { count, number } from '../text/format'

/** "120 of 4,310 nodes": how much of the graph, or of the group, is on the canvas. */
export function shownText(explorer: Explorer): string {
  const scene = explorer.visible.value
  const { group, ids } = explorer.view.value
  let nodes = 0
  let groups = 0
  let missing = 0
  for (const node of scene.nodes.values()) {
    if (node.id.startsWith(GROUP_PREFIX)) groups++
    else if (node.card.kind === 'missing') missing++
    else nodes++
  }
  const total = explorer.counts.value?.nodes
  const inside = group && !ids.length ? explorer.overview.value?.total : undefined
  const parts: string[] = []
  if (groups)
    parts.push(!nodes && total ? `${count(groups, 'group')} of ${count(inside ?? total, 'node')}` : count(groups, 'group'))
  if (inside !== undefined && nodes) parts.push(`${number(nodes + missing)} of ${count(inside, 'node')} in this group`)
  else if (nodes || !groups)
    parts.push(total === undefined ? count(nodes, 'node') : `${number(nodes)} of ${count(total, 'node')}`)
  if (missing) parts.push(`${missing} missing`)
  return parts.join(' · ')
}
