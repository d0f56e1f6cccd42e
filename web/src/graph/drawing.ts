/** The picture of a scene: links, nodes, labels, in this order, drawn with any pen. */

import { costText, type Route } from '../route'
import type { Touched } from '../touched'
import { type Camera, type Frame, nodeScale, toScreen } from './camera'
import { type Box, crosses, labelBoxes, Occupied } from './labels'
import { cornersOf, outlineOf } from './outlines'
import type { Palette, TypeColours } from './palette'
import type { Pen, Stroke } from './pen'
import type { Scene, SceneLink, SceneNode } from './scene'
import { lineWidth, radius, tieWidth } from './size'

/** The nodes or links that the reader looks at. They stand out, and the rest is dimmed. */
export interface Focus {
  selected: ReadonlySet<string>
  hovered: string | null
  /** Nodes that changed a moment ago, with the age of the change from 0 to 1. */
  pulses: ReadonlyMap<string, number>
}

export interface Picture {
  scene: Scene
  camera: Camera
  frame: Frame
  palette: Palette
  colours: TypeColours
  focus: Focus
  /** The part of the frame that the legend covers: no label is put there. */
  covered: Box | null
  /** The nodes and links that pass a filter by time and author; the rest is dimmed. */
  touched: Touched | null
  /** The route whose links stand out and whose costs are written beside the nodes. */
  route: Route | null
}

interface Drawn {
  node: SceneNode
  x: number
  y: number
  radius: number
  lit: boolean
}

const LABEL_SIZE = 12.5
const LABELS_MAX = 200
/** The maximum number of nodes that get a label, the most important first. */
const LABELS_TRIED = 500
/** Beyond this many nodes they are drawn without a rim, thousands at once. */
const RIMS_MAX = 600
const LABEL_MAX = 34
/** A label keeps clear of the links of its node, if they are at most this many. */
const LINKS_AVOIDED = 12
/** The maximum number of nodes with far more links than others whose labels may cover other nodes. */
const HUBS = 12
const DASH = [6, 4] as const

export function draw(pen: Pen, picture: Picture): void {
  const lit = litNodes(picture)
  const drawn = placeNodes(picture, lit)
  drawLinks(pen, picture, drawn, lit)
  pen.flush()
  for (const each of drawn.values()) drawNode(pen, picture, each)
  pen.flush()
  drawLabels(pen, picture, drawn, lit)
  pen.flush()
}

/** The nodes that stand out: those in focus and their neighbours. Null if nothing is in focus. */
function litNodes({ scene, focus, touched }: Picture): Set<string> | null {
  const centres = focus.hovered && scene.nodes.has(focus.hovered) ? [focus.hovered] : [...focus.selected]
  const lit = new Set<string>()
  for (const id of centres) {
    if (!scene.nodes.has(id)) continue
    lit.add(id)
    for (const other of scene.neighbours(id)) lit.add(other)
  }
  if (lit.size || !touched) return lit.size ? lit : null
  for (const node of scene.nodes.values()) if (node.group || touched.nodes.has(node.id)) lit.add(node.id)
  return lit
}

function placeNodes({ scene, camera, frame }: Picture, lit: Set<string> | null): Map<string, Drawn> {
  const drawn = new Map<string, Drawn>()
  const scale = nodeScale(camera.zoom)
  for (const node of scene.nodes.values()) {
    const [x, y] = toScreen(camera, frame, node.x, node.y)
    const size = radius(node) * (node.group ? Math.min(1.6, Math.max(0.3, camera.zoom)) : scale)
    drawn.set(node.id, { node, x, y, radius: size, lit: !lit || lit.has(node.id) })
  }
  return drawn
}

const onFrame = (frame: Frame, x: number, y: number, margin: number): boolean =>
  x > -margin && y > -margin && x < frame.width + margin && y < frame.height + margin

// Links ---------------------------------------------------------------------------------------

function drawLinks(pen: Pen, picture: Picture, drawn: Map<string, Drawn>, lit: Set<string> | null): void {
  const centres = centresOf(picture)
  const later: SceneLink[] = []
  const most = Math.max(0, ...[...picture.scene.links.values()].map((line) => line.count))
  for (const line of picture.scene.links.values()) {
    const { route, touched } = picture
    if (touched && !centres.size) {
      drawLink(pen, picture, drawn, line, line.count > 1 || touched.links.has(line.key) ? 'plain' : 'dim', most)
      continue
    }
    const stands = route?.trail.has(line.key) ?? false
    if (lit ? centres.has(line.link.source) || centres.has(line.link.target) : stands && route?.kind === 'path') later.push(line)
    else drawLink(pen, picture, drawn, line, lit || (route && !stands) ? 'dim' : 'plain', most)
  }
  pen.flush()
  for (const line of later) drawLink(pen, picture, drawn, line, 'lit', most)
}

