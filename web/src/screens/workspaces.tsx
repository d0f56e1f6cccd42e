/** The workspaces of the graph. */

import type { JSX } from 'preact'
import type { Explorer } from '../explorer'
import { Empty, Name } from '../parts/basics'
import { count } from '../text/format'

export function WorkspacesScreen({ explorer }: { explorer: Explorer }): JSX.Element {
  const about = explorer.about.value
  const open = (group: string) => {
    explorer.look({ by: 'folder', screen: 'graph' })
    explorer.openGroup(group)
  }
  return (
    <main class="page" id="main">
      <h1>Workspaces</h1>
      {about && !about.workspaces.length && <Empty title="No workspace has nodes yet." />}
      <ul class="plain cards">
        {about?.workspaces.map(({ name, nodes, group }) => (
          <li key={name}>
            <button type="button" class="card" onClick={() => open(group ?? `concept://${name}`)}>
              <strong>
                <Name text={name} />
              </strong>
              <span class="note">
                {count(nodes, 'node')}
                {name === about.workspace ? ' · paths without a workspace belong here' : ''}
              </span>
            </button>
          </li>
        ))}
      </ul>
    </main>
  )
}
