/** The panel of one node: content, attributes, relations, history, proof. */

import type { JSX } from 'preact'
import type { Explorer } from '../explorer'
import { say } from '../notices'
import { Failure, Name, Shape, Time, Waiting } from '../parts/basics'
import { CloseIcon, CopyIcon } from '../parts/icons'
import { useLoad } from '../parts/load'
import { MarkdownView } from '../parts/markdown-view'
import type { NodeDetail } from '../source/types'
import { moment, number } from '../text/format'
import { TABS, type Tab } from '../view'
import { NodeActions } from './actions'
import { NodeAttributes } from './attributes'
import { isCode, NodeCode } from './code'
import { NodeHistory } from './history'
import { NodeProof } from './proof'
import { NodeRelations } from './relations'

interface Props {
  explorer: Explorer
  id: string
}

const LABELS: Record<Tab, string> = {
  content: 'Content',
  attributes: 'Attributes',
  relations: 'Relations',
  history: 'History',
  proof: 'Proof',
}

export function NodePanel({ explorer, id }: Props): JSX.Element {
  const { at, tab } = explorer.view.value
  const { value, error } = useLoad(() => explorer.source.node(id, at), [explorer, id, at, explorer.changed.value])
  if (error) return <Gone explorer={explorer} id={id} error={error} />
  if (!value || (value.id !== id && !value.deleted))
    return (
      <div class="panel-body">
        <Waiting />
      </div>
    )
  return (
    <div class="panel-body">
      <PanelHead explorer={explorer} node={value} />
      <NodeActions explorer={explorer} node={value} />
      <Tabs explorer={explorer} node={value} />
      <div class="tab-page" role="tabpanel" id="tab-page" aria-labelledby={`tab-${tab}`}>
        {tab === 'content' && <Content explorer={explorer} node={value} />}
        {tab === 'attributes' && <NodeAttributes node={value} />}
        {tab === 'relations' && <NodeRelations explorer={explorer} id={value.id} />}
        {tab === 'history' && <NodeHistory explorer={explorer} id={value.id} />}
        {tab === 'proof' && <NodeProof explorer={explorer} id={value.id} />}
      </div>
    </div>
  )
}

const close = (explorer: Explorer) => explorer.look({ selected: null })

export const CloseButton = ({ explorer }: { explorer: Explorer }): JSX.Element => (
  <button
    type="button"
    class="button icon-only close"
    aria-label="Close the panel"
    title="Close (Esc)"
    onClick={() => close(explorer)}>
    <CloseIcon />
  </button>
)

function PanelHead({ explorer, node }: { explorer: Explorer; node: NodeDetail }): JSX.Element {
  const copy = () =>
    void navigator.clipboard?.writeText(node.id).then(
      () => say('The URI is copied.'),
      () => say('The browser refused to copy.'),
    )
  return (
    <header class="panel-head">
      <div class="uri-row">
        <span class="uri" title={node.id}>
          <Name text={node.id} />
        </span>
        <button type="button" class="button icon-only small" aria-label="Copy the URI" title="Copy the URI" onClick={copy}>
          <CopyIcon />
        </button>
        <CloseButton explorer={explorer} />
      </div>
      <h1 class={node.deleted ? 'panel-title struck' : 'panel-title'}>
        <Shape kind={node.kind} type={node.type} symbol={node.symbol} explorer={explorer} /> <Name text={node.name} />
      </h1>
      <p class="panel-note">
        {node.kind === 'missing' ? (
          <span class="missing-word">missing: not written yet</span>
        ) : (
          <Name text={node.symbol ?? node.type} />
        )}
        {node.version && node.kind !== 'missing' ? ` · version ${number(node.version)}` : ''}
        {node.updated_at && !node.deleted ? (
          <>
            {' '}
            · <Time time={node.updated_at} />
          </>
        ) : null}
      </p>
      {node.caveats?.map((caveat) => (
        <p key={caveat} class="warning">
          <Name text={caveat} />
        </p>
      ))}
      {node.deleted && (
        <p class="removed-note">
          Removed {moment(node.deleted_at)}
          {node.deleted_by ? (
            <>
              {' '}
              by <Name text={node.deleted_by} />
            </>
          ) : null}
          .
          {node.reason ? (
            <>
              {' '}
              Reason: <Name text={node.reason} />.
            </>
          ) : null}{' '}
          Its last values are shown.
        </p>
      )}
    </header>
  )
}

function Tabs({ explorer, node }: { explorer: Explorer; node: NodeDetail }): JSX.Element {
  const { tab } = explorer.view.value
  const tabs: readonly Tab[] = explorer.source.abilities.time
    ? TABS
    : TABS.filter((each) => each !== 'history' && each !== 'proof')
  const links = node.relations ? node.relations.out + node.relations.in : node.degree
  const step = (event: KeyboardEvent) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (!by) return
    const next = tabs[(tabs.indexOf(tab) + by + tabs.length) % tabs.length]!
    explorer.look({ tab: next })
    document.getElementById(`tab-${next}`)?.focus()
    event.preventDefault()
  }
  return (
    <div class="tabs" role="tablist" aria-label="Parts of the node" onKeyDown={step}>
      {tabs.map((each) => (
        <button
          key={each}
          type="button"
          role="tab"
          id={`tab-${each}`}
          aria-selected={tab === each}
          aria-controls="tab-page"
          tabIndex={tab === each ? 0 : -1}
          onClick={() => explorer.look({ tab: each })}>
          {LABELS[each]}
          {each === 'relations' && links ? <span class="tab-count">{number(links)}</span> : null}
        </button>
      ))}
    </div>
  )
}

function Content({ explorer, node }: { explorer: Explorer; node: NodeDetail }): JSX.Element {
  return (
    <>
      {node.kind === 'missing' ? (
        <p>Links lead here, but nobody has written this concept yet. Writing it heals them.</p>
      ) : isCode(node) ? (
        <NodeCode explorer={explorer} node={node} />
      ) : node.content ? (
        <MarkdownView text={node.content} explorer={explorer} />
      ) : (
        <p class="note">This {node.kind === 'resource' ? 'resource' : 'node'} has no text of its own.</p>
      )}
      <Provenance node={node} />
    </>
  )
}

/** Who wrote this version, when and why. */
function Provenance({ node }: { node: NodeDetail }): JSX.Element | null {
  const { commit, metadata } = node
  if (!commit) return null
  const source = metadata['source']
  const confidence = metadata['confidence']
  return (
    <footer class="provenance">
      {node.kind === 'missing' ? 'First linked by' : 'Written by'}{' '}
      <strong>
        <Name text={commit.actor ?? 'unknown'} />
      </strong>
      , {moment(commit.time)}, position {number(commit.seq)}
      {commit.message ? (
        <>
          {' '}
          · “<Name text={commit.message} />”
        </>
      ) : null}
      {typeof source === 'string' ? (
        <>
          {' '}
          · source: <Name text={source} />
        </>
      ) : null}
      {typeof confidence === 'number' ? <> · confidence {confidence}</> : null}
    </footer>
  )
}

function Gone({ explorer, id, error }: Props & { error: unknown }): JSX.Element {
  return (
    <div class="panel-body">
      <div class="uri-row">
        <span class="uri">
          <Name text={id} />
        </span>
        <CloseButton explorer={explorer} />
      </div>
      <Failure error={error} />
    </div>
  )
}
