/** The buttons of a node, which show more of it or change it. */

import type { JSX } from 'preact'
import { editing, type NodeEditing } from '../edit/state'
import { EXPAND_BY, type Explorer } from '../explorer'
import { complain, say } from '../notices'
import type { NodeDetail, Write } from '../source/types'
import { RouteActions } from './route-actions'

export function NodeActions({ explorer, node }: { explorer: Explorer; node: NodeDetail }): JSX.Element {
  const scene = explorer.visible.value
  void explorer.drawn.value
  const shown = scene.nodes.get(node.id)
  const hidden = shown ? scene.hidden(shown) : node.degree
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
      <Changes explorer={explorer} node={node} />
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
    return explorer.may('add') ? (
      <button type="button" class="button strong" onClick={() => (editing.value = { kind: 'create', id: node.id })}>
        Write it
      </button>
    ) : null
  }
  const button = (op: Write['op'], label: string, run: () => void, title?: string) =>
    explorer.may(op) && (
      <button type="button" class="button" title={title} onClick={run}>
        {label}
      </button>
    )
  return (
    <>
      {button('update', 'Edit', start('edit'))}
      {button('link', 'Relate', start('relate'))}
      {button('move', 'Move', start('move'))}
      {button('supersede', 'Supersede', start('supersede'), 'Another node takes its place')}
      {button('retain', 'Keep', start('keep'), 'For how long it is kept')}
      {button('archive', archived ? 'Restore' : 'Archive', hide)}
      {button('delete', 'Forget', start('forget'))}
    </>
  )
}
