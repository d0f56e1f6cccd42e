/** The comparison of two moments or branches: added green +, removed grey −, changed amber Δ. */

import { computed } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { Explorer } from '../explorer'
import { arrange, startPlace } from '../graph/layout'
import { listen } from '../graph/pointers'
import { Scene } from '../graph/scene'
import { Stage } from '../graph/stage'
import { Empty, Failure, Name, NodeButton, Waiting } from '../parts/basics'
import { DiffText } from '../parts/diff-text'
import { useLoad, usePages } from '../parts/load'
import type { Change, ChangedLink, ChangedNode, ChangedValue, Difference, Moments } from '../source/types'
import { count, moment, number, valueText } from '../text/format'
import { MomentChoice } from './moment-choice'

const SIGNS: Record<Change, string> = { added: '+', removed: '−', changed: 'Δ', moved: '→' }

export function CompareScreen({ explorer }: { explorer: Explorer }): JSX.Element {
  const { from, to } = explorer.view.value
  return (
    <main class="page compare-screen" id="main">
      <h1>Compare</h1>
      <Ends explorer={explorer} />
      {from ? (
        <Changes explorer={explorer} from={from} to={to} />
      ) : (
        <Empty title="Choose what to compare.">
          A commit, a tag, a day, a branch or any other moment, with another one or with now.
        </Empty>
      )}
    </main>
  )
}

function Ends({ explorer }: { explorer: Explorer }): JSX.Element {
  const { from, to } = explorer.view.value
  const about = explorer.about.value
  const { value: moments } = useLoad(() => explorer.source.moments(), [explorer, explorer.changed.value, about?.branch])
  const common = { moments, about }
  return (
    <form class="ends" onSubmit={(event) => event.preventDefault()}>
      <MomentChoice
        {...common}
        label="From"
        name="from"
        value={from}
        hasNow={false}
        choose={(moment) => explorer.look({ from: moment })}
      />
      <button
        type="button"
        class="button"
        aria-label="Swap"
        title="Swap"
        disabled={!to && !about}
        onClick={() => explorer.look({ from: to || String(about?.position ?? ''), to: from })}>
        ⇄
      </button>
      <MomentChoice {...common} label="To" name="to" value={to} hasNow choose={(moment) => explorer.look({ to: moment })} />
      {moments && !from && <LastChange explorer={explorer} moments={moments} />}
    </form>
  )
}

/** A button for the most frequent comparison: the changes of the last commit. */
function LastChange({ explorer, moments }: { explorer: Explorer; moments: Moments }): JSX.Element | null {
  const last = moments.commits[0]
  return last ? (
    <button
      type="button"
      class="button strong"
      onClick={() => explorer.look({ from: String(last.before), to: String(last.seq) })}>
      The last commit
    </button>
  ) : null
}

function Changes({ explorer, from, to }: { explorer: Explorer; from: string; to: string }): JSX.Element {
  const { pages, error, more } = usePages(
    (cursor: string | null) => explorer.source.diff(from, to, cursor),
    (page) => page.next_cursor,
    [explorer, from, to, explorer.changed.value],
  )
  if (error) return <Failure error={error} />
  if (!pages[0]) return <Waiting />
  const nodes = pages.flatMap((page) => page.nodes)
  const links = pages.flatMap((page) => page.links)
  const shown = nodes.length + links.length
  return (
    <>
      <Summary difference={pages[0]} />
      {!shown && <Empty title="Nothing differs." />}
      {nodes.some(isKnowledge) && <Picture explorer={explorer} nodes={nodes} links={links} />}
      <ul class="plain changes">
        {[...nodes]
          .sort((a, b) => Number(isKnowledge(b)) - Number(isKnowledge(a)))
          .map((node) => (
            <li key={`${node.change} ${node.id}`}>
              <NodeChange node={node} explorer={explorer} />
            </li>
          ))}
        {links.map((link, i) => (
          <li key={`link ${i}`}>
            <LinkChange link={link} />
          </li>
        ))}
      </ul>
      {more && (
        <p class="note">
          {number(shown)} of {number(pages[0].total)} changes are shown.{' '}
          <button type="button" class="link" onClick={more}>
            Show more
          </button>
        </p>
      )}
    </>
  )
}

