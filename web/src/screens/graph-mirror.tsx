/** The canvas as a list, for keyboards and screen readers. It has the focus when the canvas has it. */

import type { JSX } from 'preact'
import { useRef } from 'preact/hooks'
import { describe, type Explorer } from '../explorer'
import { GROUP_PREFIX, type SceneNode } from '../graph/scene'
import type { Stage } from '../graph/stage'
import { isDirection, walk } from '../graph/walk'
import { announcement } from '../notices'
import { plain } from '../text/format'

const OPTIONS_MAX = 300

interface Props {
  explorer: Explorer
  stage: Stage | null
}

export function Mirror({ explorer, stage }: Props): JSX.Element {
  const box = useRef<HTMLDivElement>(null)
  void explorer.drawn.value
  const scene = explorer.visible.value
  const current = currentId(explorer, stage)
  const options = optionsOf([...scene.nodes.values()], current)
  // The selected node may not be drawn yet.
  const active = options.find((node) => node.id === current)
  return (
    <div
      ref={box}
      class="mirror"
      role="listbox"
      tabIndex={0}
      id="mirror"
      aria-label={`Nodes of the graph: ${scene.nodes.size} shown. Arrows walk, Enter expands, Backspace hides.`}
      aria-activedescendant={active ? optionId(active.id) : undefined}
      onKeyDown={(event) => key(event, explorer, stage)}>
      {options.map((node) => (
        <div
          key={node.id}
          id={optionId(node.id)}
          role="option"
          aria-selected={node.id === current}
          data-id={node.id}
          data-x={node.x}
          data-y={node.y}
          data-kind={node.card.kind}
          onClick={() => go(node.id, explorer, stage)}>
          {plain(describe(node, scene, explorer.route.value?.costs.get(node.id), explorer.touched.value?.nodes.has(node.id)))}
        </div>
      ))}
      {scene.nodes.size > options.length && (
        <div role="option" aria-selected="false" aria-disabled="true">
          {scene.nodes.size - options.length} more: see the table with t.
        </div>
      )}
    </div>
  )
}

/** The node at which the keyboard is: the selected one, or a group that was walked to. */
export function currentId(explorer: Explorer, stage: Stage | null): string | null {
  const chosen = [...(stage?.chosen.value ?? [])]
  return explorer.view.value.selected ?? (chosen.length === 1 ? chosen[0]! : null)
}

const optionId = (id: string): string => `option-${encodeURIComponent(id)}`

function optionsOf(nodes: SceneNode[], current: string | null): SceneNode[] {
  nodes.sort((a, b) => weight(b) - weight(a))
  const options = nodes.slice(0, OPTIONS_MAX)
  const chosen = nodes.slice(OPTIONS_MAX).find((node) => node.id === current)
  return chosen ? [...options, chosen] : options
}

const weight = (node: SceneNode): number => node.group?.nodes ?? node.card.degree

function go(id: string, explorer: Explorer, stage: Stage | null): void {
  if (id.startsWith(GROUP_PREFIX)) {
    explorer.look({ selected: null })
    if (stage) stage.chosen.value = new Set([id])
    const node = explorer.scene.value.nodes.get(id)
    if (node) announcement.value = describe(node, explorer.scene.value)
  } else {
    if (stage) stage.chosen.value = new Set()
    explorer.select(id)
  }
  stage?.reveal(id)
}

function key(event: KeyboardEvent, explorer: Explorer, stage: Stage | null): void {
  const current = currentId(explorer, stage)
  const many = stage?.chosen.value.size ? [...stage.chosen.value] : []
  if (isDirection(event.key)) {
    const next = walk(explorer.visible.value, current, event.key)
    if (next) go(next, explorer, stage)
  } else if (event.key === 'Enter' && current) void explorer.expand(current)
  else if (event.key === 'Backspace' || event.key === 'Delete') {
    explorer.hide(many.length ? many : current ? [current] : [])
    if (stage) stage.chosen.value = new Set()
  } else if (event.key === 'p' && current) explorer.pin(current, !explorer.scene.value.nodes.get(current)?.pinned)
  else if (event.key === 'c' && current && !event.ctrlKey && !event.metaKey) explorer.collapse(current)
  else if (event.key === '+' || event.key === '=') stage?.zoomBy(1.25)
  else if (event.key === '-') stage?.zoomBy(0.8)
  else return
  event.preventDefault()
}
