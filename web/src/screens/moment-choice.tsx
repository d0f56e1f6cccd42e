/** A choice of a moment or branch: tags, commits, days, branches, or any other moment as a text. */

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { About, Moments } from '../source/types'
import { ago, count, plain, short } from '../text/format'

interface Props {
  label: string
  name: string
  value: string
  choose: (value: string) => void
  moments: Moments | null
  about: About | null
  /** True if the empty value stands for now. */
  hasNow: boolean
}

const OTHER = 'other'

interface Option {
  /** Unique among all options: the end of a day is often the end of a commit too. */
  key: string
  moment: string
  text: string
}

export function MomentChoice({ label, name, value, choose, moments, about, hasNow }: Props): JSX.Element {
  const [picked, setPicked] = useState<string | null>(null)
  const sections = sectionsOf(moments, about)
  const options = sections.flatMap(([, each]) => each)
  const fitting = options.filter((option) => option.moment === value)
  const current = fitting.find((option) => option.key === picked) ?? fitting[0]
  const take = (key: string) => {
    setPicked(key)
    if (key !== OTHER) choose(options.find((option) => option.key === key)?.moment ?? (key === '' ? '' : value))
  }
  return (
    <div class="field">
      <label for={`choice-${name}`}>{label}</label>
      <select
        id={`choice-${name}`}
        name={name}
        value={picked === OTHER ? OTHER : (current?.key ?? value)}
        onChange={(event) => take(event.currentTarget.value)}>
        {hasNow ? <option value="">Now</option> : value === '' && <option value="">Choose…</option>}
        {value !== '' && !current && <option value={value}>{plain(value)}</option>}
        {sections.map(([title, each]) => (
          <optgroup key={title} label={title}>
            {each.map((option) => (
              <option key={option.key} value={option.key}>
                {option.text}
              </option>
            ))}
          </optgroup>
        ))}
        <option value={OTHER}>Another moment…</option>
      </select>
      {picked === OTHER && (
        <input
          aria-label={`${label}: a position, time, commit, tag or branch`}
          name={`${name}-text`}
          placeholder="2026-05-03, a position, a commit, …"
          autofocus
          onChange={(event) => (choose(event.currentTarget.value.trim()), setPicked(null))}
        />
      )}
    </div>
  )
}

/** The options in their sections; sections without options are left out. */
function sectionsOf(moments: Moments | null, about: About | null): [string, Option[]][] {
  const branches = (about?.branches ?? []).length > 1 ? about!.branches : []
  const named =
    (kind: string) =>
    ({ name }: { name: string }): Option => ({ key: `${kind}:${name}`, moment: name, text: plain(name) })
  const commits = (moments?.commits ?? []).map(({ seq, time, actor, message, changes }): Option => {
    const said = message || count(changes, 'change')
    return { key: `commit:${seq}`, moment: String(seq), text: plain(`${short(said, 48)} · ${actor ?? 'unknown'} · ${ago(time)}`) }
  })
  const days = (moments?.days ?? []).flatMap(({ day, seq, before }, i, all): Option[] => [
    { key: `day:${day}`, moment: String(seq), text: `End of ${day}` },
    ...(i === all.length - 1 && before ? [{ key: `before:${day}`, moment: String(before), text: `Before ${day}` }] : []),
  ])
  const sections: [string, Option[]][] = [
    ['Tags', (moments?.tags ?? []).map(named('tag'))],
    ['Branches', branches.map(named('branch'))],
    ['Commits', commits],
    ['Days', days],
  ]
  return sections.filter(([, options]) => options.length > 0)
}
