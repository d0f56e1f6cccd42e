/** A part of a graph that is embedded in the page: the source of a self-contained HTML file. */

import { SourceError, unsupported } from './errors'
import type * as T from './types'

export interface Snapshot {
  about: T.About
  nodes: T.Card[]
  links: T.Link[]
  details?: Record<string, T.NodeDetail>
  relations?: Record<string, T.Relations>
  missing?: T.MissingPage
  overview?: T.Overview | null
}

export class SnapshotSource implements T.Source {
  readonly abilities: T.Abilities = { time: false, query: false, live: false, merges: false, routes: false, workspaces: false }
  branch: string | null = null
  readonly #cards: Map<string, T.Card>

  constructor(private readonly data: Snapshot) {
    this.#cards = new Map(data.nodes.map((card) => [card.id, card]))
  }

  async about(): Promise<T.About> {
    return { ...this.data.about, writable: false }
  }

  async suggest(text: string): Promise<T.Suggestions> {
    const wanted = text.toLowerCase()
    const begins = (card: T.Card) => [card.name, ...card.id.split(/[/:]+/)].some((part) => part.toLowerCase().startsWith(wanted))
    return { hits: this.data.nodes.filter(begins).slice(0, 8) }
  }

  async identify(text: string): Promise<T.Identified> {
    const wanted = text.toLowerCase()
    const named = this.data.nodes.filter((card) => [card.name, card.id].some((each) => each.toLowerCase() === wanted))
    const node = named.length === 1 ? named[0]! : null
    return { id: node?.id ?? (named.length ? null : text), node, candidates: node ? [] : named, hint: null }
  }

  async search(text: string, _at: T.Moment, kind: T.SearchKind): Promise<T.Hit[]> {
    const words = text.toLowerCase().split(/\s+/)
    const has = (card: T.Card) => {
      const all = `${card.name} ${card.id} ${this.data.details?.[card.id]?.content ?? ''}`.toLowerCase()
      return words.every((word) => all.includes(word))
    }
    const section = (card: T.Card): 'notes' | 'code' => (/^(Resource|Symbol)$/.test(card.type) ? 'code' : 'notes')
    const found = this.data.nodes
      .filter(has)
      .map((card): T.Hit => ({ ...card, section: section(card), caveats: this.data.details?.[card.id]?.caveats }))
    found.sort((a, b) => Number(a.section === 'code') - Number(b.section === 'code'))
    return found.filter((hit) => kind === 'any' || hit.section === kind).slice(0, 20)
  }

  /** The snapshot has one level: all of its nodes. */
  async overview(by: T.Grouping, group: string | null): Promise<T.Overview> {
    const { nodes, links } = this.data
    return {
      by,
      group,
      groups: [],
      links: [],
      nodes,
      edges: links,
      total: nodes.length,
      shown: nodes.length,
      folded: 0,
      position: this.data.about.position,
    }
  }

