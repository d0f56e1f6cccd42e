/** Values that are read from the source while a component is shown. */

import { useEffect, useState } from 'preact/hooks'
import { complain } from '../notices'

export interface Loaded<T> {
  value: T | null
  error: unknown
  loading: boolean
}

/** The value of a promise, which is made again when one of `needs` changes. The old value stays meanwhile. */
export function useLoad<T>(read: () => Promise<T>, needs: readonly unknown[]): Loaded<T> {
  const [state, setState] = useState<Loaded<T>>({ value: null, error: null, loading: true })
  useEffect(() => {
    let current = true
    setState((before) => ({ ...before, loading: true }))
    read().then(
      (value) => current && setState({ value, error: null, loading: false }),
      (error: unknown) => current && setState({ value: null, error, loading: false }),
    )
    return () => {
      current = false
    }
  }, needs)
  return state
}

export interface Pages<P> {
  /** The pages that were read, the first one first. */
  pages: P[]
  error: unknown
  /** Reads the next page; null if there is none. */
  more: (() => void) | null
}

/** A list in pages: the first is read at once and again when one of `needs` changes, the others on demand. */
export function usePages<P, C>(
  read: (cursor: C | null) => Promise<P>,
  next: (page: P) => C | undefined,
  needs: readonly unknown[],
): Pages<P> {
  const { value: first, error } = useLoad(() => read(null), needs)
  const [rest, setRest] = useState<{ after: P | null; pages: P[] }>({ after: null, pages: [] })
  const pages = first === null ? [] : [first, ...(rest.after === first ? rest.pages : [])]
  const last = pages[pages.length - 1]
  const cursor = last && next(last)
  const more = () => void read(cursor!).then((page) => setRest({ after: first, pages: [...pages.slice(1), page] }), complain)
  return { pages, error, more: cursor === undefined ? null : more }
}
