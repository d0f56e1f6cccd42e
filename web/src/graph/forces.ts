/**
 * The layout: ForceAtlas2 over flat arrays, then a pass that moves overlapping nodes apart.
 *
 * It runs in a worker where one can be started, and in slices on the page where not. The same input
 * gives the same output: start positions follow from ids, and nothing is random.
 */

import iterate from 'graphology-layout-forceatlas2/iterate.js'

export interface Forces {
  /** x, y, radius and a mark (1: fixed) for each node. */
  nodes: Float32Array
  /** Places of source and target, and strength, for each link. */
  links: Float32Array
  iterations: number
}

const PER_NODE = 10
const PER_LINK = 3
const LARGE = 500

/** Runs the whole layout and returns x and y of each node. `pause` is awaited between slices. */
export async function settle(forces: Forces, pause: () => Promise<void> | null): Promise<Float32Array> {
  const count = forces.nodes.length / 4
  const nodes = nodeMatrix(forces)
  const links = linkMatrix(forces, nodes)
  const options = {
    linLogMode: false,
    outboundAttractionDistribution: false,
    adjustSizes: false,
    edgeWeightInfluence: 1,
    scalingRatio: 900,
    strongGravityMode: true,
    gravity: 0.12 + 0.3 * Math.max(0, 1 - links.length / PER_LINK / Math.max(1, count)),
    slowDown: 2 + Math.log(Math.max(2, count)),
    barnesHutOptimize: count > LARGE,
    barnesHutTheta: 0.6,
  }
  for (let i = 0; i < forces.iterations; i++) {
    iterate(options, nodes, links)
    const wait = pause()
    if (wait) await wait
  }
  const places = new Float32Array(count * 2)
  for (let i = 0; i < count; i++) {
    places[2 * i] = nodes[PER_NODE * i]!
    places[2 * i + 1] = nodes[PER_NODE * i + 1]!
  }
  spread(places, forces.nodes)
  return places
}

function nodeMatrix({ nodes }: Forces): Float32Array {
  const matrix = new Float32Array((nodes.length / 4) * PER_NODE)
  for (let i = 0, j = 0; i < nodes.length; i += 4, j += PER_NODE) {
    matrix[j] = nodes[i]!
    matrix[j + 1] = nodes[i + 1]!
    matrix[j + 6] = 1
    matrix[j + 7] = 1
    matrix[j + 8] = nodes[i + 2]!
    matrix[j + 9] = nodes[i + 3]!
  }
  return matrix
}

function linkMatrix({ links }: Forces, nodes: Float32Array): Float32Array {
  const matrix = new Float32Array(links.length)
  for (let i = 0; i < links.length; i += PER_LINK) {
    const source = links[i]! * PER_NODE
    const target = links[i + 1]! * PER_NODE
    matrix[i] = source
    matrix[i + 1] = target
    matrix[i + 2] = links[i + 2]!
    nodes[source + 6] = nodes[source + 6]! + 1
    nodes[target + 6] = nodes[target + 6]! + 1
  }
  return matrix
}

/** Moves nodes apart that are closer than their radii and a gap for their labels. Fixed nodes stay. */
function spread(places: Float32Array, nodes: Float32Array): void {
  const count = places.length / 2
  const gap = count <= 60 ? 52 : count <= 200 ? 30 : 14
  const cell = 2 * maxRadius(nodes) + gap
  for (let round = 0; round < 40; round++) {
    const grid = new Map<number, number[]>()
    for (let i = 0; i < count; i++) {
      const key = cellKey(Math.floor(places[2 * i]! / cell), Math.floor(places[2 * i + 1]! / cell))
      const there = grid.get(key)
      if (there) there.push(i)
      else grid.set(key, [i])
    }
    let moved = false
    for (let i = 0; i < count; i++) {
      const column = Math.floor(places[2 * i]! / cell)
      const row = Math.floor(places[2 * i + 1]! / cell)
      for (let c = column - 1; c <= column + 1; c++) {
        for (let r = row - 1; r <= row + 1; r++) {
          for (const j of grid.get(cellKey(c, r)) ?? []) {
            if (j > i && apart(places, nodes, i, j, gap)) moved = true
          }
        }
      }
    }
    if (!moved) return
  }
}

const cellKey = (column: number, row: number): number => column * 100_003 + row

function maxRadius(nodes: Float32Array): number {
  let max = 1
  for (let i = 2; i < nodes.length; i += 4) max = Math.max(max, nodes[i]!)
  return max
}

/** Pushes two nodes apart if they are too close; returns true if it did. */
function apart(places: Float32Array, nodes: Float32Array, i: number, j: number, gap: number): boolean {
  const fixedI = nodes[4 * i + 3] === 1
  const fixedJ = nodes[4 * j + 3] === 1
  if (fixedI && fixedJ) return false
  let dx = places[2 * j]! - places[2 * i]!
  let dy = places[2 * j + 1]! - places[2 * i + 1]!
  let distance = Math.hypot(dx, dy)
  const wanted = nodes[4 * i + 2]! + nodes[4 * j + 2]! + gap
  if (distance >= wanted) return false
  if (distance < 0.01) {
    dx = Math.cos(i + 3 * j)
    dy = Math.sin(i + 3 * j)
    distance = 1
  }
  const push = (wanted - distance) / distance
  const shareI = fixedI ? 0 : fixedJ ? 1 : 0.5
  places[2 * i]! -= dx * push * shareI
  places[2 * i + 1]! -= dy * push * shareI
  places[2 * j]! += dx * push * (1 - shareI)
  places[2 * j + 1]! += dy * push * (1 - shareI)
  return true
}
