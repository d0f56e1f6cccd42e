/** The view: everything in the address bar. A link with it shows the same view to somebody else. */

import { COST_MAX, COST_START, MOST, type RouteAsked, WAYS } from './route'
import { SCREENS, type Screen } from './screens'
import type { Grouping, Moment } from './source/types'
import type { SpanAsked } from './touched'

export const TABS = ['content', 'attributes', 'relations', 'history', 'proof'] as const
export type Tab = (typeof TABS)[number]
const SCREEN_NAMES: readonly Screen[] = SCREENS.map(([screen]) => screen)
const GROUPINGS: readonly Grouping[] = ['folder', 'domain', 'type']

export interface View {
  screen: Screen
  /** The branch that is shown; '' is the one that is served. */
  branch: string
  by: Grouping
  /** The group whose inside is shown; '' is the whole graph, null shows no groups. */
  group: string | null
  /** The number of nodes of the group that are shown; 0 is the usual number. */
  size: number
  /** Nodes that are shown besides those of the group. */
  ids: readonly string[]
  /** Nodes of the group that the reader has hidden. */
  less: readonly string[]
  /** Types and relations that are filtered out: `type:Person`, `relation:knows`. */
  hide: readonly string[]
  /** A route by cost, which is shown in place of a group. */
  route: RouteAsked | null
  /** A filter by time and author. */
  span: SpanAsked | null
  selected: string | null
  tab: Tab
  at: Moment
  /** A time, as a date or in ISO 8601; nodes and links that do not hold then are left out. Empty for none. */
  holds: string
  table: boolean
  /** The two moments or branches that the screen `compare` compares. */
  from: string
  to: string
  query: string
  /** The named query whose form is shown, and the texts of its fields. */
  named: string
  fields: Readonly<Record<string, string>>
}

export const START: View = {
  screen: 'graph',
  branch: '',
  by: 'folder',
  group: '',
  size: 0,
  ids: [],
  less: [],
  hide: [],
  route: null,
  span: null,
  selected: null,
  tab: 'content',
  at: null,
  holds: '',
  table: false,
  from: '',
  to: '',
  query: '',
  named: '',
  fields: {},
}

/** Nodes of a group that the server gives at once. */
const SIZE_MAX = 2000

/* URIs stay readable in the address bar: these signs need no escape inside a fragment. */
const escapeUri = (text: string): string =>
  encodeURIComponent(text).replace(/%(3A|2F|40|2C)/g, (sign) => decodeURIComponent(sign))
const BETWEEN = '*'
const escapeItem = (text: string): string => escapeUri(text).replaceAll(BETWEEN, '%2A')

/** The fragment of the address of a view, without `#`. Initial values are left out. */
export function toFragment(view: View): string {
  const parts: string[] = []
  const say = (key: string, value: string | null) => {
    if (value !== null) parts.push(`${key}=${value}`)
  }
  const list = (items: readonly string[]) => (items.length ? items.map(escapeItem).join(BETWEEN) : null)
  say('branch', view.branch ? escapeUri(view.branch) : null)
  if (view.by !== START.by) say('by', view.by)
  if (view.group === null) say('g', '-')
  else if (view.group !== '') say('g', escapeUri(view.group))
  if (view.size) say('size', String(view.size))
  say('n', list(view.ids))
  say('less', list(view.less))
  say('hide', list(view.hide))
  if (view.route) sayRoute(view.route, say, list)
  if (view.span) {
    say('since', escapeUri(view.span.since))
    say('until', view.span.until ? escapeUri(view.span.until) : null)
    say('who', list(view.span.actors))
    if (view.span.rest === 'hide') say('rest', 'hide')
  }
  say('s', view.selected && escapeUri(view.selected))
  if (view.tab !== START.tab) say('tab', view.tab)
  if (view.at !== null) say('at', String(view.at))
  say('holds', view.holds ? escapeUri(view.holds) : null)
  if (view.table) say('table', '1')
  say('from', view.from ? escapeUri(view.from) : null)
  say('to', view.to ? escapeUri(view.to) : null)
  say('q', view.query ? escapeUri(view.query) : null)
  say('run', view.named ? escapeUri(view.named) : null)
  say('with', list(Object.entries(view.fields).map((field) => field.join('='))))
  return `/${view.screen}${parts.length ? `?${parts.join('&')}` : ''}`
}

