/** The page that `mycel serve` shows. */

import { render } from 'preact'
import { startAddress } from './address'
import { App, type Screens } from './app'
import { Explorer } from './explorer'
import { WorkerRunner } from './graph/layout'
import { startHolding } from './holding'
import { Live } from './live'
import { BranchesScreen } from './screens/branches'
import { CompareScreen } from './screens/compare'
import { ConflictsScreen } from './screens/conflicts'
import { GraphScreen } from './screens/graph'
import { HealthScreen } from './screens/health'
import { MissingScreen } from './screens/missing'
import { ProposalsScreen } from './screens/proposals'
import { QueryScreen } from './screens/query'
import { TimelineScreen } from './screens/timeline'
import { WorkspacesScreen } from './screens/workspaces'
import { startShortcuts } from './shortcuts'
import { askForToken, SignIn, takeTicket, tokens } from './sign-in'
import { HttpSource } from './source/http'
import { startTheme } from './theme'
import { startTitle } from './title'
import { startTouched } from './touched'
import { fromFragment } from './view'

/** The name of the file of the layout worker, from the build. */
declare const LAYOUT_WORKER: string

const COMPONENTS: Required<Screens> = {
  graph: GraphScreen,
  query: QueryScreen,
  timeline: TimelineScreen,
  compare: CompareScreen,
  missing: MissingScreen,
  health: HealthScreen,
  branches: BranchesScreen,
  conflicts: ConflictsScreen,
  proposals: ProposalsScreen,
  workspaces: WorkspacesScreen,
}

function startWorker(): Worker {
  const url = new URL(LAYOUT_WORKER, document.baseURI).href
  const policy = window.trustedTypes?.createPolicy('mycel', { createScriptURL: (text: string) => text })
  return new Worker((policy?.createScriptURL(url) as unknown as string | undefined) ?? url, { type: 'module' })
}

async function start(): Promise<void> {
  startTheme()
  await takeTicket()
  const explorer = new Explorer(new HttpSource(tokens), new WorkerRunner(startWorker), fromFragment(location.hash))
  const live = new Live(explorer)
  const signedIn = () => {
    explorer.changed.value++
    void explorer.start().then(() => live.again())
  }
  render(
    <>
      <App explorer={explorer} screens={COMPONENTS} />
      <SignIn done={signedIn} />
    </>,
    document.getElementById('app')!,
  )
  startShortcuts(explorer)
  startAddress(explorer)
  startTitle(explorer)
  startTouched(explorer)
  startHolding(explorer)
  live.start()
  if (askForToken.value === null) void explorer.start()
}

void start()
