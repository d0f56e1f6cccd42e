/** The graph inside a chat: the result of a tool, and more of the graph through the tool `explore`. */

import type { Bridge } from './bridge'
import { errorFrom, SourceError } from './errors'
import { type Snapshot, SnapshotSource } from './snapshot'
import type * as T from './types'

interface ToolResult {
  isError?: boolean
  structuredContent?: unknown
  content?: { type: string; text?: string }[]
  _meta?: Record<string, unknown>
}

const VIEW = 'mycel/view'

/** The part of a tool's result that the App shows, or null if it has none. */
export function viewOf(result: unknown): { nodes: T.Card[]; links: T.Link[]; center: string | null } | null {
  const view = (result as ToolResult | null)?._meta?.[VIEW] as { nodes?: T.Card[]; links?: T.Link[]; center?: string } | undefined
  return view?.nodes ? { nodes: view.nodes, links: view.links ?? [], center: view.center ?? null } : null
}

export class AppSource extends SnapshotSource {
  constructor(
    data: Snapshot,
    private readonly bridge: Bridge,
  ) {
    super(data)
  }

  /** The counts of the whole graph if the host lets the App read them, else the counts of the result. */
  override async about(): Promise<T.About> {
    const own = await super.about()
    return this.#ask<T.About>('about', {}).then(
      (about) => ({ ...about, writable: false }),
      () => own,
    )
  }

  override suggest(q: string): Promise<T.Suggestions> {
    return this.#ask('suggest', { q })
  }
  override near(id: string, known: string[], limit: number): Promise<T.Neighbours> {
    return this.#ask('near', { id, known, limit })
  }
  override subgraph(ids: string[]): Promise<T.Subgraph> {
    return this.#ask('links', { ids })
  }
  override node(id: string): Promise<T.NodeDetail> {
    return this.#ask('node', { id })
  }
  override relations(id: string, cursor: string | null = null): Promise<T.Relations> {
    return this.#ask('relations', { id, ...(cursor && { cursor }) })
  }
  override missing(cursor: string | null = null): Promise<T.MissingPage> {
    return this.#ask('missing', cursor ? { cursor } : {})
  }

  async #ask<R>(view: string, parameters: Record<string, unknown>): Promise<R> {
    const result = (await this.bridge
      .request('tools/call', { name: 'explore', arguments: { view, parameters } })
      .catch((error: Error) => {
        throw new SourceError('host', 'HostRefused', error.message, 'The chat does not let the view read more of the graph.')
      })) as ToolResult
    if (result.isError) throw errorFrom(result.structuredContent ?? { error: { message: result.content?.[0]?.text } }, 400)
    return result.structuredContent as R
  }
}
