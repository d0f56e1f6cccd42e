/** The legend: shapes and colours with their names, which also filter. */

import type { JSX, Ref } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { type Explorer, isTest, TESTS } from '../explorer'
import type { Stage } from '../graph/stage'
import { Name, Shape } from '../parts/basics'
import { FilterIcon } from '../parts/icons'
import type { Kind } from '../source/types'

const ROWS_MAX = 40

interface Row {
  key: string
  name: string
  kind: Kind | 'relation'
  count: number
}

export function Legend({ explorer, stage }: { explorer: Explorer; stage: Stage | null }): JSX.Element | null {
  const box = useRef<HTMLElement>(null)
  const [open, setOpen] = useState(!matchMedia('(max-width: 1000px)').matches)
  const [relations, setRelations] = useState(false)
  const rows = relations ? relationRows(explorer) : typeRows(explorer)
  const tests = [...explorer.within.value.nodes.values()].filter(isTest).length
  const hidesTests = explorer.view.value.hide.includes(TESTS)
  const groupsOnly = !relations && !rows.length
  useLayoutEffect(
    () => cover(stage, box.current),
    [stage, stage?.frame.value, open, rows.length, explorer.scene.value.nodes.size === 0],
  )
  if (!explorer.scene.value.nodes.size) return null
  if (!open) {
    return (
      <button
        ref={box as Ref<HTMLButtonElement>}
        type="button"
        class="button legend-button"
        aria-expanded="false"
        onClick={() => setOpen(true)}>
        <FilterIcon /> Legend
      </button>
    )
  }
  return (
    <section ref={box} class="legend" aria-label="Legend and filters">
      <header>
        {groupsOnly ? (
          <strong>Groups</strong>
        ) : (
          <span class="segments" role="group" aria-label="Legend of">
            <button type="button" aria-pressed={!relations} onClick={() => setRelations(false)}>
              Types
            </button>
            <button type="button" aria-pressed={relations} onClick={() => setRelations(true)}>
              Relations
            </button>
          </span>
        )}
        <button type="button" class="link" aria-label="Close the legend" onClick={() => setOpen(false)}>
          hide
        </button>
      </header>
      <ul>
        {rows.slice(0, ROWS_MAX).map((row) => (
          <LegendRow key={row.key} row={row} explorer={explorer} />
        ))}
      </ul>
      {tests > 0 && (
        <button
          type="button"
          class={hidesTests ? 'legend-row off' : 'legend-row'}
          aria-pressed={!hidesTests}
          title={hidesTests ? 'Show tests' : 'Hide tests'}
          onClick={() => explorer.toggleHidden(TESTS)}>
          <span class="line-sample" aria-hidden="true" />
          <span class="legend-name">tests</span>
          <span class="legend-count">{tests}</span>
        </button>
      )}
      {groupsOnly && <p class="note">A circle is a group of nodes; a double click opens it. Lines are the strongest ties.</p>}
      {relations && !rows.length && <p class="note">No relations are shown.</p>}
      {rows.length > ROWS_MAX && <p class="note">and {rows.length - ROWS_MAX} more</p>}
    </section>
  )
}

/** Tells the canvas where the legend is, so that it puts no labels there. */
function cover(stage: Stage | null, box: HTMLElement | null): void {
  if (!stage) return
  const ground = stage.canvas.getBoundingClientRect()
  const { left, right, top, bottom } = box?.getBoundingClientRect() ?? new DOMRect()
  stage.covered.value = box && {
    left: left - ground.left,
    right: right - ground.left,
    top: top - ground.top,
    bottom: bottom - ground.top,
  }
}

function LegendRow({ row, explorer }: { row: Row; explorer: Explorer }): JSX.Element {
  const hidden = explorer.view.value.hide.includes(row.key)
  return (
    <li>
      <button
        type="button"
        class={hidden ? 'legend-row off' : 'legend-row'}
        aria-pressed={!hidden}
        title={hidden ? 'Show' : 'Hide'}
        onClick={() => explorer.toggleHidden(row.key)}>
        {row.kind === 'relation' ? (
          <span class="line-sample" aria-hidden="true" />
        ) : (
          <Shape kind={row.kind} type={row.name} explorer={explorer} />
        )}
        <span class={row.kind === 'missing' ? 'legend-name missing' : 'legend-name'}>
          <Name text={row.name} />
        </span>
        <span class="legend-count">{row.count}</span>
      </button>
    </li>
  )
}

function typeRows(explorer: Explorer): Row[] {
  const rows = new Map<string, Row>()
  for (const { card, group } of explorer.within.value.nodes.values()) {
    if (group) continue
    const name = card.kind === 'missing' ? 'missing' : card.type
    const row = rows.get(name)
    if (row) row.count++
    else rows.set(name, { key: `type:${name}`, name, kind: card.kind, count: 1 })
  }
  return sorted(rows)
}

function relationRows(explorer: Explorer): Row[] {
  const rows = new Map<string, Row>()
  for (const { link } of explorer.within.value.links.values()) {
    if (!link.relation) continue
    const row = rows.get(link.relation)
    if (row) row.count++
    else rows.set(link.relation, { key: `relation:${link.relation}`, name: link.relation, kind: 'relation', count: 1 })
  }
  return sorted(rows)
}

/* Missing concepts come last, as in every legend of the explorer. */
const sorted = (rows: Map<string, Row>): Row[] =>
  [...rows.values()].sort((a, b) => Number(a.kind === 'missing') - Number(b.kind === 'missing') || b.count - a.count)
