/** The types of the values that the explorer reads. Every source (HTTP, snapshot, MCP App) returns these. */

import type { View } from '../view'

export type Kind = 'concept' | 'resource' | 'missing' | 'link'

/** A node as it stands in lists and on the canvas. Its id is its URI. */
export interface Card {
  id: string
  name: string
  type: string
  kind: Kind
  /** The number of links at it in the graph, shown or not. Comparisons do not count it. */
  degree: number
  version?: number
  /** True for a file of tests and for its symbols. */
  test?: boolean
  /** The kind of a symbol of code: class, function, method. */
  symbol?: string
}

/** The source of a symbol, or the head of a file; a reason where it cannot be read. */
export interface SourceText {
  path: string
  line: number
  text: string | null
  reason?: string
  /** The number of lines of the file. */
  lines?: number
  cut?: boolean
}

export interface Link {
  source: string
  target: string
  relation: string
  weight: number
  missing?: boolean
}

export interface Counts {
  nodes: number
  links: number
  missing: number
  types: Record<string, number>
  relations: Record<string, number>
}

export interface About {
  name: string
  /** The name of the graph for people: that of its file. */
  graph?: string
  version: string
  position: number
  time: string | null
  root: string
  writable: boolean
  /** The writes that the reader may only propose. */
  proposable?: Write['op'][]
  branch: string | null
  branches: { name: string; open?: boolean }[]
  workspace: string | null
  workspaces: { name: string; nodes: number; group?: string }[]
  counts: Counts
  conflicts: number
  actor?: string
}

/** Nodes by the beginnings of their names. */
export interface Suggestions {
  hits: Card[]
  /** False while the index of names is made: there may be more. */
  complete?: boolean
}

/** The node that a reader means by a text. It has no id if several could be meant. */
export interface Identified {
  id: string | null
  node: Card | null
  candidates: Card[]
  hint: string | null
}

export interface Hit extends Card {
  snippet?: string
  why?: string[]
  section?: 'notes' | 'code'
  /** Reasons for care: superseded, expired, of low confidence. */
  caveats?: string[]
}

/** The kinds of nodes that a search looks for. */
export type SearchKind = 'any' | 'notes' | 'code'

export interface Group {
  id: string
  name: string
  nodes: number
  links: number
  missing: number
  rest?: boolean
  /** True for a folder of tests. */
  test?: boolean
}

export type Grouping = 'folder' | 'domain' | 'type'

/** The graph as groups, or the inside of one group: its own groups, and its nodes. */
export interface Overview {
  by: Grouping
  group: string | null
  groups: Group[]
  links: { source: string; target: string; count: number }[]
  /** The links between nodes that are shown themselves and groups. */
  ties?: { node: string; group: string; count: number }[]
  nodes: Card[]
  edges: Link[]
  total: number
  shown: number
  folded: number
  /** The counts of the whole graph at the same moment. */
  counts?: Counts
  /** True if there are more links than can be drawn. */
  links_cut?: boolean
  position: number
}

export interface Subgraph {
  nodes: Card[]
  links: Link[]
  gone: string[]
  moved: Record<string, string>
  /** True if there are more links than can be drawn. */
  links_cut?: boolean
  position: number
}

export interface Neighbours {
  center: Card
  nodes: Card[]
  links: Link[]
  /** All neighbours of the node, and those that are still not shown after this answer. */
  total: number
  left: number
  /** True if there are more links than can be drawn. */
  links_cut?: boolean
  position: number
}

/** The links that a route follows: along them, against them, or both. */
export type Way = 'out' | 'in' | 'both'

/** A node on a route, with its cost from the beginning and the link over which it was reached. */
export interface ReachedCard extends Card {
  cost: number
  hops: number
  via: Link | null
}

/** The rest that a bound of nodes has cut off. */
export interface CutOff {
  limit: number
  remaining: number
  more: boolean
  cost: number
}

