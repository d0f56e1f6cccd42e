/** Steps back and forward through the shown states. */

export class UndoStack<T> {
  #past: T[] = []
  #future: T[] = []

  constructor(private readonly limit = 100) {}

  /** Records the state before a step. Undone steps are dropped. */
  push(before: T): void {
    this.#past.push(before)
    if (this.#past.length > this.limit) this.#past.shift()
    this.#future = []
  }

  undo(now: T): T | null {
    const before = this.#past.pop()
    if (before === undefined) return null
    this.#future.push(now)
    return before
  }

  redo(now: T): T | null {
    const after = this.#future.pop()
    if (after === undefined) return null
    this.#past.push(now)
    return after
  }

  get canUndo(): boolean {
    return this.#past.length > 0
  }

  get canRedo(): boolean {
    return this.#future.length > 0
  }
}
