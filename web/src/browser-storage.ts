/** Small values in the storage of the browser. If storage is refused, they are not kept, without an error. */

export function keep(store: 'local' | 'session', key: string, value: string | null): void {
  try {
    const storage = store === 'local' ? localStorage : sessionStorage
    if (value === null) storage.removeItem(key)
    else storage.setItem(key, value)
  } catch {
    // Private windows, sandboxed frames and full storage refuse; the page works without.
  }
}

export function kept(store: 'local' | 'session', key: string): string | null {
  try {
    return (store === 'local' ? localStorage : sessionStorage).getItem(key)
  } catch {
    return null
  }
}
