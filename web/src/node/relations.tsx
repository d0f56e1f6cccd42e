/** The relations of a node, grouped by direction and kind. Pages are read on demand. */

import type { JSX } from 'preact'
import type { Explorer } from '../explorer'
import { Failure, Name, NodeButton, Waiting } from '../parts/basics'
import { usePages } from '../parts/load'
import type { Relation } from '../source/types'
import { number } from '../text/format'

export function NodeRelations({ explorer, id }: { explorer: Explorer; id: string }): JSX.Element {
  const { at } = explorer.view.value
  const { pages, error, more } = usePages(
    (cursor: string | null) => explorer.source.relations(id, cursor, at),
    (page) => page.next_cursor,
    [explorer, id, at, explorer.changed.value],
  )
  if (error) return <Failure error={error} />
  if (!pages[0]) return <Waiting />
  const { total } = pages[0]
  const relations = pages.flatMap((page) => page.relations)
  if (!total) return <p class="note">Nothing is related to it.</p>
  return (
    <>
      {groupsOf(relations).map(([label, members]) => (
        <section key={label.key} class="relation-group">
          <h3>
            {label.direction === 'in' ? '← ' : ''}
            <Name text={label.relation} />
            {label.direction === 'out' ? ' →' : ''} <span class="tab-count">{members.length}</span>
          </h3>
          <ul class="plain">
            {members.map((relation) => (
              <li key={`${relation.source} ${relation.target}`} class="relation-row">
                <NodeButton card={relation.other} explorer={explorer} path />
                <span class="weight" title="Weight: a low one is a close relation">
                  {relation.weight}
                </span>
                {relation.holds || relation.caveats ? (
                  <span class="note">
                    <Name
                      text={[relation.holds && `holds ${relation.holds}`, ...(relation.caveats ?? [])].filter(Boolean).join('; ')}
                    />
                  </span>
                ) : null}
              </li>
            ))}
          </ul>
        </section>
      ))}
      {more && (
        <p class="note">
          {number(relations.length)} of {number(total)} relations are shown.{' '}
          <button type="button" class="link" onClick={more}>
            Show more
          </button>
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
  return [...groups.values()].sort(([a], [b]) =>
    a.direction === b.direction ? (a.relation < b.relation ? -1 : 1) : a.direction === 'out' ? -1 : 1,
  )
}
