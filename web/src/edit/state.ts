/** The form that is open for writing, if any. */

import { signal } from '@preact/signals'
import type { NodeDetail } from '../source/types'

export type NodeEditing = 'edit' | 'relate' | 'move' | 'supersede' | 'keep' | 'forget'
export type Editing = { kind: 'create'; id: string } | { kind: NodeEditing; node: NodeDetail }

export const editing = signal<Editing | null>(null)
