/** Times, numbers and names as text. */

/* Characters that could make a name look like something else: controls and marks of direction. */
const TRICKS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g

/** A text without controls and marks of direction; each is shown as a small box. */
export const plain = (text: string): string => text.replace(TRICKS, '▯')

export const short = (text: string, max: number): string => (text.length > max ? `${text.slice(0, max - 1).trimEnd()}…` : text)

export const number = (value: number): string => value.toLocaleString('en')

export const count = (value: number, noun: string): string => `${number(value)} ${noun}${value === 1 ? '' : 's'}`

/** A moment as date and time of the reader's place. */
export function moment(time: string | null | undefined): string {
  const date = time ? new Date(time) : null
  if (!date || Number.isNaN(date.getTime())) return ''
  const two = (value: number) => String(value).padStart(2, '0')
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}`
}

/** The offset of a moment from UTC in the reader's place: +01:00. */
export function offset(date: Date): string {
  const minutes = -date.getTimezoneOffset()
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0')
  return `${minutes < 0 ? '-' : '+'}${two(Math.abs(minutes) / 60)}:${two(Math.abs(minutes) % 60)}`
}

const UNITS: [number, string][] = [
  [31_536_000, 'year'],
  [2_592_000, 'month'],
  [86_400, 'day'],
  [3600, 'hour'],
  [60, 'minute'],
]

/** The distance of a moment from now: "3 hours ago". */
export function ago(time: string | null | undefined, now = Date.now()): string {
  const then = time ? Date.parse(time) : NaN
  if (Number.isNaN(then)) return ''
  const seconds = (now - then) / 1000
  for (const [length, name] of UNITS) {
    if (seconds >= length) return `${count(Math.floor(seconds / length), name)} ago`
  }
  return 'just now'
}

/** The last part of a URI, and the part before it. */
export function splitUri(uri: string): [string, string] {
  const place = uri.replace(/\/+$/, '').lastIndexOf('/')
  return place < 0 ? ['', uri] : [uri.slice(0, place + 1), uri.slice(place + 1)]
}

/** Any value as text: strings unchanged, all others as JSON. */
export const valueText = (value: unknown): string =>
  value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value, null, 2)
