/** The content of a symbol or file: signature, documentation, and the source as it is on the disk. */

import type { JSX } from 'preact'
import type { Explorer } from '../explorer'
import { Failure, Name, Waiting } from '../parts/basics'
import { useLoad } from '../parts/load'
import { MarkdownView } from '../parts/markdown-view'
import type { NodeDetail, SourceText } from '../source/types'
import { count, plain } from '../text/format'

export const isCode = ({ id, type, kind }: NodeDetail): boolean =>
  type === 'Symbol' || (kind === 'resource' && id.startsWith('file://'))

const textOf = (value: unknown): string | null => (typeof value === 'string' && value ? value : null)

export function NodeCode({ explorer, node }: { explorer: Explorer; node: NodeDetail }): JSX.Element {
  const { value, error, loading } = useLoad(() => explorer.source.source(node.id), [explorer, node.id, explorer.changed.value])
  const signature = textOf(node.attributes['signature'])
  const doc = textOf(node.attributes['doc'])
  return (
    <>
      {signature && (
        <pre class="signature" tabIndex={0}>
          <code>{plain(signature)}</code>
        </pre>
      )}
      {doc && (
        <p class="doc">
          <Name text={doc} />
        </p>
      )}
      {node.content && <MarkdownView text={node.content} explorer={explorer} />}
      {error ? (
        <Failure error={error} />
      ) : value ? (
        <Source source={value} isFile={node.type !== 'Symbol'} />
      ) : loading ? (
        <Waiting />
      ) : null}
    </>
  )
}

function Source({ source, isFile }: { source: SourceText; isFile: boolean }): JSX.Element {
  const { path, line, text, reason, lines, cut } = source
  const rows = text === null ? [] : text.split('\n')
  return (
    <section class="source" aria-label="Source">
      <h2 class="uri">
        <Name text={isFile ? path : `${path}:${line}`} />
      </h2>
      {text === null ? (
        <p class="note">{plain(reason ?? 'It cannot be read.')}</p>
      ) : (
        <pre class="lines" tabIndex={0}>
          <code>
            {rows.map((row, i) => (
              <span key={i} class="source-line" data-line={line + i}>
                {plain(row)}
                {'\n'}
              </span>
            ))}
          </code>
        </pre>
      )}
      {cut && <p class="note">{isFile ? `The head of ${count(lines ?? rows.length, 'line')}.` : 'The rest is left out.'}</p>}
    </section>
  )
}
