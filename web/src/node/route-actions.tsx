/** Buttons for a route from a node: the path to another node, and the nodes within reach. */

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Explorer } from '../explorer'
import { NodeChooser } from '../parts/node-chooser'
import { COST_START, MOST } from '../route'

export function RouteActions({ explorer, id }: { explorer: Explorer; id: string }): JSX.Element | null {
  const [choosing, setChoosing] = useState(false)
  if (!explorer.source.abilities.routes) return null
  const findPath = (to: string) => {
    setChoosing(false)
    void explorer.showRoute({ kind: 'path', from: id, to, way: 'both' })
  }
  return (
    <>
      <button
        type="button"
        class="button"
        aria-expanded={choosing}
        title="Show the cheapest path to another node"
        onClick={() => setChoosing(!choosing)}>
        Path to…
      </button>
      <button
        type="button"
        class="button"
        title="Show what is near by the weights of links, within a budget"
        onClick={() => void explorer.showRoute({ kind: 'reach', from: id, way: 'out', cost: COST_START, most: MOST[0] })}>
        Within reach
      </button>
      {choosing && (
        <NodeChooser
          explorer={explorer}
          label="Name of the other node"
          without={id}
          choose={(card) => findPath(card.id)}
          close={() => setChoosing(false)}
        />
      )}
    </>
  )
}
