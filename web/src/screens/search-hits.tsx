/** The hits of a search. The full search has two sections, notes and code, in the order of their value. */

import type { JSX } from 'preact'
import type { Explorer } from '../explorer'
import { Name, Shape } from '../parts/basics'
import type { Card, Hit } from '../source/types'
import { plain, splitUri } from '../text/format'

interface Props {
  explorer: Explorer
  hits: Hit[]
  /** True if the hits are those of the full search. */
  full: boolean
  /** The place of the hit that Enter opens. */
  place: number
  /** True if nothing was found. */
  none: boolean
  choose: (card: Card) => void
}

const TITLES: Record<NonNullable<Hit['section']>, string> = { notes: 'Notes', code: 'Code' }

export function SearchHits({ explorer, hits, full, place, none, choose }: Props): JSX.Element {
  const rows = hits.map((hit, i) => (
    <HitRow key={hit.id} hit={hit} id={`hit-${i}`} chosen={i === place} explorer={explorer} choose={choose} />
  ))
  return (
    <div id="hits" role="listbox" aria-label="Found">
      {full
        ? sectionsOf(hits).map(({ section, begin, end }) => (
            <div key={section} role="group" aria-labelledby={`hits-${section}`}>
              <h2 id={`hits-${section}`} class="hit-section">
                {TITLES[section]} <span class="tab-count">{end - begin}</span>
              </h2>
              {rows.slice(begin, end)}
            </div>
          ))
        : rows}
      {none && (
        <div class="hit none" role="option" aria-selected="false">
          {full ? 'Nothing was found.' : 'No name begins so. Enter searches contents and meanings.'}
        </div>
      )}
    </div>
  )
}

/** Hits of one kind that stand together; the order is that of the answer. */
function sectionsOf(hits: Hit[]): { section: NonNullable<Hit['section']>; begin: number; end: number }[] {
  const sections: ReturnType<typeof sectionsOf> = []
  hits.forEach(({ section = 'notes' }, i) => {
    const last = sections[sections.length - 1]
    if (last?.section === section) last.end = i + 1
    else sections.push({ section, begin: i, end: i + 1 })
  })
  return sections
}

interface RowProps {
  hit: Hit
  id: string
  chosen: boolean
  explorer: Explorer
  choose: (card: Card) => void
}

const HitRow = ({ hit, id, chosen, explorer, choose }: RowProps): JSX.Element => (
  <div id={id} role="option" aria-selected={chosen} class="hit" onPointerDown={(event) => (event.preventDefault(), choose(hit))}>
    <Shape kind={hit.kind} type={hit.type} symbol={hit.symbol} explorer={explorer} />
    <span class="hit-name">
      <Name text={hit.name} />
    </span>
    <span class="hit-path">
      <Name text={splitUri(hit.id)[0]} />
    </span>
    {hit.caveats?.map((caveat) => (
      <span key={caveat} class="hit-caveat">
        <Name text={caveat} />
      </span>
    ))}
    {hit.snippet && <span class="hit-snippet">{plain(hit.snippet)}</span>}
  </div>
)
