/** Missing concepts: links lead to them, but nobody has written them. */

import type { JSX } from 'preact'
import { editing } from '../edit/state'
import type { Explorer } from '../explorer'
import { Empty, Failure, Name, NodeButton, Waiting } from '../parts/basics'
import { usePages } from '../parts/load'
import { count, number } from '../text/format'

export function MissingScreen({ explorer }: { explorer: Explorer }): JSX.Element {
  const { at } = explorer.view.value
  const { pages, error, more } = usePages(
    (cursor: string | null) => explorer.source.missing(cursor, at),
    (page) => page.next_cursor,
    [explorer, at, explorer.changed.value],
  )
  const missing = pages.flatMap((page) => page.missing)
  const writable = explorer.may('add')
  const showAll = () => {
    explorer.look({
      screen: 'graph',
      selected: null,
      group: null,
      route: null,
      table: false,
      less: [],
      ids: missing.slice(0, 60).flatMap((gap) => [gap.id, ...gap.from.map((card) => card.id)]),
    })
    void explorer.show()
  }
  return (
    <main class="page" id="main">
      <h1>Missing concepts</h1>
      <p class="lead">Links lead to these concepts, but nobody has written them. Writing one heals its links.</p>
      {error ? <Failure error={error} /> : !pages.length ? <Waiting /> : null}
      {pages[0]?.total === 0 && <Empty title="Nothing is missing.">Every link leads to something that is written.</Empty>}
      {missing.length > 0 && (
        <>
          <div class="tools">
            <strong>
              {number(missing.length)} of {count(pages[0]!.total, 'missing concept')}
            </strong>
            <span class="gap" />
            <button type="button" class="button" onClick={showAll}>
              Show {missing.length > 60 ? 'the first 60' : 'them'} in the graph
            </button>
          </div>
          <div class="table-box">
            <table class="data">
              <thead>
                <tr>
                  <th>Concept</th>
                  <th>Links</th>
                  <th>Relations</th>
                  <th>From</th>
                  {writable && <th>Heal</th>}
                </tr>
              </thead>
              <tbody>
                {missing.map((gap) => (
                  <tr key={gap.id}>
                    <td>
                      <NodeButton
                        card={{ id: gap.id, name: gap.name, type: 'missing', kind: 'missing', degree: gap.links }}
                        explorer={explorer}
                        path
                      />
                    </td>
                    <td class="figure">{gap.links}</td>
                    <td>
                      <Name text={gap.relations.join(', ')} />
                    </td>
                    <td>
                      {gap.from.map((card) => (
                        <NodeButton key={card.id} card={card} explorer={explorer} />
                      ))}
                    </td>
                    {writable && (
                      <td>
                        <button type="button" class="button" onClick={() => (editing.value = { kind: 'create', id: gap.id })}>
                          Write it
                        </button>
                      </td>
                    )}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </>
      )}
      {more && (
        <button type="button" class="button more" onClick={more}>
          Show more
        </button>
      )}
    </main>
  )
}
