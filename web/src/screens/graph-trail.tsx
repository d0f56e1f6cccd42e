/** The way from the whole graph to the group that is shown. */

import type { JSX } from 'preact'
import type { Explorer } from '../explorer'
import { Name } from '../parts/basics'
import type { Grouping } from '../source/types'

const GROUPINGS: [Grouping, string][] = [
  ['folder', 'Folder'],
  ['domain', 'Domain'],
  ['type', 'Type'],
]
const MEMBERSHIP = 'belongs_to_domain'

export function Trail({ explorer }: { explorer: Explorer }): JSX.Element {
  const { group, by } = explorer.view.value
  const domains = by === 'domain' || !!explorer.about.value?.counts.relations[MEMBERSHIP]
  const steps = group ? stepsOf(group, by) : []
  return (
    <nav class="trail" aria-label="Groups">
      <button type="button" class="crumb" aria-current={group === '' ? 'page' : undefined} onClick={() => explorer.openGroup('')}>
        Overview
      </button>
      {steps.map(({ id, name }) => (
        <span key={id}>
          <span class="crumb-sign" aria-hidden="true">
            ›
          </span>
          <button
            type="button"
            class="crumb"
            aria-current={id === group ? 'page' : undefined}
            onClick={() => explorer.openGroup(id)}>
            <Name text={name} />
          </button>
        </span>
      ))}
      {group === '' && (
        <span class="segments" role="group" aria-label="Group by">
          {GROUPINGS.filter(([key]) => key !== 'domain' || domains).map(([key, label]) => (
            <button key={key} type="button" aria-pressed={by === key} onClick={() => explorer.groupBy(key)}>
              {label}
            </button>
          ))}
        </span>
      )}
    </nav>
  )
}

/** The folders above a folder, from the top; other groups stand alone. */
function stepsOf(group: string, by: Grouping): { id: string; name: string }[] {
  const parts = /^([a-z][a-z0-9+.-]*:\/\/[^/]*)\/?(.*)$/i.exec(group)
  if (by !== 'folder' || !parts) return [{ id: group, name: group }]
  const steps = [{ id: parts[1]!, name: parts[1]! }]
  let path = parts[1]!
  for (const name of parts[2]!.split('/').filter(Boolean)) {
    path += `/${name}`
    steps.push({ id: path, name })
  }
  return steps
}
