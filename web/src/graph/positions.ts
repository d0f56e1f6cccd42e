/** Positions of nodes that survive a reload, for each graph apart. */

import { keep, kept } from '../browser-storage'
import type { Scene, SceneNode } from './scene'

const POSITIONS_MAX = 4000

export class Positions {
  readonly #places: Map<string, [number, number, boolean]>

  constructor(private readonly key: string) {
    this.#places = read(key)
  }

  /** Puts a node in its last place; returns false if that is not known. */
  restore(node: SceneNode): boolean {
    const place = this.#places.get(node.id)
    if (!place) return false
    ;[node.x, node.y, node.pinned] = place
    return true
  }

  /** Uses the places of a saved view. */
  learn(places: Readonly<Record<string, [number, number, boolean]>>): void {
    for (const [id, place] of Object.entries(places)) this.#places.set(id, place)
  }

  /** Records the places of all nodes. The oldest places are dropped first. */
  save(scene: Scene): void {
    for (const node of scene.nodes.values()) {
      if (node.group) continue
      this.#places.delete(node.id)
      this.#places.set(node.id, [Math.round(node.x), Math.round(node.y), node.pinned])
    }
    for (const id of this.#places.keys()) {
      if (this.#places.size <= POSITIONS_MAX) break
      this.#places.delete(id)
    }
    keep('local', this.key, JSON.stringify([...this.#places]))
  }
}

function read(key: string): Map<string, [number, number, boolean]> {
  try {
    return new Map(JSON.parse(kept('local', key) ?? '[]') as [string, [number, number, boolean]][])
  } catch {
    return new Map()
  }
}
