/** The branches of the graph: how far each is from main, a new one from here, and merges into the one that is shown. */

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Explorer } from '../explorer'
import { complain, say } from '../notices'
import { Failure, Name, Time, Waiting } from '../parts/basics'
import { useLoad } from '../parts/load'
import type { Branch } from '../source/types'
import { count } from '../text/format'
import { MergeForm } from './merge-form'

const MAIN = 'main'

export function BranchesScreen({ explorer }: { explorer: Explorer }): JSX.Element {
  const [turn, setTurn] = useState(0)
  const { value, error } = useLoad(() => explorer.source.branches(), [explorer, turn, explorer.changed.value])
  const writable = explorer.about.value?.writable ?? false
  const again = () => setTurn((before) => before + 1)
  const here = explorer.about.value?.branch ?? ''
  return (
    <main class="page" id="main">
      <h1>Branches</h1>
      <p class="lead">
        A branch is a copy of the graph with a history of its own. What is written on it reaches others when it is merged.
      </p>
      {error ? <Failure error={error} /> : !value ? <Waiting /> : null}
      {writable && here && <NewBranch explorer={explorer} here={here} />}
      <ul class="plain branches">
        {value?.map((branch) => (
          <BranchRow key={branch.branch} branch={branch} here={here} explorer={explorer} writable={writable} again={again} />
        ))}
      </ul>
      {!writable && <p class="note">This server is read-only: branches are shown, not made or merged.</p>}
    </main>
  )
}

/** Shows a branch. Nodes on the canvas stay if the branch has them. */
function showBranch(explorer: Explorer, branch: string): void {
  const view = explorer.view.value
  void explorer.go({ ...view, screen: view.screen === 'branches' ? 'graph' : view.screen, branch, at: null })
}

function NewBranch({ explorer, here }: { explorer: Explorer; here: string }): JSX.Element {
  const [name, setName] = useState('')
  const [error, setError] = useState<unknown>(null)
  const [busy, setBusy] = useState(false)
  const create = async (event: Event) => {
    event.preventDefault()
    setBusy(true)
    setError(null)
    try {
      const { branch } = await explorer.source.createBranch(name.trim())
      say(`The branch ${branch} is made from ${here}, and shown now.`, {
        action: { label: `Back to ${here}`, run: () => showBranch(explorer, here) },
      })
      showBranch(explorer, branch)
    } catch (failure) {
      setError(failure)
      setBusy(false)
    }
  }
  return (
    <form class="branch-form" onSubmit={(event) => void create(event)}>
      <label class="field">
        <span>
          New branch from <Name text={here} /> as it is now
        </span>
        <span class="field-line">
          <input
            name="branch"
            required
            maxLength={100}
            value={name}
            placeholder="draft"
            autocomplete="off"
            spellcheck={false}
            onInput={(event) => setName(event.currentTarget.value)}
          />
          <button type="submit" class="button strong" disabled={busy || !name.trim()}>
            {busy ? 'Copying…' : 'Create and show'}
          </button>
        </span>
      </label>
      {error ? <Failure error={error} /> : null}
    </form>
  )
}

interface RowProps {
  branch: Branch
  here: string
  explorer: Explorer
  writable: boolean
  again: () => void
}

function BranchRow({ branch, here, explorer, writable, again }: RowProps): JSX.Element {
  const [open, setOpen] = useState<'merge' | 'delete' | null>(null)
  const { branch: name } = branch
  const shown = name === here
  return (
    <li class={shown ? 'branch shown-branch' : 'branch'}>
      <div class="branch-row">
        <strong>
          <Name text={name} />
        </strong>
        {shown && <span class="badge">shown here</span>}
        <span class="note">
          {distance(branch)} · last commit <Time time={branch.time} />
        </span>
        <span class="gap" />
        {!shown && (
          <button type="button" class="button" onClick={() => showBranch(explorer, name)}>
            Show
          </button>
        )}
        {!shown && (
          <button type="button" class="button" onClick={() => explorer.look({ screen: 'compare', from: here, to: name })}>
            Compare
          </button>
        )}
        {!shown && writable && (
          <button
            type="button"
            class="button"
            aria-expanded={open === 'merge'}
            onClick={() => setOpen(open === 'merge' ? null : 'merge')}>
            Merge into {here}…
          </button>
        )}
        {!shown && writable && name !== MAIN && (
          <button
            type="button"
            class="button"
            aria-expanded={open === 'delete'}
            onClick={() => setOpen(open === 'delete' ? null : 'delete')}>
            Delete…
          </button>
        )}
      </div>
      {open === 'merge' && <MergeForm explorer={explorer} source={name} into={here} done={() => (setOpen(null), again())} />}
      {open === 'delete' && <DeleteForm branch={branch} explorer={explorer} done={() => (setOpen(null), again())} />}
    </li>
  )
}

/** The distance of a branch from main in words. */
function distance({ branch, ahead, behind, merged }: Branch): string {
  if (branch === MAIN) return 'the branch that others are measured by'
  if (!ahead && !behind) return `same as ${MAIN}`
  const parts = [ahead && `${count(ahead, 'commit')} ahead of ${MAIN}`, behind && `${count(behind, 'commit')} behind`]
    .filter(Boolean)
    .join(', ')
  return ahead && merged ? `${parts}, merged` : parts
}

function DeleteForm({ branch, explorer, done }: { branch: Branch; explorer: Explorer; done: () => void }): JSX.Element {
  const remove = () =>
    void explorer.source
      .deleteBranch(branch.branch, !branch.merged)
      .then(() => (say(`The branch ${branch.branch} is deleted.`), done()), complain)
  return (
    <div class="branch-more">
      <p>
        {branch.merged
          ? `${MAIN} has all of its commits.`
          : `Its ${count(branch.ahead, 'commit')} that ${MAIN} lacks will be lost for good.`}
      </p>
      <button type="button" class="button danger" onClick={remove}>
        Delete <Name text={branch.branch} />
      </button>
    </div>
  )
}
