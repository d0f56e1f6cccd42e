/** The dialog in which a reader writes. If a write fails, the typed text stays. */

import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Explorer } from '../explorer'
import { complain, say } from '../notices'
import { Failure, Name } from '../parts/basics'
import { SourceError } from '../source/errors'
import type { NodeDetail, Write, Written } from '../source/types'
import { CreateForm, EditForm } from './content-form'
import { FORM } from './form-field'
import { ForgetForm, MoveForm, RelateForm } from './relation-forms'
import { type Editing, editing } from './state'
import { KeepForm, SupersedeForm } from './upkeep-forms'

const TITLES: Record<Editing['kind'], string> = {
  create: 'New node',
  edit: 'Edit',
  relate: 'Relate',
  move: 'Move',
  supersede: 'Supersede',
  keep: 'Keep',
  forget: 'Forget',
}
const VERBS: Record<Editing['kind'], string> = { ...TITLES, create: 'Create', edit: 'Save', keep: 'Save' }

export function EditDialog({ explorer }: { explorer: Explorer }): JSX.Element | null {
  const open = editing.value
  const box = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    if (open) box.current?.showModal()
  }, [open])
  if (!open) return null
  return (
    <dialog
      ref={box}
      class={open.kind === 'edit' || open.kind === 'create' ? 'dialog wide' : 'dialog'}
      aria-labelledby="dialog-title"
      onClose={() => (editing.value = null)}>
      <h1 id="dialog-title">
        {TITLES[open.kind]}
        {'node' in open ? (
          <>
            {' '}
            <Name text={open.node.name} />
          </>
        ) : null}
      </h1>
      <Body explorer={explorer} open={open} close={() => box.current?.close()} />
    </dialog>
  )
}

function Body({ explorer, open, close }: { explorer: Explorer; open: Editing; close: () => void }): JSX.Element {
  const [message, setMessage] = useState('')
  const [error, setError] = useState<unknown>(null)
  const [busy, setBusy] = useState(false)
  const write = async (make: () => Promise<Write>) => {
    setBusy(true)
    setError(null)
    try {
      const change = await make()
      const written = await explorer.source.write(change, message)
      close()
      await shown(explorer, change, written)
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  const form = { explorer, write }
  return (
    <>
      {open.kind === 'create' && <CreateForm {...form} id={open.id} />}
      {open.kind === 'edit' && <EditForm {...form} node={open.node} />}
      {open.kind === 'relate' && <RelateForm {...form} node={open.node} />}
      {open.kind === 'move' && <MoveForm {...form} node={open.node} />}
      {open.kind === 'supersede' && <SupersedeForm {...form} node={open.node} />}
      {open.kind === 'keep' && <KeepForm {...form} node={open.node} />}
      {open.kind === 'forget' && <ForgetForm {...form} node={open.node} />}
      <label class="field">
        Message of the commit
        <input
          form={FORM}
          name="message"
          value={message}
          maxLength={500}
          placeholder="Why? (optional)"
          onInput={(event) => setMessage(event.currentTarget.value)}
        />
      </label>
      {error ? <WriteFailure error={error} open={open} explorer={explorer} solved={() => setError(null)} /> : null}
      <div class="form-buttons">
        <button type="button" class="button" onClick={close}>
          Cancel
        </button>
        <button form={FORM} type="submit" class={open.kind === 'forget' ? 'button danger' : 'button strong'} disabled={busy}>
          {busy ? 'Writing…' : explorer.about.value?.writable ? VERBS[open.kind] : 'Propose'}
        </button>
      </div>
    </>
  )
}

/** A conflict of versions shows both versions, and the typed text stays. */
function WriteFailure({
  error,
  open,
  explorer,
  solved,
}: {
  error: unknown
  open: Editing
  explorer: Explorer
  solved: () => void
}): JSX.Element {
  const conflict = error instanceof SourceError && error.name === 'VersionConflict'
  const reread = () => {
    if (!('node' in open)) return
    explorer.source.node(open.node.id, null).then((node: NodeDetail) => {
      editing.value = { ...open, node }
      solved()
    }, complain)
  }
  return (
    <>
      <Failure error={error} />
      {conflict && 'node' in open && (
        <button type="button" class="button" onClick={reread}>
          Keep my text and write over the newer version
        </button>
      )}
    </>
  )
}

/** Shows the written change with its commit, and a button to undo it. */
async function shown(explorer: Explorer, change: Write, written: Written): Promise<void> {
  if (written.proposal) {
    const label = 'Show the proposals'
    say('Proposed: it waits for a review.', { action: { label, run: () => explorer.look({ screen: 'proposals' }) } })
    return
  }
  const undo = written.commit
    ? {
        label: 'Undo',
        run: () =>
          void explorer.source.write({ op: 'revert', commit: written.commit!.commit }, '').then(() => say('Undone.'), complain),
      }
    : null
  const position = written.position.toLocaleString('en')
  say(
    written.changed
      ? `Written: commit ${written.commit?.commit ?? ''} at position ${position}.`
      : 'Nothing changed: it was so already.',
    { action: undo, hint: written.warnings[0] ?? null },
  )
  if (change.op === 'add') explorer.wrote(written.id ?? change.id)
  explorer.changed.value++
  await explorer.readAbout()
  if (change.op === 'add') await explorer.open(written.id ?? change.id)
  else if (change.op === 'link') await explorer.bring([change.source, change.target])
  else if (change.op === 'move') explorer.rename(change.id, written.id ?? change.to)
  else await explorer.show()
}
