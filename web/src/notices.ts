/** Short messages to the reader: events, errors, and next steps. */

import { signal } from '@preact/signals'
import { SourceError } from './source/errors'

export interface Notice {
  id: number
  tone: 'info' | 'error'
  text: string
  hint: string | null
  action: { label: string; run: () => void } | null
}

export const notices = signal<readonly Notice[]>([])
/** The last sentence for screen readers. */
export const announcement = signal('')

const SHOWN_MS = 7000
/** A notice with an undo button stays longer, because a reader needs time to decide. */
const SHOWN_WITH_ACTION_MS = 15_000
let last = 0

export function say(text: string, options: Partial<Omit<Notice, 'id' | 'text'>> = {}): void {
  const notice: Notice = { id: ++last, tone: 'info', hint: null, action: null, ...options, text }
  // Only one notice has an undo button at a time, because several would cover the panel.
  const others = notices.value.filter((other) => other.text !== text && !(other.action && notice.action))
  notices.value = [...others.slice(-3), notice]
  announcement.value = text
  if (notice.tone === 'info') setTimeout(() => dismiss(notice.id), notice.action ? SHOWN_WITH_ACTION_MS : SHOWN_MS)
}

export function dismiss(id: number): void {
  notices.value = notices.value.filter((notice) => notice.id !== id)
}

/** Shows an error, unless the request was given up on purpose. */
export function complain(error: unknown): void {
  if (error instanceof DOMException && error.name === 'AbortError') return
  if (error instanceof SourceError) {
    if (error.status === 401) return
    say(error.message, { tone: 'error', hint: error.hint })
  } else {
    console.error(error)
    say('The page met an unexpected error.', { tone: 'error', hint: String(error) })
  }
}
