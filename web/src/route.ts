/** Routes by cost: the nodes within a budget of a node, and the cheapest path between two nodes. */

import { linkKey } from './graph/scene'
import type { Card, CutOff, Link, Moment, ReachedCard, Source, Way } from './source/types'

/** The route that a view asks for. */
export type RouteAsked =
  | { kind: 'path'; from: string; to: string; way: Way }
  | { kind: 'reach'; from: string; way: Way; cost: number; most: number }

/** The maximum of the slider. The answer up to this cost is read once, and a smaller budget shows a part of it. */
export const COST_MAX = 3
export const COST_STEP = 0.05
export const COST_START = 1
export const MOST = [100, 300, 1000] as const
export const WAYS: readonly Way[] = ['out', 'in', 'both']

/** The answer to a route. */
export interface Route {
  kind: RouteAsked['kind']
  nodes: (Card | ReachedCard)[]
  links: Link[]
  links_cut?: boolean
  /** The cost of each reached node, by id. */
  costs: ReadonlyMap<string, number>
  /** The links over which nodes were reached, by key. */
  trail: ReadonlySet<string>
  /** False if there is no path. */
  found: boolean
  /** False if a path may exist beyond the nodes that were searched. */
  complete: boolean
  searched: number
  cutOff: CutOff | null
}

export async function readRoute(source: Source, asked: RouteAsked, at: Moment, holds: string): Promise<Route> {
  if (asked.kind === 'path') {
    const { nodes, links, links_cut, found, complete, searched } = await source.path(asked.from, asked.to, asked.way, at, holds)
    return { kind: 'path', links, links_cut, found, complete, searched, cutOff: null, ...measured(nodes) }
  }
  const { nodes, links, links_cut, cut_off } = await source.reach(asked.from, COST_MAX, asked.most, asked.way, at, holds)
  return {
    kind: 'reach',
    links,
    links_cut,
    found: true,
    complete: true,
    searched: nodes.length,
    cutOff: cut_off,
    ...measured(nodes),
  }
}

function measured(nodes: (Card | ReachedCard)[]): Pick<Route, 'nodes' | 'costs' | 'trail'> {
  const reached = nodes.filter((node): node is ReachedCard => 'cost' in node)
  return {
    nodes,
    costs: new Map(reached.map((node) => [node.id, node.cost])),
    trail: new Set(reached.flatMap((node) => (node.via ? [linkKey(node.via)] : []))),
  }
}

/** True for a node within the budget, or outside of the route. */
export const isWithin = (route: Route, asked: RouteAsked | null, id: string): boolean =>
  asked?.kind !== 'reach' || (route.costs.get(id) ?? 0) <= asked.cost

/** A cost or weight as text, with as many decimals as it needs, up to three. */
export const costText = (cost: number): string => String(Math.round(cost * 1000) / 1000)