function centresOf({ focus }: Picture): ReadonlySet<string> {
  return focus.hovered ? new Set([focus.hovered]) : focus.selected
}

type Emphasis = 'plain' | 'dim' | 'lit'

function drawLink(
  pen: Pen,
  { palette, frame, camera }: Picture,
  drawn: Map<string, Drawn>,
  line: SceneLink,
  emphasis: Emphasis,
  most: number,
): void {
  const from = drawn.get(line.link.source)!
  const to = drawn.get(line.link.target)!
  if (!crosses({ left: 0, right: frame.width, top: 0, bottom: frame.height }, from.x, from.y, to.x, to.y)) return
  const stroke = linkStroke(line, palette, emphasis, camera.zoom, most)
  if (from === to) {
    pen.arc(from.x, from.y - from.radius - 7, 9, 0.7 * Math.PI, 2.3 * Math.PI, stroke)
    return
  }
  const over = bendPoint(from, to, line.bend)
  const end = over ? { x: over[0], y: over[1] } : from
  const distance = Math.hypot(to.x - end.x, to.y - end.y)
  if (distance < to.radius + 2) return
  const ux = (to.x - end.x) / distance
  const uy = (to.y - end.y) / distance
  const gap = to.radius + (line.count > 1 ? 0 : 2.5)
  const [tipX, tipY] = [to.x - ux * gap, to.y - uy * gap]
  const head = line.count > 1 ? 0 : 4.5 + stroke.width * 1.4
  pen.line(from.x, from.y, tipX - ux * head * 0.8, tipY - uy * head * 0.8, stroke, over)
  if (head && distance > gap + head) pen.polygon(arrow(tipX, tipY, ux, uy, head), { fill: stroke.colour, alpha: stroke.alpha })
}

function linkStroke(line: SceneLink, palette: Palette, emphasis: Emphasis, zoom: number, most: number): Stroke {
  const scale = Math.min(1.2, Math.max(0.55, zoom))
  const missing = line.link.missing === true
  const colour = line.change
    ? palette[line.change]
    : missing
      ? palette.missing
      : emphasis === 'lit'
        ? palette.accent
        : palette.link
  const alpha = emphasis === 'dim' ? (missing ? 0.4 : 0.3) : line.count > 1 ? 0.55 : 1
  const width = (line.count > 1 ? tieWidth(line.count, most) : lineWidth(line.link.weight)) * scale
  return { colour, width, alpha, dash: missing || line.change === 'removed' ? DASH : undefined }
}

function bendPoint(from: Drawn, to: Drawn, bend: number): readonly [number, number] | undefined {
  if (!bend) return undefined
  const dx = to.x - from.x
  const dy = to.y - from.y
  const length = Math.hypot(dx, dy) || 1
  const offset = bend * Math.min(46, length * 0.3)
  return [(from.x + to.x) / 2 - (dy / length) * offset, (from.y + to.y) / 2 + (dx / length) * offset]
}

function arrow(x: number, y: number, ux: number, uy: number, length: number): number[] {
  const half = length * 0.42
  const [backX, backY] = [x - ux * length, y - uy * length]
  return [x, y, backX - uy * half, backY + ux * half, backX + uy * half, backY - ux * half]
}

// Nodes ---------------------------------------------------------------------------------------

function drawNode(pen: Pen, picture: Picture, each: Drawn): void {
  const { node, x, y, radius: size } = each
  const { palette, focus, frame } = picture
  if (!onFrame(frame, x, y, size + 20)) return
  const alpha = each.lit ? 1 : 0.4
  const pulse = focus.pulses.get(node.id)
  if (pulse !== undefined)
    pen.circle(x, y, size + 4 + 14 * pulse, { fill: null, stroke: { colour: palette.accent, width: 2, alpha: 1 - pulse } })
  if (node.group) drawGroup(pen, picture, each, alpha)
  else if (node.card.kind === 'missing') drawMissing(pen, picture, each, alpha)
  else {
    const rim = picture.scene.nodes.size <= RIMS_MAX ? { colour: palette.ground, width: 1.5 } : undefined
    const fill = { fill: nodeColour(picture, node), stroke: rim, alpha }
    if (node.card.kind === 'resource') pen.square(x, y, size * 0.88, fill)
    else if (node.card.kind === 'link') pen.polygon([x, y - size, x + size, y, x, y + size, x - size, y], fill)
    else {
      const outline = outlineOf(node.card.symbol)
      if (outline) pen.polygon(cornersOf(outline, x, y, size * 1.1), fill)
      else pen.circle(x, y, size, fill)
    }
  }
  if (focus.selected.has(node.id)) pen.circle(x, y, size + 4, { fill: null, stroke: { colour: palette.accent, width: 2.5 } })
  else if (focus.hovered === node.id) pen.circle(x, y, size + 4, { fill: null, stroke: { colour: palette.ink, width: 1.2 } })
  if (node.pinned) pen.circle(x, y, Math.max(1.8, size * 0.28), { fill: palette.ground, alpha })
  if (node.change) drawChange(pen, picture, each)
}

