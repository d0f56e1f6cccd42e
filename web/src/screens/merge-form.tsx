/** The form that starts a merge: a preview of its changes, the choice for contested values, and the merge. */

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Explorer } from '../explorer'
import { say } from '../notices'
import { Failure, Name, Waiting } from '../parts/basics'
import { useLoad } from '../parts/load'
import { type Change, MERGE_POLICIES, type MergeOutcome, type MergePolicy } from '../source/types'
import { count, number } from '../text/format'

const LABELS: Record<MergePolicy, string> = { ask: 'ask me', newest: 'take the newest', ours: 'take mine', theirs: 'take theirs' }

const CHANGES: readonly Change[] = ['added', 'changed', 'moved', 'removed']

interface Props {
  explorer: Explorer
  source: string
  into: string
  done: () => void
}

export function MergeForm({ explorer, source, into, done }: Props): JSX.Element {
  const [policy, setPolicy] = useState<MergePolicy>('ask')
  const [message, setMessage] = useState('')
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState<unknown>(null)
  const { value: plan, error } = useLoad(
    () => explorer.source.startMerge(source, { policy, dryRun: true, message: '' }),
    [explorer, source, policy, explorer.changed.value],
  )
  const merge = async (event: Event) => {
    event.preventDefault()
    setBusy(true)
    setFailure(null)
    try {
      await follow(await explorer.source.startMerge(source, { policy, dryRun: false, message }))
    } catch (problem) {
      setFailure(problem)
      setBusy(false)
    }
  }
  const follow = async (outcome: MergeOutcome) => {
    if (outcome.status === 'merged') say(`${source} is merged into ${into}: commit ${outcome.commit ?? ''}.`)
    else if (outcome.status === 'up_to_date') say(`${into} has all of ${source} already.`)
    explorer.changed.value++
    await explorer.readAbout()
    done()
    if (outcome.id) explorer.look({ screen: 'conflicts' })
    else await explorer.show()
  }
  return (
    <form class="branch-more" onSubmit={(event) => void merge(event)}>
      <div aria-live="polite">{error ? <Failure error={error} /> : plan ? <Plan plan={plan} into={into} /> : <Waiting />}</div>
      <div class="merge-fields">
        <label class="field">
          Where both changed a value
          <select value={policy} onChange={(event) => setPolicy(event.currentTarget.value as MergePolicy)}>
            {MERGE_POLICIES.map((word) => (
              <option key={word} value={word}>
                {LABELS[word]}
              </option>
            ))}
          </select>
        </label>
        <label class="field">
          Message of the commit
          <input
            value={message}
            maxLength={500}
            placeholder="Why? (optional)"
            onInput={(event) => setMessage(event.currentTarget.value)}
          />
        </label>
      </div>
      {failure ? <Failure error={failure} /> : null}
      <button type="submit" class="button strong" disabled={busy || !plan || plan.status === 'up_to_date'}>
        {busy ? (
          'Merging…'
        ) : plan?.conflicts.length ? (
          <>
            Start the merge into <Name text={into} />
          </>
        ) : (
          <>
            Merge into <Name text={into} />
          </>
        )}
      </button>
    </form>
  )
}

function Plan({ plan, into }: { plan: MergeOutcome; into: string }): JSX.Element {
  const counts = CHANGES.filter((change) => plan.diff[change])
  return (
    <>
      <p>
        {plan.status === 'up_to_date' ? (
          <>
            <Name text={into} /> has all of it already.
          </>
        ) : counts.length ? (
          <>
            It would change <Name text={into} />: {counts.map((change) => `${number(plan.diff[change])} ${change}`).join(', ')}.
          </>
        ) : (
          'Nothing else would change.'
        )}
        {plan.conflicts.length > 0 && (
          <strong>
            {' '}
            {count(plan.conflicts.length, 'conflict')} would be open: you decide each before anything is committed.
          </strong>
        )}
        {plan.choices && plan.choices.length > 0 && <> {count(plan.choices.length, 'contested value')} chosen by rules.</>}
      </p>
      {plan.warnings?.map((warning) => (
        <p key={warning} class="warning">
          <Name text={warning} />
        </p>
      ))}
    </>
  )
}
