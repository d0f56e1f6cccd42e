/** The graph over HTTP: the endpoints under `/api` and `/kip` of `mycel serve`. */

import { offset } from '../text/format'
import { away, errorFrom, SourceError } from './errors'
import { readEvents } from './event-stream'
import type * as T from './types'

type Parameters = Record<string, string | number | null | undefined>

/** Keeps the token of this tab. It never stands in a URL. */
export interface TokenStore {
  get(): string | null
  /** Asks the reader for a token, because the server refused the last one. */
  refused(): void
}

export class HttpSource implements T.Source {
  readonly abilities: T.Abilities = { time: true, query: true, live: true, merges: true, routes: true, workspaces: isOneOfMany() }

  /** The branch that is read and written; null is the one that is served. */
  branch: string | null = null

  constructor(private readonly tokens: TokenStore) {}

  about(): Promise<T.About> {
    return this.#get('about', {})
  }

  suggest(q: string, at: T.Moment, signal?: AbortSignal): Promise<T.Suggestions> {
    return this.#get('suggest', { q, at }, signal)
  }

  identify(text: string, near: string | null, shown: string[], isNew: boolean): Promise<T.Identified> {
    return this.#post('identify', { text, shown, is_new: isNew, ...(near !== null && { near }) })
  }

  async search(q: string, at: T.Moment, kind: T.SearchKind, holds: string): Promise<T.Hit[]> {
    return (await this.#get<{ hits: T.Hit[] }>('search', { q, at, kind, for_time: holds || null })).hits
  }

  overview(by: T.Grouping, group: string | null, at: T.Moment, most?: number): Promise<T.Overview> {
    return this.#get('overview', { by, group, at, limit: most })
  }

  near(id: string, known: string[], limit: number, at: T.Moment, holds: string): Promise<T.Neighbours> {
    return this.#post('near', { id, known, limit, ...moment(at), ...(holds && { for_time: holds }) })
  }

  subgraph(ids: string[], at: T.Moment): Promise<T.Subgraph> {
    return this.#post('links', { ids, ...moment(at) })
  }

  reach(id: string, cost: number, most: number, way: T.Way, at: T.Moment, holds: string): Promise<T.Reach> {
    return this.#get('reach', { id, max_cost: cost, max_nodes: most, direction: way, at, for_time: holds || null })
  }

  path(from: string, to: string, way: T.Way, at: T.Moment, holds: string): Promise<T.PathFound> {
    return this.#get('path', { from, to, direction: way, at, for_time: holds || null })
  }

  node(id: string, at: T.Moment): Promise<T.NodeDetail> {
    return this.#get('node', { id, at })
  }

  source(id: string): Promise<T.SourceText | null> {
    return this.#get('source', { id })
  }

  relations(id: string, cursor: string | null, at: T.Moment): Promise<T.Relations> {
    return this.#get('relations', { id, cursor, at })
  }

  history(id: string, cursor: string | null): Promise<T.Versions> {
    return this.#get('history', { id, cursor })
  }

  proof(id: string): Promise<T.Proof> {
    return this.#get('proof', { id })
  }

  missing(cursor: string | null, at: T.Moment): Promise<T.MissingPage> {
    return this.#get('missing', { cursor, at })
  }

  health(limit: number): Promise<T.Health> {
    return this.#get('upkeep', { limit })
  }

  diff(from: string, to: string, cursor: string | null): Promise<T.Difference> {
    return this.#get('diff', { from, to: to || null, cursor })
  }

  timeline(buckets: number): Promise<T.Timeline> {
    return this.#get('timeline', { buckets })
  }

  commits(before: number | null, limit: number): Promise<T.Commits> {
    return this.#get('commits', { before, limit })
  }

  async commit(entry: number): Promise<T.Commit> {
    return (await this.#get<{ commit: T.Commit }>('commit', { entry })).commit
  }

  moments(): Promise<T.Moments> {
    return this.#get('moments', { zone: offset(new Date()) })
  }

  authors({ since, until }: T.SpanFilter, at: T.Moment): Promise<T.Authors> {
    return this.#get('authors', { since, until, at })
  }

  touched(ids: string[] | null, span: T.SpanFilter, at: T.Moment): Promise<T.TouchedPart> {
    return this.#post('touched', { ...(ids && { ids }), ...span, ...moment(at) })
  }

  notHolding(ids: string[], time: string, at: T.Moment): Promise<T.NotHolding> {
    return this.#post('not_holding', { ids, time, ...moment(at) })
  }

  async kip(command: string, dryRun: boolean): Promise<unknown> {
    const params = dryRun ? { command, dry_run: true } : { command }
    return this.#send(this.#onBranch('/kip'), { method: 'POST', body: JSON.stringify({ method: 'execute_kip', params }) })
  }

  async queries(): Promise<T.NamedQuery[]> {
    return (await this.#send<{ queries: T.NamedQuery[] }>(this.#onBranch('/queries'), {})).queries
  }

  runQuery(name: string, values: Record<string, unknown>): Promise<T.QueryAnswer> {
    const path = this.#onBranch(`/queries/${encodeURIComponent(name)}`)
    return this.#send(path, { method: 'POST', body: JSON.stringify(values) })
  }

  write(change: T.Write, message: string): Promise<T.Written> {
    return this.#post('write', message ? { ...change, message } : change)
  }

  async savedViews(): Promise<T.SavedHead[]> {
    return (await this.#get<{ views: T.SavedHead[] }>('saved', {})).views
  }

  savedView(id: string): Promise<T.SavedHead & T.SavedContent> {
    return this.#get('saved', { id })
  }

  saveView(name: string, content: T.SavedContent, id: string | null): Promise<T.SavedHead> {
    return this.#post('saved/save', { name, ...content, ...(id && { id }) })
  }

  renameView(id: string, name: string): Promise<T.SavedHead> {
    return this.#post('saved/rename', { id, name })
  }

  async deleteView(id: string): Promise<void> {
    await this.#post('saved/delete', { id })
  }

  async branches(): Promise<T.Branch[]> {
    return (await this.#send<{ branches: T.Branch[] }>(this.#onBranch('/branches'), {})).branches
  }

  createBranch(name: string): Promise<T.Branch> {
    return this.#send(this.#onBranch('/branches'), { method: 'POST', body: JSON.stringify({ name }) })
  }

  async deleteBranch(name: string, unmerged: boolean): Promise<void> {
    await this.#send(`/branches/${encodeURIComponent(name)}?unmerged=${unmerged}`, { method: 'DELETE' })
  }

  startMerge(source: string, { policy, dryRun, message }: T.MergeOptions): Promise<T.MergeOutcome> {
    const body = { source, policy, dry_run: dryRun, ...(message && { message }) }
    return this.#send(this.#onBranch('/merges'), { method: 'POST', body: JSON.stringify(body) })
  }

  async merges(): Promise<T.Merge[]> {
    return (await this.#get<{ merges: T.Merge[] }>('conflicts', {})).merges
  }

  async resolve(merge: string, resolutions: ({ conflict: string } & T.Resolution)[]): Promise<void> {
    await this.#post('conflicts/resolve', { merge, resolutions })
  }

  conclude(merge: string, message: string): Promise<T.Written> {
    return this.#post('conflicts/commit', message ? { merge, message } : { merge })
  }

  async abandon(merge: string): Promise<void> {
    await this.#post('conflicts/abort', { merge })
  }

  served(): Promise<T.Served> {
    return this.#send('/ws', {}, rootOf)
  }

  serverStatus(): Promise<T.ServerStatus> {
    return this.#send('/status', {}, rootOf)
  }

  async audit(): Promise<T.AuditRecord[]> {
    return (await this.#send<{ entries: T.AuditRecord[] }>('/audit?limit=50', {}, rootOf)).entries
  }

  async proposals(status: 'open' | 'all'): Promise<T.Proposal[]> {
    return (await this.#send<{ proposals: T.Proposal[] }>(this.#onBranch('/proposals', { status }), {})).proposals
  }

  proposal(id: string): Promise<T.ProposalDetail> {
    return this.#send(this.#onBranch(`/proposals/${encodeURIComponent(id)}`), {})
  }

  async review(id: string, review: T.Review): Promise<void> {
    const path = this.#onBranch(`/proposals/${encodeURIComponent(id)}`)
    await this.#send(path, { method: 'POST', body: JSON.stringify(review) })
  }

  async listen(after: number, hears: T.Listener, signal: AbortSignal): Promise<void> {
    const answer = await this.#fetch(this.#address('changes', { after }), { signal, headers: { accept: 'text/event-stream' } })
    if (signal.aborted) return
    hears.opened()
    for await (const { event, data } of readEvents(answer.body!)) {
      if (signal.aborted) return
      if (event === 'change') hears.change(JSON.parse(data) as T.LiveChange)
      else if (event === 'gap') hears.gap((JSON.parse(data) as { position: number }).position)
      else if (event === 'bye') return
    }
  }

  /** A path outside of `/api`, on the branch that is read. */
  #onBranch(path: string, parameters: Record<string, string> = {}): string {
    const query = new URLSearchParams({ ...parameters, ...(this.branch && { branch: this.branch }) }).toString()
    return query ? `${path}?${query}` : path
  }

  #get<R>(path: string, parameters: Parameters, signal?: AbortSignal): Promise<R> {
    return this.#send(this.#address(path, parameters), { signal })
  }

  #post<R>(path: string, body: unknown): Promise<R> {
    return this.#send(this.#address(path, {}), { method: 'POST', body: JSON.stringify(body) })
  }

  #address(path: string, parameters: Parameters): string {
    const query = new URLSearchParams()
    for (const [key, value] of Object.entries({ ...parameters, branch: this.branch })) {
      if (value !== null && value !== undefined) query.set(key, String(value))
    }
    const text = query.toString()
    return `/api/${path}${text ? `?${text}` : ''}`
  }

  async #send<R>(path: string, request: RequestInit, place = below): Promise<R> {
    const answer = await this.#fetch(path, request, place)
    return (await answer.json()) as R
  }

  async #fetch(path: string, request: RequestInit, place = below): Promise<Response> {
    const headers = new Headers(request.headers)
    if (request.body) headers.set('content-type', 'application/json')
    const token = this.tokens.get()
    if (token) headers.set('authorization', `Bearer ${token}`)
    let answer: Response
    try {
      answer = await fetch(place(path), { ...request, headers, credentials: 'omit', cache: 'no-store' })
    } catch (error) {
      if (error instanceof DOMException && error.name === 'AbortError') throw error
      throw away()
    }
    if (answer.ok) return answer
    // An answer to an older token says nothing about the present one.
    if (answer.status === 401 && token === this.tokens.get()) this.tokens.refused()
    throw errorFrom(await answer.json().catch(() => null), answer.status)
  }
}

/** The address of a path of this workspace: on a server of many, the page is below `/ws/NAME`. */
const below = (path: string): string => (globalThis.location?.pathname ?? '').replace(/\/ui(\/.*)?$/, '') + path

/** The address of a path of the server of many workspaces. */
export const rootOf = (path: string): string =>
  (globalThis.location?.pathname ?? '').replace(/\/ws\/[^/]+\/ui(\/.*)?$/, '') + path

const isOneOfMany = (): boolean => /\/ws\/[^/]+\/ui(\/|$)/.test(globalThis.location?.pathname ?? '')

const moment = (at: T.Moment): { at?: number } => (at === null ? {} : { at })

/** Exchanges the single-use ticket of the address bar for a token of this session. */
export async function redeem(ticket: string): Promise<string> {
  const answer = await fetch(below('/api/ticket'), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ticket }),
    credentials: 'omit',
  }).catch(() => {
    throw away()
  })
  if (!answer.ok) throw errorFrom(await answer.json().catch(() => null), answer.status)
  const { token } = (await answer.json()) as { token?: string }
  if (!token) throw new SourceError('ticket', 'NoToken', 'The server gave no token for the ticket.')
  return token
}
