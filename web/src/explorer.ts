/** The state of the page, and everything that a reader can do with the shown graph. */

import { batch, computed, type Signal, signal } from '@preact/signals'
import { arrange, type Runner, startPlace } from './graph/layout'
import { TypeColours } from './graph/palette'
import { Positions } from './graph/positions'
import { GROUP_PREFIX, linkKey, Scene, type SceneNode } from './graph/scene'
import type { NotHoldingHere } from './holding'
import { announcement, complain, say } from './notices'
import { costText, isWithin, type Route, type RouteAsked, readRoute } from './route'
import type { About, Card, Grouping, Identified, Link, LiveChange, Moment, Overview, Source, Write } from './source/types'
import type { Touched } from './touched'
import { UndoStack } from './undo'
import { START, type View } from './view'

export const NODES_MAX = 2000
export const EXPAND_BY = 25
const PULSE_MS = 1600

/** The part of a view that undo restores. */
type Shown = Pick<View, 'by' | 'group' | 'size' | 'ids' | 'less' | 'hide' | 'route'>

export class Explorer {
  readonly view: Signal<View>
  readonly about = signal<About | null>(null)
  readonly scene = signal(new Scene())
  /** Grows whenever the scene or a position in it changes. */
  readonly drawn = signal(0)
  readonly overview = signal<Overview | null>(null)
  /** The route that is drawn, if the view asks for one. */
  readonly route = signal<Route | null>(null)
  /** The nodes and links that pass the filter by time and author, if there is one. */
  readonly touched = signal<Touched | null>(null)
  /** The nodes and links that do not hold at the time of the view, if it has one. */
  readonly notHolding = signal<NotHoldingHere | null>(null)
  readonly busy = signal(0)
  readonly failed = signal<unknown>(null)
  /** Ids of nodes that others have added and that are not shown yet. */
  readonly waiting = signal<ReadonlySet<string>>(new Set())
  readonly pulses = signal<ReadonlyMap<string, number>>(new Map())
  /** Grows when the canvas should show everything again. */
  readonly fitted = signal(0)
  /** Grows when the node of the panel has changed in the graph. */
  readonly changed = signal(0)
  readonly steps = signal(0)
  readonly colours = new TypeColours()
  /**
   * The scene without nodes beyond the budget of a route, and without nodes and links that a filter by time and author
   * hides.
   */
  readonly within = computed(() => this.#cut())
  readonly visible = computed(() => this.#filter())
  /** The size of the graph at the shown moment; null if it is not known. */
  readonly counts = computed(() => (this.view.value.at === null ? this.about.value : this.overview.value)?.counts ?? null)

  readonly #undo = new UndoStack<Shown>()
  #positions = new Positions('mycel:positions')
  /** The numbers of the newest reading and of the newest drawn reading. Older readings are no longer drawn. */
  #reading = 0
  #drawnReading = 0
  #aboutAsked = 0
  #aboutRead = 0
  /** The ids of the shown group, as of its first reading. Nodes that join the group later wait. */
  #members: { of: string; ids: Set<string> } = { of: '', ids: new Set() }
  /** Ids that this page has written itself: they do not wait. */
  readonly #own = new Set<string>()

  constructor(
    readonly source: Source,
    readonly runner: Runner,
    view: View = START,
    readonly nodesMax = NODES_MAX,
  ) {
    this.view = signal(view)
    source.branch = view.branch || null
  }

  // Loading -----------------------------------------------------------------------------------

  async start(): Promise<void> {
    await this.readAbout()
    const about = this.about.value
    if (!about) return
    this.#positions = new Positions(`mycel:positions:${about.name}:${about.workspace ?? ''}`)
    await this.show()
  }

  async readAbout(): Promise<void> {
    const { branch } = this.source
    const asked = ++this.#aboutAsked
    await this.#attempt(async () => {
      const about = await this.source.about()
      if (branch !== this.source.branch || asked < this.#aboutRead) return
      this.#aboutRead = asked
      this.colours.learn(about.counts.types)
      this.about.value = about
    })
  }

  /**
   * * Makes the scene show the view: reads missing nodes and drops others. Only the newest reading is drawn. It has the
   * newest view, so nothing of older readings is missing.
   */
  async show(): Promise<void> {
    const reading = ++this.#reading
    await this.#attempt(
      async () => {
        const { branch, group, by, at, size, ids, less, holds, route: asked } = this.view.value
        const route = asked && (await readRoute(this.source, asked, at, holds))
        const overview =
          group === null || route
            ? null
            : withoutNeedlessGroups(await this.source.overview(by, group || null, at, size || undefined))
        if (reading !== this.#reading) return
        const cards = route?.nodes ?? overview?.nodes ?? []
        const of = JSON.stringify([branch, group, by, at, size])
        const members = this.#members.of === of ? this.#members : { of, ids: new Set(cards.map((card) => card.id)) }
        const late = cards.map((card) => card.id).filter((id) => !route && !members.ids.has(id) && !this.#own.has(id))
        const without = new Set([...less, ...late])
        const base = cards.filter((card) => !without.has(card.id))
        const wanted = [...new Set([...base.map((card) => card.id), ...ids])].slice(0, this.nodesMax)
        const part =
          ids.length || less.length
            ? await this.source.subgraph(wanted, at)
            : {
                nodes: base,
                links: route?.links ?? overview?.edges ?? [],
                gone: [],
                moved: {},
                links_cut: (route ?? overview)?.links_cut,
                position: 0,
              }
        if (!(await this.#place(reading, part.nodes, part.links, overview, route))) return
        this.#members = members
        this.#wait(late.filter((id) => !less.includes(id)))
        if (part.gone.length)
          say(
            `${count(part.gone.length, 'node')} of this view ${part.gone.length === 1 ? 'is' : 'are'} not in the graph${at === null ? ' any more' : ' at this moment'}.`,
          )
        if (part.links_cut) say('Not all links between the nodes shown are drawn: there are too many.')
      },
      () => reading === this.#reading,
    )
  }

  /** Draws a reading, unless there is a newer one; returns true if it did. Nodes that are shown keep their places exactly. */
  async #place(
    reading: number,
    cards: Card[],
    links: Link[],
    overview: Overview | null,
    route = this.route.peek(),
  ): Promise<boolean> {
    if (reading !== this.#reading) return false
    const scene = new Scene()
    const before = this.scene.value
    const fresh = before.nodes.size === 0
    const placed = new Set<string>()
    for (const card of cards) {
      const node = scene.put(card, 0, 0)
      const old = before.nodes.get(card.id)
      if (old) keepPlace(node, old)
      if (old || (!fresh && this.#positions.restore(node) && crowd(before, node))) placed.add(card.id)
    }
    if (fresh && !overview?.groups.length) this.#restoreAll(scene, placed)
    for (const node of scene.putGroups(overview?.groups ?? [], overview?.by)) {
      const old = before.nodes.get(node.id)
      if (old) keepPlace(node, old)
      if (old) placed.add(node.id)
    }
    for (const link of links) scene.join(link)
    for (const { source, target, count } of strongestTies(overview?.links ?? [])) {
      scene.join({ source: GROUP_PREFIX + source, target: GROUP_PREFIX + target, relation: '', weight: 1 }, Math.max(2, count))
    }
    for (const { node, group, count } of overview?.ties ?? []) {
      scene.join({ source: node, target: GROUP_PREFIX + group, relation: '', weight: 1 }, Math.max(2, count))
    }
    scene.bendParallels()
    for (const node of scene.nodes.values()) if (!placed.has(node.id)) start(scene, node, placed)
    await arrange(scene, this.runner, placed)
    if (reading !== this.#reading) return false
    // The nodes may have been dragged meanwhile.
    for (const old of this.scene.value.nodes.values()) {
      const node = scene.nodes.get(old.id)
      if (node) keepPlace(node, old)
    }
    batch(() => {
      this.overview.value = overview
      this.route.value = route
      this.scene.value = scene
      this.#wait([])
      this.drawn.value++
      if (placed.size === 0) this.fitted.value++
    })
    this.#drawnReading = reading
    this.#positions.save(scene)
    return true
  }

  /** Lets nodes wait until the reader asks for them, except shown ones. */
  #wait(ids: readonly string[]): void {
    const { nodes } = this.scene.value
    const waiting = [...this.waiting.value, ...ids].filter((id) => !nodes.has(id))
    if (ids.length || waiting.length !== this.waiting.value.size) this.waiting.value = new Set(waiting)
  }

  /** A view that is opened again has its old positions, if nearly all of them are known. */
  #restoreAll(scene: Scene, placed: Set<string>): void {
    const nodes = [...scene.nodes.values()]
    const known = nodes.filter((node) => this.#positions.restore(node))
    if (known.length < nodes.length * 0.8) return
    for (const node of known) placed.add(node.id)
    this.fitted.value++
  }

  /** True if the reader may make such a write now, or propose it. */
  may(op: Write['op']): boolean {
    const about = this.about.value
    return about !== null && this.view.value.at === null && (about.writable || (about.proposable ?? []).includes(op))
  }

  // Navigation --------------------------------------------------------------------------------

  /** Changes the view without a step of undo: selection, tabs, screens. */
  look(change: Partial<View>): void {
    this.view.value = { ...this.view.value, ...change }
  }

  select(id: string | null): void {
    if (id?.startsWith(GROUP_PREFIX)) return
    this.look({ selected: id })
    const node = id ? this.scene.value.nodes.get(id) : null
    if (node)
      announcement.value = describe(
        node,
        this.scene.value,
        this.route.value?.costs.get(node.id),
        this.touched.value?.nodes.has(node.id),
      )
  }

  /** Shows a node: selects it if it is shown, else opens it with its neighbours. */
  async open(id: string): Promise<void> {
    if (this.scene.value.nodes.has(id) && this.view.value.screen === 'graph') {
      this.select(id)
      return
    }
    const { group, ids, route } = this.view.value
    const keepsView = this.view.value.screen === 'graph' && group === null && (ids.length > 0 || route !== null)
    this.#step(
      { group: null, ids: keepsView ? [...ids, id] : [id], less: [], route: keepsView ? route : null },
      { screen: 'graph', selected: id },
    )
    const before = this.view.value
    const left = () => !samePlace(this.view.value, before) || !this.view.value.ids.includes(id)
    await this.#attempt(async () => {
      const near = await this.source.near(id, this.#known(), EXPAND_BY, before.at, before.holds)
      if (!left()) this.look({ ids: [...new Set([...this.view.value.ids, ...near.nodes.map((card) => card.id)])] })
    })
    if (left()) return
    await this.show()
    if (!keepsView) this.fitted.value++
  }

  openGroup(id: string): void {
    const group = id.startsWith(GROUP_PREFIX) ? id.slice(GROUP_PREFIX.length) : id
    this.#step({ group, size: 0, ids: [], less: [], route: null }, { screen: 'graph', selected: null })
    this.scene.value = new Scene()
    void this.show()
  }

  groupBy(by: Grouping): void {
    this.#step({ by, group: '', size: 0, ids: [], less: [], route: null }, { selected: null })
    this.scene.value = new Scene()
    void this.show()
  }

  /** Shows some nodes in place of what is shown. */
  async showNodes(ids: readonly string[]): Promise<void> {
    this.#step({ group: null, ids, less: [], route: null }, { screen: 'graph', selected: null })
    await this.show()
    this.fitted.value++
  }

  /** Shows a route by cost in place of what is shown. */
  async showRoute(route: RouteAsked): Promise<void> {
    this.#step({ group: null, ids: [], less: [], route }, { screen: 'graph' })
    await this.show()
    this.fitted.value++
  }

  /** Shows the nodes within another budget. They are a part of the nodes read before, so that nothing moves or flickers. */
  setBudget(cost: number): void {
    const { route } = this.view.value
    if (route?.kind === 'reach') this.look({ route: { ...route, cost } })
  }

  /** Ends a route. Its nodes stay where they are. */
  leaveRoute(): void {
    this.#step({ ids: [...this.visible.value.nodes.keys()], less: [], route: null })
    void this.show()
  }

  /** The nodes of the shown group that are not on the canvas and could be. */
  get restOfGroup(): number {
    const overview = this.overview.value
    if (!overview || this.view.value.group === null) return 0
    const inGroups = overview.groups.reduce((sum, group) => sum + group.nodes, 0)
    const room = this.nodesMax - overview.groups.length
    return Math.max(0, Math.min(overview.total - inGroups, room) - overview.shown)
  }

  /** Shows the rest of the nodes of the group, as far as the canvas has room. Shown nodes stay in their places. */
  async showRest(): Promise<void> {
    this.#step({ size: (this.overview.value?.shown ?? 0) + this.restOfGroup })
    await this.show()
    this.fitted.value++
  }

  /** Adds the next neighbours of a node that are not shown yet. */
  async expand(id: string): Promise<void> {
    if (id.startsWith(GROUP_PREFIX)) return this.openGroup(id)
    const room = this.nodesMax - this.scene.value.nodes.size
    if (room <= 0)
      return say(`The canvas shows at most ${this.nodesMax.toLocaleString('en')} nodes.`, {
        hint: 'Hide some with Backspace, or open a node alone.',
      })
    const before = this.view.value
    await this.#attempt(async () => {
      const near = await this.source.near(id, this.#known(), Math.min(room, EXPAND_BY), before.at, before.holds)
      if (!samePlace(this.view.value, before) || !this.scene.value.nodes.has(id)) return
      if (!near.nodes.length) return say(near.total ? 'All neighbours of this node are shown.' : 'This node has no neighbours.')
      this.#step({ ids: [...new Set([...this.view.value.ids, ...near.nodes.map((card) => card.id)])] })
      // A reading in progress does not have the new nodes, so it is repeated.
      if (this.#drawnReading === this.#reading) await this.#add(near.nodes, near.links)
      else await this.show()
      say(
        `${count(near.nodes.length, 'neighbour')} added, ${near.left ? `${near.left.toLocaleString('en')} more not shown` : 'all are shown'}.`,
      )
    })
  }

  /** Adds nodes to the scene. All others stay exactly where they are. */
  async #add(cards: Card[], links: Link[]): Promise<void> {
    const nodes = [...this.scene.value.nodes.values()].filter((node) => !node.group).map((node) => node.card)
    const all = [...[...this.scene.value.links.values()].filter((line) => line.count === 1).map((line) => line.link), ...links]
    await this.#place(++this.#reading, [...nodes, ...cards], all, this.overview.value)
  }

  /** Records that a node comes from this page, so that it is not announced as new. */
  wrote(id: string): void {
    this.#own.add(id)
  }

  /** Adds nodes to the shown ones, and reads the links again. */
  async bring(ids: string[]): Promise<void> {
    this.#step({ ids: [...new Set([...this.view.value.ids, ...ids])] })
    await this.show()
  }

  /** Follows a node that was moved to another URI. */
  rename(id: string, to: string): void {
    this.#follow([[id, to]])
    void this.show()
  }

  hide(ids: Iterable<string>): void {
    const gone = new Set([...ids].filter((id) => !id.startsWith(GROUP_PREFIX) && this.scene.value.nodes.has(id)))
    if (!gone.size) return
    const { ids: shown, less } = this.view.value
    const own = new Set((this.route.value?.nodes ?? this.overview.value?.nodes ?? []).map((card) => card.id))
    this.#step(
      { ids: shown.filter((id) => !gone.has(id)), less: [...less, ...[...gone].filter((id) => own.has(id))] },
      { selected: null },
    )
    const scene = this.scene.value.filtered(
      (node) => !gone.has(node.id),
      () => true,
    )
    this.scene.value = scene
    this.drawn.value++
    if (this.#drawnReading !== this.#reading) void this.show()
    say(`${count(gone.size, 'node')} hidden from view.`, { action: { label: 'Undo', run: () => void this.undo() } })
  }

  /** Hides the neighbours of a node that have no other neighbour on the canvas. */
  collapse(id: string): void {
    const scene = this.scene.value
    this.hide(
      [...scene.neighbours(id)].filter(
        (other) => other !== id && [...scene.neighbours(other)].every((third) => third === id || third === other),
      ),
    )
  }

  /** Shows only a node and the nodes near it. */
  async only(id: string): Promise<void> {
    this.#step(
      {
        group: null,
        ids: [id, ...this.scene.value.neighbours(id)].filter((each) => !each.startsWith(GROUP_PREFIX)),
        less: [],
        route: null,
      },
      { selected: id },
    )
    await this.show()
    this.fitted.value++
  }

  toggleHidden(what: string): void {
    const { hide } = this.view.value
    this.#step({ hide: hide.includes(what) ? hide.filter((other) => other !== what) : [...hide, what] })
  }

  /** Shows another view as a whole: one of the address bar, or of another branch. */
  async go(view: View): Promise<void> {
    const old = this.view.value
    this.#reading++
    this.source.branch = view.branch || null
    if (view.group !== old.group || view.by !== old.by || view.branch !== old.branch) this.scene.value = new Scene()
    this.look(view)
    if (view.branch !== old.branch) {
      this.about.value = null
      this.waiting.value = new Set()
      this.changed.value++
      await this.readAbout()
    }
    await this.show()
  }

  /** Shows a saved view, with its nodes in their saved places. One step of undo leads back to the view before. */
  async openSaved(view: View, places: Readonly<Record<string, [number, number, boolean]>>): Promise<void> {
    this.#step(shownOf(view))
    this.#positions.learn(places)
    this.scene.value = new Scene()
    await this.go(view)
  }

  showMoment(at: Moment): void {
    if (at === this.view.value.at) return
    this.look({ at })
    this.changed.value++
    void this.show()
  }

  /** Leaves out nodes and links that do not hold at a time; the empty text leaves out nothing. */
  showHolding(holds: string): void {
    if (holds === this.view.value.holds) return
    this.look({ holds })
    if (this.view.value.route) void this.show()
  }

  async relayout(): Promise<void> {
    const scene = this.scene.value
    for (const node of scene.nodes.values()) {
      if (!node.pinned) [node.x, node.y] = startPlace(node.id, null, 20 * Math.sqrt(scene.nodes.size))
    }
    await arrange(scene, this.runner, new Set())
    if (scene !== this.scene.value) return this.relayout()
    this.#positions.save(scene)
    this.drawn.value++
    this.fitted.value++
  }

  pin(id: string, pinned: boolean): void {
    const node = this.scene.value.nodes.get(id)
    if (!node) return
    node.pinned = pinned
    this.moved()
  }

  /** Records that nodes were dragged. */
  moved(): void {
    this.#positions.save(this.scene.value)
    this.drawn.value++
  }

  // Undo --------------------------------------------------------------------------------------

  #step(change: Partial<Shown>, more: Partial<View> = {}): void {
    this.#undo.push(shownOf(this.view.value))
    this.look({ ...change, ...more })
    this.steps.value++
  }

  async undo(): Promise<void> {
    await this.#back(this.#undo.undo(shownOf(this.view.value)), 'Nothing to undo.')
  }

  async redo(): Promise<void> {
    await this.#back(this.#undo.redo(shownOf(this.view.value)), 'Nothing to redo.')
  }

  get canUndo(): boolean {
    return this.#undo.canUndo
  }

  get canRedo(): boolean {
    return this.#undo.canRedo
  }

  async #back(shown: Shown | null, otherwise: string): Promise<void> {
    if (!shown) return say(otherwise)
    const { group, by } = this.view.value
    this.look(shown)
    this.steps.value++
    if (shown.group !== group || shown.by !== by) this.scene.value = new Scene()
    await this.show()
  }

