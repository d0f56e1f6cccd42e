/** The proof that a node is, or is not, in the graph with a certain root. */

import type { JSX } from 'preact'
import type { Explorer } from '../explorer'
import { download } from '../graph/picture-export'
import { Failure, Waiting } from '../parts/basics'
import { useLoad } from '../parts/load'
import { moment, number } from '../text/format'

export function NodeProof({ explorer, id }: { explorer: Explorer; id: string }): JSX.Element {
  const { at } = explorer.view.value
  const { value, error } = useLoad(() => explorer.source.proof(id), [explorer, id, explorer.changed.value])
  if (error) return <Failure error={error} />
  if (!value) return <Waiting />
  const save = () => download('proof.json', new Blob([JSON.stringify(value.proof, null, 2)], { type: 'application/json' }))
  return (
    <>
      {at !== null && <p class="warning">This proof is of the graph as it is now, not of the moment that is shown.</p>}
      <p class={value.verified ? 'verdict good' : 'verdict bad'}>
        {value.verified
          ? `✓ Proven: this node ${value.present ? 'is' : 'is not'} in the graph with this root.`
          : '✗ The proof does not verify.'}
      </p>
      <table class="fields">
        <tbody>
          <tr>
            <th scope="row">root</th>
            <td class="hash">{value.root}</td>
          </tr>
          <tr>
            <th scope="row">entries of the log</th>
            <td>{number(value.entries)}</td>
          </tr>
          {value.time_us ? (
            <tr>
              <th scope="row">as of</th>
              <td>{moment(new Date(value.time_us / 1000).toISOString())}</td>
            </tr>
          ) : null}
          <tr>
            <th scope="row">size</th>
            <td>{number(value.bytes)} bytes</td>
          </tr>
        </tbody>
      </table>
      <div class="actions">
        <button type="button" class="button" onClick={save}>
          Save the proof
        </button>
      </div>
      <p class="note">
        Anyone can check it without this server: <code>mycel verify --proof proof.json --root {value.root.slice(0, 8)}…</code>
      </p>
    </>
  )
}
