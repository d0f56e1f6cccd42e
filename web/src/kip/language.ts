/** KIP for CodeMirror: colours and completion. */

import type { CompletionContext, CompletionResult } from '@codemirror/autocomplete'
import { HighlightStyle, StreamLanguage } from '@codemirror/language'
import { tags } from '@lezer/highlight'
import { CLAUSES, FUNCTIONS, STATEMENTS } from './words'

const KEYWORDS = new Set([...STATEMENTS, ...CLAUSES])
const CALLS = new Set(FUNCTIONS)

export const kip = StreamLanguage.define({
  name: 'kip',
  token(stream) {
    if (stream.eatSpace()) return null
    if (stream.match('//')) {
      stream.skipToEnd()
      return 'comment'
    }
    if (stream.match(/"(?:[^"\\]|\\.)*"?/)) return 'string'
    if (stream.match(/\?[\w.$-]+/)) return 'variableName'
    if (stream.match(/:[A-Za-z_]\w*/)) return 'atom'
    if (stream.match(/[-+]?\.?\d[\w.]*/)) return 'number'
    if (stream.match(/true|false|null\b/)) return 'bool'
    const word = stream.match(/[A-Za-z_$][\w$]*/) as RegExpMatchArray | null
    if (word) return KEYWORDS.has(word[0]) || CALLS.has(word[0]) ? 'keyword' : 'propertyName'
    stream.next()
    return 'punctuation'
  },
  languageData: { commentTokens: { line: '//' }, closeBrackets: { brackets: ['(', '[', '{', '"'] } },
})

/* Colours come from the style sheet of the page, so that both themes work. */
export const colours = HighlightStyle.define([
  { tag: tags.keyword, color: 'var(--accent)', fontWeight: '600' },
  { tag: tags.string, color: 'var(--code-string)' },
  { tag: tags.variableName, color: 'var(--code-variable)' },
  { tag: [tags.number, tags.bool, tags.atom], color: 'var(--code-number)' },
  { tag: tags.comment, color: 'var(--muted)', fontStyle: 'italic' },
  { tag: tags.propertyName, color: 'var(--ink)' },
])

/** Completion of keywords, of types and relations inside strings, and of variables in the text. */
export function completions(types: () => string[], relations: () => string[]) {
  return (context: CompletionContext): CompletionResult | null => {
    const quoted = context.matchBefore(/"[^"]*/)
    if (quoted) {
      return {
        from: quoted.from + 1,
        options: [
          ...types().map((label) => ({ label, type: 'class', detail: 'type' })),
          ...relations().map((label) => ({ label, type: 'property', detail: 'relation' })),
        ],
      }
    }
    const variable = context.matchBefore(/\?\w*/)
    if (variable) {
      const names = new Set(context.state.doc.toString().match(/\?[A-Za-z_]\w*/g) ?? [])
      names.delete(variable.text)
      return { from: variable.from, options: [...names].map((label) => ({ label, type: 'variable' })) }
    }
    const word = context.matchBefore(/[A-Za-z_]+/)
    if (!word && !context.explicit) return null
    return {
      from: word?.from ?? context.pos,
      options: [...KEYWORDS, ...CALLS].map((label) => ({ label, type: CALLS.has(label) ? 'function' : 'keyword' })),
    }
  }
}