function nodeColour({ palette, colours }: Picture, node: SceneNode): string {
  if (node.change === 'removed') return palette.removed
  return colours.colour(node.card.type, palette)
}

function drawMissing(pen: Pen, { palette }: Picture, { x, y, radius: size }: Drawn, alpha: number): void {
  pen.circle(x, y, size, { fill: palette.ground, stroke: { colour: palette.missing, width: 2.4, alpha: Math.max(alpha, 0.55) } })
}

const SIGNS = { added: '+', removed: '−', changed: 'Δ', moved: '→' } as const

function drawChange(pen: Pen, { palette }: Picture, { node, x, y, radius: size }: Drawn): void {
  const change = node.change!
  const [badgeX, badgeY, badge] = [x + size * 0.75 + 2, y - size * 0.75 - 2, Math.max(5, Math.min(6.5, size * 0.9))]
  pen.circle(x, y, size + 2.5, { fill: null, stroke: { colour: palette[change], width: 2 } })
  pen.circle(badgeX, badgeY, badge, { fill: palette[change] })
  pen.text(SIGNS[change], badgeX, badgeY + 0.5, { colour: palette.ground, size: badge * 1.7, weight: 700, align: 'center' })
}

/** A bubble with its name and size inside; a red arc shows that links inside lead to missing concepts. */
function drawGroup(pen: Pen, picture: Picture, { node, x, y, radius: size }: Drawn, alpha: number): void {
  const { palette, colours } = picture
  const group = node.group!
  const colour = group.rest
    ? palette.other
    : node.card.type
      ? colours.colour(node.card.type, palette)
      : palette.types[node.place % palette.types.length]!
  pen.circle(x, y, size, { fill: palette.ground })
  pen.circle(x, y, size, { fill: colour, alpha: alpha * 0.22, stroke: { colour, width: 1.6, alpha } })
  if (group.missing) {
    const share = Math.min(1, Math.max(0.08, group.missing / Math.max(1, group.nodes)))
    pen.arc(x, y, size, -Math.PI / 2, -Math.PI / 2 + 2 * Math.PI * share * 0.999, {
      colour: palette.missing,
      width: 3,
      dash: [4, 3],
    })
  }
}

// Labels --------------------------------------------------------------------------------------

