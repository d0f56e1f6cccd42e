/** The canvas: it draws the scene, keeps the camera, and turns pointers into actions. */

import { effect, type ReadonlySignal, signal } from '@preact/signals'
import type { Explorer } from '../explorer'
import { palette, reducedMotion } from '../theme'
import { type Camera, type Frame, fit, toPlane, zoomAt } from './camera'
import { draw, nodeAt, type Picture } from './drawing'
import type { Box } from './labels'
import { CanvasPen } from './pen'
import type { Scene } from './scene'
import { radius } from './size'

const FIT_MS = 260

/** The places of all nodes, with the radius of those that grow with the zoom. */
export const reaches = (scene: Scene): { x: number; y: number; reach: number }[] =>
  [...scene.nodes.values()].map((node) => ({ x: node.x, y: node.y, reach: node.group ? radius(node) : 0 }))

/** The lasso: a rectangle on the screen, from one corner to the other. */
export interface Lasso {
  x1: number
  y1: number
  x2: number
  y2: number
}

export class Stage {
  readonly camera = signal<Camera>({ x: 0, y: 0, zoom: 1 })
  readonly frame = signal<Frame>({ width: 0, height: 0 })
  readonly hovered = signal<string | null>(null)
  readonly chosen = signal<ReadonlySet<string>>(new Set())
  readonly lasso = signal<Lasso | null>(null)
  /** The part of the canvas that the legend covers. */
  readonly covered = signal<Box | null>(null)
  readonly #context: CanvasRenderingContext2D
  readonly #ends: (() => void)[] = []
  #asked = 0
  #moving = 0
  #following = true

