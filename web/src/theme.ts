/** Light and dark: the preference of the system, unless the reader has chosen. */

import { computed, effect, signal } from '@preact/signals'
import { keep, kept } from './browser-storage'
import { DARK, LIGHT } from './graph/palette'

export type Theme = 'light' | 'dark'

const dark = matchMedia('(prefers-color-scheme: dark)')
const system = signal<Theme>(dark.matches ? 'dark' : 'light')
const chosen = signal<Theme | null>(readChoice())

export const theme = computed<Theme>(() => chosen.value ?? system.value)
export const palette = computed(() => (theme.value === 'dark' ? DARK : LIGHT))
export const reducedMotion = (): boolean => matchMedia('(prefers-reduced-motion: reduce)').matches

function readChoice(): Theme | null {
  const choice = kept('local', 'mycel:theme')
  return choice === 'light' || choice === 'dark' ? choice : null
}

export function chooseTheme(next: Theme): void {
  chosen.value = next
  keep('local', 'mycel:theme', next)
}

export function startTheme(): void {
  dark.addEventListener('change', () => (system.value = dark.matches ? 'dark' : 'light'))
  effect(() => {
    document.documentElement.dataset['theme'] = theme.value
  })
}