export interface Reach {
  nodes: ReachedCard[]
  links: Link[]
  cut_off: CutOff | null
  links_cut?: boolean
  position: number
}

/** The cheapest path; without one, the nodes are its two ends. */
export interface PathFound {
  found: boolean
  cost: number | null
  searched: number
  complete: boolean
  nodes: (Card | ReachedCard)[]
  links: Link[]
  links_cut?: boolean
  position: number
}

export interface Commit {
  commit: string
  seq: number
  /** The position of the state before it. */
  before: number
  time: string
  actor: string | null
  message: string | null
  changes: number
}

export interface NodeDetail extends Card {
  content: string | null
  attributes: Record<string, unknown>
  metadata: Record<string, unknown>
  created_at: string | null
  updated_at: string | null
  created_by?: string | null
  commit: Commit | null
  relations?: { out: number; in: number }
  /** Reasons for care: superseded, expired, of low confidence. */
  caveats?: string[]
  /** Rules of retention in words: its own and that of its type; empty where there is none. */
  retention?: { own: string; type: string }
  deleted?: boolean
  deleted_at?: string
  deleted_by?: string
  reason?: string
  position: number
}

export interface Relation extends Link {
  direction: 'out' | 'in'
  other: Card
  /** When the link holds, in words such as `from 2024-01-01`; missing if it has no dates. */
  holds?: string
  /** Reasons for care, and when it held before. */
  caveats?: string[]
}

export interface Relations {
  relations: Relation[]
  total: number
  next_cursor?: string
}

export interface Version {
  version: number
  seq: number
  time: string
  actor: string | null
  message: string | null
  commit: string | null
  kind: string
  reason?: string | null
  name: string | null
  type: string | null
  content: string | null
  attributes: Record<string, unknown> | null
}

export interface Versions {
  versions: Version[]
  total: number
  next_cursor?: string
}

export interface Proof {
  root: string
  entries: number
  verified: boolean
  present: boolean
  proof: unknown
  bytes: number
  /** The time of the state, in microseconds since 1970. */
  time_us?: number
  position: number
}

export interface MissingConcept {
  id: string
  name: string
  links: number
  from: Card[]
  relations: string[]
}

export interface MissingPage {
  missing: MissingConcept[]
  total: number
  next_cursor?: string
}

/** A finding of upkeep, and the nodes that it is about. */
export interface Finding {
  text: string
  /** The id of the task that asks about it, or empty. */
  task: string
  nodes: Card[]
}

export interface HealthSection {
  name: 'stale' | 'contested' | 'duplicate' | 'orphaned' | 'events'
  total: number
  findings: Finding[]
}

export interface Health {
  last_cycle: string | null
  /** The number of tasks that wait. */
  tasks: number
  sections: HealthSection[]
  /** Types with new nodes in the last week. */
  growing: { type: string; concepts: number; new: number; archived: number }[]
  /** The reports of the last cycles, the newest first. */
  log: { time: string; done: string }[]
}

export type Change = 'added' | 'removed' | 'changed' | 'moved'

export interface ChangedValue {
  field: string
  key?: string
  old?: unknown
  new?: unknown
}

export interface ChangedNode extends Card {
  change: Change
  values: ChangedValue[]
  was?: string
}

export interface ChangedLink extends Link {
  change: Change
}

export interface Difference {
  from: { seq: number; time?: string | null; branch?: string }
  to: { seq: number; time?: string | null; branch?: string }
  counts: Partial<Record<Change, number>>
  nodes: ChangedNode[]
  links: ChangedLink[]
  total: number
  next_cursor?: string
  purged?: number
}

export interface Bucket {
  from_seq: number
  to_seq: number
  time: string
  count: number
}

export interface Timeline {
  from: { seq: number; time: string | null }
  to: { seq: number; time: string | null }
  buckets: Bucket[]
  position: number
}

export interface Commits {
  commits: Commit[]
  next_before?: number
}

