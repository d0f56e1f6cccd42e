/** The list of keys. */

import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

export const helpOpen = signal(false)

const KEYS: [string, string][] = [
  ['/', 'Search'],
  ['Click', 'Select a node'],
  ['Double click, Enter', 'Bring the next 25 neighbours; open a group'],
  ['Arrows', 'Walk to the neighbour in that direction'],
  ['Drag', 'Move a node and pin it; drag the ground to move the view'],
  ['Shift-drag', 'Choose several nodes'],
  ['Backspace', 'Hide what is chosen'],
  ['c', 'Collapse: hide neighbours that hang on this node alone'],
  ['p', 'Pin or unpin'],
  ['f', 'Fit everything into the view'],
  ['l', 'New layout'],
  ['t', 'Table or graph'],
  ['v', 'Saved views'],
  ['[ and ]', 'Earlier and later'],
  ['Ctrl+Z, Ctrl+Shift+Z', 'Undo and redo'],
  ['+ and −, wheel', 'Zoom'],
  ['Esc', 'Close the panel'],
  ['?', 'This list'],
]

export function HelpDialog(): JSX.Element | null {
  const box = useRef<HTMLDialogElement>(null)
  const open = helpOpen.value
  useEffect(() => {
    if (open) box.current?.showModal()
  }, [open])
  if (!open) return null
  return (
    <dialog ref={box} class="dialog" aria-labelledby="help-title" onClose={() => (helpOpen.value = false)}>
      <h1 id="help-title" tabIndex={-1} autofocus>
        Keys
      </h1>
      <table class="fields keys">
        <tbody>
          {KEYS.map(([key, what]) => (
            <tr key={key}>
              <th scope="row">
                <kbd>{key}</kbd>
              </th>
              <td>{what}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="note">
        Circles are concepts, squares are resources; a red ring with the word “missing” is a concept that nobody has written yet.
        Thick lines are close relations (low weight). “+12” after a name: links that are not shown.
      </p>
      <div class="form-buttons">
        <button type="button" class="button strong" onClick={() => box.current?.close()}>
          Close
        </button>
      </div>
    </dialog>
  )
}
