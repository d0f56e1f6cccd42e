/** A pen that writes SVG, for pictures in documents. */

import { type Fill, FONT, type Lettering, type Pen, type Stroke, textWidth } from './pen'

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** A text that is safe inside SVG. Control characters, which XML refuses, are left out. */
export const escapeXml = (text: string): string =>
  text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, '').replace(/[&<>"]/g, (sign) => ESCAPES[sign]!)

const short = (value: number): string => String(Math.round(value * 10) / 10)

export class SvgPen implements Pen {
  readonly #parts: string[] = []
  readonly #context = document.createElement('canvas').getContext('2d')!

  line(x1: number, y1: number, x2: number, y2: number, stroke: Stroke, over?: readonly [number, number]): void {
    const way = over ? `Q${short(over[0])} ${short(over[1])} ` : 'L'
    this.#parts.push(`<path d="M${short(x1)} ${short(y1)}${way}${short(x2)} ${short(y2)}" fill="none"${strokeOf(stroke)}/>`)
  }

  circle(x: number, y: number, radius: number, fill: Fill): void {
    this.#parts.push(`<circle cx="${short(x)}" cy="${short(y)}" r="${short(radius)}"${fillOf(fill)}/>`)
  }

  square(x: number, y: number, radius: number, fill: Fill): void {
    const [left, top, side] = [short(x - radius), short(y - radius), short(2 * radius)]
    this.#parts.push(`<rect x="${left}" y="${top}" width="${side}" height="${side}" rx="2"${fillOf(fill)}/>`)
  }

  polygon(points: readonly number[], fill: Fill): void {
    this.#parts.push(`<polygon points="${points.map(short).join(' ')}"${fillOf(fill)}/>`)
  }

  arc(x: number, y: number, radius: number, from: number, to: number, stroke: Stroke): void {
    const [x1, y1] = [x + Math.cos(from) * radius, y + Math.sin(from) * radius]
    const [x2, y2] = [x + Math.cos(to) * radius, y + Math.sin(to) * radius]
    const large = to - from > Math.PI ? 1 : 0
    const path = `M${short(x1)} ${short(y1)}A${short(radius)} ${short(radius)} 0 ${large} 1 ${short(x2)} ${short(y2)}`
    this.#parts.push(`<path d="${path}" fill="none"${strokeOf(stroke)}/>`)
  }

  text(text: string, x: number, y: number, { colour, size, weight, alpha, around, align, struck }: Lettering): void {
    const anchor = { left: '', center: ' text-anchor="middle"', right: ' text-anchor="end"' }[align ?? 'left']
    const halo = around ? ` stroke="${around}" stroke-width="3.5" stroke-linejoin="round" paint-order="stroke"` : ''
    const more =
      (weight && weight !== 400 ? ` font-weight="${weight}"` : '') +
      (alpha !== undefined && alpha < 1 ? ` opacity="${short(alpha)}"` : '') +
      (struck ? ' text-decoration="line-through"' : '')
    this.#parts.push(
      `<text x="${short(x)}" y="${short(y + size * 0.35)}" font-size="${size}" fill="${colour}"${anchor}${halo}${more}>${escapeXml(text)}</text>`,
    )
  }

  flush(): void {}

  measure(text: string, size: number, weight: number): number {
    return textWidth(this.#context, text, size, weight)
  }

  /** The picture as a whole, on a ground of one colour. */
  document(width: number, height: number, ground: string, title: string): string {
    const size = `width="${Math.round(width)}" height="${Math.round(height)}"`
    return (
      `<svg xmlns="http://www.w3.org/2000/svg" ${size} viewBox="0 0 ${Math.round(width)} ${Math.round(height)}" ` +
      `font-family="${escapeXml(FONT)}" role="img"><title>${escapeXml(title)}</title>` +
      `<rect width="100%" height="100%" rx="8" fill="${ground}"/>\n${this.#parts.join('\n')}\n</svg>\n`
    )
  }
}

function strokeOf({ colour, width, dash, alpha }: Stroke): string {
  return (
    ` stroke="${colour}" stroke-width="${short(width)}"` +
    (dash ? ` stroke-dasharray="${dash.join(' ')}"` : '') +
    (alpha !== undefined && alpha < 1 ? ` stroke-opacity="${alpha}"` : '')
  )
}

function fillOf({ fill, stroke, alpha }: Fill): string {
  return (
    ` fill="${fill ?? 'none'}"` +
    (alpha !== undefined && alpha < 1 ? ` fill-opacity="${alpha}"` : '') +
    (stroke ? strokeOf({ alpha, ...stroke }) : '')
  )
}
