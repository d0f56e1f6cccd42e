/** The named queries of a graph: a list, and a form made from the parameters of one. */

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { NamedQuery, ParameterSchema } from '../source/types'
import { plain } from '../text/format'

export function NamedQueryList({ queries, open }: { queries: NamedQuery[]; open: (name: string) => void }): JSX.Element {
  return (
    <>
      <h2>Named queries</h2>
      <ul class="plain">
        {queries.map(({ name, description }) => (
          <li key={name}>
            <button type="button" class="link" title={plain(description)} onClick={() => open(name)}>
              {plain(name)}
            </button>
          </li>
        ))}
      </ul>
    </>
  )
}

interface FormProps {
  query: NamedQuery
  /** The texts of the fields, by parameter. */
  values: Record<string, string>
  changed: (values: Record<string, string>) => void
  run: () => void
  close: () => void
  busy: boolean
}

/** A field for each parameter. An empty field is left out, so that its default applies. */
export function NamedQueryForm({ query, values, changed, run, close, busy }: FormProps): JSX.Element {
  const required = new Set(query.parameters.required ?? [])
  const [texts, setTexts] = useState(values)
  const write = (name: string, text: string) => {
    const next = Object.fromEntries(Object.entries({ ...texts, [name]: text }).filter(([, kept]) => kept !== ''))
    setTexts(next)
    changed(next)
  }
  return (
    <form
      class="named-query"
      aria-label={`Query ${query.name}`}
      onSubmit={(event) => {
        event.preventDefault()
        run()
      }}>
      <h2>{plain(query.name)}</h2>
      {query.description && <p>{plain(query.description)}</p>}
      {query.instruction && <p class="note">{plain(query.instruction)}</p>}
      {Object.entries(query.parameters.properties).map(([name, schema]) => (
        <label key={name}>
          <span>
            {plain(name)} <span class="note">{required.has(name) ? 'required' : ''}</span>
          </span>
          <Field
            name={name}
            schema={schema}
            text={texts[name] ?? ''}
            required={required.has(name)}
            write={(text) => write(name, text)}
          />
          {schema.description && <span class="note">{plain(schema.description)}</span>}
        </label>
      ))}
      <div class="tools">
        <button type="submit" class="button strong" disabled={busy}>
          {query.writes ? 'Run and write' : 'Run'}
        </button>
        <button type="button" class="button" onClick={close}>
          Write a command
        </button>
      </div>
    </form>
  )
}

interface FieldProps {
  name: string
  schema: ParameterSchema
  text: string
  required: boolean
  write: (text: string) => void
}

function Field({ name, schema, text, required, write }: FieldProps): JSX.Element {
  const kind = typeIn(schema)
  const usual = schema.default === undefined ? '' : JSON.stringify(schema.default)
  if (kind === 'boolean')
    return (
      <select name={name} value={text} required={required} onChange={(event) => write(event.currentTarget.value)}>
        <option value="">{usual || '–'}</option>
        <option value="true">true</option>
        <option value="false">false</option>
      </select>
    )
  return (
    <input
      name={name}
      type="text"
      inputMode={kind === 'integer' || kind === 'number' || schema.format?.includes('int') ? 'decimal' : undefined}
      placeholder={usual || hintFor(kind, schema.format)}
      value={text}
      required={required}
      onInput={(event) => write(event.currentTarget.value)}
    />
  )
}

const typeIn = ({ type }: ParameterSchema): string => (Array.isArray(type) ? type.find((one) => one !== 'null') : type) ?? ''

function hintFor(kind: string, format: string | undefined): string {
  if (kind === 'array') return '["a", "b"] or a, b'
  if (format === 'date') return '2026-01-31'
  if (format === 'date-time') return '2026-01-31T09:00:00Z'
  return kind === '' ? 'JSON' : ''
}

/** The values of the fields as the server takes them. */
export function valuesOf(query: NamedQuery, texts: Record<string, string>): Record<string, unknown> {
  const values: Record<string, unknown> = {}
  for (const [name, schema] of Object.entries(query.parameters.properties)) {
    const text = texts[name]
    if (text !== undefined && text !== '') values[name] = jsonOrText(typeIn(schema), text)
  }
  return values
}

function jsonOrText(kind: string, text: string): unknown {
  if (kind !== 'array' && kind !== '') return text
  try {
    const value: unknown = JSON.parse(text)
    if (kind === '' || Array.isArray(value)) return value
  } catch {
    // It is not JSON: a list with commas, or a text.
  }
  return kind === 'array' ? text.split(',').map((item) => item.trim()) : text
}