  async near(id: string, known: string[], limit: number): Promise<T.Neighbours> {
    const center = this.#card(id)
    const there = new Set([...known, id])
    const around = new Set<string>()
    for (const { source, target } of this.data.links) {
      if (source === id) around.add(target)
      if (target === id) around.add(source)
    }
    const fresh = [...around].filter((other) => !there.has(other) && this.#cards.has(other))
    const nodes = fresh
      .map((other) => this.#card(other))
      .sort((a, b) => b.degree - a.degree)
      .slice(0, limit)
    for (const card of nodes) there.add(card.id)
    const links = this.data.links.filter(({ source, target }) => there.has(source) && there.has(target))
    return { center, nodes, links, total: around.size, left: fresh.length - nodes.length, position: this.data.about.position }
  }

  async subgraph(ids: string[]): Promise<T.Subgraph> {
    const wanted = new Set(ids)
    return {
      nodes: ids.flatMap((id) => this.#cards.get(id) ?? []),
      links: this.data.links.filter(({ source, target }) => wanted.has(source) && wanted.has(target)),
      gone: ids.filter((id) => !this.#cards.has(id)),
      moved: {},
      position: this.data.about.position,
    }
  }

  async node(id: string): Promise<T.NodeDetail> {
    const card = this.#card(id)
    return (
      this.data.details?.[id] ?? {
        ...card,
        content: null,
        attributes: {},
        metadata: {},
        created_at: null,
        updated_at: null,
        commit: null,
        position: this.data.about.position,
      }
    )
  }

  source(): Promise<T.SourceText | null> {
    return Promise.resolve(null)
  }

  async relations(id: string, _cursor: string | null = null): Promise<T.Relations> {
    const stored = this.data.relations?.[id]
    if (stored) return stored
    const relations = this.data.links.flatMap((link): T.Relation[] => {
      if (link.source === id && this.#cards.has(link.target))
        return [{ ...link, direction: 'out', other: this.#card(link.target) }]
      if (link.target === id && this.#cards.has(link.source))
        return [{ ...link, direction: 'in', other: this.#card(link.source) }]
      return []
    })
    return { relations, total: relations.length }
  }

  async missing(_cursor: string | null = null): Promise<T.MissingPage> {
    if (this.data.missing) return this.data.missing
    const missing = this.data.nodes
      .filter((card) => card.kind === 'missing')
      .map((card): T.MissingConcept => {
        const links = this.data.links.filter(({ target }) => target === card.id)
        return {
          id: card.id,
          name: card.name,
          links: links.length,
          from: links.slice(0, 5).flatMap(({ source }) => this.#cards.get(source) ?? []),
          relations: [...new Set(links.map(({ relation }) => relation))],
        }
      })
    return { missing, total: missing.length }
  }

  health(): Promise<T.Health> {
    return Promise.reject(unsupported('The health'))
  }

  reach(): Promise<T.Reach> {
    return Promise.reject(unsupported('A traversal'))
  }
  path(): Promise<T.PathFound> {
    return Promise.reject(unsupported('A path'))
  }
  history(): Promise<T.Versions> {
    return Promise.reject(unsupported('The history of a node'))
  }
  proof(): Promise<T.Proof> {
    return Promise.reject(unsupported('A proof'))
  }
  diff(): Promise<T.Difference> {
    return Promise.reject(unsupported('A comparison'))
  }
  timeline(): Promise<T.Timeline> {
    return Promise.reject(unsupported('The timeline'))
  }
  commits(): Promise<T.Commits> {
    return Promise.reject(unsupported('The timeline'))
  }
  commit(): Promise<T.Commit> {
    return Promise.reject(unsupported('The timeline'))
  }
  moments(): Promise<T.Moments> {
    return Promise.reject(unsupported('The timeline'))
  }
  authors(): Promise<T.Authors> {
    return Promise.reject(unsupported('The history'))
  }
  touched(): Promise<T.TouchedPart> {
    return Promise.reject(unsupported('The history'))
  }
  notHolding(): Promise<T.NotHolding> {
    return Promise.reject(unsupported('The history'))
  }
  kip(): Promise<unknown> {
    return Promise.reject(unsupported('A query'))
  }
  queries(): Promise<T.NamedQuery[]> {
    return Promise.resolve([])
  }
  runQuery(): Promise<T.QueryAnswer> {
    return Promise.reject(unsupported('A query'))
  }
  write(): Promise<T.Written> {
    return Promise.reject(unsupported('Writing'))
  }
  savedViews(): Promise<T.SavedHead[]> {
    return Promise.resolve([])
  }
  savedView(): Promise<T.SavedHead & T.SavedContent> {
    return Promise.reject(unsupported('A saved view'))
  }
  saveView(): Promise<T.SavedHead> {
    return Promise.reject(unsupported('A saved view'))
  }
  renameView(): Promise<T.SavedHead> {
    return Promise.reject(unsupported('A saved view'))
  }
  deleteView(): Promise<void> {
    return Promise.reject(unsupported('A saved view'))
  }
  branches(): Promise<T.Branch[]> {
    return Promise.resolve([])
  }
  createBranch(): Promise<T.Branch> {
    return Promise.reject(unsupported('A branch'))
  }
  deleteBranch(): Promise<void> {
    return Promise.reject(unsupported('A branch'))
  }
  startMerge(): Promise<T.MergeOutcome> {
    return Promise.reject(unsupported('Merging'))
  }
  merges(): Promise<T.Merge[]> {
    return Promise.resolve([])
  }
  resolve(): Promise<void> {
    return Promise.reject(unsupported('Merging'))
  }
  conclude(): Promise<T.Written> {
    return Promise.reject(unsupported('Merging'))
  }
  abandon(): Promise<void> {
    return Promise.reject(unsupported('Merging'))
  }

  served(): Promise<T.Served> {
    return Promise.resolve({ workspaces: [], is_admin: false })
  }

  serverStatus(): Promise<T.ServerStatus> {
    return Promise.reject(unsupported('The status of a server'))
  }

  audit(): Promise<T.AuditRecord[]> {
    return Promise.resolve([])
  }

  proposals(): Promise<T.Proposal[]> {
    return Promise.resolve([])
  }

  proposal(): Promise<T.ProposalDetail> {
    return Promise.reject(unsupported('A proposal'))
  }

  review(): Promise<void> {
    return Promise.reject(unsupported('A review'))
  }
  listen(): Promise<void> {
    return Promise.resolve()
  }

  #card(id: string): T.Card {
    const card = this.#cards.get(id)
    if (!card)
      throw new SourceError(
        'NotFound',
        'NotFound',
        `${id} is not part of this snapshot.`,
        'Open the graph with `mycel explore` to see it.',
        404,
      )
    return card
  }
}
