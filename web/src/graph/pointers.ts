/** Mouse, pen and fingers on the canvas. */

import type { Stage } from './stage'

const MOVED_PX = 4

/** The action of a single pointer. */
type Gesture =
  | { kind: 'node'; id: string; moved: boolean; startX: number; startY: number }
  | { kind: 'pan'; moved: boolean; x: number; y: number }
  | { kind: 'lasso' }

/** Listens to a canvas until the returned function is called. */
export function listen(stage: Stage): () => void {
  const { canvas, explorer } = stage
  const fingers = new Map<number, { x: number; y: number }>()
  let gesture: Gesture | null = null
  let pinch = 0

  const place = (event: { clientX: number; clientY: number }): [number, number] => {
    const box = canvas.getBoundingClientRect()
    return [event.clientX - box.left, event.clientY - box.top]
  }

  const down = (event: PointerEvent) => {
    if (event.button !== 0) return
    // The list that mirrors the canvas takes the keys: Backspace and arrows work after a click.
    canvas.parentElement?.querySelector<HTMLElement>('[role=listbox]')?.focus({ preventScroll: true })
    event.preventDefault()
    const [x, y] = place(event)
    fingers.set(event.pointerId, { x, y })
    canvas.setPointerCapture(event.pointerId)
    if (fingers.size === 2) {
      gesture = null
      pinch = spread(fingers)
      return
    }
    const id = stage.at(x, y)
    if (id) gesture = { kind: 'node', id, moved: false, startX: x, startY: y }
    else if (event.shiftKey) {
      gesture = { kind: 'lasso' }
      stage.lasso.value = { x1: x, y1: y, x2: x, y2: y }
    } else gesture = { kind: 'pan', moved: false, x, y }
  }

  const move = (event: PointerEvent) => {
    const [x, y] = place(event)
    if (fingers.has(event.pointerId)) fingers.set(event.pointerId, { x, y })
    if (fingers.size === 2) {
      const now = spread(fingers)
      const [a, b] = [...fingers.values()]
      if (pinch > 0) stage.zoomBy(now / pinch, (a!.x + b!.x) / 2, (a!.y + b!.y) / 2)
      pinch = now
      return
    }
    if (!gesture) {
      stage.hovered.value = event.pointerType === 'touch' ? null : stage.at(x, y)
      canvas.style.cursor = stage.hovered.value ? 'pointer' : 'grab'
      return
    }
    if (gesture.kind === 'node') {
      gesture.moved ||= Math.hypot(x - gesture.startX, y - gesture.startY) > MOVED_PX
      if (gesture.moved) stage.drag(gesture.id, x, y)
    } else if (gesture.kind === 'pan') {
      gesture.moved ||= Math.hypot(x - gesture.x, y - gesture.y) > MOVED_PX
      if (gesture.moved) {
        stage.pan(x - gesture.x, y - gesture.y)
        gesture.x = x
        gesture.y = y
      }
    } else if (stage.lasso.value) stage.lasso.value = { ...stage.lasso.value, x2: x, y2: y }
  }

  const up = (event: PointerEvent) => {
    fingers.delete(event.pointerId)
    const ended = gesture
    gesture = null
    if (!ended) return
    if (ended.kind === 'lasso') {
      const lasso = stage.lasso.value
      stage.lasso.value = null
      if (lasso) stage.chosen.value = new Set(stage.inside(lasso))
    } else if (ended.kind === 'node') {
      if (ended.moved) explorer.moved()
      else tap(ended.id, event.shiftKey)
    } else if (!ended.moved) {
      stage.chosen.value = new Set()
      explorer.select(null)
    }
  }

  const tap = (id: string, more: boolean) => {
    if (more) {
      const chosen = new Set(stage.chosen.value)
      if (!chosen.delete(id)) chosen.add(id)
      stage.chosen.value = chosen
      return
    }
    stage.chosen.value = new Set(id.startsWith('group:') ? [id] : [])
    explorer.select(id)
  }

  const twice = (event: MouseEvent) => {
    const id = stage.at(...place(event))
    if (id) void explorer.expand(id)
  }

  const wheel = (event: WheelEvent) => {
    event.preventDefault()
    stage.zoomBy(Math.exp(-event.deltaY * (event.deltaMode === 1 ? 0.05 : 0.0016)), ...place(event))
  }

  const leave = () => {
    stage.hovered.value = null
  }

  const handlers: [string, EventListener, AddEventListenerOptions?][] = [
    ['pointerdown', down as EventListener],
    ['pointermove', move as EventListener],
    ['pointerup', up as EventListener],
    ['pointercancel', up as EventListener],
    ['pointerleave', leave],
    ['dblclick', twice as EventListener],
    ['wheel', wheel as EventListener, { passive: false }],
  ]
  for (const [name, handler, options] of handlers) canvas.addEventListener(name, handler, options)
  return () => {
    for (const [name, handler] of handlers) canvas.removeEventListener(name, handler)
  }
}

function spread(fingers: Map<number, { x: number; y: number }>): number {
  const [a, b] = [...fingers.values()]
  return Math.hypot(a!.x - b!.x, a!.y - b!.y)
}
