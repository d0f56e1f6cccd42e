/** Positions for nodes: where they start, and the run that settles them. */

import { type Forces, settle } from './forces'
import type { Scene, SceneNode } from './scene'
import { radius } from './size'

const SLICE_MS = 8

/** The runner of layouts: a worker, or slices on the page where workers are not allowed. */
export interface Runner {
  run(forces: Forces): Promise<Float32Array>
}

/** Runs layouts on the page, in slices of 8 ms, so that it stays responsive. */
export class SliceRunner implements Runner {
  run(forces: Forces): Promise<Float32Array> {
    let began = performance.now()
    return settle(forces, () => {
      if (performance.now() - began < SLICE_MS) return null
      return new Promise((resolve) =>
        setTimeout(() => {
          began = performance.now()
          resolve()
        }),
      )
    })
  }
}

/** Runs layouts in a worker. If it cannot start, the page does the work. */
export class WorkerRunner implements Runner {
  readonly #start: () => Worker
  #worker: Worker | null = null
  #waiting = new Map<number, { forces: Forces; done: (places: Float32Array) => void }>()
  #ticket = 0
  #fallback: Runner | null = null

  constructor(start: () => Worker) {
    this.#start = start
  }

  run(forces: Forces): Promise<Float32Array> {
    const worker = this.#fallback ? null : this.#open()
    if (!worker) return (this.#fallback ??= new SliceRunner()).run(forces)
    const ticket = ++this.#ticket
    return new Promise((done) => {
      this.#waiting.set(ticket, { forces, done })
      worker.postMessage({ ticket, forces })
    })
  }

  #open(): Worker | null {
    if (this.#worker) return this.#worker
    try {
      this.#worker = this.#start()
    } catch {
      return null
    }
    this.#worker.onmessage = ({ data }: MessageEvent<{ ticket: number; places: Float32Array }>) => {
      this.#waiting.get(data.ticket)?.done(data.places)
      this.#waiting.delete(data.ticket)
    }
    this.#worker.onerror = () => this.#giveUp()
    return this.#worker
  }

  #giveUp(): void {
    const fallback = (this.#fallback = new SliceRunner())
    for (const { forces, done } of this.#waiting.values()) void fallback.run(forces).then(done)
    this.#waiting.clear()
  }
}

/** A number from 0 to 1 that follows from a text. */
export function fraction(text: string, salt: number): number {
  let hash = 2166136261 ^ salt
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 16777619)
  hash = Math.imul(hash ^ (hash >>> 15), 2246822507)
  return ((hash ^ (hash >>> 13)) >>> 0) / 4294967296
}

/** The place at which a node starts: beside its first neighbour that has one, else by its id. */
export function startPlace(id: string, anchor: { x: number; y: number } | null, spreadBy: number): [number, number] {
  const angle = 2 * Math.PI * fraction(id, 1)
  const distance = (anchor ? 70 : 20) + fraction(id, 2) * spreadBy
  return [(anchor?.x ?? 0) + Math.cos(angle) * distance, (anchor?.y ?? 0) + Math.sin(angle) * distance]
}

/** Settles the nodes of a scene. Those in `fixed`, and pinned ones, do not move. */
export async function arrange(scene: Scene, runner: Runner, fixed: ReadonlySet<string>): Promise<void> {
  const nodes = [...scene.nodes.values()]
  if (nodes.length < 2) return
  const stays = (node: SceneNode) => node.pinned || fixed.has(node.id)
  if (nodes.every(stays)) return
  const places = await runner.run(forcesOf(scene, nodes, stays, rounds(nodes.length, fixed.size > 0)))
  nodes.forEach((node, i) => {
    if (stays(node)) return
    node.x = places[2 * i]!
    node.y = places[2 * i + 1]!
  })
}

const rounds = (count: number, some: boolean): number => (some ? 100 : Math.round(Math.min(500, Math.max(80, 150_000 / count))))

function forcesOf(scene: Scene, nodes: SceneNode[], stays: (node: SceneNode) => boolean, iterations: number): Forces {
  const place = new Map(nodes.map((node, i) => [node.id, i]))
  const matrix = new Float32Array(nodes.length * 4)
  for (const [i, node] of nodes.entries()) matrix.set([node.x, node.y, radius(node), stays(node) ? 1 : 0], 4 * i)
  const links: number[] = []
  for (const { link, count } of scene.links.values()) {
    if (link.source === link.target) continue
    const strength = count > 1 ? Math.min(4, 1 + Math.log2(count) / 3) : 1.3 - 0.6 * Math.min(1, Math.max(0, link.weight))
    links.push(place.get(link.source)!, place.get(link.target)!, strength)
  }
  return { nodes: matrix, links: new Float32Array(links), iterations }
}