/** Moments that a reader may choose from, newest first. */
export interface Moments {
  tags: { name: string; seq: number }[]
  commits: Commit[]
  /** Days of the reader's place; `seq` is the position at the end of the day, `before` that at its begin. */
  days: { day: string; seq: number; before: number; changes: number }[]
}

/** Conditions on the changes of nodes and links. */
export interface SpanFilter {
  since?: string
  until?: string
  actors?: string[]
}

/** Nodes and links that meet the conditions; `total` counts the nodes. */
export interface TouchedPart {
  nodes: string[]
  links: Link[]
  total: number
}

/** Nodes and links that do not hold at a time. */
export interface NotHolding {
  nodes: string[]
  links: Link[]
}

export interface Authors {
  authors: { actor: string; commits: number; changes: number; time: string }[]
  total: number
}

/** A view that was saved under a name. */
export interface SavedHead {
  id: string
  name: string
  actor: string
  time: string
}

/** The saved part of a view. Omitted fields have their initial values; without a group, no group is shown. */
export type SavedPart = Pick<View, 'by' | 'size' | 'ids' | 'less' | 'hide' | 'table'> &
  Partial<Pick<View, 'group' | 'route' | 'span' | 'selected' | 'at' | 'holds'>>

export interface SavedContent {
  view: SavedPart
  /** The places of nodes: x, y, and true for those that are pinned. */
  positions: Record<string, [number, number, boolean]>
  /** The place and zoom of the camera. */
  camera?: number[] | null
}

export interface Conflict {
  id: string
  kind: string
  label?: string
  card?: Card
  field: string | null
  path?: string[]
  reason?: string
  base?: unknown
  ours?: unknown
  theirs?: unknown
  suggestion?: 'ours' | 'theirs' | null
  resolution?: { choice: string; value?: unknown } | null
  options?: string[]
  /** The lines of a text: those that all share, that are merged, and that are contested. */
  hunks?: Hunk[]
}

/** Lines of a text, each with its end. */
export interface Hunk {
  same?: string[]
  merged?: string[]
  base?: string[]
  ours?: string[]
  theirs?: string[]
}

/** A value that a rule chose in a merge. */
export interface Choice {
  id: string
  label?: string
  path?: string[]
  value?: unknown
  side: string
  rule: string
  reason?: string
}

export interface Merge {
  id: string
  source: string
  into: string
  conflicts: Conflict[]
  choices?: Choice[]
  warnings?: string[]
}

/** One side of a conflict, another value, or a text for each contested part of a text. */
export type Resolution =
  | { choice: 'ours' | 'theirs' | 'base' }
  | { choice: 'value'; value: unknown }
  | { choice: 'lines'; value: string[] }

/** A workspace of a server of many. */
export interface ServedWorkspace {
  workspace: string
  path: string
  can: string[]
}

/** The workspaces of a server of many, and whether the reader administers it. */
export interface Served {
  workspaces: ServedWorkspace[]
  is_admin: boolean
}

/** The activity of a server of many workspaces, for administrators. */
export interface ServerStatus {
  version: string
  started_at: string
  streams: number
  doors: { door: string; requests: number; refused: number; half_within_s: number | null; most_within_s: number | null }[]
  workspaces: { workspace: string; bytes: number; is_open: boolean }[]
}

/** A record of the audit log. */
export interface AuditRecord {
  id: number
  at: string
  actor: string
  client: string
  action: string
  workspace: string
  status: number
  reason: string
}

/** A change that somebody proposes. */
export interface Proposal {
  id: string
  status: 'open' | 'accepted' | 'rejected' | 'withdrawn'
  actor: string
  time: string
  message: string
  changes: number
  ended?: { by: string; time: string; reason: string }
}

/** A proposal with its comments, and the changes that it would make now. */
export interface ProposalDetail extends Proposal {
  comments: { actor: string; time: string; text: string }[]
  diff?: ElementDiff[]
  conflicts?: unknown[]
}

