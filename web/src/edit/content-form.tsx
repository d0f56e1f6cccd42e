/** Forms for a new node, and for text and attributes of an existing node, with a preview of the Markdown. */

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { MarkdownView } from '../parts/markdown-view'
import type { NodeDetail } from '../source/types'
import { Field, FORM, type FormProps } from './form-field'
import { idOf, NodeField } from './node-field'

export function CreateForm({ explorer, write, id }: FormProps & { id: string }): JSX.Element {
  const [uri, setUri] = useState(id)
  const [name, setName] = useState('')
  const [type, setType] = useState('')
  const [content, setContent] = useState('')
  const near = placeOf(explorer)
  const types = Object.keys(explorer.about.value?.counts.types ?? {})
  const submit = (event: Event) => {
    event.preventDefault()
    void write(async () => ({
      op: 'add',
      id: await idOf(explorer, uri, near, true),
      ...(name && { name }),
      ...(type && { type }),
      ...(content && { content }),
    }))
  }
  return (
    <form id={FORM} onSubmit={submit}>
      <div class="field-row">
        <NodeField
          explorer={explorer}
          label="URI or path"
          name="id"
          text={uri}
          setText={setUri}
          near={near}
          isNew
          placeholder="auth/login"
        />
        <Field label="Type">
          <input
            name="type"
            list="types"
            value={type}
            placeholder="Concept"
            onInput={(event) => setType(event.currentTarget.value)}
          />
        </Field>
        <datalist id="types">
          {types.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      </div>
      <Field label="Name">
        <input name="name" value={name} onInput={(event) => setName(event.currentTarget.value)} />
      </Field>
      <MarkdownField text={content} setText={setContent} explorer={explorer} />
    </form>
  )
}

/** The node that is selected, or the folder that is shown: a new node is in its workspace. */
function placeOf(explorer: FormProps['explorer']): string | null {
  const { selected, group, by } = explorer.view.value
  if (selected) return selected
  return by === 'folder' && group && /^(concept|file):\/\/./.test(group) ? group : null
}

export function EditForm({ explorer, write, node }: FormProps & { node: NodeDetail }): JSX.Element {
  const [name, setName] = useState(node.name)
  const [content, setContent] = useState(node.content ?? '')
  const [attributes, setAttributes] = useState(JSON.stringify(node.attributes, null, 2))
  const parsed = parseObject(attributes)
  const submit = (event: Event) => {
    event.preventDefault()
    if (!parsed) return
    const drop = Object.keys(node.attributes).filter((key) => !(key in parsed))
    const changed = Object.fromEntries(
      Object.entries(parsed).filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(node.attributes[key])),
    )
    void write(async () => ({
      op: 'update',
      id: node.id,
      expect_version: node.version ?? 0,
      ...(name !== node.name && { name }),
      ...(content !== (node.content ?? '') && { content }),
      ...(Object.keys(changed).length && { attributes: changed }),
      ...(drop.length && { drop }),
    }))
  }
  return (
    <form id={FORM} onSubmit={submit}>
      <Field label="Name">
        <input name="name" value={name} onInput={(event) => setName(event.currentTarget.value)} />
      </Field>
      <MarkdownField text={content} setText={setContent} explorer={explorer} />
      <details class="field" open={Object.keys(node.attributes).length > 0}>
        <summary>Attributes (JSON)</summary>
        <textarea
          name="attributes"
          aria-label="Attributes as JSON"
          class="code"
          rows={6}
          value={attributes}
          aria-invalid={!parsed}
          onInput={(event) => setAttributes(event.currentTarget.value)}
        />
        {!parsed && <span class="missing">This is not a JSON object.</span>}
      </details>
      <p class="note">
        Written on top of version {node.version ?? '–'}; if somebody changes it meanwhile, nothing is overwritten.
      </p>
    </form>
  )
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text || '{}')
    return value && typeof value === 'object' && !Array.isArray(value) ? (value as Record<string, unknown>) : null
  } catch {
    return null
  }
}

interface MarkdownProps {
  text: string
  setText: (text: string) => void
  explorer: FormProps['explorer']
}

function MarkdownField({ text, setText, explorer }: MarkdownProps): JSX.Element {
  return (
    <div class="markdown-field">
      <Field label="Content (Markdown)">
        <textarea name="content" rows={12} value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </Field>
      <div class="preview" aria-label="Preview">
        <span class="note">Preview</span>
        {text ? <MarkdownView text={text} explorer={explorer} /> : <p class="note">Write something to see it here.</p>}
      </div>
    </div>
  )
}
