/** Steps with the arrow keys: to the neighbour that lies in a direction, else to the next node there. */

import type { Scene, SceneNode } from './scene'

export type Direction = 'ArrowLeft' | 'ArrowRight' | 'ArrowUp' | 'ArrowDown'

const TOWARDS: Record<Direction, readonly [number, number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
}

export const isDirection = (key: string): key is Direction => key in TOWARDS

/** The node to go to from `id`. Without one, the walk begins at the node with most links. */
export function walk(scene: Scene, id: string | null, direction: Direction): string | null {
  const from = id ? scene.nodes.get(id) : undefined
  if (!from) return largest(scene)
  const beside = [...scene.neighbours(from.id)].map((other) => scene.nodes.get(other)!)
  return nearest(from, beside, direction) ?? nearest(from, scene.nodes.values(), direction)
}

function nearest(from: SceneNode, others: Iterable<SceneNode>, direction: Direction): string | null {
  const [dx, dy] = TOWARDS[direction]
  let best: string | null = null
  let least = Infinity
  for (const other of others) {
    const along = (other.x - from.x) * dx + (other.y - from.y) * dy
    const across = Math.abs((other.x - from.x) * dy) + Math.abs((other.y - from.y) * dx)
    if (other === from || along <= 0 || across > along * 2.2) continue
    const cost = along + across * 1.5
    if (cost < least) {
      least = cost
      best = other.id
    }
  }
  return best
}

function largest(scene: Scene): string | null {
  let best: SceneNode | null = null
  for (const node of scene.nodes.values()) {
    if (!best || size(node) > size(best)) best = node
  }
  return best?.id ?? null
}

const size = (node: SceneNode): number => node.group?.nodes ?? node.card.degree
