/** Values that are read from the source while a component is shown. */

import { useEffect, useState } from 'preact/hooks'

export interface Loaded<T> {
  value: T | null
  error: unknown
  loading: boolean
}

/** The value of a promise that is asked for again when one of `needs` changes. The old value stays meanwhile. */
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
