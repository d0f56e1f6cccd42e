/** Attributes and metadata of a node. */

import type { JSX } from 'preact'
import { Value } from '../parts/value'
import type { NodeDetail } from '../source/types'
import { moment, plain } from '../text/format'

export function NodeAttributes({ node }: { node: NodeDetail }): JSX.Element {
  return (
    <>
      <Fields values={node.attributes} none="This node has no attributes." />
      <h2>Metadata</h2>
      <Fields values={node.metadata} none="Nothing is noted about its origin." />
      {node.created_at && (
        <p class="note">
          Created {moment(node.created_at)}
          {node.updated_at ? `, changed ${moment(node.updated_at)}` : ''}.
        </p>
      )}
    </>
  )
}

function Fields({ values, none }: { values: Record<string, unknown>; none: string }): JSX.Element {
  const entries = Object.entries(values)
  if (!entries.length) return <p class="note">{none}</p>
  return (
    <table class="fields">
      <tbody>
        {entries.map(([key, value]) => (
          <tr key={key}>
            <th scope="row">
              <bdi>{plain(key)}</bdi>
            </th>
            <td>
              <Value value={value} depth={1} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
