/** The search: names while typing, the full search with Enter. */

import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Explorer } from '../explorer'
import { complain, say } from '../notices'
import { Name, Shape } from '../parts/basics'
import { SearchIcon } from '../parts/icons'
import type { Card, Hit } from '../source/types'
import { plain, splitUri } from '../text/format'

const PAUSE_MS = 60
/** The names are asked for again after this time, and then after twice the time before, while their index is made. */
const AGAIN_MS = 300

export function SearchBox({ explorer }: { explorer: Explorer }): JSX.Element {
  const [text, setText] = useState('')
  const [hits, setHits] = useState<Hit[]>([])
  const [asked, setAsked] = useState('')
  const [place, setPlace] = useState(-1)
  const [open, setOpen] = useState(false)
  const { at } = explorer.view.value

  useEffect(() => {
    const wanted = text.trim()
    if (!wanted) return setHits([])
    const control = new AbortController()
    let wait = AGAIN_MS
    const ask = () => {
      explorer.source.suggest(wanted, at, control.signal).then(({ hits: found, complete }) => {
        if (control.signal.aborted) return
        setHits(found)
        setAsked(wanted)
        setPlace(found.length ? 0 : -1)
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
  const searchAll = () => {
    explorer.source.search(text.trim(), at).then((found) => {
      setHits(found)
      setAsked(text.trim())
      setPlace(found.length ? 0 : -1)
      if (!found.length) say('Nothing was found.', { hint: 'Try other words, or fewer.' })
    }, complain)
  }
  const key = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown') setPlace(Math.min(hits.length - 1, place + 1))
    else if (event.key === 'ArrowUp') setPlace(Math.max(-1, place - 1))
    else if (event.key === 'Escape') (setOpen(false), (event.currentTarget as HTMLElement).blur())
    else if (event.key === 'Enter') {
      const hit = asked === text.trim() && !event.shiftKey ? hits[place] : undefined
      if (hit) choose(hit)
      else if (text.trim()) searchAll()
    } else return
    event.preventDefault()
  }
  const shown = open && text.trim() !== ''
  return (
    <div class="search" role="search">
      <SearchIcon />
      <input
        id="search" type="search" role="combobox" list={undefined} placeholder="Search" value={text} autocomplete="off" spellcheck={false}
        aria-label="Search nodes" aria-expanded={shown} aria-controls="hits" aria-activedescendant={shown && place >= 0 ? `hit-${place}` : undefined}
        onInput={(event) => (setText(event.currentTarget.value), setOpen(true))}
        onFocus={() => setOpen(true)} onBlur={() => setOpen(false)} onKeyDown={key}
      />
      <kbd aria-hidden="true">/</kbd>
      <div class="hits" id="hits" role="listbox" aria-label="Found" hidden={!shown}>
        {hits.map((hit, i) => (
          <div key={hit.id} id={`hit-${i}`} role="option" aria-selected={i === place} class="hit" onPointerDown={(event) => (event.preventDefault(), choose(hit))}>
            <Shape kind={hit.kind} type={hit.type} explorer={explorer} />
            <span class="hit-name"><Name text={hit.name} /></span>
            <span class="hit-path"><Name text={splitUri(hit.id)[0]} /></span>
            {hit.snippet && <span class="hit-snippet">{plain(hit.snippet)}</span>}
          </div>
        ))}
        {shown && asked === text.trim() && !hits.length && <div class="hit none" role="option" aria-selected="false">No name begins so. Enter searches contents and meanings.</div>}
        {hits.length > 0 && <div class="hit-note" aria-hidden="true">Enter opens · Shift+Enter searches contents and meanings</div>}
      </div>
    </div>
  )
}