/** A concept or link that differs, and its values. */
export interface ElementDiff {
  change: Change
  id: string
  name?: string
  subject?: { name: string }
  predicate?: string
  object?: { name: string }
  values: ChangedValue[]
}

export type Review = { action: 'accept' } | { action: 'reject'; reason: string } | { action: 'comment'; text: string }

/** A branch, measured by main. */
export interface Branch {
  branch: string
  commit: string
  time: string
  ahead: number
  behind: number
  merged: boolean
}

/** The rule for values that both branches have changed. A test compares these words with the words of Python. */
export const MERGE_POLICIES = ['ask', 'newest', 'ours', 'theirs'] as const

export type MergePolicy = (typeof MERGE_POLICIES)[number]

export interface MergeOptions {
  policy: MergePolicy
  dryRun: boolean
  message: string
}

/** A merge that was started or rehearsed. Its id is empty unless it waits for decisions. */
export interface MergeOutcome extends Merge {
  status: 'merged' | 'up_to_date' | 'clean' | 'conflicts' | 'aborted'
  commit: string | null
  diff: Record<Change, number>
}

/** A transaction that was written while the page is open. */
export interface LiveChange {
  position: number
  time: string
  actor: string | null
  message: string | null
  ids: string[]
  added: string[]
  removed: string[]
  moved: [string, string][]
  healed: [string, string][]
  more?: number
}

/** A change to one node or relation. */
export type Write =
  | { op: 'add'; id: string; name?: string; type?: string; content?: string; attributes?: Record<string, unknown> }
  | {
      op: 'update'
      id: string
      expect_version: number
      name?: string
      content?: string
      attributes?: Record<string, unknown>
      drop?: string[]
    }
  | { op: 'link'; source: string; relation: string; target: string; weight?: number }
  | { op: 'unlink'; source: string; relation: string; target: string }
  | { op: 'move'; id: string; to: string; expect_version?: number }
  | { op: 'delete'; id: string; expect_version?: number; reason?: string }
  | { op: 'archive'; id: string; reason?: string }
  | { op: 'restore'; id: string }
  | { op: 'supersede'; id: string; by: string; until?: string; reason?: string }
  | { op: 'retain'; id: string; rule: string | null }
  | { op: 'revert'; commit: string }

export interface Written {
  position: number
  commit: Commit | null
  changed: boolean
  id?: string
  /** The proposal that was made instead. */
  proposal?: string
  warnings: string[]
}

/** A moment of the graph: a position of the journal, or null for now. */
export type Moment = number | null

/** The abilities of a source besides reading. */
export interface Abilities {
  time: boolean
  query: boolean
  live: boolean
  merges: boolean
  /** Paths and traversals by cost. */
  routes: boolean
  /** True on a server of many workspaces. */
  workspaces: boolean
}

/** A parameter of a named query, in JSON Schema. */
export interface ParameterSchema {
  type?: string | string[]
  format?: string
  default?: unknown
  description?: string
}

export interface NamedQuery {
  name: string
  description: string
  instruction: string
  parameters: { properties: Record<string, ParameterSchema>; required?: string[] }
  writes: boolean
}

/** The rows of a named query that finds, or the result of another one. */
export interface QueryAnswer {
  columns?: string[]
  rows?: unknown[][]
  result?: unknown
}

