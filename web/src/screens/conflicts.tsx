/** Conflicts of open merges: base, mine and theirs side by side, an editable result, and the commit. */

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Explorer } from '../explorer'
import { complain, say } from '../notices'
import { Empty, Failure, Name, Waiting } from '../parts/basics'
import { DiffText } from '../parts/diff-text'
import { useLoad } from '../parts/load'
import type { Choice, Conflict, Merge, Resolution } from '../source/types'
import { count, valueText } from '../text/format'
import { ContestedLines } from './contested-lines'

export function ConflictsScreen({ explorer }: { explorer: Explorer }): JSX.Element {
  const [turn, setTurn] = useState(0)
  const { value, error } = useLoad(() => explorer.source.merges(), [explorer, turn, explorer.changed.value])
  const again = () => setTurn((before) => before + 1)
  return (
    <main class="page" id="main">
      <h1>Conflicts</h1>
      {error ? <Failure error={error} /> : !value ? <Waiting /> : null}
      {value && !value.length && (
        <Empty title="No merge is open.">
          <button type="button" class="link" onClick={() => explorer.look({ screen: 'branches' })}>
            Merge a branch
          </button>
          ; what both sides changed differently appears here.
        </Empty>
      )}
      {value?.map((merge) => (
        <MergeView key={merge.id} merge={merge} explorer={explorer} again={again} />
      ))}
    </main>
  )
}

interface Props {
  merge: Merge
  explorer: Explorer
  again: () => void
}

function MergeView({ merge, explorer, again }: Props): JSX.Element {
  const [message, setMessage] = useState('')
  const open = merge.conflicts.filter((conflict) => !conflict.resolution).length
  const writable = explorer.about.value?.writable ?? false
  const conclude = async () => {
    try {
      const written = await explorer.source.conclude(merge.id, message)
      say(`Merged: commit ${written.commit?.commit ?? ''} at position ${written.position}.`)
      await explorer.readAbout()
      again()
    } catch (error) {
      complain(error)
    }
  }
  const abandon = () =>
    void explorer.source.abandon(merge.id).then(() => (say('The merge is abandoned; nothing was changed.'), again()), complain)
  return (
    <section class="merge">
      <h2>
        <Name text={merge.source} /> into <Name text={merge.into} />
      </h2>
      <p class="lead">
        {open
          ? `${count(open, 'conflict')} of ${merge.conflicts.length} still open. Nothing is committed until all are resolved.`
          : 'All conflicts are resolved.'}
      </p>
      {merge.warnings?.map((warning) => (
        <p key={warning} class="warning">
          <Name text={warning} />
        </p>
      ))}
      {writable && open > 1 && <DecideAll merge={merge} explorer={explorer} again={again} />}
      {merge.conflicts.map((conflict) => (
        <ConflictView key={conflict.id} conflict={conflict} merge={merge} explorer={explorer} again={again} />
      ))}
      {merge.choices && merge.choices.length > 0 && <Choices choices={merge.choices} />}
      {writable && (
        <div class="tools">
          <input
            aria-label="Message of the merge commit"
            placeholder="Message of the merge commit"
            value={message}
            onInput={(event) => setMessage(event.currentTarget.value)}
          />
          <button type="button" class="button strong" disabled={open > 0} onClick={() => void conclude()}>
            Commit the merge
          </button>
          <button type="button" class="button" onClick={abandon}>
            Abandon
          </button>
        </div>
      )}
    </section>
  )
}

/** Decides about all open conflicts that offer a side. */
function DecideAll({ merge, explorer, again }: Props): JSX.Element {
  const take = (choice: 'ours' | 'theirs') => {
    const fitting = merge.conflicts.filter(({ resolution, options }) => !resolution && (options ?? [choice]).includes(choice))
    void explorer.source
      .resolve(
        merge.id,
        fitting.map(({ id }) => ({ conflict: id, choice })),
      )
      .then(again, complain)
  }
  return (
    <div class="actions" role="group" aria-label="All open conflicts">
      <button type="button" class="button" onClick={() => take('ours')}>
        Take mine everywhere
      </button>
      <button type="button" class="button" onClick={() => take('theirs')}>
        Take theirs everywhere
      </button>
    </div>
  )
}

/** The values that rules have chosen. */
const Choices = ({ choices }: { choices: Choice[] }): JSX.Element => (
  <details>
    <summary>{count(choices.length, 'value')} chosen by rules</summary>
    <ul class="plain">
      {choices.map((choice) => (
        <li key={choice.id}>
          <Name text={choice.label ?? ''} /> <code>{(choice.path ?? []).join('.')}</code>: <Name text={valueText(choice.value)} />{' '}
          <span class="note">
            {choice.side}, by {choice.rule}
            {choice.reason ? `: ${choice.reason}` : ''}
          </span>
        </li>
      ))}
    </ul>
  </details>
)