  // Live --------------------------------------------------------------------------------------

  /** Takes in transactions of any writer, one call after the other. Shown nodes do not move. */
  async hear(changes: LiveChange[]): Promise<void> {
    const { branch } = this.source
    this.changed.value++
    await this.readAbout()
    if (branch !== this.source.branch || this.view.value.at !== null) return
    const touched = new Set(changes.flatMap((change) => [...change.ids, ...change.removed, ...change.healed.flat()]))
    const seen = [...touched].filter((id) => this.scene.value.nodes.has(id))
    for (const { added, removed, moved } of changes) {
      this.#follow(moved)
      this.waiting.value = new Set([...this.waiting.value].filter((id) => !removed.includes(id)))
      const shown = new Set([...this.view.value.ids, ...this.#own])
      this.#wait(added.filter((id) => !shown.has(id)))
    }
    if (seen.length || this.view.value.group !== null || this.view.value.route) await this.show()
    this.#pulse(seen)
  }

  /** Nodes that were moved keep their place on the canvas and in the view under their new id. */
  #follow(moves: [string, string][]): void {
    if (!moves.length) return
    const names = new Map(moves)
    const now = (id: string) => names.get(id) ?? id
    const { ids, less, selected } = this.view.value
    for (const [old, id] of moves) {
      const node = this.scene.value.nodes.get(old)
      if (node) this.scene.value.put({ ...node.card, id }, node.x, node.y)
      if (this.#members.ids.has(old)) this.#members.ids.add(id)
    }
    this.waiting.value = new Set([...this.waiting.value].map(now))
    this.look({ ids: ids.map(now), less: less.map(now), selected: selected && now(selected) })
  }

  async showWaiting(): Promise<void> {
    const ids = [...this.waiting.value]
    this.waiting.value = new Set()
    this.#step({ ids: [...new Set([...this.view.value.ids, ...ids])] })
    await this.show()
    this.#pulse(ids)
  }

  #pulse(ids: readonly string[]): void {
    if (!ids.length || matchMedia('(prefers-reduced-motion: reduce)').matches) return
    const began = performance.now()
    const beat = () => {
      const age = (performance.now() - began) / PULSE_MS
      this.pulses.value = age >= 1 ? new Map() : new Map(ids.map((id) => [id, age]))
      if (age < 1) requestAnimationFrame(beat)
    }
    beat()
  }

  /** The node that a text means, first among those on the canvas. */
  identify(text: string, near: string | null, isNew = false): Promise<Identified> {
    return this.source.identify(text, near, this.#known(), isNew)
  }

  // Helpers -----------------------------------------------------------------------------------

  #known(): string[] {
    return [...this.scene.value.nodes.keys()].filter((id) => !id.startsWith(GROUP_PREFIX))
  }

  #cut(): Scene {
    const { route: asked, span } = this.view.value
    const route = asked && this.route.value
    const touched = span?.rest === 'hide' ? this.touched.value : null
    const lapsed = this.view.value.holds ? this.notHolding.value : null
    if (route?.kind !== 'reach' && !touched && !lapsed) return this.scene.value
    return this.scene.value.filtered(
      (node) =>
        !lapsed?.nodes.has(node.id) &&
        (!route || isWithin(route, asked, node.id)) &&
        (!touched || !!node.group || touched.nodes.has(node.id) || touched.ends.has(node.id)),
      (link) => !lapsed?.links.has(linkKey(link)) && (!touched || touched.links.has(linkKey(link)) || link.relation === ''),
    )
  }

