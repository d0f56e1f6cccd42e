/** Sizes of nodes, in pixels at the zoom at which a graph was fitted. */

import type { SceneNode } from './scene'

/** The radius of a node follows its degree, that of a group the number of its nodes. */
export function radius(node: SceneNode): number {
  if (node.group) return 18 + 52 * Math.sqrt(node.share)
  if (node.card.kind === 'missing') return 7
  return 5.5 + 1.25 * Math.sqrt(Math.min(node.card.degree ?? 0, 100))
}

/** The width of a line: a low weight is a close relation and drawn thick. */
export const lineWidth = (weight: number): number => 0.9 + 2.1 * (1 - Math.min(1, Math.max(0, weight)))

/** The width of a line that stands for several links between groups, beside the strongest one of the picture. */
export const tieWidth = (count: number, most: number): number => 1 + Math.min(Math.log2(count), 7 * Math.sqrt(count / most))
