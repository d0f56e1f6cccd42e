/** The Markdown of a node. Long texts are shown in part, with the rest on demand. */

import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Explorer } from '../explorer'
import { number, plain } from '../text/format'

const SHOWN_MAX = 60_000

export function MarkdownView({ text, explorer }: { text: string; explorer: Explorer }): JSX.Element {
  const [html, setHtml] = useState<TrustedHTML | null>(null)
  const [asText, setAsText] = useState(false)
  const long = text.length > SHOWN_MAX
  useEffect(() => {
    let current = true
    setAsText(false)
    import('../text/markdown')
      .then(({ render }) => render(text.slice(0, SHOWN_MAX)))
      .then(
        (made) => current && setHtml(made),
        () => current && setAsText(true), // Quotes in quotes in quotes, thousands deep.
      )
    return () => {
      current = false
    }
  }, [text])
  if (asText) return <pre class="plain-text">{plain(text)}</pre>
  return (
    <>
      {html ? (
        <div
          class="markdown"
          onClick={(event) => followNode(event, explorer)}
          dangerouslySetInnerHTML={{ __html: html as unknown as string }}
        />
      ) : (
        <div class="waiting">Reading…</div>
      )}
      {long && (
        <p class="note">
          The first {number(SHOWN_MAX)} of {number(text.length)} characters are shown.{' '}
          <button type="button" class="link" onClick={() => setAsText(true)}>
            Show all as plain text
          </button>
        </p>
      )}
    </>
  )
}

function followNode(event: MouseEvent, explorer: Explorer): void {
  const anchor = (event.target as Element).closest('a[data-node]')
  if (!anchor) return
  event.preventDefault()
  void explorer.open(anchor.getAttribute('data-node')!)
}
