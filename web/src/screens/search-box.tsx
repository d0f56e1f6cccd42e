/** The search: names while typing, the full search of notes and code with Enter. */

import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Explorer } from '../explorer'
import { complain, say } from '../notices'
import { SearchIcon } from '../parts/icons'
import type { Card, Hit, SearchKind } from '../source/types'
import { SearchHits } from './search-hits'

const PAUSE_MS = 60
/** While the index of names is made, names are asked for again after this time, which doubles with each attempt. */
const AGAIN_MS = 300
const KINDS: [SearchKind, string][] = [
  ['any', 'All'],
  ['notes', 'Notes'],
  ['code', 'Code'],
]

export function SearchBox({ explorer }: { explorer: Explorer }): JSX.Element {
  const [text, setText] = useState('')
  const [hits, setHits] = useState<Hit[]>([])
  const [asked, setAsked] = useState('')
  const [kind, setKind] = useState<SearchKind>('any')
  /** True if the hits are those of the full search. */
  const [full, setFull] = useState(false)
  /**
   * The moment and text of the last full search, unless the text was changed since. Typing clears it. An effect must
   * not clear it, because it may run after the search was started.
   */
  const sought = useRef<string | null>(null)
  const [place, setPlace] = useState(-1)
  const [open, setOpen] = useState(false)
  const { at } = explorer.view.value
  const take = (found: Hit[], wanted: string, isFull: boolean) => {
    setHits(found)
    setAsked(wanted)
    setFull(isFull)
    setPlace(found.length ? 0 : -1)
  }

  useEffect(() => {
    const wanted = text.trim()
    if (!wanted) return setHits([])
    const control = new AbortController()
    let wait = AGAIN_MS
    const ask = () => {
      explorer.source.suggest(wanted, at, control.signal).then(({ hits: found, complete }) => {
        // Names that arrive late do not replace the hits of the full search.
        if (control.signal.aborted || sought.current === `${at} ${wanted}`) return
        take(found, wanted, false)
        if (complete === false) timer = setTimeout(ask, wait)
        wait *= 2
      }, complain)
    }
    let timer = setTimeout(ask, PAUSE_MS)
    return () => {
      control.abort()
      clearTimeout(timer)
    }
  }, [text, at])

  const choose = (card: Card) => {
    setOpen(false)
    setText('')
    void explorer.open(card.id)
    document.getElementById('mirror')?.focus()
  }
  const searchAll = (wantedKind: SearchKind) => {
    const wanted = text.trim()
    if (!wanted) return
    const moment = `${at} ${wanted}`
    sought.current = moment
    explorer.source.search(wanted, at, wantedKind, explorer.view.value.holds).then((found) => {
      if (sought.current !== moment) return
      take(found, wanted, true)
      if (!found.length)
        say('Nothing was found.', {
          hint: wantedKind === 'any' ? 'Try other words, or fewer.' : 'Try other words, or search notes and code.',
        })
    }, complain)
  }
  const key = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown') setPlace(Math.min(hits.length - 1, place + 1))
    else if (event.key === 'ArrowUp') setPlace(Math.max(-1, place - 1))
    else if (event.key === 'Escape') setOpen(false), (event.currentTarget as HTMLElement).blur()
    else if (event.key === 'Enter') {
      const hit = asked === text.trim() && !event.shiftKey ? hits[place] : undefined
      if (hit) choose(hit)
      else searchAll(kind)
    } else return
    event.preventDefault()
  }
  const shown = open && text.trim() !== ''
  const none = asked === text.trim() && !hits.length
  const leaves = (event: FocusEvent) => {
    const box = (event.currentTarget as HTMLElement).closest('.search')
    if (!box?.contains(event.relatedTarget as Node | null)) setOpen(false)
  }
  return (
    <div class="search" role="search">
      <SearchIcon />
      <input
        id="search"
        type="search"
        role="combobox"
        list={undefined}
        placeholder="Search"
        value={text}
        autocomplete="off"
        spellcheck={false}
        aria-label="Search nodes"
        aria-expanded={shown}
        aria-controls="hits"
        aria-activedescendant={shown && place >= 0 ? `hit-${place}` : undefined}
        onInput={(event) => {
          sought.current = null
          setText(event.currentTarget.value)
          setOpen(true)
        }}
        onFocus={() => setOpen(true)}
        onBlur={leaves}
        onKeyDown={key}
      />
      <kbd aria-hidden="true">/</kbd>
      <div class="hits" hidden={!shown}>
        <div class="hit-kinds">
          <span class="note">{full ? 'Found in' : 'Search contents of'}</span>
          <span class="segments" role="group" aria-label="Kinds to search">
            {KINDS.map(([each, label]) => (
              <button
                key={each}
                type="button"
                aria-pressed={kind === each}
                onPointerDown={(event) => event.preventDefault()}
                onBlur={leaves}
                onClick={() => (setKind(each), searchAll(each))}>
                {label}
              </button>
            ))}
          </span>
        </div>
        <SearchHits explorer={explorer} hits={hits} full={full} place={place} none={shown && none} choose={choose} />
        {hits.length > 0 && (
          <div class="hit-note" aria-hidden="true">
            Enter opens · Shift+Enter searches contents and meanings
          </div>
        )}
      </div>
    </div>
  )
}
