/** The bar of a route: a path with its steps, or the budget of the nodes within reach. */

import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Explorer } from '../explorer'
import { announcement } from '../notices'
import { Name, NodeButton } from '../parts/basics'
import { CloseIcon } from '../parts/icons'
import { COST_MAX, COST_STEP, costText, isWithin, MOST, type Route, type RouteAsked, WAYS } from '../route'
import type { ReachedCard, Way } from '../source/types'
import { count, number, plain, splitUri } from '../text/format'

const WORDS: Record<Way, string> = { out: 'along links', in: 'against links', both: 'either way' }

export function RouteBar({ explorer }: { explorer: Explorer }): JSX.Element | null {
  const asked = explorer.view.value.route
  const route = explorer.route.value
  if (!asked) return null
  return (
    <section class="route" aria-label={asked.kind === 'path' ? 'Path' : 'Within reach'}>
      <div class="route-head">
        {asked.kind === 'path' ? (
          <PathWords explorer={explorer} asked={asked} route={route} />
        ) : (
          <Budget explorer={explorer} asked={asked} route={route} />
        )}
        <select
          aria-label="Follow links"
          value={asked.way}
          onChange={(event) => void explorer.showRoute({ ...asked, way: event.currentTarget.value as Way })}>
          {WAYS.map((way) => (
            <option key={way} value={way}>
              {WORDS[way]}
            </option>
          ))}
        </select>
        {asked.kind === 'path' && asked.way !== 'both' && (
          <button
            type="button"
            class="button"
            onClick={() => void explorer.showRoute({ ...asked, from: asked.to, to: asked.from })}>
            Swap
          </button>
        )}
      </div>
      <button
        type="button"
        class="button icon-only small"
        aria-label="Leave the route"
        title="Leave the route; its nodes stay"
        onClick={() => explorer.leaveRoute()}>
        <CloseIcon />
      </button>
      {asked.kind === 'path' && route?.kind === 'path' && route.found && <Steps explorer={explorer} route={route} />}
    </section>
  )
}

const nameOf = (route: Route | null, id: string): string =>
  plain(route?.nodes.find((node) => node.id === id)?.name ?? splitUri(id)[1])

interface PathProps {
  explorer: Explorer
  asked: RouteAsked & { kind: 'path' }
  route: Route | null
}

function PathWords({ explorer, asked, route }: PathProps): JSX.Element {
  const ready = route?.kind === 'path' && !explorer.busy.value
  const words = !ready ? 'Looking for a path…' : pathWords(asked, route)
  useEffect(() => {
    if (ready) announcement.value = words
  }, [ready, words])
  return (
    <p class="route-words" data-testid="route">
      <bdi>{words}</bdi>
    </p>
  )
}

function pathWords(asked: RouteAsked & { kind: 'path' }, route: Route): string {
  const ends = `from ${nameOf(route, asked.from)} to ${nameOf(route, asked.to)}`
  if (!route.found) {
    if (!route.complete)
      return `No path ${ends} was found among the ${number(route.searched)} nearest nodes, ${WORDS[asked.way]}.`
    return `There is no path ${ends}, ${WORDS[asked.way]}.`
  }
  const last = route.nodes[route.nodes.length - 1] as ReachedCard
  return `Cheapest path ${ends}: ${count(last.hops, 'link')}, cost ${costText(last.cost)}.`
}

const Steps = ({ explorer, route }: { explorer: Explorer; route: Route }): JSX.Element => (
  <ol class="route-steps">
    {(route.nodes as ReachedCard[]).map((node) => (
      <li key={node.id}>
        {node.via && <Link via={node.via} node={node} />}
        <NodeButton card={node} explorer={explorer} />
        {node.via && (
          <span class="route-cost" title="Cost from the beginning">
            {costText(node.cost)}
          </span>
        )}
      </li>
    ))}
  </ol>
)

/** The link to a step: its relation and weight, with an arrow in its own direction. */
function Link({ via, node }: { via: NonNullable<ReachedCard['via']>; node: ReachedCard }): JSX.Element {
  const along = via.target === node.id
  return (
    <span class="route-link">
      <span aria-hidden="true">{along ? '—' : '←'}</span> <Name text={via.relation} />{' '}
      <span class="route-weight">{costText(via.weight)}</span> <span aria-hidden="true">{along ? '→' : '—'}</span>
      <span class="hidden-title">{along ? 'to' : 'from'}</span>
    </span>
  )
}

interface BudgetProps {
  explorer: Explorer
  asked: RouteAsked & { kind: 'reach' }
  route: Route | null
}

function Budget({ explorer, asked, route }: BudgetProps): JSX.Element {
  const [said, setSaid] = useState('')
  const reached = route?.kind === 'reach' ? [...route.costs.keys()].filter((id) => isWithin(route, asked, id)).length : null
  const cut = route?.cutOff && route.cutOff.cost <= asked.cost ? route.cutOff : null
  const words =
    reached === null
      ? 'Measuring…'
      : `${count(reached, 'node')} within cost ${costText(asked.cost)} of ${nameOf(route, asked.from)}.`
  useEffect(() => {
    const timer = setTimeout(() => said !== words && reached !== null && (setSaid(words), (announcement.value = words)), 400)
    return () => clearTimeout(timer)
  }, [words])
  return (
    <>
      <label class="route-budget">
        Cost up to
        <input
          type="range"
          min="0"
          max={COST_MAX}
          step={COST_STEP}
          value={asked.cost}
          aria-valuetext={`cost ${costText(asked.cost)}`}
          onInput={(event) => explorer.setBudget(Number(event.currentTarget.value))}
        />
        <output>{costText(asked.cost)}</output>
      </label>
      <p class="route-words" data-testid="route">
        <bdi>{words}</bdi>
        {cut && <span class="note"> More lie within this cost, the nearest at {costText(cut.cost)}.</span>}
      </p>
      <select
        aria-label="Nodes at most"
        value={String(asked.most)}
        onChange={(event) => void explorer.showRoute({ ...asked, most: Number(event.currentTarget.value) })}>
        {MOST.map((most) => (
          <option key={most} value={String(most)}>
            at most {number(most)}
          </option>
        ))}
      </select>
    </>
  )
}
