/** Small parts that many screens use: names, shapes of types, times, errors, empty states. */

import type { ComponentChildren, JSX } from 'preact'
import type { Explorer } from '../explorer'
import { outlineOf, outlinePoints } from '../graph/outlines'
import { SourceError } from '../source/errors'
import type { Card, Kind } from '../source/types'
import { ago, moment, plain, splitUri } from '../text/format'
import { palette } from '../theme'

/** A text of the graph, without tricks of direction. */
export const Name = ({ text }: { text: string }): JSX.Element => <bdi>{plain(text)}</bdi>

/** The shape of a node: a circle for a concept, a square for a resource, a red ring for what is missing. */
export function Shape({
  kind,
  type,
  symbol,
  explorer,
}: {
  kind: Kind
  type: string
  symbol?: string
  explorer: Explorer
}): JSX.Element {
  const colour = explorer.colours.colour(type, palette.value)
  return (
    <svg class="shape" viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">
      {kind === 'missing' ? (
        <circle cx="6" cy="6" r="4.5" fill="none" stroke={palette.value.missing} stroke-width="2" />
      ) : kind === 'resource' ? (
        <rect x="1.5" y="1.5" width="9" height="9" rx="1.5" fill={colour} />
      ) : outlineOf(symbol) ? (
        <polygon points={outlinePoints(outlineOf(symbol)!, 6, 6, 5.6)} fill={colour} />
      ) : kind === 'link' ? (
        <path d="M6 0.5 11.5 6 6 11.5 0.5 6Z" fill={colour} />
      ) : (
        <circle cx="6" cy="6" r="5" fill={colour} />
      )}
    </svg>
  )
}

/** A button that shows a node. */
export function NodeButton({ card, explorer, path }: { card: Card; explorer: Explorer; path?: boolean }): JSX.Element {
  const missing = card.kind === 'missing'
  return (
    <button
      type="button"
      class={missing ? 'node-button missing' : 'node-button'}
      title={plain(card.id)}
      onClick={() => void explorer.open(card.id)}>
      <Shape kind={card.kind} type={card.type} symbol={card.symbol} explorer={explorer} />
      <span class="node-button-name">
        <Name text={card.name} />
      </span>
      {missing && <span class="missing-word">missing</span>}
      {path && (
        <span class="node-button-path">
          <Name text={splitUri(card.id)[0]} />
        </span>
      )}
    </button>
  )
}

export const Time = ({ time }: { time: string | null | undefined }): JSX.Element => (
  <time dateTime={time ?? ''} title={moment(time)}>
    {ago(time) || '–'}
  </time>
)

/** An error with what to do next. */
export function Failure({ error }: { error: unknown }): JSX.Element {
  const known = error instanceof SourceError ? error : null
  const [title, ...excerpt] = plain(known?.message ?? 'This could not be read.').split('\n')
  return (
    <div class="failure" role="alert">
      <strong>{title}</strong>
      {excerpt.length > 0 && (
        <pre class="excerpt" tabIndex={0}>
          {excerpt.join('\n')}
        </pre>
      )}
      {known?.hint && <p>{plain(known.hint)}</p>}
    </div>
  )
}

export const Empty = ({ title, children }: { title: string; children?: ComponentChildren }): JSX.Element => (
  <div class="empty">
    <strong>{title}</strong>
    {children && <p>{children}</p>}
  </div>
)

export const Waiting = (): JSX.Element => (
  <div class="waiting" role="status">
    Reading…
  </div>
)
