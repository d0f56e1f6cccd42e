/** The few strokes that a picture of the graph is made of, on a canvas or as SVG. */

export interface Stroke {
  colour: string
  width: number
  dash?: readonly number[]
  alpha?: number
}

export interface Lettering {
  colour: string
  size: number
  weight?: number
  alpha?: number
  /** The colour around the letters, so that lines behind them do not disturb. */
  around?: string
  align?: 'left' | 'center' | 'right'
  struck?: boolean
}

export interface Fill {
  fill: string | null
  stroke?: Stroke
  alpha?: number
}

export interface Pen {
  /** A line from one point to another over the control point of a quadratic curve, if one is given. */
  line(x1: number, y1: number, x2: number, y2: number, stroke: Stroke, over?: readonly [number, number]): void
  circle(x: number, y: number, radius: number, fill: Fill): void
  square(x: number, y: number, radius: number, fill: Fill): void
  polygon(points: readonly number[], fill: Fill): void
  arc(x: number, y: number, radius: number, from: number, to: number, stroke: Stroke): void
  text(text: string, x: number, y: number, lettering: Lettering): void
  measure(text: string, size: number, weight: number): number
  /** Draws the collected strokes. Later drawings cover them. */
  flush(): void
}

export const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif'

const widths = new Map<string, number>()

/** The width of a text in pixels, cached. */
export function textWidth(context: CanvasRenderingContext2D, text: string, size: number, weight: number): number {
  const key = `${size} ${weight} ${text}`
  let width = widths.get(key)
  if (width === undefined) {
    if (widths.size > 20_000) widths.clear()
    context.font = `${weight} ${size}px ${FONT}`
    width = context.measureText(text).width
    widths.set(key, width)
  }
  return width
}

/** Lines and plain fills of one look are collected into one path: thousands of them are drawn at once. */
export class CanvasPen implements Pen {
  readonly #lines = new Map<string, { path: Path2D; stroke: Stroke }>()
  readonly #fills = new Map<string, { path: Path2D; fill: Fill }>()

  constructor(private readonly context: CanvasRenderingContext2D) {}

  line(x1: number, y1: number, x2: number, y2: number, stroke: Stroke, over?: readonly [number, number]): void {
    const key = `${stroke.colour} ${stroke.width} ${stroke.alpha} ${stroke.dash}`
    let lines = this.#lines.get(key)
    if (!lines) this.#lines.set(key, (lines = { path: new Path2D(), stroke }))
    lines.path.moveTo(x1, y1)
    if (over) lines.path.quadraticCurveTo(over[0], over[1], x2, y2)
    else lines.path.lineTo(x2, y2)
  }

  circle(x: number, y: number, radius: number, fill: Fill): void {
    if (fill.fill && !fill.stroke) {
      const path = this.#collected(fill)
      path.moveTo(x + radius, y)
      path.arc(x, y, radius, 0, 2 * Math.PI)
      return
    }
    this.flush()
    this.context.beginPath()
    this.context.arc(x, y, radius, 0, 2 * Math.PI)
    this.#fill(fill)
  }

  flush(): void {
    for (const { path, stroke } of this.#lines.values()) this.#stroke(stroke, path)
    this.#lines.clear()
    for (const { path, fill } of this.#fills.values()) this.#fill(fill, path)
    this.#fills.clear()
  }

  #collected(fill: Fill): Path2D {
    const key = `${fill.fill} ${fill.alpha}`
    let fills = this.#fills.get(key)
    if (!fills) this.#fills.set(key, (fills = { path: new Path2D(), fill }))
    return fills.path
  }

  square(x: number, y: number, radius: number, fill: Fill): void {
    this.flush()
    this.context.beginPath()
    this.context.roundRect(x - radius, y - radius, 2 * radius, 2 * radius, Math.min(2.5, radius / 2))
    this.#fill(fill)
  }

  polygon(points: readonly number[], fill: Fill): void {
    const path = this.#collected(fill)
    path.moveTo(points[0]!, points[1]!)
    // A fill closes the shape by itself; closePath would take time that grows with the whole path.
    for (let i = 2; i < points.length; i += 2) path.lineTo(points[i]!, points[i + 1]!)
  }

  arc(x: number, y: number, radius: number, from: number, to: number, stroke: Stroke): void {
    this.flush()
    this.context.beginPath()
    this.context.arc(x, y, radius, from, to)
    this.#stroke(stroke)
  }

  text(text: string, x: number, y: number, { colour, size, weight = 400, alpha = 1, around, align, struck }: Lettering): void {
    const { context } = this
    this.flush()
    context.globalAlpha = alpha
    context.font = `${weight} ${size}px ${FONT}`
    context.textBaseline = 'middle'
    context.textAlign = align ?? 'left'
    if (around) {
      context.lineJoin = 'round'
      context.lineWidth = 3.5
      context.strokeStyle = around
      context.setLineDash([])
      context.strokeText(text, x, y)
    }
    context.fillStyle = colour
    context.fillText(text, x, y)
    if (struck) {
      const width = this.measure(text, size, weight)
      const left = align === 'center' ? x - width / 2 : align === 'right' ? x - width : x
      context.fillRect(left, y, width, 1)
    }
    context.globalAlpha = 1
  }

  measure(text: string, size: number, weight: number): number {
    return textWidth(this.context, text, size, weight)
  }

  #stroke({ colour, width, dash, alpha = 1 }: Stroke, path?: Path2D): void {
    this.context.globalAlpha = alpha
    this.context.strokeStyle = colour
    this.context.lineWidth = width
    this.context.setLineDash(dash ? [...dash] : [])
    if (path) this.context.stroke(path)
    else this.context.stroke()
    this.context.globalAlpha = 1
  }

  #fill({ fill, stroke, alpha = 1 }: Fill, path?: Path2D): void {
    if (fill) {
      this.context.globalAlpha = alpha
      this.context.fillStyle = fill
      if (path) this.context.fill(path)
      else this.context.fill()
      this.context.globalAlpha = 1
    }
    if (stroke) this.#stroke({ alpha, ...stroke })
  }
}
