/** The timeline: every commit, newest first, with the way to its changes and to its moment. */

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Explorer } from '../explorer'
import { Empty, Failure, Name, Time, Waiting } from '../parts/basics'
import { usePages } from '../parts/load'
import type { Commit } from '../source/types'
import { count, moment, number } from '../text/format'

const PAGE = 50

export function TimelineScreen({ explorer }: { explorer: Explorer }): JSX.Element {
  const { pages, error, more } = usePages(
    (before: number | null) => explorer.source.commits(before, PAGE),
    (page) => page.next_before,
    [explorer, explorer.changed.value],
  )
  const [marked, setMarked] = useState<number | null>(null)
  const commits = pages.flatMap((page) => page.commits)
  const show = (commit: Commit) => {
    explorer.look({ screen: 'graph' })
    explorer.showMoment(commit.seq)
  }
  return (
    <main class="page" id="main">
      <h1>Timeline</h1>
      <p class="lead">Every commit of the graph, newest first.</p>
      {error ? (
        <Failure error={error} />
      ) : !pages.length ? (
        <Waiting />
      ) : !commits.length ? (
        <Empty title="Nothing was written yet." />
      ) : null}
      {days(commits).map(([day, those]) => (
        <section key={day} class="day">
          <h2>{day}</h2>
          <ol class="timeline">
            {those.map((commit) => (
              <li key={commit.seq} class={commit.seq === marked ? 'marked' : undefined}>
                <div class="timeline-main">
                  <strong>
                    <Name text={commit.message || count(commit.changes, 'change')} />
                  </strong>
                  <span class="note">
                    <Name text={commit.actor ?? 'unknown'} /> · <Time time={commit.time} /> · {count(commit.changes, 'change')} ·
                    position {number(commit.seq)}
                  </span>
                </div>
                <div class="actions">
                  <button
                    type="button"
                    class="button"
                    onClick={() => explorer.look({ screen: 'compare', from: String(commit.before), to: String(commit.seq) })}>
                    Changes
                  </button>
                  <button type="button" class="button" onClick={() => show(commit)}>
                    Graph as of then
                  </button>
                  {marked === null ? (
                    <button type="button" class="button" onClick={() => setMarked(commit.seq)}>
                      Compare from here
                    </button>
                  ) : (
                    <button
                      type="button"
                      class="button strong"
                      disabled={marked === commit.seq}
                      onClick={() =>
                        explorer.look({
                          screen: 'compare',
                          from: String(Math.min(marked, commit.seq)),
                          to: String(Math.max(marked, commit.seq)),
                        })
                      }>
                      Compare to here
                    </button>
                  )}
                </div>
              </li>
            ))}
          </ol>
        </section>
      ))}
      {more && (
        <button type="button" class="button more" onClick={more}>
          Older commits
        </button>
      )}
    </main>
  )
}

function days(commits: Commit[]): [string, Commit[]][] {
  const days = new Map<string, Commit[]>()
  for (const commit of commits) {
    const day = moment(commit.time).slice(0, 10)
    const those = days.get(day)
    if (those) those.push(commit)
    else days.set(day, [commit])
  }
  return [...days]
}
