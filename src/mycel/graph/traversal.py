"""Traversal by cost: the elements near an element, nearest first (Dijkstra's algorithm).

A link costs its weight, a path the sum of its links, and an element its cheapest path. Elements are
ordered by cost, then by hops, then by the number of the last predicate, then by their own number.
The result is thus the same on every run over the same state, and elements joined by links of weight
0 come together. Of several links between two elements the cheapest counts. At equal cost and hops,
links that hold now and lead to elements that hold now come first (`validity_order`), unless the
caller chooses a time.

A link that is the end of other links is an element too: it is reached over those links, and links
that start at it are followed. Its own two ends are not its neighbours.

Budgets are hard: they also separate elements joined by links of weight 0. The result reports the
elements that were cut off. The start is always part of the result.

The search is lazy. For each reached element the heap holds one link, the cheapest that was not
followed yet. Lists of neighbours are sorted (see `adjacency`), so the nearest next element is at
the top of the heap.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush, heapreplace
from itertools import chain
from typing import Any, Final, Literal, NamedTuple

from mycel.errors import ConstraintViolation, DatabaseCorrupt, InvalidValueType, NotFound
from mycel.graph.adjacency import Adjacency, Neighbours, StoredNeighbours
from mycel.graph.arrays import Link, Route
from mycel.graph.costs import as_cost, as_units, tokens_of
from mycel.graph.validity_order import ValidFirst, unmarked
from mycel.graph.walk import check_whole
from mycel.model.directions import DIRECTIONS, Direction, Way
from mycel.model.elements import Concept, Element
from mycel.model.ids import concept_id
from mycel.model.limits import TRAVERSE_NODES_MAX
from mycel.model.names import kind_of, shorten
from mycel.model.state import ORDINARY, Visibility
from mycel.store.query.reader import Reader
from mycel.store.query.weighted_links import UNITS_PER_COST, has_lifetimes, symmetric_predicates

Budget = Literal["nodes", "tokens"]

MAX_COST_DEFAULT: Final = 1.0
MAX_NODES_DEFAULT: Final = 100

LEFT_OUT_COUNTED: Final = 100
"""The maximum number of cut-off elements that are counted."""

NODES_UNWATCHED: Final = 64
"""The number of elements between two checks of the deadline."""

_FAR: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits and directions of a traversal."""

    max_cost: float = MAX_COST_DEFAULT
    max_nodes: int = MAX_NODES_DEFAULT
    max_tokens: int | None = None
    direction: Direction = "out"
    relation_types: Collection[str] | None = None
    visibility: Visibility = ORDINARY

    def __post_init__(self) -> None:
        """Refuse impossible limits and directions."""
        as_units(self.max_cost)
        _check_count("max_nodes", self.max_nodes)
        if self.max_nodes > TRAVERSE_NODES_MAX:
            raise ConstraintViolation(
                f"max_nodes is {self.max_nodes}; it must be at most {TRAVERSE_NODES_MAX}.",
                hint="Traverse from several elements, or lower max_cost.",
            )
        if self.max_tokens is not None:
            _check_count("max_tokens", self.max_tokens)
        if self.direction not in DIRECTIONS:
            raise ConstraintViolation(
                f"The direction {shorten(repr(self.direction))} is not one of 'out', 'in' and"
                " 'both'."
            )
        if isinstance(self.relation_types, str):
            object.__setattr__(self, "relation_types", (self.relation_types,))
        elif self.relation_types is not None and not isinstance(self.relation_types, Collection):
            raise InvalidValueType(
                f"relation_types must be a list of names, not {kind_of(self.relation_types)}."
            )


def _check_count(name: str, number: int) -> None:
    check_whole(name, number)
    if number < 1:
        raise ConstraintViolation(f"{name} is {number}; it must be at least 1.")


# Results. They are named tuples, like elements: there may be a hundred thousand.


