/** The stream of changes. It pauses in hidden tabs, reconnects by itself, and loses no change. */

import { effect, signal } from '@preact/signals'
import type { Explorer } from './explorer'
import { SourceError } from './source/errors'
import type { LiveChange } from './source/types'

export type LiveState = 'off' | 'connecting' | 'live' | 'paused' | 'away'

export const live = signal<LiveState>('off')

const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 30_000
/** Changes that arrive within this time are shown together. */
const TOGETHER_MS = 120

export class Live {
  #stop: AbortController | null = null
  /** The branch that is followed, from this position on. */
  #branch: string | null = null
  #position = -1
  #queue: LiveChange[] = []
  #timer = 0
  #wait = FIRST_WAIT_MS

  constructor(private readonly explorer: Explorer) {}

  start(): void {
    if (!this.explorer.source.abilities.live) return
    document.addEventListener('visibilitychange', () => this.#turn())
    window.addEventListener('online', () => this.again())
    effect(() => {
      const about = this.explorer.about.value
      if (about && this.#position >= 0 && about.branch === this.#branch) return
      this.#branch = about?.branch ?? null
      this.#position = about?.position ?? -1
      this.#queue = []
      this.again()
    })
  }

  /** Connects again at once: to another branch, or after a new token was given. */
  again(): void {
    this.#wait = FIRST_WAIT_MS
    this.#stop?.abort()
    this.#stop = null
    this.#turn()
  }

  #turn(): void {
    if (document.hidden) {
      this.#stop?.abort()
      this.#stop = null
      live.value = 'paused'
    } else if (!this.#stop && this.#position >= 0) void this.#run()
  }

  async #run(): Promise<void> {
    const stop = (this.#stop = new AbortController())
    while (!stop.signal.aborted) {
      live.value = live.value === 'away' ? 'away' : 'connecting'
      const failed = await this.#listen(stop.signal)
      if (stop.signal.aborted) return
      if (failed instanceof SourceError && failed.status === 401) {
        this.#stop = null
        live.value = 'off'
        return
      }
      if (failed) live.value = 'away'
      await new Promise((resolve) => setTimeout(resolve, failed ? this.#wait : FIRST_WAIT_MS))
      this.#wait = failed ? Math.min(LONGEST_WAIT_MS, this.#wait * 2) : FIRST_WAIT_MS
    }
  }

  /** Listens until the stream ends; returns the error that ended it, if any. */
  async #listen(signal: AbortSignal): Promise<unknown> {
    try {
      await this.explorer.source.listen(
        this.#position,
        {
          opened: () => {
            if (live.value === 'away') this.explorer.changed.value++
            live.value = 'live'
            this.#wait = FIRST_WAIT_MS
          },
          change: (change) => this.#hear(change),
          gap: (position) => this.#reload(position),
        },
        signal,
      )
      return null
    } catch (error) {
      return error
    }
  }

  #hear(change: LiveChange): void {
    this.#position = Math.max(this.#position, change.position)
    this.#queue.push(change)
    if (!this.#timer) this.#plan()
  }

  #plan(): void {
    this.#timer = window.setTimeout(() => void this.#flush(), TOGETHER_MS)
  }

  /** Shows the changes that have arrived. Changes that arrive meanwhile are shown afterwards. */
  async #flush(): Promise<void> {
    const queue = this.#queue
    this.#queue = []
    if (queue.length) await this.explorer.hear(queue)
    this.#timer = 0
    if (this.#queue.length) this.#plan()
  }

  #reload(position: number): void {
    this.#position = position
    this.explorer.changed.value++
    void this.explorer.readAbout()
    void this.explorer.show()
  }
}
