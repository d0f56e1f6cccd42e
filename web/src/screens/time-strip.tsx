/** The strip below the graph: the amount of writes over time, and a slider that shows the graph at a moment. */

import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Explorer } from '../explorer'
import { announcement, say } from '../notices'
import { useLoad } from '../parts/load'
import type { Timeline } from '../source/types'
import { count, moment } from '../text/format'

const BUCKETS = 80
const SETTLED_MS = 180

export function TimeStrip({ explorer }: { explorer: Explorer }): JSX.Element | null {
  const { value } = useLoad(() => explorer.source.timeline(BUCKETS), [explorer, explorer.about.value?.position])
  const { at, holds } = explorer.view.value
  const { value: shown } = useLoad(
    () => (at === null || at === 0 ? Promise.resolve(null) : explorer.source.commit(at)),
    [explorer, at],
  )
  const [dragged, setDragged] = useState<number | null>(null)
  const timer = useRef(0)
  useEffect(() => () => clearTimeout(timer.current), [])
  // Its place is reserved until it is read, because the canvas would otherwise change its size.
  if (!value)
    return (
      <footer class="time-strip">
        <div class="time-box" />
      </footer>
    )
  const stops = stopsOf(value)
  if (stops.length < 2 && at === null && !holds) return null
  const place = dragged ?? placeOf(stops, at)
  const move = (next: number) => {
    setDragged(next)
    clearTimeout(timer.current)
    timer.current = window.setTimeout(() => {
      explorer.showMoment(next === stops.length - 1 ? null : stops[next]!.seq)
      setDragged(null)
    }, SETTLED_MS)
  }
  const now = dragged === null ? at === null : place === stops.length - 1
  // A commit between two stops has a time and a position of its own.
  const exact =
    dragged === null && at !== null ? { seq: at, time: shown?.seq === at ? shown.time : stops[place]?.time } : stops[place]!
  const text = now ? 'now' : moment(exact.time) || 'the begin'
  return (
    <footer class={now ? 'time-strip' : 'time-strip past'}>
      <label for="moment">As of</label>
      <div class="time-box">
        <Bars timeline={value} stops={stops} place={place} />
        <input
          id="moment"
          type="range"
          min={0}
          max={stops.length - 1}
          step={1}
          value={place}
          aria-valuetext={now ? 'now' : `${text}, position ${exact.seq}`}
          onInput={(event) => move(Number(event.currentTarget.value))}
        />
      </div>
      <output for="moment" data-testid="moment">
        {text}
        {!now && <span class="strip-more"> · position {exact.seq}</span>}
      </output>
      <button type="button" class="button" disabled={now} onClick={() => explorer.showMoment(null)}>
        Now
      </button>
      <button
        type="button"
        class="button"
        onClick={() => explorer.look({ screen: 'compare', from: String(exact.seq), to: '' })}
        disabled={now}>
        Compare with now
      </button>
      <HoldsAt explorer={explorer} />
    </footer>
  )
}

/** The field for a date: nodes and links that do not hold then are left out of the graph and of searches. */
function HoldsAt({ explorer }: { explorer: Explorer }): JSX.Element {
  const { holds } = explorer.view.value
  const lapsed = explorer.notHolding.value
  const words = lapsed && `without ${count(lapsed.nodes.size, 'node')} and ${count(lapsed.links.size, 'link')}`
  useEffect(() => {
    if (words) announcement.value = `Holds at ${holds}: ${words}.`
  }, [words])
  return (
    <span class="holds">
      <label>
        Holds at
        <input
          type="date"
          name="holds"
          value={holds.slice(0, 10)}
          title="Only what holds then, by valid_from and valid_until"
          onChange={(event) => explorer.showHolding(event.currentTarget.value)}
        />
      </label>
      {holds && (
        <>
          <span data-testid="holds">{words}</span>
          <button type="button" class="link" onClick={() => explorer.showHolding('')}>
            any time
          </button>
        </>
      )}
    </span>
  )
}

interface Stop {
  seq: number
  time: string
}

/** The states that the slider stops at: each end of a bucket in which something was written. */
export function stopsOf({ buckets, from }: Timeline): Stop[] {
  const stops: Stop[] = []
  if (from.seq > 0 && from.time && buckets[0] && buckets[0].to_seq !== from.seq) stops.push({ seq: from.seq, time: from.time })
  for (const { to_seq: seq, time } of buckets) {
    if (seq > 0 && stops[stops.length - 1]?.seq !== seq) stops.push({ seq, time })
  }
  return stops
}

/** The last stop that is not after a moment. */
export function placeOf(stops: readonly Stop[], at: number | null): number {
  if (at === null) return stops.length - 1
  let place = 0
  stops.forEach((stop, i) => {
    if (stop.seq <= at) place = i
  })
  return place
}

function Bars({ timeline, stops, place }: { timeline: Timeline; stops: Stop[]; place: number }): JSX.Element {
  const most = Math.max(1, ...timeline.buckets.map((bucket) => bucket.count))
  const counts = new Map(timeline.buckets.map((bucket) => [bucket.to_seq, 0]))
  for (const bucket of timeline.buckets) counts.set(bucket.to_seq, (counts.get(bucket.to_seq) ?? 0) + bucket.count)
  const step = 100 / Math.max(1, stops.length - 1)
  const width = Math.min(1.3, step * 0.7)
  return (
    <svg class="bars" viewBox="0 0 100 24" preserveAspectRatio="none" aria-hidden="true">
      {stops.map((stop, i) => {
        const height = counts.get(stop.seq) ? 3 + 21 * Math.sqrt(counts.get(stop.seq)! / most) : 1
        return (
          <rect
            key={stop.seq}
            class={i <= place ? 'bar' : 'bar later'}
            x={i * step - width / 2}
            width={width}
            y={24 - Math.min(24, height)}
            height={Math.min(24, height)}
          />
        )
      })}
    </svg>
  )
}

/** Moves one commit back or forward in time, for the keys [ and ]. */
export async function stepInTime(explorer: Explorer, by: 1 | -1): Promise<void> {
  const { at } = explorer.view.value
  const last = explorer.about.value?.position ?? 0
  if (by < 0) {
    if (at === 0 || !last) return say('This is the begin of the graph.')
    const { before } = await explorer.source.commit(at ?? last)
    explorer.showMoment(before)
  } else if (at !== null) {
    const { seq } = await explorer.source.commit(at + 1)
    explorer.showMoment(seq >= last ? null : seq)
  }
}
