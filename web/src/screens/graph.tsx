/** The graph screen: canvas or table, tools, legend, and the panel beside them. */

import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { Explorer } from '../explorer'
import { listen } from '../graph/pointers'
import { Stage } from '../graph/stage'
import { NodePanel } from '../node/panel'
import { Empty, Failure } from '../parts/basics'
import { Legend } from './graph-legend'
import { Mirror } from './graph-mirror'
import { RouteBar } from './graph-route'
import { SpanBar } from './graph-span'
import { GraphTable } from './graph-table'
import { GraphTools } from './graph-tools'
import { Trail } from './graph-trail'
import { SavedViewsDialog } from './saved-views'
import { StartPanel } from './start-panel'
import { TimeStrip } from './time-strip'

/** The canvas that is on the page, for shortcuts and exports. */
export const stage = signal<Stage | null>(null)

export function GraphScreen({ explorer }: { explorer: Explorer }): JSX.Element {
  const { table, selected } = explorer.view.value
  return (
    <main class="graph-screen" id="main">
      <section class="canvas-side" aria-label="Graph">
        <GraphTools explorer={explorer} stage={stage.value} />
        <div class="above">
          <Trail explorer={explorer} />
          <SpanBar explorer={explorer} />
          <RouteBar explorer={explorer} />
        </div>
        {table ? <GraphTable explorer={explorer} /> : <GraphCanvas explorer={explorer} />}
        {!table && <Legend explorer={explorer} stage={stage.value} />}
        <Nothing explorer={explorer} />
      </section>
      <aside class={selected ? 'panel' : 'panel start'} aria-label={selected ? 'Node' : 'Overview'}>
        {selected ? <NodePanel explorer={explorer} id={selected} /> : <StartPanel explorer={explorer} />}
      </aside>
      {explorer.source.abilities.time && <TimeStrip explorer={explorer} />}
      <SavedViewsDialog explorer={explorer} stage={stage.value} />
    </main>
  )
}

function GraphCanvas({ explorer }: { explorer: Explorer }): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null)
  useEffect(() => {
    const made = new Stage(canvas.current!, explorer)
    const end = listen(made)
    stage.value = made
    return () => {
      end()
      made.destroy()
      stage.value = null
    }
  }, [explorer])
  const selected = explorer.view.value.selected
  useEffect(() => {
    if (selected) stage.value?.reveal(selected)
  }, [selected])
  return (
    <div class="canvas-box">
      <canvas ref={canvas} class="canvas" aria-hidden="true" />
      <Mirror explorer={explorer} stage={stage.value} />
    </div>
  )
}

/** The words for an empty canvas: why it is empty and what to do. */
function Nothing({ explorer }: { explorer: Explorer }): JSX.Element | null {
  const about = explorer.about.value
  if (explorer.visible.value.nodes.size) return null
  if (explorer.busy.value)
    return (
      <div class="over-canvas">
        <div class="waiting" role="status">
          Reading the graph…
        </div>
      </div>
    )
  if (explorer.failed.value)
    return (
      <div class="over-canvas">
        <Failure error={explorer.failed.value} />
      </div>
    )
  if (!about) return null
  if (explorer.scene.value.nodes.size)
    return (
      <div class="over-canvas">
        <Empty title="The filters hide everything.">Switch types on again in the legend.</Empty>
      </div>
    )
  if (explorer.view.value.at !== null && explorer.counts.value?.nodes === 0)
    return (
      <div class="over-canvas">
        <Empty title="The graph was empty at this moment." />
      </div>
    )
  if (about.counts.nodes)
    return (
      <div class="over-canvas">
        <Empty title="Nothing is shown.">Search with /, or go back to the overview.</Empty>
      </div>
    )
  return (
    <div class="over-canvas">
      <Empty title="This graph is empty.">
        {about.writable
          ? 'Create the first node with the button “New”, or let an agent write to it: what is written appears here.'
          : 'What is written to it appears here.'}
      </Empty>
    </div>
  )
}
