/** The workspaces of the graph, and on a server of many those of the server. */

import type { JSX } from 'preact'
import type { Explorer } from '../explorer'
import { Empty, Failure, Name } from '../parts/basics'
import { useLoad } from '../parts/load'
import { rootOf } from '../source/http'
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
      {explorer.source.abilities.workspaces && <Served explorer={explorer} />}
    </main>
  )
}

/** The graphs of the server that the token may see: another one is another page. */
function Served({ explorer }: { explorer: Explorer }): JSX.Element {
  const { value, error } = useLoad(() => explorer.source.served(), [explorer, explorer.changed.value])
  return (
    <>
      <h2>On this server</h2>
      {error && <Failure error={error} />}
      <ul class="plain cards served">
        {value?.map(({ workspace, path, can }) => (
          <li key={workspace}>
            <a class="card" href={rootOf(`${path}/ui/`)}>
              <strong>
                <Name text={workspace} />
              </strong>
              <span class="note">{can.join(', ')}</span>
            </a>
          </li>
        ))}
      </ul>
    </>
  )
}
