/** The buttons of a node: what to show of it, and how to change it. */

import type { JSX } from 'preact'
import { editing, type NodeEditing } from '../edit/state'
import { EXPAND_BY, type Explorer } from '../explorer'
import { complain, say } from '../notices'
import type { NodeDetail } from '../source/types'
import { RouteActions } from './route-actions'

export function NodeActions({ explorer, node }: { explorer: Explorer; node: NodeDetail }): JSX.Element {
  const scene = explorer.visible.value
  void explorer.drawn.value
  const shown = scene.nodes.get(node.id)
  const hidden = shown ? scene.hidden(shown) : node.degree
  const writable = explorer.about.value?.writable && explorer.view.value.at === null
  const act = (label: string, run: () => void, title = label) => (
    <button type="button" class="button" title={title} onClick={run}>
      {label}
    </button>
  )
  return (
    <div class="actions">
      {!shown && act('Show in the graph', () => void explorer.open(node.id))}
      {shown &&
        hidden > 0 &&
        act(
          `Expand +${Math.min(hidden, EXPAND_BY)}`,
          () => void explorer.expand(node.id),
          `Bring the next neighbours (Enter); ${hidden} links are not shown`,
        )}
      {shown && act('Only this', () => void explorer.only(node.id), 'Show only this node and its neighbours')}
      {shown && act('Hide', () => explorer.hide([node.id]), 'Hide it from view (Backspace)')}
      {shown?.pinned && act('Unpin', () => explorer.pin(node.id, false))}
      {!node.deleted && <RouteActions explorer={explorer} id={node.id} key={node.id} />}
      {writable && <Changes explorer={explorer} node={node} />}
    </div>
  )
}

function Changes({ explorer, node }: { explorer: Explorer; node: NodeDetail }): JSX.Element | null {
  const start = (kind: NodeEditing) => () => (editing.value = { kind, node })
  if (node.deleted) return null
  const archived = node.metadata['archived_at'] != null
  const hide = () => {
    const change = { op: archived ? ('restore' as const) : ('archive' as const), id: node.id }
    void explorer.source
      .write(change, '')
      .then(() => say(archived ? 'Restored.' : 'Archived: answers leave it out until it is restored.'), complain)
  }
  if (node.kind === 'missing') {
    return (
      <button type="button" class="button strong" onClick={() => (editing.value = { kind: 'create', id: node.id })}>
        Write it
      </button>
    )
  }
  return (
    <>
      <button type="button" class="button" onClick={start('edit')}>
        Edit
      </button>
      <button type="button" class="button" onClick={start('relate')}>
        Relate
      </button>
      <button type="button" class="button" onClick={start('move')}>
        Move
      </button>
      <button type="button" class="button" title="Another node takes its place" onClick={start('supersede')}>
        Supersede
      </button>
      <button type="button" class="button" title="For how long it is kept" onClick={start('keep')}>
        Keep
      </button>
      <button type="button" class="button" onClick={hide}>
        {archived ? 'Restore' : 'Archive'}
      </button>
      <button type="button" class="button" onClick={start('forget')}>
        Forget
      </button>
    </>
  )
}
