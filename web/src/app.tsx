/** The frame of the page: header, the screen of the view, dialogs, messages. */

import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { EditDialog } from './edit/dialog'
import type { Explorer } from './explorer'
import { live } from './live'
import { announcement, dismiss, notices } from './notices'
import { Name } from './parts/basics'
import { CloseIcon, Mark, MoonIcon, SunIcon } from './parts/icons'
import { SCREENS, type Screen } from './screens'
import { HelpDialog, helpOpen } from './screens/help'
import { SearchBox } from './screens/search-box'
import { moment, number, plain } from './text/format'
import { chooseTheme, theme } from './theme'

/** The screens that a page has. A page in a single file has fewer screens than the page of a server. */
export type Screens = Partial<Record<Screen, (props: { explorer: Explorer }) => JSX.Element>> & {
  graph: (props: { explorer: Explorer }) => JSX.Element
}

export function App({ explorer, screens }: { explorer: Explorer; screens: Screens }): JSX.Element {
  const Shown = screens[explorer.view.value.screen] ?? screens.graph
  return (
    <>
      <a
        class="skip"
        href="#mirror"
        onClick={(event) => (
          event.preventDefault(), (document.getElementById('mirror') ?? document.getElementById('main'))?.focus()
        )}>
        Skip to the graph
      </a>
      <Header explorer={explorer} />
      <Shown explorer={explorer} />
      <EditDialog explorer={explorer} />
      <HelpDialog />
      <Notices />
      <div class="announcement" aria-live="polite">
        {plain(announcement.value)}
      </div>
    </>
  )
}

function Header({ explorer }: { explorer: Explorer }): JSX.Element {
  const { screen: current } = explorer.view.value
  const nav = useRef<HTMLElement>(null)
  useEffect(
    () => nav.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' }),
    [current],
  )
  const entries = SCREENS.filter(([, entry]) => entry.isOffered?.(explorer) ?? true)
  return (
    <header class="top">
      <button type="button" class="brand" aria-label="Mycel: overview" onClick={() => explorer.openGroup('')}>
        <Mark />
        <span>mycel</span>
      </button>
      <SearchBox explorer={explorer} />
      <nav ref={nav} class="screens" aria-label="Screens">
        {entries.map(([screen, { label, count }]) => (
          <button
            key={screen}
            type="button"
            aria-current={current === screen ? 'page' : undefined}
            onClick={() => explorer.look({ screen })}>
            {label}
            <Badge screen={screen} count={count?.(explorer) ?? 0} />
          </button>
        ))}
      </nav>
      <span class="gap" />
      <Status explorer={explorer} />
      <button
        type="button"
        class="button icon-only"
        aria-label={theme.value === 'dark' ? 'Light theme' : 'Dark theme'}
        title="Theme"
        onClick={() => chooseTheme(theme.value === 'dark' ? 'light' : 'dark')}>
        {theme.value === 'dark' ? <SunIcon /> : <MoonIcon />}
      </button>
      <button type="button" class="button icon-only" aria-label="Help" title="Help (?)" onClick={() => (helpOpen.value = true)}>
        ?
      </button>
    </header>
  )
}

function Badge({ screen, count }: { screen: Screen; count: number }): JSX.Element | null {
  if (count <= 0) return null
  return <span class={screen === 'missing' ? 'badge missing' : 'badge'}>{number(count)}</span>
}

const WORDS = { off: 'offline', connecting: 'connecting', live: 'live', paused: 'paused', away: 'server away' } as const

function Status({ explorer }: { explorer: Explorer }): JSX.Element | null {
  const about = explorer.about.value
  const { at } = explorer.view.value
  if (!about) return null
  const branch = explorer.view.value.branch
  const more =
    (about.writable ? '' : about.proposable?.length ? ' · proposals only' : ' · read-only') +
    (branch ? ` · branch ${branch}` : '')
  if (at !== null)
    return (
      <span class="status past" title={more}>
        <span class="dot" /> past<span class="status-more"> · position {number(at)}</span>
      </span>
    )
  if (!explorer.source.abilities.live) return <span class="status">{moment(about.time)}</span>
  return (
    <span class={`status ${live.value}`} title={`Position ${number(about.position)}, root ${about.root}`} data-testid="live">
      <span class="dot" /> {WORDS[live.value]}
      <span class="status-more">
        <Name text={more} />
      </span>
    </span>
  )
}

function Notices(): JSX.Element {
  return (
    <div class="notices" role="region" aria-label="Messages">
      {notices.value.map((notice) => (
        <div key={notice.id} class={`notice ${notice.tone}`} role={notice.tone === 'error' ? 'alert' : 'status'}>
          <div>
            {plain(notice.text)}
            {notice.hint && <p class="note">{plain(notice.hint)}</p>}
          </div>
          {notice.action && (
            <button type="button" class="link" onClick={() => (notice.action!.run(), dismiss(notice.id))}>
              {notice.action.label}
            </button>
          )}
          <button type="button" class="button icon-only small" aria-label="Dismiss" onClick={() => dismiss(notice.id)}>
            <CloseIcon />
          </button>
        </div>
      ))}
    </div>
  )
}
