/** The row of tools above the canvas. */

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { editing } from '../edit/state'
import type { Explorer } from '../explorer'
import { download, pngOf, svgOf } from '../graph/picture-export'
import type { Stage } from '../graph/stage'
import { complain } from '../notices'
import {
  BookmarkIcon,
  FilterIcon,
  FitIcon,
  GraphIcon,
  LayoutIcon,
  PlusIcon,
  RedoIcon,
  SaveIcon,
  TableIcon,
  UndoIcon,
} from '../parts/icons'
import { count } from '../text/format'
import { graphName } from '../title'
import { shownText } from './graph-counts'
import { toggleSpan } from './graph-span'
import { savedOpen } from './saved-views'

interface Props {
  explorer: Explorer
  stage: Stage | null
}

export function GraphTools({ explorer, stage }: Props): JSX.Element {
  const { table } = explorer.view.value
  void explorer.steps.value
  const waiting = explorer.waiting.value.size
  return (
    <div class="tools" role="toolbar" aria-label="Graph tools">
      <span class="shown" data-testid="shown">
        {shownText(explorer)}
      </span>
      {waiting > 0 && (
        <button type="button" class="button fresh" onClick={() => void explorer.showWaiting()}>
          +{waiting} new
        </button>
      )}
      {explorer.restOfGroup > 0 && (
        <button type="button" class="button" onClick={() => void explorer.showRest()}>
          Show {count(explorer.restOfGroup, 'more node')}
        </button>
      )}
      <span class="gap" />
      {explorer.may('add') && (
        <button type="button" class="button" onClick={() => (editing.value = { kind: 'create', id: '' })}>
          <PlusIcon /> New
        </button>
      )}
      {explorer.source.abilities.time && (
        <button
          type="button"
          class="button icon-only"
          aria-label="Filter by time and author"
          title="Filter by time and author"
          aria-pressed={explorer.view.value.span !== null}
          onClick={() => toggleSpan(explorer)}>
          <FilterIcon />
        </button>
      )}
      <Tool label="Undo" keys="Ctrl+Z" disabled={!explorer.canUndo} run={() => void explorer.undo()}>
        <UndoIcon />
      </Tool>
      <Tool label="Redo" keys="Ctrl+Shift+Z" disabled={!explorer.canRedo} run={() => void explorer.redo()}>
        <RedoIcon />
      </Tool>
      {!table && (
        <Tool label="Fit" keys="f" run={() => stage?.fit()}>
          <FitIcon />
        </Tool>
      )}
      {!table && (
        <Tool label="New layout" keys="l" run={() => void explorer.relayout()}>
          <LayoutIcon />
        </Tool>
      )}
      <Tool label={table ? 'Show the graph' : 'Show the table'} keys="t" run={() => explorer.look({ table: !table })}>
        {table ? <GraphIcon /> : <TableIcon />}
      </Tool>
      {explorer.source.abilities.time && (
        <Tool label="Saved views" keys="v" run={() => (savedOpen.value = true)}>
          <BookmarkIcon />
        </Tool>
      )}
      {!table && <SaveMenu explorer={explorer} stage={stage} />}
    </div>
  )
}

interface ToolProps {
  label: string
  keys: string
  disabled?: boolean
  run: () => void
  children: JSX.Element
}

const Tool = ({ label, keys, disabled, run, children }: ToolProps): JSX.Element => (
  <button
    type="button"
    class="button icon-only"
    aria-label={label}
    title={`${label} (${keys})`}
    disabled={disabled}
    onClick={run}>
    {children}
  </button>
)

function SaveMenu({ explorer, stage }: Props): JSX.Element {
  const [open, setOpen] = useState(false)
  const title = `Graph ${explorer.about.value ? graphName(explorer.about.value) : ''}`
  const save = async (kind: 'svg' | 'png') => {
    setOpen(false)
    if (!stage) return
    try {
      if (kind === 'png') download('graph.png', await pngOf(stage.picture()))
      else download('graph.svg', new Blob([svgOf(stage.picture(), title)], { type: 'image/svg+xml' }))
    } catch (error) {
      complain(error)
    }
  }
  return (
    <div class="menu-box" onKeyDown={(event) => event.key === 'Escape' && setOpen(false)}>
      <button
        type="button"
        class="button icon-only"
        aria-label="Save a picture"
        title="Save a picture"
        aria-expanded={open}
        onClick={() => setOpen(!open)}>
        <SaveIcon />
      </button>
      {open && (
        <div class="menu">
          <button type="button" onClick={() => void save('svg')}>
            SVG, for documents
          </button>
          <button type="button" onClick={() => void save('png')}>
            PNG, for messages
          </button>
        </div>
      )}
    </div>
  )
}