function sayRoute(
  route: RouteAsked,
  say: (key: string, value: string | null) => void,
  list: (items: string[]) => string | null,
): void {
  if (route.kind === 'path') say('path', list([route.from, route.to]))
  else {
    say('reach', escapeUri(route.from))
    say('cost', String(route.cost))
    if (route.most !== MOST[0]) say('most', String(route.most))
  }
  say('way', route.way)
}

/** The view of a fragment. Parts that cannot be read have their initial values. */
export function fromFragment(fragment: string): View {
  const [path = '', query = ''] = splitOnce(fragment.replace(/^#/, ''), '?')
  const said = new Map<string, string>()
  for (const part of query.split('&')) {
    const [key = '', value = ''] = splitOnce(part, '=')
    said.set(key, value)
  }
  const text = (key: string) => (said.has(key) ? unescapeUri(said.get(key)!) : null)
  const list = (key: string) => (said.get(key) ? said.get(key)!.split(BETWEEN).map(unescapeUri).filter(Boolean) : [])
  const oneOf = <T extends string>(all: readonly T[], value: string | null, otherwise: T): T =>
    all.includes(value as T) ? (value as T) : otherwise
  const group = text('g')
  const way = oneOf(WAYS, text('way'), 'both')
  const ends = list('path')
  const cost = Number(said.get('cost') ?? NaN)
  const most = Number(said.get('most') ?? MOST[0])
  let route: RouteAsked | null = null
  if (ends.length === 2) route = { kind: 'path', from: ends[0]!, to: ends[1]!, way }
  else if (text('reach'))
    route = {
      kind: 'reach',
      from: text('reach')!,
      way,
      cost: cost >= 0 && cost <= COST_MAX ? cost : COST_START,
      most: MOST.find((known) => known === most) ?? MOST[0],
    }
  const at = Number(said.get('at') ?? NaN)
  const size = Number(said.get('size') ?? 0)
  return {
    screen: oneOf(SCREEN_NAMES, path.replace(/^\//, ''), START.screen),
    branch: text('branch') ?? '',
    by: oneOf(GROUPINGS, text('by'), START.by),
    group: group === '-' ? null : (group ?? ''),
    size: Number.isSafeInteger(size) && size > 0 ? Math.min(size, SIZE_MAX) : 0,
    ids: list('n'),
    less: list('less'),
    hide: list('hide'),
    route,
    span: spanOf(said.has('since'), text('since') ?? '', text('until') ?? '', list('who'), said.get('rest') === 'hide'),
    selected: text('s'),
    tab: oneOf(TABS, text('tab'), START.tab),
    at: Number.isSafeInteger(at) && at >= 0 ? at : null,
    holds: timeOf(text('holds') ?? ''),
    table: said.get('table') === '1',
    from: text('from') ?? '',
    to: text('to') ?? '',
    query: text('q') ?? '',
    named: text('run') ?? '',
    fields: Object.fromEntries(list('with').map((field) => splitOnce(field, '='))),
  }
}

function spanOf(given: boolean, since: string, until: string, actors: string[], hide: boolean): SpanAsked | null {
  return given ? { since: timeOf(since), until: timeOf(until), actors, rest: hide ? 'hide' : 'dim' } : null
}

const timeOf = (text: string): string => (Number.isNaN(Date.parse(text)) ? '' : text)

function splitOnce(text: string, sign: string): [string, string] {
  const place = text.indexOf(sign)
  return place < 0 ? [text, ''] : [text.slice(0, place), text.slice(place + 1)]
}

function unescapeUri(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
