/** Forms that relate, move and forget a node. */

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { NodeDetail } from '../source/types'
import { count } from '../text/format'
import { Field, FORM, type FormProps } from './form-field'
import { idOf, NodeField } from './node-field'

type Props = FormProps & { node: NodeDetail }

export function RelateForm({ explorer, write, node }: Props): JSX.Element {
  const [relation, setRelation] = useState('')
  const [target, setTarget] = useState('')
  const [weight, setWeight] = useState('1')
  const submit = (event: Event) => {
    event.preventDefault()
    void write(async () => ({
      op: 'link',
      source: node.id,
      relation: relation.trim(),
      target: await idOf(explorer, target, node.id),
      weight: Number(weight),
    }))
  }
  return (
    <form id={FORM} onSubmit={submit}>
      <div class="field-row">
        <Field label="Relation">
          <input
            name="relation"
            required
            list="relations"
            value={relation}
            placeholder={commonest(explorer) ?? 'depends_on'}
            onInput={(event) => setRelation(event.currentTarget.value)}
          />
        </Field>
        <Field label="Weight" note="0: always together; 1: loosely">
          <input
            name="weight"
            type="number"
            min="0"
            max="1"
            step="0.05"
            value={weight}
            onInput={(event) => setWeight(event.currentTarget.value)}
          />
        </Field>
      </div>
      <NodeField
        explorer={explorer}
        label="To"
        name="target"
        text={target}
        setText={setTarget}
        near={node.id}
        placeholder="A name, a path or a URI"
      />
      <datalist id="relations">
        {Object.keys(explorer.about.value?.counts.relations ?? {}).map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
    </form>
  )
}

/** The most frequent relation of the graph. */
const commonest = (explorer: FormProps['explorer']): string | undefined =>
  Object.keys(explorer.about.value?.counts.relations ?? {})[0]

export function MoveForm({ write, node }: Props): JSX.Element {
  const [to, setTo] = useState(node.id)
  const submit = (event: Event) => {
    event.preventDefault()
    void write(async () => ({ op: 'move', id: node.id, to: to.trim(), ...(node.version && { expect_version: node.version }) }))
  }
  return (
    <form id={FORM} onSubmit={submit}>
      <Field label="New URI" note="It keeps its history and its relations.">
        <input name="to" required value={to} onInput={(event) => setTo(event.currentTarget.value)} />
      </Field>
    </form>
  )
}

export function ForgetForm({ write, node }: Props): JSX.Element {
  const submit = (event: Event) => {
    event.preventDefault()
    void write(async () => ({ op: 'delete', id: node.id, ...(node.version && { expect_version: node.version }) }))
  }
  return (
    <form id={FORM} onSubmit={submit}>
      <p>The node and its {count(node.degree, 'link')} leave the graph. Its history stays, and this can be undone.</p>
    </form>
  )
}
