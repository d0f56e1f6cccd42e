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
}

export const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif'

const widths = new Map<string, number>()

/** The width of a text in pixels, remembered. */
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

export class CanvasPen implements Pen {
  constructor(private readonly context: CanvasRenderingContext2D) {}

  line(x1: number, y1: number, x2: number, y2: number, stroke: Stroke, over?: readonly [number, number]): void {
    this.context.beginPath()
    this.context.moveTo(x1, y1)
    if (over) this.context.quadraticCurveTo(over[0], over[1], x2, y2)
    else this.context.lineTo(x2, y2)
    this.#stroke(stroke)
  }

  circle(x: number, y: number, radius: number, fill: Fill): void {
    this.context.beginPath()
    this.context.arc(x, y, radius, 0, 2 * Math.PI)
    this.#fill(fill)
  }

  square(x: number, y: number, radius: number, fill: Fill): void {
    this.context.beginPath()
    this.context.roundRect(x - radius, y - radius, 2 * radius, 2 * radius, Math.min(2.5, radius / 2))
    this.#fill(fill)
  }

  polygon(points: readonly number[], fill: Fill): void {
    this.context.beginPath()
    for (let i = 0; i < points.length; i += 2) this.context.lineTo(points[i]!, points[i + 1]!)
    this.context.closePath()
    this.#fill(fill)
  }

  arc(x: number, y: number, radius: number, from: number, to: number, stroke: Stroke): void {
    this.context.beginPath()
    this.context.arc(x, y, radius, from, to)
    this.#stroke(stroke)
  }

  text(text: string, x: number, y: number, { colour, size, weight = 400, alpha = 1, around, align, struck }: Lettering): void {
    const { context } = this
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

  #stroke({ colour, width, dash, alpha = 1 }: Stroke): void {
    this.context.globalAlpha = alpha
    this.context.strokeStyle = colour
    this.context.lineWidth = width
    this.context.setLineDash(dash ? [...dash] : [])
    this.context.stroke()
    this.context.globalAlpha = 1
  }

  #fill({ fill, stroke, alpha = 1 }: Fill): void {
    if (fill) {
      this.context.globalAlpha = alpha
      this.context.fillStyle = fill
      this.context.fill()
      this.context.globalAlpha = 1
    }
    if (stroke) this.#stroke({ alpha, ...stroke })
  }
}
