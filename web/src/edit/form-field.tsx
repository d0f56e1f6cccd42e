/** Parts that the forms of the dialog share: their properties, their id, and a field with its label. */

import type { ComponentChildren, JSX } from 'preact'
import type { Explorer } from '../explorer'
import type { Write } from '../source/types'

export interface FormProps {
  explorer: Explorer
  /** Makes a change and writes it; the dialog closes when it is done. */
  write(make: () => Promise<Write>): Promise<void>
}

/** The id of the form: its message and its buttons stand below its fields. */
export const FORM = 'edit-form'

export function Field({ label, children, note }: { label: string; children: ComponentChildren; note?: string }): JSX.Element {
  return (
    <label class="field">
      {label}
      {children}
      {note && <span class="note">{note}</span>}
    </label>
  )
}