  #filter(): Scene {
    const scene = this.within.value
    const hide = new Set(this.view.value.hide)
    if (!hide.size) return scene
    return scene.filtered(
      (node) =>
        !(hide.has(TESTS) && isTest(node)) &&
        (!!node.group || !hide.has(`type:${node.card.kind === 'missing' ? 'missing' : node.card.type}`)),
      (link) => !hide.has(`relation:${link.relation}`),
    )
  }

  /** Runs work that may fail, and shows its error unless the work was given up. */
  async #attempt(work: () => Promise<unknown>, wanted = () => true): Promise<void> {
    this.busy.value++
    try {
      await work()
      if (wanted()) this.failed.value = null
    } catch (error) {
      if (!wanted()) return
      this.failed.value = error
      complain(error)
    } finally {
      this.busy.value--
    }
  }
}

/** The filter that hides tests: files of tests with their symbols, and groups of these. */
export const TESTS = 'tests'

export const isTest = ({ card, group }: SceneNode): boolean => (group ?? card).test === true

/** True if two views show the same state of the graph, and the same group of it. */
const samePlace = (one: View, other: View): boolean =>
  one.branch === other.branch && one.at === other.at && one.by === other.by && one.group === other.group

const keepPlace = (node: SceneNode, { x, y, pinned }: SceneNode): SceneNode => Object.assign(node, { x, y, pinned })