export interface Source {
  readonly abilities: Abilities
  /** The branch that is read and written, where the source has several; null is the one that is served. */
  branch: string | null
  /** The graph as it is now. */
  about(): Promise<About>
  suggest(text: string, at: Moment, signal?: AbortSignal): Promise<Suggestions>
  /** The node that a text means, first among those that are shown; a path is one beside the node `near`. */
  identify(text: string, near: string | null, shown: string[], isNew: boolean): Promise<Identified>
  /** Here and below, with `holds` only what holds at that time. */
  search(text: string, at: Moment, kind: SearchKind, holds: string): Promise<Hit[]>
  /** Groups, or the inside of one; `most` nodes of it are read, else some hundreds. */
  overview(by: Grouping, group: string | null, at: Moment, most?: number): Promise<Overview>
  near(id: string, known: string[], limit: number, at: Moment, holds: string): Promise<Neighbours>
  subgraph(ids: string[], at: Moment): Promise<Subgraph>
  reach(id: string, cost: number, most: number, way: Way, at: Moment, holds: string): Promise<Reach>
  path(from: string, to: string, way: Way, at: Moment, holds: string): Promise<PathFound>
  node(id: string, at: Moment): Promise<NodeDetail>
  /** The source of a symbol or file as it is now; null where there is none to read. */
  source(id: string): Promise<SourceText | null>
  relations(id: string, cursor: string | null, at: Moment): Promise<Relations>
  history(id: string, cursor: string | null): Promise<Versions>
  proof(id: string): Promise<Proof>
  missing(cursor: string | null, at: Moment): Promise<MissingPage>
  health(limit: number): Promise<Health>
  diff(from: string, to: string, cursor: string | null): Promise<Difference>
  timeline(buckets: number): Promise<Timeline>
  commits(before: number | null, limit: number): Promise<Commits>
  /** The commit that an entry of the journal is part of. */
  commit(entry: number): Promise<Commit>
  moments(): Promise<Moments>
  /** The actors who wrote in a span. */
  authors(span: SpanFilter, at: Moment): Promise<Authors>
  /** The nodes and links among some ids that were written in a span; without ids, the newest of the whole graph. */
  touched(ids: string[] | null, span: SpanFilter, at: Moment): Promise<TouchedPart>
  /** Of some nodes and the links among them, those that do not hold at a time. */
  notHolding(ids: string[], time: string, at: Moment): Promise<NotHolding>
  kip(command: string, dryRun: boolean): Promise<unknown>
  queries(): Promise<NamedQuery[]>
  runQuery(name: string, values: Record<string, unknown>): Promise<QueryAnswer>
  write(change: Write, message: string): Promise<Written>
  savedViews(): Promise<SavedHead[]>
  savedView(id: string): Promise<SavedHead & SavedContent>
  /** Saves a view, in place of the one with the id. */
  saveView(name: string, content: SavedContent, id: string | null): Promise<SavedHead>
  renameView(id: string, name: string): Promise<SavedHead>
  deleteView(id: string): Promise<void>
  branches(): Promise<Branch[]>
  /** Copies the branch that is read to a new one. */
  createBranch(name: string): Promise<Branch>
  deleteBranch(name: string, unmerged: boolean): Promise<void>
  /** Merges a branch into the one that is read. */
  startMerge(source: string, options: MergeOptions): Promise<MergeOutcome>
  merges(): Promise<Merge[]>
  resolve(merge: string, resolutions: ({ conflict: string } & Resolution)[]): Promise<void>
  conclude(merge: string, message: string): Promise<Written>
  abandon(merge: string): Promise<void>
  /** The workspaces of the server that the reader may see. */
  served(): Promise<Served>
  /** The activity of the server, for administrators. */
  serverStatus(): Promise<ServerStatus>
  /** The newest records of the server's audit log; for administrators. */
  audit(): Promise<AuditRecord[]>
  proposals(status: 'open' | 'all'): Promise<Proposal[]>
  proposal(id: string): Promise<ProposalDetail>
  review(id: string, review: Review): Promise<void>
  /** Streams transactions after a position until the signal stops it or the server ends it. */
  listen(after: number, hears: Listener, signal: AbortSignal): Promise<void>
}

export interface Listener {
  opened(): void
  change(change: LiveChange): void
  /** The stream cannot continue from the position, so the shown graph has to be read again. */
  gap(position: number): void
}
