/** A field for the name of a node. It shows the meant node before anything is written. */

import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Explorer } from '../explorer'
import { Name, Shape } from '../parts/basics'
import { useLoad } from '../parts/load'
import { SourceError } from '../source/errors'
import type { Card, Identified } from '../source/types'
import { plain, splitUri } from '../text/format'

const PAUSE_MS = 120
const HITS = 6

interface Props {
  explorer: Explorer
  label: string
  name: string
  text: string
  setText: (text: string) => void
  /** A path belongs to the workspace of this node. */
  near: string | null
  /** True if the text is the path of a node that does not exist yet. */
  isNew?: boolean
  placeholder?: string
}

export function NodeField({ explorer, label, name, text, setText, near, isNew = false, placeholder }: Props): JSX.Element {
  const [asked, setAsked] = useState(text)
  const [open, setOpen] = useState(false)
  const [place, setPlace] = useState(-1)
  useEffect(() => {
    const timer = setTimeout(() => setAsked(text), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [text])
  const wanted = asked.trim()
  const meant = useLoad(() => (wanted ? explorer.identify(wanted, near, isNew) : Promise.resolve(null)), [wanted, near])
  const found = useLoad(
    () => (isNew || wanted.length < 2 ? Promise.resolve({ hits: [] }) : explorer.source.suggest(wanted, null)),
    [wanted],
  )
  const current = wanted === text.trim() ? meant.value : null
  const several = current?.candidates ?? []
  const hits = several.length ? several : (found.value?.hits ?? []).filter(({ id }) => id !== text.trim()).slice(0, HITS)
  // It stays open when the field loses the focus, because the buttons below would move under the pointer.
  const shown = several.length > 0 || (open && !current?.node && hits.length > 0)
  const take = (card: Card) => {
    setText(card.id)
    setOpen(false)
    setPlace(-1)
  }
  const press = (event: KeyboardEvent) => {
    if (!shown) return
    if (event.key === 'ArrowDown') setPlace(Math.min(hits.length - 1, place + 1))
    else if (event.key === 'ArrowUp') setPlace(Math.max(-1, place - 1))
    else if (event.key === 'Enter' && hits[place]) take(hits[place]!)
    else if (event.key === 'Escape' && open) setOpen(false)
    else return
    event.preventDefault()
  }
  return (
    <div class="field node-field">
      <label for={`field-${name}`}>{label}</label>
      <input
        id={`field-${name}`}
        name={name}
        required
        value={text}
        placeholder={placeholder}
        autocomplete="off"
        spellcheck={false}
        role={isNew ? undefined : 'combobox'}
        aria-expanded={isNew ? undefined : shown}
        aria-controls={isNew ? undefined : `hits-${name}`}
        aria-describedby={`meant-${name}`}
        aria-activedescendant={shown && place >= 0 ? `hits-${name}-${place}` : undefined}
        onInput={(event) => (setText(event.currentTarget.value), setOpen(true), setPlace(-1))}
        onKeyDown={press}
      />
      <div class="field-hits" id={`hits-${name}`} role="listbox" aria-label={`Nodes for ${label}`} hidden={!shown}>
        {hits.map((card, i) => (
          <div
            key={card.id}
            id={`hits-${name}-${i}`}
            role="option"
            aria-selected={i === place}
            class="hit"
            onPointerDown={(event) => (event.preventDefault(), take(card))}>
            <Shape kind={card.kind} type={card.type} explorer={explorer} />
            <span class="hit-name">
              <Name text={card.name} />
            </span>
            <span class="hit-path">
              <Name text={splitUri(card.id)[0]} />
            </span>
          </div>
        ))}
      </div>
      <span class="note" id={`meant-${name}`} role="status" data-testid={`meant-${name}`}>
        {meant.error && wanted ? messageOf(meant.error) : <Meaning meant={current} isNew={isNew} />}
      </span>
    </div>
  )
}

const messageOf = (error: unknown): string => plain(error instanceof SourceError ? error.message : 'This could not be looked up.')

/** The sentence below the field. */
function Meaning({ meant, isNew }: { meant: Identified | null; isNew: boolean }): JSX.Element | null {
  if (!meant) return null
  if (!meant.id) return <span class="missing">Several nodes have this name. Choose one.</span>
  const written = meant.node && meant.node.kind !== 'missing'
  if (isNew)
    return written ? (
      <span class="missing">
        This node exists already: <Name text={meant.id} />
      </span>
    ) : (
      <>
        It will be <Name text={meant.id} />
      </>
    )
  return written ? (
    <>
      This is{' '}
      <strong>
        <Name text={meant.node!.name} />
      </strong>
      , <Name text={meant.id} />
    </>
  ) : (
    <>
      Not written yet: <Name text={meant.id} /> is kept as missing.
    </>
  )
}

/** The id of the node that a text means. Raises an error if several are meant. */
export async function idOf(explorer: Explorer, text: string, near: string | null, isNew = false): Promise<string> {
  const { id, candidates } = await explorer.identify(text.trim(), near, isNew)
  if (id) return id
  const names = candidates.map((card) => card.id).join(', ')
  throw new SourceError(
    'several',
    'Ambiguous',
    `Several nodes are called ${text.trim()}.`,
    `Take the URI of the one that you mean: ${names}`,
  )
}
