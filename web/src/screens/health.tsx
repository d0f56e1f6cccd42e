/** The health of the graph: the findings and the actions of upkeep. */

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Explorer } from '../explorer'
import { Empty, Failure, Name, NodeButton, Waiting } from '../parts/basics'
import { useLoad } from '../parts/load'
import type { HealthSection } from '../source/types'
import { count, moment, number } from '../text/format'

const SHOWN = 20
const ALL = 200

const SECTIONS: Record<HealthSection['name'], { title: string; lead: string }> = {
  stale: { title: 'Stale', lead: 'Due by a rule of retention, or written before a file that it is about changed.' },
  contested: { title: 'Contested', lead: 'Links that cannot hold at the same time, or that a source challenges.' },
  duplicate: { title: 'Duplicate', lead: 'Concepts that may be one.' },
  orphaned: { title: 'Orphaned', lead: 'Concepts without a link, domains without a member, and what nobody has written.' },
  events: { title: 'To distil', lead: 'Events that may have taught something that lasts.' },
}

export function HealthScreen({ explorer }: { explorer: Explorer }): JSX.Element {
  const [limit, setLimit] = useState(SHOWN)
  const { value: health, error } = useLoad(() => explorer.source.health(limit), [explorer, explorer.changed.value, limit])
  if (error)
    return (
      <Page>
        <Failure error={error} />
      </Page>
    )
  if (!health)
    return (
      <Page>
        <Waiting />
      </Page>
    )
  const ill = health.sections.filter((section) => section.total > 0)
  return (
    <Page>
      <p class="lead" id="health-summary">
        {health.last_cycle
          ? `The last cycle of upkeep ran ${moment(health.last_cycle)}.`
          : 'No cycle of upkeep has run yet: mycel sleep runs one.'}{' '}
        {health.tasks
          ? `${count(health.tasks, 'task')} ${health.tasks === 1 ? 'waits' : 'wait'} for a decision (tend_memory, or db.tasks).`
          : 'No task waits.'}
      </p>
      {!ill.length && <Empty title="All is well.">Nothing is stale, contested, duplicate or orphaned.</Empty>}
      {ill.map((section) => (
        <section key={section.name} class="health" data-health={section.name}>
          <h2>
            {SECTIONS[section.name].title} <span class="figure">{number(section.total)}</span>
          </h2>
          <p class="lead">{SECTIONS[section.name].lead}</p>
          <ul class="plain">
            {section.findings.map((finding) => (
              <li key={finding.task || finding.nodes.map((card) => card.id).join()}>
                {finding.nodes.map((card) => (
                  <NodeButton key={card.id} card={card} explorer={explorer} />
                ))}{' '}
                <Name text={finding.text} />
              </li>
            ))}
          </ul>
          {section.total > section.findings.length && limit === SHOWN && (
            <button type="button" class="button more" onClick={() => setLimit(ALL)}>
              Show more
            </button>
          )}
        </section>
      ))}
      {health.growing.length > 0 && (
        <section class="health" data-health="growing">
          <h2>Growing</h2>
          <div class="table-box">
            <table class="data">
              <thead>
                <tr>
                  <th>Type</th>
                  <th>New in a week</th>
                  <th>All</th>
                  <th>Archived</th>
                </tr>
              </thead>
              <tbody>
                {health.growing.map((row) => (
                  <tr key={row.type}>
                    <td>
                      <Name text={row.type} />
                    </td>
                    <td class="figure">{number(row.new)}</td>
                    <td class="figure">{number(row.concepts)}</td>
                    <td class="figure">{number(row.archived)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </section>
      )}
      {health.log.length > 0 && (
        <section class="health" data-health="log">
          <h2>Maintenance log</h2>
          <ul class="plain">
            {health.log.map((entry) => (
              <li key={entry.time}>
                <time dateTime={entry.time}>{moment(entry.time)}</time>: <Name text={entry.done || 'nothing to do'} />
              </li>
            ))}
          </ul>
        </section>
      )}
    </Page>
  )
}

function Page({ children }: { children: preact.ComponentChildren }): JSX.Element {
  return (
    <main class="page" id="main">
      <h1>Health</h1>
      {children}
    </main>
  )
}
