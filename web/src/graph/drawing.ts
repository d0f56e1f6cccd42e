/** The picture of a scene: links, nodes, labels, in this order, drawn with any pen. */

import { nodeScale, toScreen, type Camera, type Frame } from './camera'
import { labelPlaces, Occupied, type Box, type Place } from './labels'
import type { Palette, TypeColours } from './palette'
import type { Pen, Stroke } from './pen'
import type { Scene, SceneLink, SceneNode } from './scene'
import { lineWidth, radius } from './size'

/** What the reader looks at: it stands out, and the rest is dimmed. */
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
/** Nodes that a label is looked for, the most important first. */
const LABELS_TRIED = 500
/** Beyond this many nodes they are drawn without a rim, thousands at once. */
const RIMS_MAX = 600
const LABEL_MAX = 34
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
function litNodes({ scene, focus }: Picture): Set<string> | null {
  const centres = focus.hovered && scene.nodes.has(focus.hovered) ? [focus.hovered] : [...focus.selected]
  const lit = new Set<string>()
  for (const id of centres) {
    if (!scene.nodes.has(id)) continue
    lit.add(id)
    for (const other of scene.neighbours(id)) lit.add(other)
  }
  return lit.size ? lit : null
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
  for (const line of picture.scene.links.values()) {
    if (lit && (centres.has(line.link.source) || centres.has(line.link.target))) later.push(line)
    else drawLink(pen, picture, drawn, line, lit ? 'dim' : 'plain')
  }
  pen.flush()
  for (const line of later) drawLink(pen, picture, drawn, line, 'lit')
}

function centresOf({ focus }: Picture): ReadonlySet<string> {
  return focus.hovered ? new Set([focus.hovered]) : focus.selected
}

type Emphasis = 'plain' | 'dim' | 'lit'

