/** The workspaces of the graph, and on a server of many those of the server. */

import type { ComponentChildren, JSX } from 'preact'
import type { Explorer } from '../explorer'
import { Empty, Failure, Name, Waiting } from '../parts/basics'
import { useLoad } from '../parts/load'
import { rootOf } from '../source/http'
import { count, moment, number } from '../text/format'

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
        {value?.workspaces.map(({ workspace, path, can }) => (
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
      {value?.is_admin && <ServerState explorer={explorer} />}
    </>
  )
}

/** The activity of the server and its audit log, for administrators. */
function ServerState({ explorer }: { explorer: Explorer }): JSX.Element {
  const { value: status, error } = useLoad(() => explorer.source.serverStatus(), [explorer, explorer.changed.value])
  const { value: records } = useLoad(() => explorer.source.audit(), [explorer, explorer.changed.value])
  if (error) return <Failure error={error} />
  if (!status) return <Waiting />
  return (
    <section id="server-status">
      <h2>The server</h2>
      <p class="lead">
        Mycel {status.version}, since {moment(status.started_at)}. {count(status.streams, 'stream')} open. Counts are those of one
        process of the server.
      </p>
      <Table
        heads={['Workspace', 'Size', 'Open']}
        rows={status.workspaces.map((row) => [
          <Name key="name" text={row.workspace} />,
          megabytes(row.bytes),
          row.is_open ? 'yes' : '',
        ])}
      />
      <h3>Requests</h3>
      <Table
        heads={['Path', 'Requests', 'Refused', 'Half within', '99% within']}
        rows={status.doors.map((row) => [
          row.door,
          number(row.requests),
          number(row.refused),
          seconds(row.half_within_s),
          seconds(row.most_within_s),
        ])}
      />
      <h3>Audit log</h3>
      <Table
        heads={['Time', 'Who', 'From', 'Request', 'Status', 'Reason']}
        rows={(records ?? []).map((row) => [
          <time key="at" dateTime={row.at}>
            {moment(row.at)}
          </time>,
          <Name key="actor" text={row.actor || 'nobody'} />,
          row.client,
          <Name key="action" text={row.action} />,
          row.status,
          <Name key="reason" text={row.reason} />,
        ])}
      />
    </section>
  )
}

function Table({ heads, rows }: { heads: string[]; rows: ComponentChildren[][] }): JSX.Element {
  return (
    <div class="table-box">
      <table class="data">
        <thead>
          <tr>
            {heads.map((head) => (
              <th key={head}>{head}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, row) => (
            <tr key={row}>
              {cells.map((cell, column) => (
                <td key={column}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`
const seconds = (bound: number | null): string => (bound === null ? 'longer' : `${bound} s`)