function Summary({ difference }: { difference: Difference }): JSX.Element {
  const end = ({ seq, time, branch }: Difference['from']) =>
    [branch, time && moment(time), `position ${number(seq)}`].filter(Boolean).join(', ')
  return (
    <p class="lead">
      From {end(difference.from)} to {end(difference.to)}:{' '}
      {(Object.keys(SIGNS) as Change[])
        .filter((change) => difference.counts[change])
        .map((change) => (
          <span key={change} class={`change-count ${change}`}>
            {SIGNS[change]} {number(difference.counts[change]!)} {change}
          </span>
        ))}
      {difference.purged ? ` ${number(difference.purged)} purged` : ''}
    </p>
  )
}

/** The changed nodes and links as a picture. */
function Picture({ explorer, nodes, links }: { explorer: Explorer; nodes: ChangedNode[]; links: ChangedLink[] }): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null)
  useEffect(() => {
    const scene = sceneOf(nodes, links)
    let stage: Stage | null = null
    let end = () => {}
    let gone = false
    void arrange(scene, explorer.runner, new Set()).then(() => {
      if (gone) return
      stage = new Stage(
        canvas.current!,
        explorer,
        computed(() => scene),
      )
      end = listen(stage)
    })
    return () => {
      gone = true
      end()
      stage?.destroy()
    }
  }, [nodes.length, links.length, nodes[0]?.id])
  return (
    <canvas
      ref={canvas}
      class={nodes.length + links.length < 12 ? 'canvas compare-canvas few' : 'canvas compare-canvas'}
      role="img"
      aria-label="Picture of the changes; they are listed below"
    />
  )
}

const DRAWN_MAX = 300

/** Definitions of types and relations come last in lists and are not drawn. */
const isKnowledge = ({ type }: ChangedNode): boolean => !type.startsWith('$')

function sceneOf(nodes: ChangedNode[], links: ChangedLink[]): Scene {
  const scene = new Scene()
  for (const node of nodes.filter(isKnowledge).slice(0, DRAWN_MAX)) {
    const [x, y] = startPlace(node.id, null, 20 * Math.sqrt(nodes.length))
    scene.put(node, x, y).change = node.change
  }
  for (const { source, target, missing } of links.slice(0, DRAWN_MAX)) {
    if (scene.nodes.size > DRAWN_MAX) break
    for (const id of [source, target]) {
      if (scene.nodes.has(id)) continue
      const kind = missing && id === target ? 'missing' : 'concept'
      const [x, y] = startPlace(id, null, 20 * Math.sqrt(nodes.length))
      scene.put({ id, name: id.split('/').pop() ?? id, type: 'Resource', kind, degree: 0 }, x, y)
    }
  }
  for (const link of links) scene.join(link, 1, link.change)
  scene.bendParallels()
  return scene
}

function NodeChange({ node, explorer }: { node: ChangedNode; explorer: Explorer }): JSX.Element {
  const values = node.values ?? []
  return (
    <div class="change">
      <div class="change-head">
        <span class={`change-sign ${node.change}`} aria-hidden="true">
          {SIGNS[node.change]}
        </span>
        <span class="change-word">{node.change}</span>
        <NodeButton card={node} explorer={explorer} path />
        {node.was && (
          <span class="note">
            was <Name text={node.was} />
          </span>
        )}
      </div>
      {values.length > 0 && (
        <details open={node.change === 'changed'}>
          <summary>{count(values.length, 'value')}</summary>
          {values.map((value, i) => (
            <ValueChange key={i} value={value} />
          ))}
        </details>
      )}
    </div>
  )
}

function ValueChange({ value }: { value: ChangedValue }): JSX.Element {
  return (
    <div class="value-change">
      <h3>
        <Name text={value.key ?? value.field} />
      </h3>
      <DiffText before={valueText(value.old)} after={valueText(value.new)} />
    </div>
  )
}

const LinkChange = ({ link }: { link: ChangedLink }): JSX.Element => (
  <div class="change link-change">
    <span class={`change-sign ${link.change}`} aria-hidden="true">
      {SIGNS[link.change]}
    </span>
    <span class="change-word">{link.change}</span>
    <span class="uri">
      <Name text={link.source} />
    </span>
    <strong>
      <Name text={link.relation} />
    </strong>{' '}
    →
    <span class={link.missing ? 'uri missing' : 'uri'}>
      <Name text={link.target} />
      {link.missing ? ' (missing)' : ''}
    </span>
  </div>
)