function drawLink(pen: Pen, { palette, frame, camera }: Picture, drawn: Map<string, Drawn>, line: SceneLink, emphasis: Emphasis): void {
  const from = drawn.get(line.link.source)!
  const to = drawn.get(line.link.target)!
  if (!onFrame(frame, from.x, from.y, 0) && !onFrame(frame, to.x, to.y, 0) && !crosses(frame, from, to)) return
  const stroke = linkStroke(line, palette, emphasis, camera.zoom)
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

function linkStroke(line: SceneLink, palette: Palette, emphasis: Emphasis, zoom: number): Stroke {
  const scale = Math.min(1.2, Math.max(0.55, zoom))
  const missing = line.link.missing === true
  const colour = line.change ? palette[line.change] : missing ? palette.missing : emphasis === 'lit' ? palette.accent : palette.link
  const alpha = emphasis === 'dim' ? (missing ? 0.4 : 0.3) : line.count > 1 ? 0.55 : 1
  const width = lineWidth(line.link.weight, line.count) * scale
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

function crosses(frame: Frame, from: Drawn, to: Drawn): boolean {
  const left = Math.min(from.x, to.x) < frame.width && Math.max(from.x, to.x) > 0
  return left && Math.min(from.y, to.y) < frame.height && Math.max(from.y, to.y) > 0
}

// Nodes ---------------------------------------------------------------------------------------

function drawNode(pen: Pen, picture: Picture, each: Drawn): void {
  const { node, x, y, radius: size } = each
  const { palette, focus, frame } = picture
  if (!onFrame(frame, x, y, size + 20)) return
  const alpha = each.lit ? 1 : 0.4
  const pulse = focus.pulses.get(node.id)
  if (pulse !== undefined) pen.circle(x, y, size + 4 + 14 * pulse, { fill: null, stroke: { colour: palette.accent, width: 2, alpha: 1 - pulse } })
  if (node.group) drawGroup(pen, picture, each, alpha)
  else if (node.card.kind === 'missing') drawMissing(pen, picture, each, alpha)
  else {
    const rim = picture.scene.nodes.size <= RIMS_MAX ? { colour: palette.ground, width: 1.5 } : undefined
    const fill = { fill: nodeColour(picture, node), stroke: rim, alpha }
    if (node.card.kind === 'resource') pen.square(x, y, size * 0.88, fill)
    else if (node.card.kind === 'link') pen.polygon([x, y - size, x + size, y, x, y + size, x - size, y], fill)
    else pen.circle(x, y, size, fill)
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
  const [badgeX, badgeY, badge] = [x + size * 0.75 + 2, y - size * 0.75 - 2, Math.min(6.5, size * 0.9)]
  pen.circle(x, y, size + 2.5, { fill: null, stroke: { colour: palette[change], width: 2 } })
  pen.circle(badgeX, badgeY, badge, { fill: palette[change] })
  pen.text(SIGNS[change], badgeX, badgeY + 0.5, { colour: palette.ground, size: badge * 1.7, weight: 700, align: 'center' })
}

/** A bubble with its name and size inside; a red arc shows that links inside lead to missing concepts. */
function drawGroup(pen: Pen, picture: Picture, { node, x, y, radius: size }: Drawn, alpha: number): void {
  const { palette } = picture
  const group = node.group!
  const colour = group.rest ? palette.other : palette.types[node.place % palette.types.length]!
  pen.circle(x, y, size, { fill: palette.ground })
  pen.circle(x, y, size, { fill: colour, alpha: alpha * 0.22, stroke: { colour, width: 1.6, alpha } })
  if (group.missing) {
    const share = Math.min(1, Math.max(0.08, group.missing / Math.max(1, group.nodes)))
    pen.arc(x, y, size, -Math.PI / 2, -Math.PI / 2 + 2 * Math.PI * share * 0.999, { colour: palette.missing, width: 3, dash: [4, 3] })
  }
}

// Labels --------------------------------------------------------------------------------------

export function clip(text: string, max = LABEL_MAX): string {
  const plain = text.replace(/[\u0000-\u001f\u007f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, ' ')
  return plain.length > max ? plain.slice(0, max - 1).trimEnd() + '…' : plain
}

function drawLabels(pen: Pen, picture: Picture, drawn: Map<string, Drawn>, lit: Set<string> | null): void {
  const occupied = new Occupied()
  for (const { node, x, y, radius: whole } of drawn.values()) {
    const size = node.group ? whole * 0.75 : whole
    occupied.take({ left: x - size, right: x + size, top: y - size, bottom: y + size })
  }
  const order = [...drawn.values()].filter(({ x, y }) => onFrame(picture.frame, x, y, 0))
  order.sort((a, b) => importance(picture, b) - importance(picture, a))
  order.length = Math.min(order.length, LABELS_TRIED)
  let room = LABELS_MAX
  for (const each of order) {
    if (each.node.group) drawGroupLabel(pen, picture, each, occupied)
    else if (room > 0 && drawLabel(pen, picture, each, occupied, lit)) room--
  }
  drawLinkLabels(pen, picture, drawn, occupied)
}

function importance({ focus }: Picture, { node, lit, radius: size }: Drawn): number {
  const chosen = focus.hovered === node.id ? 1e6 : focus.selected.has(node.id) ? 1e5 : 0
  return chosen + (lit ? 1e4 : 0) + (node.card.kind === 'missing' ? 40 : 0) + (node.change ? 100 : 0) + size
}

function drawLabel(pen: Pen, picture: Picture, each: Drawn, occupied: Occupied, lit: Set<string> | null): boolean {
  const { node, x, y, radius: size } = each
  const { palette, focus, scene } = picture
  const alpha = lit && !each.lit ? 0.5 : 1
  const missing = node.card.kind === 'missing'
  const chosen = focus.hovered === node.id || focus.selected.has(node.id)
  const weight = chosen ? 650 : 450
  const name = clip(node.card.name, chosen ? 60 : LABEL_MAX)
  const hidden = scene.hidden(node)
  const extra = missing ? ' missing' : hidden ? ` +${hidden}` : ''
  const nameWidth = pen.measure(name, LABEL_SIZE, weight)
  const extraWidth = extra ? pen.measure(extra, LABEL_SIZE - 1.5, 450) + 3 : 0
  const places = labelPlaces(x, y, size, nameWidth + extraWidth, LABEL_SIZE + 4)
  const place = freePlace(places, occupied, picture.frame, chosen)
  if (!place) return false
  const left = place.box.left
  const colour = missing ? palette.missing : palette.ink
  pen.text(name, left, place.y, { colour, size: LABEL_SIZE, weight, alpha, around: palette.ground, struck: node.change === 'removed' })
  if (extra) pen.text(extra.trim(), left + nameWidth + 5, place.y, { colour: missing ? palette.missing : palette.muted, size: LABEL_SIZE - 1.5, alpha, around: palette.ground })
  return true
}

/** The first place that is free and inside the frame. A label that has to be shown takes the first one anyway. */
function freePlace(places: Place[], occupied: Occupied, frame: Frame, always: boolean): Place | null {
  for (const place of places) {
    if (place.box.left >= 2 && place.box.right <= frame.width - 2 && occupied.claim(place.box)) return place
  }
  if (!always) return null
  occupied.take(places[0]!.box)
  return places[0]!
}

function drawGroupLabel(pen: Pen, { palette }: Picture, { node, x, y, radius: size, lit }: Drawn, occupied: Occupied): void {
  const group = node.group!
  const alpha = lit ? 1 : 0.4
  const whole = clip(group.name, 28)
  const [width, small] = [pen.measure(whole, 12.5, 600), pen.measure(whole, 11, 600)]
  const fits = small < 2 * size - 6
  const letters = fits && width > 2 * size - 8 ? 11 : 12.5
  const boxAt = (top: number): Box => ({ left: x - width / 2, right: x + width / 2, top: top - 7, bottom: top + 21 })
  const outside = fits ? undefined : [y + size + 9, y - size - 24, y + size + 2, y - size - 17].find((place) => occupied.claim(boxAt(place)))
  const inside = outside === undefined
  const top = outside ?? y - 7
  const name = inside && !fits ? clip(group.name, Math.max(4, Math.floor(size / 3.6))) : whole
  const note = group.missing ? `${group.nodes.toLocaleString('en')} · ${group.missing} missing` : group.nodes.toLocaleString('en')
  pen.text(name, x, top, { colour: palette.ink, size: letters, weight: 600, align: 'center', alpha, around: fits ? undefined : palette.ground })
  const noteInside = inside && pen.measure(note, 11, 400) < 2 * size - 12
  const shown = inside && !noteInside ? group.nodes.toLocaleString('en') : note
  pen.text(shown, x, top + 16, { colour: group.missing && shown === note ? palette.missing : palette.muted, size: 11, align: 'center', alpha, around: inside ? undefined : palette.ground })
}

/** Names of relations, on the links of the nodes in focus, where there is room. */
function drawLinkLabels(pen: Pen, picture: Picture, drawn: Map<string, Drawn>, occupied: Occupied): void {
  const centres = centresOf(picture)
  if (!centres.size && picture.scene.links.size > 24) return
  for (const line of picture.scene.links.values()) {
    const { source, target, relation, missing } = line.link
    if (line.count > 1 || !relation || (centres.size && !centres.has(source) && !centres.has(target))) continue
    const from = drawn.get(source)!
    const to = drawn.get(target)!
    const text = clip(relation, 24)
    const width = pen.measure(text, 11, 400)
    if (Math.hypot(to.x - from.x, to.y - from.y) < width + from.radius + to.radius + 14) continue
    const over = bendPoint(from, to, line.bend)
    const x = over ? (from.x + to.x) / 4 + over[0] / 2 : (from.x + to.x) / 2
    const y = over ? (from.y + to.y) / 4 + over[1] / 2 : (from.y + to.y) / 2
    if (!occupied.claim({ left: x - width / 2, right: x + width / 2, top: y - 7, bottom: y + 7 })) continue
    pen.text(text, x, y, { colour: missing ? picture.palette.missing : picture.palette.muted, size: 11, align: 'center', around: picture.palette.ground })
  }
}

/** The node at a point of the screen, or null. Small nodes have a larger area to hit. */
export function nodeAt({ scene, camera, frame }: Pick<Picture, 'scene' | 'camera' | 'frame'>, x: number, y: number): string | null {
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
