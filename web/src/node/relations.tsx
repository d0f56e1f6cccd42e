/** The relations of a node, grouped by direction and kind. Pages are read on demand. */

import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Explorer } from '../explorer'
import { complain } from '../notices'
import { Failure, Name, NodeButton, Waiting } from '../parts/basics'
import { useLoad } from '../parts/load'
import type { Relation, Relations } from '../source/types'
import { number } from '../text/format'

export function NodeRelations({ explorer, id }: { explorer: Explorer; id: string }): JSX.Element {
  const { at } = explorer.view.value
  const first = useLoad(() => explorer.source.relations(id, null, at), [explorer, id, at, explorer.changed.value])
  const [pages, setPages] = useState<Relations[]>([])
  useEffect(() => setPages(first.value ? [first.value] : []), [first.value])
  if (first.error) return <Failure error={first.error} />
  if (!first.value) return <Waiting />
  const last = pages[pages.length - 1] ?? first.value
  const relations = pages.flatMap((page) => page.relations)
  const more = () =>
    void explorer.source.relations(id, last.next_cursor ?? null, at).then((page) => setPages([...pages, page]), complain)
  if (!first.value.total) return <p class="note">Nothing is related to it.</p>
  return (
    <>
      {groupsOf(relations).map(([label, members]) => (
        <section key={label.key} class="relation-group">
          <h3>{label.direction === 'in' ? '← ' : ''}<Name text={label.relation} />{label.direction === 'out' ? ' →' : ''} <span class="tab-count">{members.length}</span></h3>
          <ul class="plain">
            {members.map((relation) => (
              <li key={`${relation.source} ${relation.target}`} class="relation-row">
                <NodeButton card={relation.other} explorer={explorer} path />
                <span class="weight" title="Weight: a low one is a close relation">{relation.weight}</span>
              </li>
            ))}
          </ul>
        </section>
      ))}
      {last.next_cursor && (
        <p class="note">
          {number(relations.length)} of {number(first.value.total)} relations are shown.{' '}
          <button type="button" class="link" onClick={more}>Show more</button>
        </p>
      )}
    </>
  )
}

interface Label {
  key: string
  relation: string
  direction: 'in' | 'out'
}

/** Relations by kind; kinds with missing concepts first, and missing ones first within a kind. */
function groupsOf(relations: Relation[]): [Label, Relation[]][] {
  const groups = new Map<string, [Label, Relation[]]>()
  for (const relation of relations) {
    const key = `${relation.direction} ${relation.relation}`
    const group = groups.get(key)
    if (group) group[1].push(relation)
    else groups.set(key, [{ key, relation: relation.relation, direction: relation.direction }, [relation]])
  }
  for (const [, members] of groups.values()) members.sort((a, b) => Number(b.missing ?? false) - Number(a.missing ?? false))
  return [...groups.values()].sort(([a], [b]) => (a.direction === b.direction ? (a.relation < b.relation ? -1 : 1) : a.direction === 'out' ? -1 : 1))
}
