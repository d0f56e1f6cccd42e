/** JSON values, readable: texts as they are, lists and objects as indented blocks that can be folded. */

import type { JSX } from 'preact'
import { plain, short } from '../text/format'

const TEXT_MAX = 2000
const ITEMS_MAX = 200

export function Value({ value, depth = 0 }: { value: unknown; depth?: number }): JSX.Element {
  if (value === null || value === undefined) return <span class="value-none">none</span>
  if (typeof value === 'string')
    return (
      <span class="value-text">
        <bdi>{plain(short(value, TEXT_MAX))}</bdi>
      </span>
    )
  if (typeof value !== 'object') return <span class="value-plain">{String(value)}</span>
  const entries = Array.isArray(value) ? value.map((item, i) => [String(i + 1), item] as const) : Object.entries(value)
  if (!entries.length) return <span class="value-none">{Array.isArray(value) ? 'empty list' : 'empty'}</span>
  const body = (
    <dl class="value-block">
      {entries.slice(0, ITEMS_MAX).map(([key, item]) => (
        <div key={key}>
          <dt>
            <bdi>{plain(key)}</bdi>
          </dt>
          <dd>
            <Value value={item} depth={depth + 1} />
          </dd>
        </div>
      ))}
      {entries.length > ITEMS_MAX && <div class="note">{entries.length - ITEMS_MAX} more are not shown here.</div>}
    </dl>
  )
  if (depth === 0 || entries.length <= 4) return body
  return (
    <details>
      <summary>
        {entries.length} {Array.isArray(value) ? 'items' : 'fields'}
      </summary>
      {body}
    </details>
  )
}