class Step(NamedTuple):
    """One link of a path: its predicate, weight and direction, and the element that it led to."""

    relation: str
    weight: float
    direction: Way
    """Along the link, or against it."""
    node: str
    """The id of the element that it led to."""
    name: str
    """The label of the element: a concept's name, or the id of a link."""
    source: str
    """The label of the element before it."""
    holds: bool = True
    """False if the link, or the element that it led to, does not hold now."""
    doubt: str = ""
    """The belief in a link whose evidence leaves a doubt, if it was looked at (`doubts`)."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "relation": self.relation,
            "weight": self.weight,
            "direction": self.direction,
            "node": self.node,
            "name": self.name,
            **({} if self.holds else {"holds": False}),
            **({"doubt": self.doubt} if self.doubt else {}),
        }


class Reached(NamedTuple):
    """A reached element, with its cost, its hops and the path to it."""

    element: Element
    cost: float
    hops: int
    path: tuple[Step, ...]
    """The path from the start; empty for the start itself."""

    @property
    def tokens(self) -> int:
        """An estimate of the tokens of the element."""
        return tokens_of(self.element)

    @property
    def reason(self) -> str:
        """The reason why the element was reached, in a few words."""
        if not self.path:
            return "the start"
        step = self.path[-1]
        way = "over" if step.direction == "out" else "back over"
        past = "" if step.holds else "; it does not hold now"
        doubt = f"; {step.doubt}" if step.doubt else ""
        return f"reached {way} {step.relation} ({step.weight:g}) from {step.source}{past}{doubt}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "node": self.element.to_dict(),
            "cost": self.cost,
            "hops": self.hops,
            "path": [step.to_dict() for step in self.path],
            "reason": self.reason,
            "tokens": self.tokens,
        }


class CutOff(NamedTuple):
    """The part of a result that a budget cut off."""

    budget: Budget
    limit: int
    remaining: int
    """The number of further elements known to be within `max_cost`."""
    more: bool
    """True if there are more elements than were counted."""
    nearest: str
    """The id of the nearest element that was cut off."""
    name: str
    cost: float

    @property
    def sentence(self) -> str:
        """Warnings about the result."""
        count = f"more than {self.remaining}" if self.more else f"{self.remaining}"
        is_one = self.remaining == 1 and not self.more
        are, lie = ("element is", "lies") if is_one else ("elements are", "lie")
        budget = self.budget.removesuffix("s") if self.limit == 1 else self.budget
        node = self.nearest
        if self.name != self.nearest:
            node = f"{shorten(self.name)!r} ({self.nearest})"
        return (
            f"The budget of {self.limit} {budget} is used up: {count} {are} left out that {lie}"
            f" within max_cost, the nearest {node} at a cost of {self.cost:g}."
        )

    def to_dict(self) -> dict[str, Any]:
        return self._asdict() | {"sentence": self.sentence}


class Traversal(NamedTuple):
    """The elements that a traversal reached, nearest first, and those that budgets cut off."""

    nodes: tuple[Reached, ...]
    cut_off: tuple[CutOff, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "nodes": [node.to_dict() for node in self.nodes],
            "cut_off": [cut_off.to_dict() for cut_off in self.cut_off],
        }


class CheapestPath(NamedTuple):
    """The cheapest path between two elements."""

    nodes: tuple[Reached, ...]
    """The elements on the path, both ends included; empty if there is no path."""
    searched: int
    """The number of elements that were reached before the search ended."""
    is_complete: bool
    """False if the search ended at a bound, so that there may be a path beyond it."""


# The search.

_Arrival = tuple[int, int, int, int, int, bool, int, Iterator[Link]]
"""Entries of the heap, compared field by field: cost, hops, predicate, element, the index of the
reached element that it comes from, true if against the link, the cost of the link, and the
further links at that reached element.

