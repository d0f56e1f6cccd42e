/** A box that completes names of nodes: the arrow keys walk through the completions, Enter takes one. */

import type { JSX } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import type { Explorer } from '../explorer'
import { complain } from '../notices'
import type { Card } from '../source/types'
import { splitUri } from '../text/format'
import { Name, Shape } from './basics'

const PAUSE_MS = 60

interface Props {
  explorer: Explorer
  label: string
  /** The node at the other end, which is not offered. */
  without: string
  choose: (card: Card) => void
  close: () => void
}

export function NodeChooser({ explorer, label, without, choose, close }: Props): JSX.Element {
  const [text, setText] = useState('')
  const [hits, setHits] = useState<Card[]>([])
  const [asked, setAsked] = useState('')
  const [place, setPlace] = useState(0)
  const list = useId()
  const box = useRef<HTMLInputElement>(null)
  useEffect(() => box.current?.focus(), [])
  const { at } = explorer.view.value
  const wanted = text.trim()
  useEffect(() => {
    if (!wanted) return setHits([])
    const control = new AbortController()
    const timer = setTimeout(() => {
      explorer.source.suggest(wanted, at, control.signal).then(({ hits: found }) => {
        if (control.signal.aborted) return
        setHits(found.filter((card) => card.id !== without))
        setAsked(wanted)
        setPlace(0)
      }, complain)
    }, PAUSE_MS)
    return () => {
      control.abort()
      clearTimeout(timer)
    }
  }, [wanted, at])
  const key = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown') setPlace(Math.min(hits.length - 1, place + 1))
    else if (event.key === 'ArrowUp') setPlace(Math.max(0, place - 1))
    else if (event.key === 'Escape') close()
    else if (event.key === 'Enter') {
      const hit = asked === wanted ? hits[place] : undefined
      if (hit) choose(hit)
    } else return
    event.preventDefault()
    event.stopPropagation()
  }
  const none = wanted !== '' && asked === wanted && !hits.length
  return (
    <div class="chooser">
      <input
        type="text"
        role="combobox"
        value={text}
        autocomplete="off"
        spellcheck={false}
        placeholder={label}
        aria-label={label}
        ref={box}
        aria-autocomplete="list"
        aria-expanded={wanted !== ''}
        aria-controls={list}
        aria-activedescendant={hits.length ? `${list}-${place}` : undefined}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={key}
      />
      <div class="hits" id={list} role="listbox" aria-label={label} hidden={!wanted}>
        {hits.map((hit, i) => (
          <div
            key={hit.id}
            id={`${list}-${i}`}
            role="option"
            aria-selected={i === place}
            class="hit"
            onPointerDown={(event) => (event.preventDefault(), choose(hit))}>
            <Shape kind={hit.kind} type={hit.type} explorer={explorer} />
            <span class="hit-name">
              <Name text={hit.name} />
            </span>
            <span class="hit-path">
              <Name text={splitUri(hit.id)[0]} />
            </span>
          </div>
        ))}
        {none && (
          <div class="hit none" role="option" aria-selected="false" aria-disabled="true">
            No name begins so.
          </div>
        )}
      </div>
    </div>
  )
}
