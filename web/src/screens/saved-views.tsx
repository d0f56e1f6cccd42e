/** Views of the graph under names: saved, opened, renamed and deleted by everybody who uses the graph. */

import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Explorer } from '../explorer'
import { GROUP_PREFIX } from '../graph/scene'
import type { Stage } from '../graph/stage'
import { complain, say } from '../notices'
import { Empty, Failure, Name, Time, Waiting } from '../parts/basics'
import { useLoad } from '../parts/load'
import { SourceError } from '../source/errors'
import type { SavedContent, SavedHead } from '../source/types'
import { START } from '../view'

export const savedOpen = signal(false)
const TAKEN = 'DuplicateExists'

interface Props {
  explorer: Explorer
  stage: Stage | null
}

export function SavedViewsDialog({ explorer, stage }: Props): JSX.Element | null {
  const box = useRef<HTMLDialogElement>(null)
  const open = savedOpen.value
  useEffect(() => {
    if (open) box.current?.showModal()
  }, [open])
  if (!open) return null
  return (
    <dialog ref={box} class="dialog" aria-labelledby="saved-title" onClose={() => (savedOpen.value = false)}>
      <h1 id="saved-title" tabIndex={-1} autofocus>
        Saved views
      </h1>
      <Body explorer={explorer} stage={stage} close={() => box.current?.close()} />
      <div class="form-buttons">
        <button type="button" class="button" onClick={() => box.current?.close()}>
          Close
        </button>
      </div>
    </dialog>
  )
}

function Body({ explorer, stage, close }: Props & { close: () => void }): JSX.Element {
  const [turn, setTurn] = useState(0)
  const { value, error } = useLoad(() => explorer.source.savedViews(), [explorer, turn])
  const again = () => setTurn((before) => before + 1)
  const writable = explorer.about.value?.writable ?? false
  return (
    <>
      {writable && <SaveForm explorer={explorer} stage={stage} views={value ?? []} again={again} />}
      {error ? (
        <Failure error={error} />
      ) : !value ? (
        <Waiting />
      ) : (
        !value.length && (
          <Empty title="No view is saved yet.">
            {writable ? 'Save what is shown now under a name.' : 'This server is read-only.'}
          </Empty>
        )
      )}
      <ul class="plain saved-views">
        {value?.map((view) => (
          <SavedRow key={view.id} view={view} explorer={explorer} stage={stage} writable={writable} again={again} close={close} />
        ))}
      </ul>
      <p class="note">
        Saved views are kept in the file of the graph, beside its knowledge: everybody who opens this branch finds them.
      </p>
    </>
  )
}

/** All of the view that is shown: what is open, hidden and filtered, the places of nodes, and the camera. */
function contentOf(explorer: Explorer, stage: Stage | null): SavedContent {
  const { by, group, size, ids, less, hide, route, span, selected, at, holds, table } = explorer.view.value
  const positions: SavedContent['positions'] = {}
  for (const { id, x, y, pinned } of explorer.scene.value.nodes.values()) {
    if (!id.startsWith(GROUP_PREFIX)) positions[id] = [Math.round(x), Math.round(y), pinned]
  }
  const camera = stage?.camera.value
  return {
    view: {
      by,
      size,
      ids,
      less,
      hide,
      table,
      ...(group !== null && { group }),
      ...(route && { route }),
      ...(span && { span }),
      ...(holds && { holds }),
      ...(selected && { selected }),
      ...(at !== null && { at }),
    },
    positions,
    ...(camera && { camera: [camera.x, camera.y, camera.zoom] }),
  }
}

interface FormProps extends Props {
  views: SavedHead[]
  again: () => void
}

function SaveForm({ explorer, stage, views, again }: FormProps): JSX.Element {
  const [name, setName] = useState('')
  const [error, setError] = useState<unknown>(null)
  const same = views.find((view) => view.name === name.trim())
  const save = async (event: Event) => {
    event.preventDefault()
    setError(null)
    try {
      const view = await explorer.source.saveView(name, contentOf(explorer, stage), same?.id ?? null)
      say(`The view ${view.name} is saved.`)
      setName('')
    } catch (failure) {
      setError(failure)
    }
    again()
  }
  const taken = error instanceof SourceError && error.name === TAKEN
  return (
    <form onSubmit={(event) => void save(event)}>
      <label class="field">
        Save what is shown as
        <span class="field-line">
          <input
            name="view"
            required
            maxLength={100}
            value={name}
            placeholder="Name"
            autocomplete="off"
            onInput={(event) => setName(event.currentTarget.value)}
          />
          <button type="submit" class="button strong" disabled={!name.trim()}>
            {same ? 'Replace' : 'Save'}
          </button>
        </span>
      </label>
      {error && !(taken && same) ? <Failure error={error} /> : null}
    </form>
  )
}

interface RowProps extends Props {
  view: SavedHead
  writable: boolean
  again: () => void
  close: () => void
}

function SavedRow({ view, explorer, stage, writable, again, close }: RowProps): JSX.Element {
  const [mode, setMode] = useState<'rename' | 'delete' | null>(null)
  const [name, setName] = useState(view.name)
  const done = (words: string) => (say(words), setMode(null), again())
  const open = async () => {
    try {
      const { view: saved, positions, camera } = await explorer.source.savedView(view.id)
      close()
      const { branch } = explorer.view.value
      const { group = null, route = null, span = null, selected = null, at = null, holds = '', ...rest } = saved
      await explorer.openSaved(
        {
          ...START,
          ...rest,
          group,
          route: route ?? null,
          span: span ?? null,
          holds,
          selected: selected ?? null,
          at: at ?? null,
          branch,
        },
        positions,
      )
      if (camera) stage?.turnTo({ x: camera[0]!, y: camera[1]!, zoom: camera[2]! })
      say(`The view ${view.name} is shown.`)
    } catch (error) {
      complain(error)
    }
  }
  const rename = (event: Event) => {
    event.preventDefault()
    explorer.source.renameView(view.id, name).then(() => done(`The view is now called ${name.trim()}.`), complain)
  }
  const remove = () => explorer.source.deleteView(view.id).then(() => done(`The view ${view.name} is deleted.`), complain)
  return (
    <li>
      <div class="branch-row">
        <button type="button" class="link" onClick={() => void open()}>
          <Name text={view.name} />
        </button>
        <span class="note">
          <Name text={view.actor} />, <Time time={view.time} />
        </span>
        <span class="gap" />
        {writable && (
          <button
            type="button"
            class="button"
            aria-label={`Rename ${view.name}`}
            aria-expanded={mode === 'rename'}
            onClick={() => setMode(mode === 'rename' ? null : 'rename')}>
            Rename
          </button>
        )}
        {writable && (
          <button
            type="button"
            class="button"
            aria-label={`Delete ${view.name}`}
            aria-expanded={mode === 'delete'}
            onClick={() => setMode(mode === 'delete' ? null : 'delete')}>
            Delete
          </button>
        )}
      </div>
      {mode === 'rename' && (
        <form class="field-line" onSubmit={rename}>
          <input
            aria-label="New name"
            required
            maxLength={100}
            value={name}
            onInput={(event) => setName(event.currentTarget.value)}
          />
          <button type="submit" class="button strong">
            Rename
          </button>
        </form>
      )}
      {mode === 'delete' && (
        <p>
          It is deleted for everybody.{' '}
          <button type="button" class="button danger" onClick={() => void remove()}>
            Delete for good
          </button>
        </p>
      )}
    </li>
  )
}
