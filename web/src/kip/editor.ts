/** The editor of KIP commands. It is loaded when the query screen is first opened. */

import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { bracketMatching, syntaxHighlighting } from '@codemirror/language'
import { setDiagnostics } from '@codemirror/lint'
import { EditorState } from '@codemirror/state'
import { drawSelection, EditorView, keymap, lineNumbers, placeholder } from '@codemirror/view'
import { colours, completions, kip } from './language'

export interface EditorOptions {
  text: string
  changed(text: string): void
  run(): void
  types(): string[]
  relations(): string[]
}

/** A problem of the command, at a line and a column that count from 1. */
export interface Problem {
  line: number
  column: number
  length: number
  message: string
}

export interface Editor {
  setText(text: string): void
  mark(problem: Problem | null): void
  focus(): void
  destroy(): void
}

const look = EditorView.theme({
  '&': { backgroundColor: 'var(--sheet)', color: 'var(--ink)', fontSize: '13.5px', height: '100%' },
  '&.cm-focused': { outline: 'none' },
  '.cm-content': { fontFamily: 'var(--mono)', caretColor: 'var(--ink)', padding: '10px 0' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-gutters': { backgroundColor: 'var(--sheet)', color: 'var(--muted)', border: 'none' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground': { backgroundColor: 'var(--chosen) !important' },
  '.cm-tooltip': { backgroundColor: 'var(--sheet)', color: 'var(--ink)', border: '1px solid var(--rule)', borderRadius: '6px' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { backgroundColor: 'var(--accent)', color: 'var(--on-accent)' },
  '.cm-placeholder': { color: 'var(--muted)' },
  '.cm-matchingBracket': { backgroundColor: 'var(--chosen)' },
})

/** Puts an editor into an element. A shadow root holds its styles, which the CSP would refuse elsewhere. */
export function createEditor(host: HTMLElement, options: EditorOptions): Editor {
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' })
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: options.text,
      extensions: [
        lineNumbers(),
        history(),
        drawSelection(),
        bracketMatching(),
        closeBrackets(),
        kip,
        syntaxHighlighting(colours),
        look,
        placeholder('FIND(?c.name) WHERE { ?c {type: "Concept"} } LIMIT 10'),
        autocompletion({ override: [completions(options.types, options.relations)] }),
        EditorView.lineWrapping,
        EditorView.domEventHandlers({ beforeinput: replaceSelected, compositionstart: (_, view) => deleteSelected(view) }),
        EditorView.contentAttributes.of({ 'aria-label': 'KIP command', spellcheck: 'false' }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) options.changed(update.state.doc.toString())
        }),
        keymap.of([
          { key: 'Mod-Enter', run: () => (options.run(), true) },
          ...closeBracketsKeymap,
          ...completionKeymap,
          ...historyKeymap,
          ...defaultKeymap,
        ]),
      ],
    }),
  })
  return {
    setText: (text) => {
      if (text !== view.state.doc.toString()) view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } })
    },
    mark: (problem) => {
      const marks = problem ? [{ ...rangeOf(view, problem), severity: 'error' as const, message: problem.message }] : []
      view.dispatch(setDiagnostics(view.state, marks))
    },
    focus: () => view.focus(),
    destroy: () => view.destroy(),
  }
}

/**
 * * Replaces or deletes selected text instead of the browser; returns false if the browser has to do it. Chromium would
 * copy the style of the deleted text to the line as an inline style, which the CSP refuses.
 */
function replaceSelected(event: InputEvent, view: EditorView): boolean {
  const text = event.inputType.startsWith('delete') ? '' : event.inputType === 'insertText' ? event.data : null
  const { from, to } = selectedRange(view)
  if (from === to || text === null || event.isComposing) return false
  const change = () =>
    view.state.update({
      changes: { from, to, insert: text },
      selection: { anchor: from + text.length },
      userEvent: text ? 'input.type' : 'delete.selection',
      scrollIntoView: true,
    })
  if (!text || !view.state.facet(EditorView.inputHandler).some((handle) => handle(view, from, to, text, change)))
    view.dispatch(change())
  return true
}

function deleteSelected(view: EditorView): void {
  const { from, to } = selectedRange(view)
  if (from !== to) view.dispatch({ changes: { from, to }, userEvent: 'delete.selection' })
}

/** The selected text, which the browser has a moment before the editor. */
function selectedRange(view: EditorView): { from: number; to: number } {
  const selection = (view.root as Partial<DocumentOrShadowRoot> & { getSelection?: () => Selection | null }).getSelection?.()
  if (!selection?.anchorNode || !selection.focusNode || !view.contentDOM.contains(selection.anchorNode))
    return view.state.selection.main
  const ends = [
    view.posAtDOM(selection.anchorNode, selection.anchorOffset),
    view.posAtDOM(selection.focusNode, selection.focusOffset),
  ]
  return { from: Math.min(...ends), to: Math.max(...ends) }
}

function rangeOf(view: EditorView, { line, column, length }: Problem): { from: number; to: number } {
  const row = view.state.doc.line(Math.min(Math.max(1, line), view.state.doc.lines))
  const from = Math.min(row.from + column - 1, row.to)
  return { from, to: Math.min(Math.max(from + length, from), view.state.doc.length) }
}
