/** The table twin of the canvas: the same nodes, sorted by any column. */

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Explorer } from '../explorer'
import type { Scene, SceneNode } from '../graph/scene'
import { Name, NodeButton } from '../parts/basics'
import { costText, type Route } from '../route'
import { number } from '../text/format'
import type { Touched } from '../touched'

type Column = 'name' | 'type' | 'links' | 'hidden' | 'cost' | 'changed' | 'id'

const COLUMNS: [Column, string][] = [
  ['name', 'Name'],
  ['type', 'Type'],
  ['links', 'Links'],
  ['hidden', 'Not shown'],
  ['cost', 'Cost'],
  ['changed', 'Changed'],
  ['id', 'URI'],
]
const PAGE = 200

export function GraphTable({ explorer }: { explorer: Explorer }): JSX.Element {
  const [sort, setSort] = useState<Column>('links')
  const [down, setDown] = useState(true)
  const [pages, setPages] = useState(1)
  void explorer.drawn.value
  const route = explorer.view.value.route && explorer.route.value
  const touched = explorer.touched.value
  const columns = COLUMNS.filter(([column]) => (column !== 'cost' || route) && (column !== 'changed' || touched))
  const scene = explorer.visible.value
  const rows = [...scene.nodes.values()].sort(
    (a, b) => (down ? -1 : 1) * compare(field(a, sort, scene, route, touched), field(b, sort, scene, route, touched)),
  )
  const choose = (column: Column) => {
    setDown(column === sort ? !down : column === 'links' || column === 'hidden')
    setSort(column)
  }
  return (
    <div class="table-box" tabIndex={0} aria-label="Nodes as a table">
      <table class="data">
        <thead>
          <tr>
            {columns.map(([column, label]) => (
              <th key={column} aria-sort={sort === column ? (down ? 'descending' : 'ascending') : 'none'}>
                <button type="button" onClick={() => choose(column)}>
                  {label}
                  {sort === column ? (down ? ' ↓' : ' ↑') : ''}
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, pages * PAGE).map((node) => (
            <NodeRow key={node.id} node={node} explorer={explorer} scene={scene} route={route} />
          ))}
        </tbody>
      </table>
      {rows.length > pages * PAGE && (
        <button type="button" class="button more" onClick={() => setPages(pages + 1)}>
          Show more ({number(rows.length - pages * PAGE)} left)
        </button>
      )}
    </div>
  )
}

function NodeRow({
  node,
  explorer,
  scene,
  route,
}: {
  node: SceneNode
  explorer: Explorer
  scene: Scene
  route: Route | null
}): JSX.Element {
  const { card, group } = node
  const touched = explorer.touched.value
  if (group) {
    return (
      <tr>
        <td>
          <button type="button" class="node-button" onClick={() => explorer.openGroup(group.id)}>
            <Name text={group.name} />
          </button>
        </td>
        <td>group of {number(group.nodes)}</td>
        <td class="figure">{number(group.links)}</td>
        <td>{group.missing ? `${number(group.missing)} missing` : ''}</td>
        {touched && <td />}
        <td class="uri">
          <Name text={group.id} />
        </td>
      </tr>
    )
  }
  return (
    <tr class={explorer.view.value.selected === node.id ? 'chosen' : undefined}>
      <td>
        <NodeButton card={card} explorer={explorer} />
      </td>
      <td>
        <Name text={card.kind === 'missing' ? 'missing' : card.type} />
      </td>
      <td class="figure">{number(card.degree)}</td>
      <td class="figure">{scene.hidden(node) ? number(scene.hidden(node)) : ''}</td>
      {route && <td class="figure">{route.costs.has(node.id) ? costText(route.costs.get(node.id)!) : ''}</td>}
      {touched && <td>{touched.nodes.has(node.id) ? 'yes' : ''}</td>}
      <td class="uri">
        <Name text={node.id} />
      </td>
    </tr>
  )
}

function field(node: SceneNode, column: Column, scene: Scene, route: Route | null, touched: Touched | null): string | number {
  if (column === 'changed') return touched?.nodes.has(node.id) ? 0 : 1
  if (column === 'cost') return route?.costs.get(node.id) ?? Infinity
  if (column === 'links') return node.card.degree
  if (column === 'hidden') return scene.hidden(node)
  return column === 'id' ? node.id : node.card[column].toLowerCase()
}

const compare = (a: string | number, b: string | number): number => (a < b ? -1 : a > b ? 1 : 0)
