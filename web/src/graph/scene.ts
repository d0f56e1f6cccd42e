/** The nodes and links that are shown, with their positions. It knows nothing of screens or colours. */

import type { Card, Change, Group, Grouping, Link } from '../source/types'

export interface SceneNode {
  id: string
  card: Card
  /** Set for a group of nodes, which is drawn as a bubble. */
  group: Group | null
  /** The place of a group among all groups, which gives its colour. */
  place: number
  /** The size of a group, as a share of the largest one. */
  share: number
  x: number
  y: number
  pinned: boolean
  change: Change | null
}

export interface SceneLink {
  key: string
  link: Link
  /** The number of links that this line stands for, between groups. */
  count: number
  /** The bend of the line: parallel links are drawn side by side. */
  bend: number
  change: Change | null
}

export const linkKey = (link: Link): string => `${link.source}\n${link.relation}\n${link.target}`

export const GROUP_PREFIX = 'group:'

export class Scene {
  readonly nodes = new Map<string, SceneNode>()
  readonly links = new Map<string, SceneLink>()
  readonly #around = new Map<string, Set<string>>()
  readonly #lines = new Map<string, number>()

  put(card: Card, x: number, y: number): SceneNode {
    const old = this.nodes.get(card.id)
    if (old) {
      old.card = card
      return old
    }
    const node: SceneNode = { id: card.id, card, group: null, place: 0, share: 0, x, y, pinned: false, change: null }
    this.nodes.set(card.id, node)
    return node
  }

  /** Puts groups beside the nodes; they are drawn as bubbles. A group of one type has its colour. */
  putGroups(groups: readonly Group[], by: Grouping = 'folder'): SceneNode[] {
    const most = Math.max(1, ...groups.map((group) => group.nodes))
    return groups.map((group, place) => {
      const id = GROUP_PREFIX + group.id
      const card: Card = { id, name: group.name, type: by === 'type' ? group.id : '', kind: 'concept', degree: group.links }
      const node: SceneNode = { id, card, group, place, share: group.nodes / most, x: 0, y: 0, pinned: false, change: null }
      this.nodes.set(id, node)
      return node
    })
  }

  join(link: Link, count = 1, change: Change | null = null): void {
    if (!this.nodes.has(link.source) || !this.nodes.has(link.target)) return
    const key = linkKey(link)
    if (!this.links.has(key)) this.#note(link)
    this.links.set(key, { key, link, count, bend: 0, change })
  }

  neighbours(id: string): ReadonlySet<string> {
    return this.#around.get(id) ?? NOBODY
  }

  /** The number of links at a node that are not shown. */
  hidden(node: SceneNode): number {
    return node.group ? 0 : Math.max(0, (node.card.degree ?? 0) - (this.#lines.get(node.id) ?? 0))
  }

  /** The part of the scene that passes two filters. Nodes are shared, so positions stay common. */
  filtered(keepNode: (node: SceneNode) => boolean, keepLink: (link: Link) => boolean): Scene {
    const part = new Scene()
    for (const node of this.nodes.values()) if (keepNode(node)) part.nodes.set(node.id, node)
    for (const line of this.links.values()) {
      if (keepLink(line.link)) part.join(line.link, line.count, line.change)
    }
    part.bendParallels()
    return part
  }

  /** Gives parallel links between the same two nodes different bends. */
  bendParallels(): void {
    const pairs = new Map<string, SceneLink[]>()
    for (const line of this.links.values()) {
      const { source, target } = line.link
      const pair = source < target ? `${source}\n${target}` : `${target}\n${source}`
      const lines = pairs.get(pair)
      if (lines) lines.push(line)
      else pairs.set(pair, [line])
    }
    for (const lines of pairs.values()) {
      lines.forEach((line, place) => {
        const offset = place - (lines.length - 1) / 2
        line.bend = line.link.source < line.link.target ? offset : -offset
      })
    }
  }

  #side(id: string): Set<string> {
    let side = this.#around.get(id)
    if (!side) this.#around.set(id, (side = new Set()))
    return side
  }

  #note(link: Link): void {
    this.#side(link.source).add(link.target)
    this.#side(link.target).add(link.source)
    for (const end of new Set([link.source, link.target])) this.#lines.set(end, (this.#lines.get(end) ?? 0) + 1)
  }
}

const NOBODY: ReadonlySet<string> = new Set()
