/** The contested parts of a text, each with both sides and a field for the result. */

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Hunk } from '../source/types'
import { count } from '../text/format'

interface Props {
  hunks: Hunk[]
  use: (texts: string[]) => void
}

const joined = (lines: readonly string[] | undefined): string => (lines ?? []).join('').replace(/\n$/, '')

export function ContestedLines({ hunks, use }: Props): JSX.Element {
  const contested = hunks.filter((hunk) => hunk.ours !== undefined || hunk.theirs !== undefined)
  const [texts, setTexts] = useState(
    contested.map(({ ours, theirs }) => [joined(ours), joined(theirs)].filter(Boolean).join('\n')),
  )
  const write = (place: number, text: string) => setTexts(texts.map((old, i) => (i === place ? text : old)))
  return (
    <div class="result">
      <p class="note">
        {count(contested.length, 'part')} of the text {contested.length === 1 ? 'is' : 'are'} contested; the rest is merged
        already.
      </p>
      {contested.map((_, i) => (
        <label key={i} class="field">
          Part {i + 1}
          <textarea rows={4} value={texts[i]} onInput={(event) => write(i, event.currentTarget.value)} />
        </label>
      ))}
      <button type="button" class="button strong" onClick={() => use(texts)}>
        Use these lines
      </button>
    </div>
  )
}
