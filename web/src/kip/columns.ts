/** Answers of KIP as a table: columns with names, and rows of values. */

export interface Answer {
  columns: string[]
  rows: unknown[][]
}

/** The expressions between the parentheses of FIND, split at commas outside of brackets. */
export function findExpressions(command: string): string[] {
  const open = /\bFIND\s*\(/.exec(command)
  if (!open) return []
  const expressions: string[] = []
  let depth = 1
  let text = ''
  for (const sign of command.slice(open.index + open[0].length)) {
    if ('([{'.includes(sign)) depth++
    else if (')]}'.includes(sign) && --depth === 0) break
    if (sign === ',' && depth === 1) {
      expressions.push(text.trim())
      text = ''
    } else text += sign
  }
  return text.trim() ? [...expressions, text.trim()] : expressions
}

/** FIND with several expressions returns a list for each of them; with one, the list itself. */
export function tabulate(command: string, result: unknown): Answer {
  const names = findExpressions(command)
  if (names.length > 1 && Array.isArray(result) && result.length === names.length && result.every(Array.isArray)) {
    const columns = result as unknown[][]
    const length = Math.max(0, ...columns.map((column) => column.length))
    return { columns: names, rows: Array.from({ length }, (_, row) => columns.map((column) => column[row])) }
  }
  if (Array.isArray(result)) return objectsOrValues(names[0] ?? 'result', result)
  if (result && typeof result === 'object') return { columns: ['key', 'value'], rows: Object.entries(result) }
  return { columns: ['result'], rows: result === undefined || result === null ? [] : [[result]] }
}

function objectsOrValues(name: string, values: unknown[]): Answer {
  const isNode = (value: unknown): value is Record<string, unknown> =>
    !!value && typeof value === 'object' && 'id' in value && 'type' in value
  if (values.length && values.every(isNode)) {
    const keys = ['name', 'type', 'id', 'attributes', 'metadata'].filter((key) => values.some((value) => key in value))
    return { columns: keys, rows: values.map((value) => keys.map((key) => value[key])) }
  }
  return { columns: [name], rows: values.map((value) => [value]) }
}

const URI = /^[a-z][a-z0-9+.-]*:\/\//i

/** The ids of all concepts in an answer, for the graph. */
export function conceptIds(value: unknown, found = new Set<string>()): Set<string> {
  if (Array.isArray(value)) for (const item of value) conceptIds(item, found)
  else if (value && typeof value === 'object') {
    const { _type, type, name } = value as Record<string, unknown>
    if (typeof name === 'string' && typeof type === 'string' && _type !== 'PropositionLink') {
      found.add(URI.test(name) ? name : `kip:${type}/${name}`)
    } else for (const item of Object.values(value)) conceptIds(item, found)
  }
  return found
}
