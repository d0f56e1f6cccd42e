/** The filter by time and author: the nodes and links of the scene that were written in a span by some actors. */

import { computed, effect } from '@preact/signals'
import type { Explorer } from './explorer'
import { GROUP_PREFIX, linkKey } from './graph/scene'
import { complain } from './notices'
import type { SpanFilter } from './source/types'

/** The filter of a view. Without a condition it filters nothing, and only its fields are shown. */
export interface SpanAsked {
  /** Times in ISO 8601, to the minute; empty for no bound. */
  since: string
  until: string
  /** Empty for anybody. */
  actors: readonly string[]
  /** The display of the other nodes and links. */
  rest: 'dim' | 'hide'
}

export const NO_SPAN: SpanAsked = { since: '', until: '', actors: [], rest: 'dim' }
const MINUTE_MS = 60_000

/** Ids of nodes and keys of links that pass the filter. */
export interface Touched {
  nodes: ReadonlySet<string>
  links: ReadonlySet<string>
  /** The nodes at the ends of those links. */
  ends: ReadonlySet<string>
}

export const isActive = (span: SpanAsked | null): span is SpanAsked =>
  span !== null && (span.since !== '' || span.until !== '' || span.actors.length > 0)

/** The filter as the source takes it: the last minute is part of the span as a whole. */
export const filterOf = ({ since, until, actors }: SpanAsked): SpanFilter => ({
  ...(since && { since }),
  ...(until && { until: new Date(Date.parse(until) + MINUTE_MS - 1).toISOString() }),
  ...(actors.length > 0 && { actors: [...actors] }),
})

/** Updates `explorer.touched` when the view or the scene changes. */
export function startTouched(explorer: Explorer): void {
  const asked = computed(() => JSON.stringify([explorer.view.value.span, explorer.view.value.at, explorer.view.value.branch]))
  let turn = 0
  effect(() => {
    void [asked.value, explorer.changed.value]
    const ids = [...explorer.scene.value.nodes.keys()].filter((id) => !id.startsWith(GROUP_PREFIX))
    const { span, at } = explorer.view.peek()
    const mine = ++turn
    if (!isActive(span)) {
      explorer.touched.value = null
      return
    }
    explorer.source.touched(ids, filterOf(span), at).then(
      ({ nodes, links }) => {
        if (mine !== turn) return
        const ends = new Set(links.flatMap(({ source, target }) => [source, target]))
        explorer.touched.value = { nodes: new Set(nodes), links: new Set(links.map(linkKey)), ends }
      },
      (error) => mine === turn && complain(error),
    )
  })
}