const shownOf = ({ by, group, size, ids, less, hide, route }: View): Shown => ({ by, group, size, ids, less, hide, route })

export const count = (number: number, noun: string): string => `${number.toLocaleString('en')} ${noun}${number === 1 ? '' : 's'}`

/** A sentence about a node, for screen readers. */
export function describe(node: SceneNode, scene: Scene, cost?: number, touched?: boolean): string {
  const { card, group, pinned } = node
  if (group) return `Group ${group.name}, ${count(group.nodes, 'node')}${group.missing ? `, ${group.missing} missing` : ''}`
  const hidden = scene.hidden(node)
  const kind = card.kind === 'missing' ? 'missing concept, not written yet' : card.type
  return `${card.name}, ${kind}, ${count(card.degree, 'link')}${hidden ? `, ${hidden} not shown` : ''}${cost === undefined ? '' : `, cost ${costText(cost)}`}${touched ? ', changed as the filter says' : ''}${pinned ? ', pinned' : ''}`
}

/** Groups are left out if all of their nodes are shown, as in a small graph. */
const withoutNeedlessGroups = (overview: Overview): Overview =>
  overview.nodes.length && overview.shown >= overview.total ? { ...overview, groups: [], links: [] } : overview

interface Tie {
  source: string
  target: string
  count: number
}

