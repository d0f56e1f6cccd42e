/** The bar of the filter by time and author. */

import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import type { Explorer } from '../explorer'
import { announcement, complain } from '../notices'
import { Failure, Name } from '../parts/basics'
import { CloseIcon } from '../parts/icons'
import { useLoad } from '../parts/load'
import { count, number } from '../text/format'
import { filterOf, isActive, NO_SPAN, type SpanAsked } from '../touched'

const HOUR_MS = 3_600_000
const PRESETS: [string, number][] = [
  ['hour', HOUR_MS],
  ['day', 24 * HOUR_MS],
  ['week', 168 * HOUR_MS],
  ['30 days', 720 * HOUR_MS],
]

export function SpanBar({ explorer }: { explorer: Explorer }): JSX.Element | null {
  const { span } = explorer.view.value
  if (!span || !explorer.source.abilities.time) return null
  const change = (part: Partial<SpanAsked>) => explorer.look({ span: { ...span, ...part } })
  const last = (ms: number) => change({ since: minute(new Date(Date.now() - ms)), until: '' })
  return (
    <section class="route" aria-label="Filter by time and author">
      <div class="route-head">
        <Moment label="Changed since" value={span.since} set={(since) => change({ since })} />
        <Moment label="until" value={span.until} set={(until) => change({ until })} />
        <span class="presets" role="group" aria-label="Changed in the last">
          <span class="note">last</span>
          {PRESETS.map(([label, ms]) => (
            <button key={label} type="button" class="link" onClick={() => last(ms)}>
              {label}
            </button>
          ))}
        </span>
        <Authors explorer={explorer} span={span} change={change} />
        <span class="segments" role="group" aria-label="The rest">
          {(['dim', 'hide'] as const).map((rest) => (
            <button key={rest} type="button" aria-pressed={span.rest === rest} onClick={() => change({ rest })}>
              {rest} the rest
            </button>
          ))}
        </span>
      </div>
      <button
        type="button"
        class="button icon-only small"
        aria-label="Close the filter"
        title="Show everything again"
        onClick={() => explorer.look({ span: null })}>
        <CloseIcon />
      </button>
      {isActive(span) && <Outcome explorer={explorer} span={span} />}
    </section>
  )
}

/** Opens the filter, or closes it. */
export const toggleSpan = (explorer: Explorer): void => explorer.look({ span: explorer.view.value.span ? null : NO_SPAN })

const minute = (date: Date): string => `${date.toISOString().slice(0, 16)}:00Z`

/** A time in the form of a field for dates and times, in the reader's time zone. */
function local(text: string): string {
  const date = new Date(text)
  return text ? new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16) : ''
}

const Moment = ({ label, value, set }: { label: string; value: string; set: (value: string) => void }): JSX.Element => (
  <label class="span-field">
    {label}
    <input
      type="datetime-local"
      value={local(value)}
      onChange={(event) => set(event.currentTarget.value ? minute(new Date(event.currentTarget.value)) : '')}
    />
  </label>
)

interface AuthorsProps {
  explorer: Explorer
  span: SpanAsked
  change: (part: Partial<SpanAsked>) => void
}

function Authors({ explorer, span, change }: AuthorsProps): JSX.Element {
  const { at } = explorer.view.value
  const { since, until } = filterOf(span)
  const { value, error } = useLoad(
    () => explorer.source.authors({ since, until }, at),
    [explorer, since, until, at, explorer.changed.value],
  )
  const known = value?.authors ?? []
  const gone = span.actors.filter((actor) => !known.some((author) => author.actor === actor))
  const toggle = (actor: string) =>
    change({ actors: span.actors.includes(actor) ? span.actors.filter((other) => other !== actor) : [...span.actors, actor] })
  return (
    <details class="authors">
      <summary class="button">
        By{' '}
        {span.actors.length ? (
          <Name text={span.actors.length === 1 ? span.actors[0]! : `${span.actors.length} authors`} />
        ) : (
          'anybody'
        )}
      </summary>
      <fieldset class="menu">
        <legend class="hidden-title">Authors</legend>
        {error ? <Failure error={error} /> : null}
        {[...known, ...gone.map((actor) => ({ actor, changes: 0 }))].map(({ actor, changes }) => (
          <label key={actor}>
            <input type="checkbox" checked={span.actors.includes(actor)} onChange={() => toggle(actor)} /> <Name text={actor} />{' '}
            <span class="legend-count">{count(changes, 'change')}</span>
          </label>
        ))}
        {value && value.total > known.length && <p class="note">and {number(value.total - known.length)} more</p>}
        {value && !known.length && !gone.length && <p class="note">Nobody wrote in this span.</p>}
      </fieldset>
    </details>
  )
}

function Outcome({ explorer, span }: { explorer: Explorer; span: SpanAsked }): JSX.Element {
  const { at } = explorer.view.value
  const filter = JSON.stringify(filterOf(span))
  const { value: all } = useLoad(
    () => explorer.source.touched(null, filterOf(span), at),
    [explorer, filter, at, explorer.changed.value],
  )
  const touched = explorer.touched.value
  const scene = explorer.scene.value
  const shown = [...scene.nodes.values()].filter((node) => !node.group).length
  const links = [...scene.links.values()].filter((line) => line.count === 1).length
  const words =
    !touched || !all
      ? 'Reading…'
      : !shown
        ? `${count(all.total, 'node')} of the whole graph ${all.total === 1 ? 'was' : 'were'} changed; groups are not filtered.`
        : `${number(touched.nodes.size)} of ${count(shown, 'node')} and ${number(touched.links.size)} of ${count(links, 'link')} shown here were changed; ${count(all.total, 'node')} in the whole graph.`
  useEffect(() => {
    if (touched && all) announcement.value = words
  }, [words])
  return (
    <p class="span-outcome">
      <span data-testid="span">{words}</span>{' '}
      {all && all.nodes.length > 0 && (
        <button type="button" class="link" onClick={() => explorer.showNodes(all.nodes).catch(complain)}>
          Show{' '}
          {all.total > all.nodes.length
            ? `the ${number(all.nodes.length)} that changed last`
            : all.nodes.length === 1
              ? 'it'
              : `these ${number(all.nodes.length)}`}
        </button>
      )}
    </p>
  )
}
