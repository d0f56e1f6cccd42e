/** Proposed changes that wait for a review: their effects, and buttons to accept, reject or comment. */

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Explorer } from '../explorer'
import { complain, say } from '../notices'
import { Empty, Failure, Name, Waiting } from '../parts/basics'
import { DiffText } from '../parts/diff-text'
import { useLoad } from '../parts/load'
import type { ElementDiff, Proposal, Review } from '../source/types'
import { count, moment, valueText } from '../text/format'

export function ProposalsScreen({ explorer }: { explorer: Explorer }): JSX.Element {
  const [turn, setTurn] = useState(0)
  const [status, setStatus] = useState<'open' | 'all'>('open')
  const { value, error } = useLoad(() => explorer.source.proposals(status), [explorer, turn, status, explorer.changed.value])
  const again = () => setTurn((before) => before + 1)
  return (
    <main class="page" id="main">
      <h1>Proposals</h1>
      <p class="lead">Changes that somebody proposes. Their texts are theirs: judge them.</p>
      <label>
        <input
          type="checkbox"
          name="ended"
          checked={status === 'all'}
          onChange={(event) => setStatus(event.currentTarget.checked ? 'all' : 'open')}
        />{' '}
        Show those that have ended
      </label>
      {error ? <Failure error={error} /> : !value ? <Waiting /> : null}
      {value && !value.length && <Empty title="No proposal waits for a review." />}
      {value?.map((proposal) => (
        <ProposalView key={proposal.id} id={proposal.id} explorer={explorer} again={again} turn={turn} />
      ))}
    </main>
  )
}

interface Props {
  id: string
  explorer: Explorer
  again: () => void
  turn: number
}

function ProposalView({ id, explorer, again, turn }: Props): JSX.Element {
  const { value, error } = useLoad(() => explorer.source.proposal(id), [explorer, id, turn, explorer.changed.value])
  if (error) return <Failure error={error} />
  if (!value) return <Waiting />
  const conflicts = value.conflicts?.length ?? 0
  return (
    <section class="merge proposal">
      <h2>
        <Name text={value.message || `Proposal ${value.id}`} />
      </h2>
      <p class="lead">
        By <Name text={value.actor} />, {moment(value.time)}: {count(value.changes, 'change')}.{' '}
        {value.status === 'open' ? 'It waits for a review.' : <Ending proposal={value} />}
      </p>
      {conflicts > 0 && (
        <p class="warning">
          {count(conflicts, 'conflict')} with what was written since: it cannot be accepted as it is. Its author can propose it
          anew.
        </p>
      )}
      {value.diff && (
        <ul class="plain changes">
          {value.diff.map((change) => (
            <li key={change.id}>
              <ChangeView change={change} />
            </li>
          ))}
        </ul>
      )}
      {value.comments.length > 0 && (
        <ul class="plain comments">
          {value.comments.map((comment, i) => (
            <li key={i}>
              <strong>
                <Name text={comment.actor} />
              </strong>{' '}
              <span class="note">{moment(comment.time)}</span>: <Name text={comment.text} />
            </li>
          ))}
        </ul>
      )}
      {value.status === 'open' && <Decision proposal={value} explorer={explorer} again={again} />}
    </section>
  )
}

const Ending = ({ proposal }: { proposal: Proposal }): JSX.Element => (
  <>
    It was {proposal.status}
    {proposal.ended && (
      <>
        {' '}
        by <Name text={proposal.ended.by} />
        {proposal.ended.reason ? ': ' : '.'}
        <Name text={proposal.ended.reason} />
      </>
    )}
  </>
)

function ChangeView({ change }: { change: ElementDiff }): JSX.Element {
  const label = change.predicate
    ? `${change.subject?.name} —${change.predicate}→ ${change.object?.name}`
    : (change.name ?? change.id)
  return (
    <div class="change">
      <div class="change-head">
        <span class="change-word">{change.change}</span>
        <span class="uri">
          <Name text={label} />
        </span>
      </div>
      {change.values.map((value, i) => (
        <div key={i} class="value-change">
          <h3>
            <Name text={value.key ?? value.field} />
          </h3>
          <DiffText before={valueText(value.old)} after={valueText(value.new)} />
        </div>
      ))}
    </div>
  )
}

function Decision({ proposal, explorer, again }: { proposal: Proposal; explorer: Explorer; again: () => void }): JSX.Element {
  const [text, setText] = useState('')
  const writable = explorer.about.value?.writable ?? false
  const send = async (review: Review, done: string) => {
    try {
      await explorer.source.review(proposal.id, review)
      say(done)
      setText('')
      await explorer.readAbout()
      again()
    } catch (error) {
      complain(error)
    }
  }
  return (
    <div class="tools">
      <input
        aria-label="Comment, or reason"
        placeholder="Comment, or reason"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      {writable && (
        <>
          <button type="button" class="button strong" onClick={() => void send({ action: 'accept' }, 'Accepted.')}>
            Accept
          </button>
          <button
            type="button"
            class="button"
            disabled={!text.trim()}
            title="Write the reason first"
            onClick={() => void send({ action: 'reject', reason: text }, 'Rejected.')}>
            Reject
          </button>
        </>
      )}
      <button
        type="button"
        class="button"
        disabled={!text.trim()}
        onClick={() => void send({ action: 'comment', text }, 'The comment is there.')}>
        Comment
      </button>
    </div>
  )
}
