/** The versions of a node: who changed what, with the difference to the version before. */

import type { JSX } from 'preact'
import type { Explorer } from '../explorer'
import { complain, say } from '../notices'
import { Failure, Name, Time, Waiting } from '../parts/basics'
import { DiffText } from '../parts/diff-text'
import { usePages } from '../parts/load'
import type { Version } from '../source/types'
import { moment, valueText } from '../text/format'

export function NodeHistory({ explorer, id }: { explorer: Explorer; id: string }): JSX.Element {
  const { pages, error, more } = usePages(
    (cursor: string | null) => explorer.source.history(id, cursor),
    (page) => page.next_cursor,
    [explorer, id, explorer.changed.value],
  )
  if (error) return <Failure error={error} />
  if (!pages.length) return <Waiting />
  const versions = pages.flatMap((page) => page.versions)
  if (!versions.length) return <p class="note">It was never written.</p>
  return (
    <>
      <ol class="versions">
        {versions.map((version, i) => (
          <VersionRow key={version.seq} version={version} before={versions[i + 1] ?? null} explorer={explorer} open={i === 0} />
        ))}
      </ol>
      {more && (
        <button type="button" class="link" onClick={more}>
          Older versions
        </button>
      )}
    </>
  )
}

interface RowProps {
  version: Version
  before: Version | null
  explorer: Explorer
  open: boolean
}

/** The position of the commit that wrote a version: its id begins with it. */
const positionOf = ({ commit, seq }: Version): number => Number.parseInt(commit ?? '', 10) || seq

const VERBS: Record<string, string> = {
  put_concept: 'written',
  retire_concept: 'removed',
  move_concept: 'moved',
  purge: 'purged',
}

function VersionRow({ version, before, explorer, open }: RowProps): JSX.Element {
  const writable = explorer.about.value?.writable && explorer.view.value.at === null
  const undo = () =>
    void explorer.source
      .write({ op: 'revert', commit: version.commit ?? String(version.seq) }, '')
      .then(
        (written) => say(written.changed ? `Undone as a new commit at position ${written.position}.` : 'Nothing changed.'),
        complain,
      )
  return (
    <li>
      <details open={open}>
        <summary>
          <strong>Version {version.version}</strong> {VERBS[version.kind] ?? version.kind} by{' '}
          <Name text={version.actor ?? 'unknown'} /> · <Time time={version.time} />
          {version.message && (
            <span class="version-message">
              “<Name text={version.message} />”
            </span>
          )}
        </summary>
        <VersionChange version={version} before={before} />
        <div class="actions">
          <button
            type="button"
            class="button"
            title={moment(version.time)}
            onClick={() => explorer.showMoment(positionOf(version))}>
            Show the graph as of then
          </button>
          {writable && (
            <button type="button" class="button" onClick={undo}>
              Undo this change
            </button>
          )}
        </div>
      </details>
    </li>
  )
}

function VersionChange({ version, before }: { version: Version; before: Version | null }): JSX.Element {
  const now = textOf(version)
  const then = before ? textOf(before) : ''
  if (version.attributes === null && version.content === null) return <p class="note">Its values were purged.</p>
  if (now === then) return <p class="note">Its text and attributes did not change.</p>
  return <DiffText before={then} after={now} />
}

/** A version as text: name and type, attributes, then the content. */
function textOf({ name, type, content, attributes }: Version): string {
  const lines = [`name: ${name ?? ''}`, `type: ${type ?? ''}`]
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (key !== 'content' && key !== 'name') lines.push(`${key}: ${valueText(value)}`)
  }
  return content ? `${lines.join('\n')}\n\n${content}` : lines.join('\n')
}