function ConflictView({ conflict, merge, explorer, again }: Props & { conflict: Conflict }): JSX.Element {
  const [text, setText] = useState(valueText(conflict.resolution?.value ?? conflict.theirs ?? conflict.ours))
  const [editing, setEditing] = useState<'value' | 'lines' | null>(null)
  const toggle = (part: 'value' | 'lines') => setEditing(editing === part ? null : part)
  const resolve = (resolution: Resolution) =>
    void explorer.source.resolve(merge.id, [{ conflict: conflict.id, ...resolution }]).then(again, complain)
  const writable = explorer.about.value?.writable ?? false
  const options = conflict.options ?? ['ours', 'theirs', 'base', 'value']
  const label = [conflict.field, ...(conflict.path ?? [])].filter(Boolean).join('.')
  return (
    <article class={conflict.resolution ? 'conflict resolved' : 'conflict'}>
      <h3>
        <span class="change-sign changed" aria-hidden="true">
          {conflict.resolution ? '✓' : '!'}
        </span>{' '}
        <Name text={conflict.label || conflict.card?.name || conflict.id} /> {label && <code>{label}</code>}{' '}
        <span class="note">{conflict.kind}</span>
      </h3>
      {conflict.reason && (
        <p class="note">
          <Name text={conflict.reason} />
        </p>
      )}
      <div class="sides">
        <Side title="Base" value={conflict.base} />
        <Side title={`Mine (${merge.into})`} value={conflict.ours} base={conflict.base} best={conflict.suggestion === 'ours'} />
        <Side
          title={`Theirs (${merge.source})`}
          value={conflict.theirs}
          base={conflict.base}
          best={conflict.suggestion === 'theirs'}
        />
      </div>
      {conflict.resolution && (
        <p class="good">
          ✓ Resolved: {conflict.resolution.choice}
          {conflict.resolution.choice === 'value' || conflict.resolution.choice === 'lines' ? (
            <>
              {' '}
              “<Name text={valueText(conflict.resolution.value)} />”
            </>
          ) : null}
        </p>
      )}
      {writable && (
        <div class="actions">
          {options.includes('ours') && (
            <button type="button" class="button" onClick={() => resolve({ choice: 'ours' })}>
              Take mine
            </button>
          )}
          {options.includes('theirs') && (
            <button type="button" class="button" onClick={() => resolve({ choice: 'theirs' })}>
              Take theirs
            </button>
          )}
          {options.includes('base') && (
            <button type="button" class="button" onClick={() => resolve({ choice: 'base' })}>
              Take base
            </button>
          )}
          {options.includes('lines') && conflict.hunks && (
            <button type="button" class="button" aria-expanded={editing === 'lines'} onClick={() => toggle('lines')}>
              Edit the contested lines
            </button>
          )}
          {options.includes('value') && (
            <button type="button" class="button" aria-expanded={editing === 'value'} onClick={() => toggle('value')}>
              Edit the result
            </button>
          )}
        </div>
      )}
      {editing === 'lines' && conflict.hunks && (
        <ContestedLines hunks={conflict.hunks} use={(value) => resolve({ choice: 'lines', value })} />
      )}
      {editing === 'value' && (
        <div class="result">
          <label class="field">
            Result
            <textarea rows={6} value={text} onInput={(event) => setText(event.currentTarget.value)} />
          </label>
          <button type="button" class="button strong" onClick={() => resolve({ choice: 'value', value: typed(text, conflict) })}>
            Use this result
          </button>
        </div>
      )}
    </article>
  )
}

/** The text as a value of the kind that both sides have: a text as it is, any other value as JSON. */
function typed(text: string, { ours, theirs }: Conflict): unknown {
  if (typeof ours === 'string' || typeof theirs === 'string') return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function Side({ title, value, base, best }: { title: string; value: unknown; base?: unknown; best?: boolean }): JSX.Element {
  const text = valueText(value)
  return (
    <div class={best ? 'side best' : 'side'}>
      <h4>
        {title}
        {best ? ' · suggested' : ''}
      </h4>
      {value === undefined ? (
        <p class="note">not there</p>
      ) : base !== undefined ? (
        <DiffText before={valueText(base)} after={text} />
      ) : (
        <pre class="plain-text">
          <bdi>{text}</bdi>
        </pre>
      )}
    </div>
  )
}
