/** The first panel: the size of the graph, its last changes, and missing concepts. */

import type { JSX } from 'preact'
import type { Explorer } from '../explorer'
import { Empty, Failure, Name, NodeButton, Time } from '../parts/basics'
import { useLoad } from '../parts/load'
import type { Commit, MissingConcept } from '../source/types'
import { count, number } from '../text/format'
import { graphName } from '../title'

const RECENT = 8
const GAPS = 8

export function StartPanel({ explorer }: { explorer: Explorer }): JSX.Element {
  const about = explorer.about.value
  if (!about) return <div class="panel-body" />
  const counts = explorer.counts.value
  return (
    <div class="panel-body">
      <h1 class="panel-title">
        <Name text={graphName(about)} />
      </h1>
      {counts && (
        <dl class="figures">
          <div>
            <dt>nodes</dt>
            <dd>{number(counts.nodes)}</dd>
          </div>
          <div>
            <dt>links</dt>
            <dd>{number(counts.links)}</dd>
          </div>
          <div class={counts.missing ? 'missing' : undefined}>
            <dt>missing</dt>
            <dd>{number(counts.missing)}</dd>
          </div>
        </dl>
      )}
      {explorer.source.abilities.time && <Recent explorer={explorer} />}
      <Gaps explorer={explorer} />
    </div>
  )
}

function Recent({ explorer }: { explorer: Explorer }): JSX.Element {
  const { at } = explorer.view.value
  const { value, error } = useLoad(
    () => explorer.source.commits(at === null ? null : at + 1, RECENT),
    [explorer, at, explorer.changed.value],
  )
  return (
    <section>
      <h2>Recent changes</h2>
      {error ? <Failure error={error} /> : null}
      {value && !value.commits.length && <Empty title="Nothing was written yet." />}
      <ol class="commits">
        {value?.commits.map((commit) => (
          <li key={commit.seq}>
            <CommitLine commit={commit} explorer={explorer} />
          </li>
        ))}
      </ol>
    </section>
  )
}

/** One transaction: who, when, why. It opens the comparison with the state before. */
export function CommitLine({ commit, explorer }: { commit: Commit; explorer: Explorer }): JSX.Element {
  return (
    <button
      type="button"
      class="commit"
      onClick={() => explorer.look({ screen: 'compare', from: String(commit.before), to: String(commit.seq) })}>
      <span class="commit-message">
        <Name text={commit.message || count(commit.changes, 'change')} />
      </span>
      <span class="commit-note">
        <Name text={commit.actor ?? 'unknown'} /> · <Time time={commit.time} />
        {commit.message ? ` · ${count(commit.changes, 'change')}` : ''}
      </span>
    </button>
  )
}

function Gaps({ explorer }: { explorer: Explorer }): JSX.Element {
  const { at } = explorer.view.value
  const { value, error } = useLoad(() => explorer.source.missing(null, at), [explorer, at, explorer.changed.value])
  return (
    <section>
      <h2>Missing concepts</h2>
      {error ? <Failure error={error} /> : null}
      {value && !value.missing.length && <p class="good">✓ Every link leads to something that is written.</p>}
      <ul class="plain">
        {value?.missing.slice(0, GAPS).map((gap) => (
          <li key={gap.id}>
            <Gap gap={gap} explorer={explorer} />
          </li>
        ))}
      </ul>
      {value && value.total > GAPS && (
        <button type="button" class="link" onClick={() => explorer.look({ screen: 'missing' })}>
          All {number(value.total)} missing concepts
        </button>
      )}
    </section>
  )
}

function Gap({ gap, explorer }: { gap: MissingConcept; explorer: Explorer }): JSX.Element {
  const card = { id: gap.id, name: gap.name, type: 'missing', kind: 'missing' as const, degree: gap.links }
  return (
    <div class="gap-row">
      <NodeButton card={card} explorer={explorer} />
      <span class="note">
        from {gap.from.length ? <Name text={gap.from[0]!.name} /> : 'nowhere'}
        {gap.links > 1 ? ` and ${gap.links - 1} more` : ''}
      </span>
    </div>
  )
}
