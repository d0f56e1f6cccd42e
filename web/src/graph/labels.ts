/** Places for labels so that no label covers another one or a node. */

export interface Box {
  left: number
  top: number
  right: number
  bottom: number
}

const CELL = 64

/** The boxes that are taken, found by place. */
export class Occupied {
  readonly #cells = new Map<number, Box[]>()

  free(box: Box): boolean {
    for (const key of cellsOf(box)) {
      for (const other of this.#cells.get(key) ?? []) {
        if (box.left < other.right && other.left < box.right && box.top < other.bottom && other.top < box.bottom) return false
      }
    }
    return true
  }

  take(box: Box): void {
    for (const key of cellsOf(box)) {
      const boxes = this.#cells.get(key)
      if (boxes) boxes.push(box)
      else this.#cells.set(key, [box])
    }
  }

  /** Takes the box if it is free; returns true if it was. */
  claim(box: Box): boolean {
    if (!this.free(box)) return false
    this.take(box)
    return true
  }
}

function* cellsOf({ left, right, top, bottom }: Box): Generator<number> {
  for (let c = Math.floor(left / CELL); c <= Math.floor(right / CELL); c++) {
    for (let r = Math.floor(top / CELL); r <= Math.floor(bottom / CELL); r++) yield c * 4096 + r
  }
}

/** The boxes of a label around a node, the best first: right, below, left, above. */
export function labelBoxes(x: number, y: number, radius: number, width: number, height: number): Box[] {
  const gap = radius + 5
  const half = height / 2
  return [
    { left: x + gap, right: x + gap + width, top: y - half, bottom: y + half },
    around(x, y + gap + half - 2, width, half),
    { left: x - gap - width, right: x - gap, top: y - half, bottom: y + half },
    around(x, y - gap - half + 2, width, half),
  ]
}

const around = (x: number, y: number, width: number, half: number): Box => ({
  left: x - width / 2,
  right: x + width / 2,
  top: y - half,
  bottom: y + half,
})

/** True if the line from one point to another passes through a box. */
export function crosses({ left, right, top, bottom }: Box, x1: number, y1: number, x2: number, y2: number): boolean {
  let [first, last] = [0, 1]
  for (const [from, to, low, high] of [
    [x1, x2, left, right],
    [y1, y2, top, bottom],
  ] as const) {
    const way = to - from
    if (!way && (from < low || from > high)) return false
    if (!way) continue
    const [enters, leaves] = way > 0 ? [(low - from) / way, (high - from) / way] : [(high - from) / way, (low - from) / way]
    first = Math.max(first, enters)
    last = Math.min(last, leaves)
  }
  return first <= last
}
