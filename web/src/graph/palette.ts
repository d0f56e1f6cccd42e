/** The colours of the canvas, for both themes, and the colour of each type. */

export interface Palette {
  ground: string
  ink: string
  muted: string
  link: string
  accent: string
  missing: string
  added: string
  removed: string
  changed: string
  moved: string
  other: string
  types: readonly string[]
}

/* Eight colours that stay apart for colour-blind readers; none of them is the red of what is missing. */
export const LIGHT: Palette = {
  ground: '#f7f8f6',
  ink: '#1c2320',
  muted: '#5c6862',
  link: '#b3bdb8',
  accent: '#0f6b4f',
  missing: '#c9252d',
  added: '#1a7f4b',
  removed: '#6b7470',
  changed: '#b26a00',
  moved: '#6a4fb3',
  other: '#8a938f',
  types: ['#2368b5', '#d98200', '#0b8f6a', '#c05f9c', '#4aa3df', '#7a55b8', '#8b8420', '#8d5a34'],
}
export const DARK: Palette = {
  ground: '#101512',
  ink: '#e9efec',
  muted: '#9aa8a1',
  link: '#46524c',
  accent: '#58c79b',
  missing: '#ff6f68',
  added: '#4fc788',
  removed: '#9aa8a1',
  changed: '#e6a23c',
  moved: '#b39aea',
  other: '#808c86',
  types: ['#6ea8ee', '#f0a63a', '#3cc49a', '#e08cc0', '#8fd0f7', '#b39aea', '#c6bf56', '#c8946a'],
}

/** Types without a colour: resources are squares, what is missing is red, definitions begin with $. */
const isPlain = (type: string): boolean => /^(Resource|Missing|MissingEntity|\$.*)$/.test(type)

/** The place of each type in the list of colours. Types keep the colour that they got first. */
export class TypeColours {
  readonly #places = new Map<string, number>()

  /** Gives colours to types that have none yet, the most frequent first. */
  learn(counts: Record<string, number>): void {
    const names = Object.keys(counts).sort((a, b) => counts[b]! - counts[a]! || (a < b ? -1 : 1))
    for (const name of names) this.#place(name)
  }

  colour(type: string, palette: Palette): string {
    return palette.types[this.#place(type)] ?? palette.other
  }

  #place(type: string): number {
    if (isPlain(type)) return -1
    const known = this.#places.get(type)
    if (known !== undefined) return known
    const place = this.#places.size
    this.#places.set(type, place)
    return place
  }
}
