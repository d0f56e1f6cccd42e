/** The query screen: an editor of KIP or the form of a named query, and the answer as a table, as JSON, or in the graph. */

import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Explorer } from '../explorer'
import { type Answer, conceptIds, tabulate } from '../kip/columns'
import type { Editor, Problem } from '../kip/editor'
import { type Example, examplesFor, ordinaryTypes } from '../kip/examples'
import { Empty, Failure, Name, Waiting } from '../parts/basics'
import { useLoad } from '../parts/load'
import { Value } from '../parts/value'
import { SourceError } from '../source/errors'
import type { NamedQuery } from '../source/types'
import { count, plain } from '../text/format'
import { NamedQueryForm, NamedQueryList, valuesOf } from './named-query'

const ROWS_MAX = 500

interface Outcome {
  /** The answer as a table. */
  answer: Answer
  result: unknown
  warnings: string[]
  dry: boolean
  error: unknown
}

const failed = (error: unknown, dry: boolean): Outcome => ({
  answer: { columns: [], rows: [] },
  result: null,
  warnings: [],
  dry,
  error,
})

export function QueryScreen({ explorer }: { explorer: Explorer }): JSX.Element {
  const [outcome, setOutcome] = useState<Outcome | null>(null)
  const [busy, setBusy] = useState(false)
  const editor = useRef<Editor | null>(null)
  const text = useRef(explorer.view.value.query)
  const write = (query: string) => {
    text.current = query
    explorer.look({ query })
  }
  const run = async (dry: boolean) => {
    const command = text.current.trim()
    if (!command) return
    setBusy(true)
    editor.current?.mark(null)
    try {
      const answer = (await explorer.source.kip(command, dry)) as { result: unknown; warnings?: string[] }
      const { result, warnings = [] } = answer
      setOutcome({ answer: tabulate(command, result), result, warnings, dry, error: null })
    } catch (error) {
      editor.current?.mark(problemOf(error))
      setOutcome(failed(error, dry))
    }
    setBusy(false)
  }
  const { named, fields } = explorer.view.value
  const { value: queries } = useLoad(() => explorer.source.queries(), [explorer, explorer.view.value.branch])
  const query = queries?.find(({ name }) => name === named)
  const runNamed = async (chosen: NamedQuery) => {
    setBusy(true)
    try {
      const given = await explorer.source.runQuery(chosen.name, valuesOf(chosen, explorer.view.peek().fields))
      const { columns, rows, result } = given
      const answer = columns && rows ? { columns, rows } : tabulate('', result)
      setOutcome({ answer, result: rows ?? result, warnings: [], dry: false, error: null })
    } catch (error) {
      setOutcome(failed(error, false))
    }
    setBusy(false)
  }
  const open = (name: string) => {
    setOutcome(null)
    explorer.look({ named: name, fields: {} })
  }
  const take = (example: Example) => {
    if (query) open('')
    write(example.text)
    editor.current?.setText(text.current)
    editor.current?.focus()
  }
  const about = explorer.about.value
  const type = about && ordinaryTypes(about)[0]
  const { value: hub } = useLoad(
    () => (type ? explorer.source.overview('type', type, null, 1) : Promise.resolve(null)),
    [explorer, type],
  )
  const examples = about ? examplesFor(about, hub?.nodes[0] ?? null) : []
  const runs = useRef(run)
  runs.current = run
  return (
    <main class="page query-screen" id="main">
      <h1 class="hidden-title">Query</h1>
      <div class="query-top">
        {query ? (
          <NamedQueryForm
            key={query.name}
            query={query}
            values={fields}
            changed={(next) => explorer.look({ fields: next })}
            run={() => void runNamed(query)}
            close={() => open('')}
            busy={busy}
          />
        ) : (
          <EditorBox
            explorer={explorer}
            text={() => text.current}
            changed={write}
            run={() => void runs.current(false)}
            ready={(made) => (editor.current = made)}
          />
        )}
        <aside class="examples" aria-label="Queries">
          {!!queries?.length && <NamedQueryList queries={queries} open={open} />}
          <h2>Examples</h2>
          <ul class="plain">
            {examples.map((example) => (
              <li key={example.title}>
                <button type="button" class="link" onClick={() => take(example)}>
                  {example.title}
                </button>
              </li>
            ))}
          </ul>
        </aside>
      </div>
      {!query && (
        <div class="tools">
          <button type="button" class="button strong" disabled={busy} onClick={() => void run(false)}>
            Run
          </button>
          <button
            type="button"
            class="button"
            disabled={busy}
            title="Check and show what would be written, without writing"
            onClick={() => void run(true)}>
            Dry run
          </button>
          <span class="note">
            Ctrl+Enter runs the command.{' '}
            {explorer.about.value?.writable ? 'A dry run writes nothing.' : 'This server is read-only.'}
          </span>
        </div>
      )}
      {busy ? (
        <Waiting />
      ) : outcome ? (
        <OutcomeView outcome={outcome} explorer={explorer} />
      ) : (
        <Empty title="No command has run yet.">Type a command or take an example.</Empty>
      )}
    </main>
  )
}

