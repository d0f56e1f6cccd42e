/** Forms that let a node take the place of another, and say for how long a node is kept. */

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { NodeDetail } from '../source/types'
import { Field, FORM, type FormProps } from './form-field'
import { idOf, NodeField } from './node-field'

type Props = FormProps & { node: NodeDetail }

const EXAMPLE = 'archive 90d after updated unless linked'

export function SupersedeForm({ explorer, write, node }: Props): JSX.Element {
  const [by, setBy] = useState('')
  const [until, setUntil] = useState('')
  const [reason, setReason] = useState('')
  const submit = (event: Event) => {
    event.preventDefault()
    void write(async () => ({
      op: 'supersede',
      id: node.id,
      by: await idOf(explorer, by, node.id),
      ...(until && { until }),
      ...(reason.trim() && { reason: reason.trim() }),
    }))
  }
  return (
    <form id={FORM} onSubmit={submit}>
      <p>The node stays, and is shown behind the one that takes its place.</p>
      <NodeField
        explorer={explorer}
        label="By"
        name="by"
        text={by}
        setText={setBy}
        near={node.id}
        placeholder="A name, a path or a URI"
      />
      <Field label="Holds until" note="Empty: until the other one is valid from, or else until now.">
        <input name="until" type="date" value={until} onInput={(event) => setUntil(event.currentTarget.value)} />
      </Field>
      <Field label="Reason">
        <input name="reason" value={reason} onInput={(event) => setReason(event.currentTarget.value)} />
      </Field>
    </form>
  )
}

export function KeepForm({ write, node }: Props): JSX.Element {
  const { own = '', type = '' } = node.retention ?? {}
  const [rule, setRule] = useState(own)
  const submit = (event: Event) => {
    event.preventDefault()
    void write(async () => ({ op: 'retain', id: node.id, rule: rule.trim() || null }))
  }
  return (
    <form id={FORM} onSubmit={submit}>
      <p>
        {type ? `Rule of its type: ${type}. ` : 'Its type has no rule. '}
        {'A cycle of upkeep acts on the rule of the node, or else on that of its type.'}
      </p>
      <Field
        label="Rule of this node"
        note="archive, delete, purge (a cycle asks first) or ask; never keeps it for good, empty drops the rule.">
        <input
          name="rule"
          list="rules"
          value={rule}
          placeholder={EXAMPLE}
          onInput={(event) => setRule(event.currentTarget.value)}
        />
      </Field>
      <datalist id="rules">
        {['never', EXAMPLE, 'delete 1y after created'].map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
    </form>
  )
}
