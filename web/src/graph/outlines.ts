/** Outlines of symbols of code: a class is a hexagon, a function a triangle, a method one upside down. */

export type Outline = 'class' | 'function' | 'method'

const OUTLINES: Record<string, Outline> = {
  class: 'class',
  interface: 'class',
  struct: 'class',
  enum: 'class',
  trait: 'class',
  type: 'class',
  function: 'function',
  method: 'method',
}
/** Directions of the corners, in twelfths of a turn from the right, clockwise. */
const CORNERS: Record<Outline, readonly number[]> = { class: [0, 2, 4, 6, 8, 10], function: [9, 1, 5], method: [3, 7, 11] }

/** The outline of a kind of symbol; null for others, which are circles. */
export const outlineOf = (symbol: string | undefined): Outline | null =>
  symbol && Object.hasOwn(OUTLINES, symbol) ? OUTLINES[symbol]! : null

/** The corners around a point: x and y of each. */
export function cornersOf(outline: Outline, x: number, y: number, radius: number): number[] {
  const size = outline === 'class' ? radius : radius * 1.15
  return CORNERS[outline].flatMap((twelfth) => [
    x + size * Math.cos((twelfth * Math.PI) / 6),
    y + size * Math.sin((twelfth * Math.PI) / 6),
  ])
}

/** The same as the attribute `points` of SVG. */
export const outlinePoints = (outline: Outline, x: number, y: number, radius: number): string =>
  cornersOf(outline, x, y, radius)
    .map((value) => value.toFixed(1))
    .join(' ')
