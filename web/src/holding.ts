/** The filter by validity: the nodes and links of the scene that do not hold at a time. */

import { computed, effect } from '@preact/signals'
import type { Explorer } from './explorer'
import { GROUP_PREFIX, linkKey } from './graph/scene'
import { complain } from './notices'

/** Ids of nodes and keys of links that do not hold. */
export interface NotHoldingHere {
  nodes: ReadonlySet<string>
  links: ReadonlySet<string>
}

/** Updates `explorer.notHolding` when the view or the scene changes. */
export function startHolding(explorer: Explorer): void {
  const asked = computed(() => JSON.stringify([explorer.view.value.holds, explorer.view.value.at, explorer.view.value.branch]))
  let turn = 0
  effect(() => {
    void [asked.value, explorer.changed.value]
    const ids = [...explorer.scene.value.nodes.keys()].filter((id) => !id.startsWith(GROUP_PREFIX))
    const { holds, at } = explorer.view.peek()
    const mine = ++turn
    if (!holds || !ids.length) {
      explorer.notHolding.value = null
      return
    }
    explorer.source.notHolding(ids, holds, at).then(
      ({ nodes, links }) => {
        if (mine === turn) explorer.notHolding.value = { nodes: new Set(nodes), links: new Set(links.map(linkKey)) }
      },
      (error) => mine === turn && complain(error),
    )
  })
}
