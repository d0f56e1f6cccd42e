/** The screens, in the order of the header. `main.tsx` has a component for each. */

import type { Explorer } from './explorer'

interface ScreenEntry {
  label: string
  /** True where the data source can serve it. */
  isOffered?(explorer: Explorer): boolean
  /** A number beside the label. */
  count?(explorer: Explorer): number
}

const canAskThePast = ({ source }: Explorer): boolean => source.abilities.time
const canMerge = ({ source }: Explorer): boolean => source.abilities.merges

const ENTRIES = {
  graph: { label: 'Graph' },
  query: { label: 'Query', isOffered: ({ source }: Explorer): boolean => source.abilities.query },
  timeline: { label: 'Timeline', isOffered: canAskThePast },
  compare: { label: 'Compare', isOffered: canAskThePast },
  missing: { label: 'Missing', count: ({ counts }: Explorer): number => counts.value?.missing ?? 0 },
  health: { label: 'Health', isOffered: canAskThePast },
  branches: { label: 'Branches', isOffered: canMerge },
  conflicts: { label: 'Conflicts', isOffered: canMerge, count: ({ about }: Explorer): number => about.value?.conflicts ?? 0 },
  proposals: { label: 'Proposals', isOffered: canMerge },
  workspaces: {
    label: 'Workspaces',
    isOffered: ({ source, about }: Explorer): boolean =>
      source.abilities.workspaces || (source.abilities.time && (about.value?.workspaces.length ?? 0) > 1),
  },
} satisfies Record<string, ScreenEntry>

export type Screen = keyof typeof ENTRIES
export const SCREENS = Object.entries(ENTRIES) as readonly [Screen, ScreenEntry][]
export const labelOf = (screen: Screen): string => ENTRIES[screen].label
