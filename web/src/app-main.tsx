/** The explorer in one file: a snapshot that is embedded in it, or an MCP App inside a chat. */

import { signal } from '@preact/signals'
import { render } from 'preact'
import { App } from './app'
import { Explorer } from './explorer'
import { SliceRunner } from './graph/layout'
import { Empty } from './parts/basics'
import { GraphScreen } from './screens/graph'
import { MissingScreen } from './screens/missing'
import { startShortcuts } from './shortcuts'
import { Bridge } from './source/bridge'
import { AppSource, viewOf } from './source/mcp-app'
import { type Snapshot, SnapshotSource } from './source/snapshot'
import type * as T from './source/types'
import { chooseTheme, startTheme } from './theme'
import { startTitle } from './title'
import { fromFragment, START } from './view'

const NODES_MAX = 300
const HEIGHT = 560

const shown = signal<Explorer | null>(null)
const words = signal('Waiting for the graph…')

const Page = () =>
  shown.value ? (
    <App explorer={shown.value} screens={{ graph: GraphScreen, missing: MissingScreen }} />
  ) : (
    <main class="over-canvas">
      <Empty title={words.value} />
    </main>
  )

function show(explorer: Explorer): void {
  shown.value = explorer
  startShortcuts(explorer)
  void explorer.start()
}

function startSnapshot(data: Snapshot): void {
  const explorer = new Explorer(new SnapshotSource(data), new SliceRunner(), fromFragment(location.hash))
  startTitle(explorer)
  show(explorer)
}

async function startApp(): Promise<void> {
  const bridge = new Bridge(window.parent)
  bridge.on('tool-result', (result) => {
    const view = viewOf(result)
    if (view)
      show(
        new Explorer(new AppSource(snapshotOf(view), bridge), new SliceRunner(), { ...START, selected: view.center }, NODES_MAX),
      )
    else words.value = 'This result has no graph to show.'
  })
  bridge.on('host-context-changed', (context) => follow(context as { theme?: string }))
  document.addEventListener('click', (event) => openLink(event, bridge))
  const { hostContext } = await bridge.open()
  follow(hostContext)
  bridge.notify('size-changed', { width: window.innerWidth, height: HEIGHT })
}

function follow(context: { theme?: string } | undefined): void {
  if (context?.theme === 'dark' || context?.theme === 'light') chooseTheme(context.theme)
}

/** The host opens links to the web, because the frame of the App may not. */
function openLink(event: MouseEvent, bridge: Bridge): void {
  const anchor = event.target instanceof Element ? event.target.closest<HTMLAnchorElement>('a[target=_blank]') : null
  if (!anchor) return
  event.preventDefault()
  void bridge.request('ui/open-link', { url: anchor.href }).catch(() => undefined)
}

function snapshotOf({ nodes, links }: { nodes: T.Card[]; links: T.Link[] }): Snapshot {
  const cards = nodes.slice(0, NODES_MAX)
  const types: Record<string, number> = {}
  for (const { type } of cards) types[type] = (types[type] ?? 0) + 1
  const missing = cards.filter((card) => card.kind === 'missing').length
  return {
    nodes: cards,
    links,
    about: {
      name: 'mycel',
      version: '',
      position: 0,
      time: null,
      root: '',
      writable: false,
      branch: null,
      branches: [],
      workspace: null,
      workspaces: [],
      counts: { nodes: cards.length, links: links.length, missing, types, relations: {} },
      conflicts: 0,
    },
  }
}

startTheme()
render(<Page />, document.getElementById('app')!)
const embedded = document.getElementById('mycel-data')?.textContent?.trim()
if (embedded) startSnapshot(JSON.parse(embedded) as Snapshot)
else if (window.parent !== window) void startApp()
else words.value = 'This file has no graph in it. Make one with `mycel explore --export FILE`.'