export function clip(text: string, max = LABEL_MAX): string {
  const plain = text.replace(/[\u0000-\u001f\u007f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, ' ')
  return plain.length > max ? `${plain.slice(0, max - 1).trimEnd()}…` : plain
}

function drawLabels(pen: Pen, picture: Picture, drawn: Map<string, Drawn>, lit: Set<string> | null): void {
  const occupied = new Occupied()
  const written = new Occupied()
  if (picture.covered) for (const boxes of [occupied, written]) boxes.take(picture.covered)
  for (const { node, x, y, radius: whole } of drawn.values()) {
    const size = node.group ? whole * 0.75 : whole
    occupied.take({ left: x - size, right: x + size, top: y - size, bottom: y + size })
  }
  const order = [...drawn.values()].filter(({ x, y }) => onFrame(picture.frame, x, y, 0))
  order.sort((a, b) => importance(picture, b) - importance(picture, a))
  order.length = Math.min(order.length, LABELS_TRIED)
  const hubs = hubsOf(order)
  let room = LABELS_MAX
  for (const each of order) {
    if (each.node.group) drawGroupLabel(pen, picture, each, occupied)
    else if (room > 0 && drawLabel(pen, picture, each, { occupied, written, over: hubs.has(each.node.id) }, drawn, lit)) room--
  }
  drawLinkLabels(pen, picture, drawn, occupied)
}

function importance({ focus }: Picture, { node, lit, radius: size }: Drawn): number {
  const chosen = focus.hovered === node.id ? 1e6 : focus.selected.has(node.id) ? 1e5 : 0
  // The size of a node stops growing with its links at some number; its importance does not.
  return (
    chosen +
    (lit ? 1e4 : 0) +
    (node.card.kind === 'missing' ? 40 : 0) +
    (node.change ? 100 : 0) +
    size +
    3 * Math.log2(1 + (node.card.degree ?? 0))
  )
}

/** The nodes that have far more links than most: at most twelve, the most linked ones. */
function hubsOf(order: readonly Drawn[]): Set<string> {
  const nodes = order.filter(({ node }) => !node.group).map(({ node }) => node)
  const degrees = nodes.map(({ card }) => card.degree ?? 0).sort((a, b) => a - b)
  const least = Math.max(5, 3 * (degrees[degrees.length >> 1] ?? 0))
  const hubs = nodes.filter(({ card }) => (card.degree ?? 0) >= least).sort((a, b) => b.card.degree - a.card.degree)
  return new Set(hubs.slice(0, HUBS).map(({ id }) => id))
}

interface Room {
  /** Boxes of nodes and labels. */
  occupied: Occupied
  /** Boxes of labels alone. */
  written: Occupied
  /** True if the label may cover other nodes. */
  over: boolean
}

function drawLabel(
  pen: Pen,
  picture: Picture,
  each: Drawn,
  { occupied, written, over }: Room,
  drawn: Map<string, Drawn>,
  lit: Set<string> | null,
): boolean {
  const { node, x, y, radius: size } = each
  const { palette, focus, scene } = picture
  const alpha = lit && !each.lit ? 0.5 : 1
  const missing = node.card.kind === 'missing'
  const chosen = focus.hovered === node.id || focus.selected.has(node.id)
  const weight = chosen ? 650 : 450
  const name = clip(node.card.name, chosen ? 60 : LABEL_MAX)
  const hidden = scene.hidden(node)
  const cost = picture.route?.costs.get(node.id)
  const extra =
    (cost === undefined ? '' : ` · ${costText(cost)}`) + (missing ? ' missing' : picture.route ? '' : hidden ? ` +${hidden}` : '')
  const nameWidth = pen.measure(name, LABEL_SIZE, weight)
  const extraWidth = extra ? pen.measure(extra, LABEL_SIZE - 1.5, 450) + 3 : 0
  const boxes = labelBoxes(x, y, size, nameWidth + extraWidth, LABEL_SIZE + 4)
  const best = clearOfLinks(boxes, each, scene, drawn)
  const box =
    freeBox(best, occupied, picture.frame, chosen && !over) ?? (over ? freeBox(best, written, picture.frame, chosen) : null)
  if (!box) return false
  for (const taken of [occupied, written]) taken.take(box)
  const [left, middle] = [box.left, (box.top + box.bottom) / 2]
  const colour = missing ? palette.missing : palette.ink
  pen.text(name, left, middle, {
    colour,
    size: LABEL_SIZE,
    weight,
    alpha,
    around: palette.ground,
    struck: node.change === 'removed',
  })
  if (extra)
    pen.text(extra.trim(), left + nameWidth + 5, middle, {
      colour: missing ? palette.missing : palette.muted,
      size: LABEL_SIZE - 1.5,
      alpha,
      around: palette.ground,
    })
  return true
}

/** Boxes that no link of the node passes come first. */
function clearOfLinks(boxes: Box[], { node, x, y }: Drawn, scene: Scene, drawn: Map<string, Drawn>): Box[] {
  const others = [...scene.neighbours(node.id)].map((id) => drawn.get(id)!)
  if (others.length > LINKS_AVOIDED) return boxes
  const clear = (box: Box) => !others.some((other) => crosses(box, x, y, other.x, other.y))
  return [...boxes.filter(clear), ...boxes.filter((box) => !clear(box))]
}

/** The first box that is free and inside the frame. A label that has to be shown takes the first one anyway. */
function freeBox(boxes: Box[], occupied: Occupied, frame: Frame, always: boolean): Box | null {
  for (const box of boxes) {
    if (box.left >= 2 && box.right <= frame.width - 2 && occupied.claim(box)) return box
  }
  if (!always) return null
  const { left, right, top, bottom } = boxes[0]!
  const shift = Math.min(0, frame.width - 2 - right)
  const box = { left: left + shift, right: right + shift, top, bottom }
  occupied.take(box)
  return box
}

/** The name of a group and the number of its nodes: in the bubble, over it, beside it, or shortened, as there is room. */
function drawGroupLabel(
  pen: Pen,
  { palette, focus }: Picture,
  { node, x, y, radius: size, lit }: Drawn,
  occupied: Occupied,
): void {
  const group = node.group!
  const nodes = group.nodes.toLocaleString('en')
  const note = group.missing ? `${nodes} · ${group.missing.toLocaleString('en')} missing` : nodes
  const whole = clip(group.name, 28)
  const chosen = focus.hovered === node.id || focus.selected.has(node.id)
  const fits = (text: string, letters: number) => pen.measure(text, letters, 600) < 2 * size - 6
  const alpha = lit ? 1 : 0.4
  const write = (name: string, letters: number, top: number, second: string) => {
    const ground = Math.abs(top - y) > size ? palette.ground : undefined
    pen.text(name, x, top, {
      colour: palette.ink,
      size: letters,
      weight: 600,
      align: 'center',
      alpha,
      around: ground ?? (fits(name, letters) ? undefined : palette.ground),
    })
    pen.text(second, x, top + 16, {
      colour: group.missing && second === note ? palette.missing : palette.muted,
      size: 11,
      align: 'center',
      alpha,
      around: ground,
    })
  }
  const noteInside = pen.measure(note, 11, 400) < 2 * size - 6 || chosen ? note : nodes
  const letters = fits(whole, 12.5) ? 12.5 : 11
  if (fits(whole, letters) || chosen) {
    write(whole, letters, y - 7, noteInside)
    return
  }
  const half = pen.measure(whole, 12.5, 600) / 2
  const sides: Box[] = [
    [x - half, x - size * 0.75],
    [x + size * 0.75, x + half],
  ].map(([left, right]) => ({ left: left!, right: right!, top: y - 14, bottom: y }))
  if (half < size * 1.5 && sides.every((box) => occupied.free(box))) {
    for (const box of sides) occupied.take(box)
    write(whole, 12.5, y - 7, noteInside)
    return
  }
  for (const [letters, name] of [
    [12.5, whole],
    [11, whole],
    [11, clip(whole, 14)],
  ] as const) {
    const width = pen.measure(name, letters, 600) / 2
    const top = [y + size + 9, y - size - 24].find((place) =>
      occupied.claim({ left: x - width, right: x + width, top: place - 7, bottom: place + 21 }),
    )
    if (top !== undefined) {
      write(name, letters, top, note)
      return
    }
  }
  if (fits(nodes, 11)) pen.text(nodes, x, y, { colour: palette.muted, size: 11, align: 'center' })
}

/** Names of relations, on the links of the nodes in focus, where there is room. */
function drawLinkLabels(pen: Pen, picture: Picture, drawn: Map<string, Drawn>, occupied: Occupied): void {
  const centres = centresOf(picture)
  const { route } = picture
  if (!centres.size && !route && picture.scene.links.size > 24) return
  for (const line of picture.scene.links.values()) {
    const { source, target, relation, weight, missing } = line.link
    const wanted = centres.size ? centres.has(source) || centres.has(target) : !route || route.trail.has(line.key)
    if (line.count > 1 || !relation || !wanted) continue
    const from = drawn.get(source)!
    const to = drawn.get(target)!
    const text = clip(relation, 24) + (route ? ` ${costText(weight)}` : '')
    const width = pen.measure(text, 11, 400)
    if (Math.hypot(to.x - from.x, to.y - from.y) < width + from.radius + to.radius + 14) continue
    const over = bendPoint(from, to, line.bend)
    const x = over ? (from.x + to.x) / 4 + over[0] / 2 : (from.x + to.x) / 2
    const y = over ? (from.y + to.y) / 4 + over[1] / 2 : (from.y + to.y) / 2
    if (!occupied.claim({ left: x - width / 2, right: x + width / 2, top: y - 7, bottom: y + 7 })) continue
    pen.text(text, x, y, {
      colour: missing ? picture.palette.missing : picture.palette.muted,
      size: 11,
      align: 'center',
      around: picture.palette.ground,
    })
  }
}

/** The node at a point of the screen, or null. Small nodes have a larger area to hit. */
export function nodeAt(
  { scene, camera, frame }: Pick<Picture, 'scene' | 'camera' | 'frame'>,
  x: number,
  y: number,
): string | null {
  const scale = nodeScale(camera.zoom)
  let best: string | null = null
  let nearest = Infinity
  for (const node of scene.nodes.values()) {
    const [nx, ny] = toScreen(camera, frame, node.x, node.y)
    const size = radius(node) * (node.group ? Math.min(1.6, Math.max(0.3, camera.zoom)) : scale)
    const distance = Math.hypot(nx - x, ny - y) - Math.max(size, 9)
    if (distance < 3 && distance < nearest) {
      nearest = distance
      best = node.id
    }
  }
  return best
}
