/** A difference of two texts: green lines with +, grey lines with −. */

import type { JSX } from 'preact'
import { plain } from '../text/format'
import { lineDiff, withContext } from '../text/line-diff'

const LINES_MAX = 400

export function DiffText({ before, after }: { before: string; after: string }): JSX.Element {
  const lines = withContext(lineDiff(before, after))
  return (
    <pre class="diff-text" tabIndex={0} aria-label="Changed lines">
      {lines.slice(0, LINES_MAX).map((line, i) =>
        line ? (
          <span key={i} class={line.sign === '+' ? 'line added' : line.sign === '-' ? 'line removed' : 'line'}>
            {`${line.sign === '-' ? '−' : line.sign} ${plain(line.text)}\n`}
          </span>
        ) : (
          <span key={i} class="line gap">
            {'⋯\n'}
          </span>
        ),
      )}
      {lines.length > LINES_MAX && <span class="line gap">{`${lines.length - LINES_MAX} more lines are not shown.`}</span>}
    </pre>
  )
}