/** The place of an error in the command: from its line and column, and the carets of its excerpt. */
function problemOf(error: unknown): Problem | null {
  if (!(error instanceof SourceError)) return null
  const { line, column, excerpt } = error.data
  if (typeof line !== 'number' || typeof column !== 'number') return null
  const carets = typeof excerpt === 'string' ? (/\^+/.exec(excerpt)?.[0].length ?? 1) : 1
  return { line, column, length: carets, message: error.message.split('\n')[0]! }
}

interface BoxProps {
  explorer: Explorer
  text: () => string
  changed: (text: string) => void
  run: () => void
  ready: (editor: Editor) => void
}

function EditorBox({ explorer, text, changed, run, ready }: BoxProps): JSX.Element {
  const host = useRef<HTMLDivElement>(null)
  useEffect(() => {
    let editor: Editor | null = null
    let gone = false
    const box = host.current!
    void import('../kip/editor').then(({ createEditor }) => {
      if (gone || !box.isConnected) return
      const counts = () => explorer.about.peek()?.counts
      editor = createEditor(box, {
        text: text(),
        changed,
        run,
        types: () => Object.keys(counts()?.types ?? {}),
        relations: () => Object.keys(counts()?.relations ?? {}),
      })
      ready(editor)
      editor.focus()
    })
    return () => {
      gone = true
      editor?.destroy()
    }
  }, [])
  return <div class="editor" ref={host} data-testid="editor" />
}

/** A value of an answer; the URI of a node leads to the graph. */
const Cell = ({ value, explorer }: { value: unknown; explorer: Explorer }): JSX.Element =>
  typeof value === 'string' && /^(concept|file):\/\/\S+$/.test(value) ? (
    <button type="button" class="link uri" onClick={() => void explorer.open(value)}>
      <Name text={value} />
    </button>
  ) : (
    <Value value={value} depth={1} />
  )

function OutcomeView({ outcome, explorer }: { outcome: Outcome; explorer: Explorer }): JSX.Element {
  const [json, setJson] = useState(false)
  if (outcome.error) return <Failure error={outcome.error} />
  const { columns, rows } = outcome.answer
  const ids = [...conceptIds(outcome.result)]
  const graph = () => {
    explorer.look({ screen: 'graph', group: null, ids, less: [], route: null, selected: null, table: false })
    void explorer.show()
  }
  return (
    <section class="answer" aria-label="Answer">
      <div class="tools">
        <strong>
          {outcome.dry ? 'Dry run: nothing was written. ' : ''}
          {count(rows.length, 'row')}
        </strong>
        <span class="gap" />
        {ids.length > 0 && (
          <button type="button" class="button" onClick={graph}>
            Show {count(ids.length, 'node')} in the graph
          </button>
        )}
        <button type="button" class="button" aria-pressed={json} onClick={() => setJson(!json)}>
          JSON
        </button>
      </div>
      {outcome.warnings.map((warning) => (
        <p key={warning} class="warning">
          {plain(warning)}
        </p>
      ))}
      {json ? (
        <pre class="plain-text" tabIndex={0}>
          {plain(JSON.stringify(outcome.result, null, 2))}
        </pre>
      ) : !rows.length ? (
        <Empty title="The command found nothing." />
      ) : (
        <div class="table-box" tabIndex={0} aria-label="Rows">
          <table class="data">
            <thead>
              <tr>
                {columns.map((column) => (
                  <th key={column}>{plain(column)}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.slice(0, ROWS_MAX).map((row, i) => (
                <tr key={i}>
                  {row.map((value, j) => (
                    <td key={j}>
                      <Cell value={value} explorer={explorer} />
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
          {rows.length > ROWS_MAX && (
            <p class="note">{count(rows.length - ROWS_MAX, 'row')} more are in the answer but not shown here: see JSON.</p>
          )}
        </div>
      )}
    </section>
  )
}
