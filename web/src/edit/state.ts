/** The form that is open for writing, if any. */

import { signal } from '@preact/signals'
import type { NodeDetail } from '../source/types'

export type Editing = { kind: 'create'; id: string } | { kind: 'edit' | 'relate' | 'move' | 'forget'; node: NodeDetail }

export const editing = signal<Editing | null>(null)