const TIES_EACH = 4

/** The strongest ties of each group, both directions together, because all ties would hide the groups. */
function strongestTies(ties: readonly Tie[]): Tie[] {
  const pairs = new Map<string, Tie>()
  for (const { source, target, count } of ties) {
    const [first, second] = source < target ? [source, target] : [target, source]
    const pair = pairs.get(`${first}\n${second}`)
    if (pair) pair.count += count
    else pairs.set(`${first}\n${second}`, { source: first, target: second, count })
  }
  const room = new Map<string, number>()
  const left = (group: string) => room.get(group) ?? TIES_EACH
  return [...pairs.values()]
    .sort((a, b) => b.count - a.count)
    .filter(({ source, target }) => {
      if (left(source) <= 0 && left(target) <= 0) return false
      for (const group of [source, target]) room.set(group, left(group) - 1)
      return true
    })
}

/** The place of a new node: beside the first of its neighbours that has one. */
function start(scene: Scene, node: SceneNode, placed: ReadonlySet<string>): void {
  let anchor: SceneNode | null = null
  for (const other of scene.neighbours(node.id)) {
    if (placed.has(other)) {
      anchor = scene.nodes.get(other)!
      break
    }
  }
  ;[node.x, node.y] = startPlace(node.id, anchor, anchor ? 60 : 20 * Math.sqrt(scene.nodes.size))
}

/** True if a remembered place is among the nodes that are shown, not far away from them. */
function crowd(scene: Scene, node: SceneNode): boolean {
  for (const other of scene.nodes.values()) {
    if (Math.hypot(other.x - node.x, other.y - node.y) < 400) return true
  }
  return false
}