  constructor(
    readonly canvas: HTMLCanvasElement,
    readonly explorer: Explorer,
    readonly visible: ReadonlySignal<Scene> = explorer.visible,
  ) {
    this.#context = canvas.getContext('2d')!
    const size = new ResizeObserver(() => this.#resize())
    size.observe(canvas)
    const lost = (event: Event) => event.preventDefault()
    const restored = () => this.#ask()
    canvas.addEventListener('contextlost', lost)
    canvas.addEventListener('contextrestored', restored)
    this.#ends.push(
      () => size.disconnect(),
      () => canvas.removeEventListener('contextlost', lost),
      () => canvas.removeEventListener('contextrestored', restored),
      effect(() => this.#watch()),
      effect(() => {
        if (explorer.fitted.value) this.fit()
      }),
    )
    this.#resize()
  }

  destroy(): void {
    for (const end of this.#ends) end()
    cancelAnimationFrame(this.#asked)
    cancelAnimationFrame(this.#moving)
  }

  // Drawing -----------------------------------------------------------------------------------

  /** All values on which the picture depends; a change of any of them asks for a new picture. */
  #watch(): void {
    void [
      this.camera.value,
      this.frame.value,
      this.hovered.value,
      this.chosen.value,
      this.lasso.value,
      this.covered.value,
      palette.value,
    ]
    void [
      this.visible.value,
      this.explorer.drawn.value,
      this.explorer.pulses.value,
      this.explorer.touched.value,
      this.explorer.view.value,
    ]
    this.#ask()
  }

  #ask(): void {
    if (!this.#asked) this.#asked = requestAnimationFrame(() => this.#draw())
  }

  picture(): Picture {
    const { selected } = this.explorer.view.peek()
    const focus = new Set(this.chosen.peek())
    if (selected) focus.add(selected)
    return {
      scene: this.visible.peek(),
      camera: this.camera.peek(),
      frame: this.frame.peek(),
      palette: palette.peek(),
      colours: this.explorer.colours,
      focus: { selected: focus, hovered: this.hovered.peek(), pulses: this.explorer.pulses.peek() },
      covered: this.covered.peek(),
      touched: this.visible === this.explorer.visible ? this.explorer.touched.peek() : null,
      route: this.visible === this.explorer.visible && this.explorer.view.peek().route ? this.explorer.route.peek() : null,
    }
  }

  #draw(): void {
    cancelAnimationFrame(this.#asked)
    this.#asked = 0
    const { width, height } = this.frame.peek()
    const ratio = this.canvas.width / Math.max(1, width)
    const context = this.#context
    context.setTransform(ratio, 0, 0, ratio, 0, 0)
    context.fillStyle = palette.peek().ground
    context.fillRect(0, 0, width, height)
    draw(new CanvasPen(context), this.picture())
    const lasso = this.lasso.peek()
    if (lasso) {
      context.strokeStyle = palette.peek().accent
      context.setLineDash([5, 4])
      context.lineWidth = 1.5
      context.strokeRect(lasso.x1, lasso.y1, lasso.x2 - lasso.x1, lasso.y2 - lasso.y1)
    }
    const { x, y, zoom } = this.camera.peek()
    this.canvas.dataset['drawn'] = String(this.visible.peek().nodes.size)
    this.canvas.dataset['camera'] = `${x} ${y} ${zoom}`
  }

  #resize(): void {
    const { clientWidth: width, clientHeight: height } = this.canvas
    if (!width || !height) return
    const ratio = Math.min(3, devicePixelRatio || 1)
    this.canvas.width = Math.round(width * ratio)
    this.canvas.height = Math.round(height * ratio)
    const first = this.frame.peek().width === 0
    this.frame.value = { width, height }
    if (first || this.#following) this.fit(true)
    // Draw at once, because a resized canvas is empty.
    this.#draw()
  }

  // Camera ------------------------------------------------------------------------------------

  /** Shows everything. The frame keeps following its size until the reader moves the camera. */
  fit(atOnce = false): void {
    this.#following = true
    if (!this.frame.peek().width || !this.visible.peek().nodes.size) return
    const { nodes } = this.visible.peek()
    const groups = [...nodes.values()].some((node) => node.group)
    this.#moveTo(fit(reaches(this.visible.peek()), this.frame.peek(), undefined, groups ? 1 : undefined), atOnce)
  }

  /** Moves the camera to a place that was saved. */
  turnTo(camera: Camera): void {
    this.#following = false
    this.#moveTo(camera, true)
  }

  zoomBy(factor: number, x = this.frame.peek().width / 2, y = this.frame.peek().height / 2): void {
    this.#following = false
    this.camera.value = zoomAt(this.camera.peek(), this.frame.peek(), x, y, factor)
  }

  pan(dx: number, dy: number): void {
    this.#following = false
    const { x, y, zoom } = this.camera.peek()
    this.camera.value = { x: x - dx / zoom, y: y - dy / zoom, zoom }
  }

  /** Moves the camera only if a node is outside of the frame. */
  reveal(id: string): void {
    const node = this.visible.peek().nodes.get(id)
    if (!node) return
    const { width, height } = this.frame.peek()
    const { x, y, zoom } = this.camera.peek()
    const inside = Math.abs(node.x - x) * zoom < width / 2 - 30 && Math.abs(node.y - y) * zoom < height / 2 - 30
    if (!inside) this.#moveTo({ x: node.x, y: node.y, zoom }, false)
  }

  #moveTo(goal: Camera, atOnce: boolean): void {
    cancelAnimationFrame(this.#moving)
    const from = this.camera.peek()
    if (atOnce || reducedMotion() || from.zoom === 1) {
      this.camera.value = goal
      return
    }
    const began = performance.now()
    const step = () => {
      const part = Math.min(1, (performance.now() - began) / FIT_MS)
      const eased = 1 - (1 - part) ** 3
      const between = (a: number, b: number) => a + (b - a) * eased
      this.camera.value = { x: between(from.x, goal.x), y: between(from.y, goal.y), zoom: between(from.zoom, goal.zoom) }
      if (part < 1) this.#moving = requestAnimationFrame(step)
    }
    step()
  }

  // Places ------------------------------------------------------------------------------------

  at(x: number, y: number): string | null {
    return nodeAt({ scene: this.visible.peek(), camera: this.camera.peek(), frame: this.frame.peek() }, x, y)
  }

  drag(id: string, x: number, y: number): void {
    const node = this.visible.peek().nodes.get(id)
    if (!node) return
    ;[node.x, node.y] = toPlane(this.camera.peek(), this.frame.peek(), x, y)
    node.pinned = true
    this.#ask()
  }

  inside({ x1, y1, x2, y2 }: Lasso): string[] {
    const [left, top] = toPlane(this.camera.peek(), this.frame.peek(), Math.min(x1, x2), Math.min(y1, y2))
    const [right, bottom] = toPlane(this.camera.peek(), this.frame.peek(), Math.max(x1, x2), Math.max(y1, y2))
    const inside: string[] = []
    for (const { id, x, y } of this.visible.peek().nodes.values()) {
      if (x >= left && x <= right && y >= top && y <= bottom) inside.push(id)
    }
    return inside
  }
}