No two entries are equal in all fields before the last, which cannot be compared.
"""


class _Found(NamedTuple):
    """The elements that were reached, in order, and the frontier at which the search ended."""

    arrivals: list[_Arrival]
    frontier: list[_Arrival]


def search(
    neighbours: Neighbours,
    start: int,
    *,
    units_max: int,
    nodes_max: int,
    reader: Reader,
    goal: int | None = None,
) -> _Found:
    """Find up to `nodes_max` nearest elements, each with the link over which it was reached.

    The frontier holds the arrivals within the cost that were left at the end. The search ends at
    `goal`, if that is given.
    """
    arrivals: list[_Arrival] = []
    heap: list[_Arrival] = []
    best = {start: 0}  # The least cost at which each element was seen so far.
    reached: set[int] = set()
    arrival: _Arrival = (0, 0, 0, start, 0, False, 0, iter(()))
    links_at = neighbours.of
    while True:
        cost, hops, _, number, _, _, _, _ = arrival
        rank = len(arrivals)
        arrivals.append(arrival)
        reached.add(number)
        if number == goal:
            return _Found(arrivals, heap)
        if not rank % NODES_UNWATCHED:
            reader.check_deadline()
        for against, links in links_at(number):
            for units, predicate, other in links:
                total = cost + units
                if total > units_max:
                    break
                if best.get(other, _FAR) >= total:
                    best[other] = total
                    heappush(heap, (total, hops + 1, predicate, other, rank, against, units, links))
                    break
        # Take the nearest element that was not reached before.
        while heap:
            arrival = heap[0]
            if rank + 1 == nodes_max and arrival[3] not in reached:
                return _Found(arrivals, heap)
            cost, hops, _, number, rank_, against, units, links = arrival
            cost -= units
            for units, predicate, other in links:
                total = cost + units
                if total > units_max:
                    heappop(heap)
                    break
                if best.get(other, _FAR) >= total:
                    best[other] = total
                    heapreplace(heap, (total, hops, predicate, other, rank_, against, units, links))
                    break
            else:
                heappop(heap)
            if number not in reached:
                break
        else:
            return _Found(arrivals, [])


def _left_out(reach: _Found, node_count: int, units_max: int) -> tuple[int, bool]:
    """The number of elements within reach that are not in the result, up to a bound."""
    seen = {arrival[3] for arrival in chain(reach.arrivals, reach.frontier)}
    enough = node_count + LEFT_OUT_COUNTED
    for cost, _, _, _, _, _, units, links in reach.frontier:
        left = units_max - cost + units
        for further, _, other in links:
            if further > left or len(seen) > enough:
                break
            seen.add(other)
        if len(seen) > enough:
            return LEFT_OUT_COUNTED, True
    return len(seen) - node_count, False


# The result, made from the elements that the search has reached.


def traverse(
    reader: Reader, start: int, bounds: Bounds, adjacency: Adjacency | None = None
) -> Traversal:
    """Traverse the state that a reader on a snapshot shows.

    `adjacency` may have the links in memory; it knows the present only, so a reader of the past
    does without it.

    Raises:
        NotFound: the start does not exist.
        TypeMismatch: a predicate was never defined.
        ExecutionTimeout: the traversal took longer than the reader's deadline.
    """
    units_max = as_units(bounds.max_cost)
    reach = search(
        _neighbours(reader, bounds, adjacency),
        start,
        units_max=units_max,
        nodes_max=bounds.max_nodes,
        reader=reader,
    )
    # The nearest element that was cut off is looked up with the others, because the result names
    # it.
    numbers = [arrival[3] for arrival in (*reach.arrivals, *reach.frontier[:1])]
    elements = _elements(reader, numbers)
    nodes = _nodes(reader, reach.arrivals, elements, bounds.max_tokens)
    budget: Budget = "tokens" if len(nodes) < len(reach.arrivals) else "nodes"
    if len(nodes) == len(numbers):
        return Traversal(nodes)
    after = elements[numbers[len(nodes)]]
    return Traversal(nodes, (_cut_off(budget, reach, bounds, len(nodes), after),))


def find_path(
    reader: Reader, start: int, goal: int, bounds: Bounds, adjacency: Adjacency | None = None
) -> CheapestPath:
    """The cheapest path between two elements, found by the same search as `traverse`.

    Raises:
        NotFound: the start does not exist.
        TypeMismatch: a predicate was never defined.
        ExecutionTimeout: the search took longer than the reader's deadline.
    """
    reach = search(
        _neighbours(reader, bounds, adjacency),
        start,
        units_max=as_units(bounds.max_cost),
        nodes_max=bounds.max_nodes,
        reader=reader,
        goal=goal,
    )
    rank = len(reach.arrivals) - 1
    if reach.arrivals[rank][3] != goal:
        return CheapestPath((), len(reach.arrivals), is_complete=not reach.frontier)
    steps = [reach.arrivals[rank]]
    while rank:
        rank = reach.arrivals[rank][4]
        steps.append(reach.arrivals[rank])
    steps.reverse()
    arrivals = [(*step[:4], max(0, place - 1), *step[5:]) for place, step in enumerate(steps)]
    elements = _elements(reader, [step[3] for step in steps])
    nodes = _nodes(reader, arrivals, elements, None)
    return CheapestPath(nodes, len(reach.arrivals), is_complete=True)


def _neighbours(reader: Reader, bounds: Bounds, adjacency: Adjacency | None) -> Neighbours:
    predicates = None
    if bounds.relation_types is not None:
        predicates = frozenset(reader.predicate_number(name) for name in bounds.relation_types)
    if adjacency is not None and reader.state.is_live and bounds.visibility == ORDINARY:
        neighbours = adjacency.neighbours(reader, bounds.direction, predicates)
    else:
        route = Route.of(bounds.direction, predicates, symmetric_predicates(reader))
        neighbours = StoredNeighbours(reader, route, bounds.visibility)
    if bounds.visibility.valid_at_us is None and has_lifetimes(reader):
        return ValidFirst(neighbours, reader)
    return neighbours


def _elements(reader: Reader, numbers: Sequence[int]) -> dict[int, Element]:
    """The elements with these numbers, the start first.

    Raises:
        NotFound: the start does not exist.
    """
    elements = reader.elements(numbers)
    if numbers[0] not in elements:
        raise NotFound(
            f"There is no live element {reader.outer_id(numbers[0])!r} to start from.",
            hint="Find it again with SEARCH or FIND: it may have been removed.",
        )
    if len(elements) < len(numbers):
        lost = next(number for number in numbers if number not in elements)
        raise DatabaseCorrupt(f"A link leads to the element {lost}, which does not exist.")
    return elements


def _nodes(
    reader: Reader,
    arrivals: Sequence[_Arrival],
    elements: dict[int, Element],
    tokens_max: int | None,
) -> tuple[Reached, ...]:
    """The elements that were reached, up to the budget of tokens."""
    left = _FAR if tokens_max is None else tokens_max
    paths: list[tuple[Step, ...]] = []
    names: list[str] = []
    nodes: list[Reached] = []
    for cost, hops, predicate, number, rank, against, units, _ in arrivals:
        element = elements[number]
        if tokens_max is not None:
            left -= tokens_of(element)
            if left < 0 and nodes:
                break
        path: tuple[Step, ...] = ()
        is_link = element.__class__ is not Concept
        id_ = element.id if is_link else concept_id(number)
        name = id_ if is_link else element[2]  # A concept's name.
        if hops:
            plain, holds = unmarked(predicate)
            relation = reader.predicate_name(plain)
            way: Way = "in" if against else "out"
            step = Step(relation, units / UNITS_PER_COST, way, id_, name, names[rank], holds)
            path = (*paths[rank], step)
        paths.append(path)
        names.append(name)
        nodes.append(Reached(element, cost / UNITS_PER_COST, hops, path))
    return tuple(nodes)


def _cut_off(
    budget: Budget, reach: _Found, bounds: Bounds, node_count: int, after: Element
) -> CutOff:
    cost = (reach.arrivals[node_count:] or reach.frontier)[0][0]
    limit = bounds.max_nodes if budget == "nodes" else bounds.max_tokens or 0
    remaining, more = _left_out(reach, node_count, as_units(bounds.max_cost))
    name = after.name if isinstance(after, Concept) else after.id
    return CutOff(budget, limit, remaining, more, after.id, name, as_cost(cost))
