"""TRAVERSE: the nearest elements, found by comparing all paths in every step.

A link costs its weight. A path is compared by its cost, its hops, the number of its last
predicate and its end; of all paths that continue from a reached element, the least is next.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from mycel.errors import ConstraintViolation, NotFound, TypeMismatch
from mycel.kip import ast
from mycel.model import times
from mycel.model.limits import TRAVERSE_COST_MAX, TRAVERSE_NODES_MAX
from mycel.model.names import PROPOSITION_TYPE
from mycel.store.file.layout import BUILT_IN_PREDICATES, FIRST_PREDICATE_NUMBER
from tests.reference.graph import Concept, Graph, JsonObject, Link
from tests.reference.parameters import Parameters
from tests.reference.patterns import Patterns

_NOW_US = times.from_text("2030-01-01")
"""Generated times are far from it and from the clock of an engine."""


class _Way(NamedTuple):
    """A way; in this order the least is found."""

    cost: float
    hops: int
    is_outdated: bool
    """True if the link, or its far end, does not hold now."""
    predicate: int
    number: int
    source: int
    """The index of the element that it was reached from."""
    against: bool
    relation: str
    weight: float


def traverse(
    node: ast.Traverse, graph: Graph, values: Parameters
) -> tuple[list[JsonObject], list[str]]:
    """The elements in order, and a warning if LIMIT cut them off; without AS OF and MAX_TOKENS."""
    if node.as_of is not None or node.max_tokens is not None:
        raise NotImplementedError("AS OF and MAX_TOKENS are beyond the reference.")
    cost = 1.0 if node.max_cost is None else values.number(node.max_cost)
    limit = 100 if node.limit is None else values.positive(node.limit)
    direction = "out" if node.direction is None else values.text(node.direction)
    if not 0 <= cost <= TRAVERSE_COST_MAX or limit > TRAVERSE_NODES_MAX:
        raise ConstraintViolation("This is no bound.")
    if direction not in ("out", "in", "both"):
        raise ConstraintViolation(f"There is no direction {direction!r}.")
    along = {values.text(each) for each in node.along} or None
    for name in along or ():
        if name not in graph.predicate_names():
            raise TypeMismatch(f"The predicate {name!r} is not defined.")
    start = _start(node, graph, Patterns(graph, values))
    without = set() if node.include_archived else graph.hidden()
    if node.for_time is not None:
        without |= graph.outside(times.from_text(values.text(node.for_time)))
    outdated = graph.outdated(_NOW_US) if node.for_time is None else set()
    reached = [_Way(0.0, 0, False, 0, start, 0, False, "", 0.0)]
    while True:
        seen = {way.number for way in reached}
        ways = [
            each
            for each in _ways(reached, graph, direction, along, without, outdated)
            if each.number not in seen and each.cost <= cost
        ]
        if not ways:
            return _answers(reached, graph), []
        if len(reached) == limit:
            left = len({way.number for way in ways})
            return _answers(reached, graph), [f"The budget of {limit} nodes: {left} left out."]
        reached.append(min(ways))


def _start(node: ast.Traverse, graph: Graph, patterns: Patterns) -> int:
    if isinstance(node.start, ast.LinkById):
        found = patterns.link_by_id(node.start)
    else:
        if node.start.type is not None:
            type_name = patterns.parameters.text(node.start.type)
            if type_name not in graph.type_names():
                raise TypeMismatch(f"The type {type_name!r} is not defined.")
        found = patterns.concepts(node.start)
    if not found:
        raise NotFound(f"There is no {patterns.shown(node.start)} to start from.")
    return found[0]


def _ways(
    reached: list[_Way],
    graph: Graph,
    direction: str,
    along: set[str] | None,
    without: set[int],
    outdated: set[int],
) -> Iterator[_Way]:
    """Every way that goes one link on from an element that was reached."""
    for place, way in enumerate(reached):
        for link in graph.links():
            if link.number in without or (along is not None and link.predicate not in along):
                continue
            either = direction == "both" or graph.is_symmetric(link.predicate)
            number = _predicate_number(link, graph)
            # Costs are exact to a billionth, so that 0.1 and 0.2 make 0.3.
            further = (round(way.cost + link.weight, 9), way.hops + 1)
            step = (link.predicate, link.weight)
            ways = []
            if link.subject == way.number and (either or direction == "out"):
                ways.append((link.object, False))
            if link.object == way.number and (either or direction == "in"):
                ways.append((link.subject, True))
            for end, against in ways:
                past = not outdated.isdisjoint((end, link.number))
                yield _Way(*further, past, number, end, place, against, *step)


def _predicate_number(link: Link, graph: Graph) -> int:
    """Predicates that every graph has are numbered first, others as they were defined."""
    built_in = BUILT_IN_PREDICATES.get(link.predicate)
    if built_in is not None:
        return built_in
    definition = graph.concept(PROPOSITION_TYPE, link.predicate)
    return FIRST_PREDICATE_NUMBER + (0 if definition is None else definition.number)


def _answers(reached: list[_Way], graph: Graph) -> list[JsonObject]:
    answers: list[JsonObject] = []
    for way in reached:
        path: list[Any] = []
        reason = "the start"
        if way.hops:
            source = answers[way.source]
            step = {
                "relation": way.relation,
                "weight": way.weight,
                "direction": "in" if way.against else "out",
                "node": graph.id_of(way.number),
                "name": _name(way.number, graph),
            }
            if way.is_outdated:
                step["holds"] = False
            path = [*source["path"], step]
            over = "back over" if way.against else "over"
            origin = _name(reached[way.source].number, graph)
            past = "; it does not hold now" if way.is_outdated else ""
            reason = f"reached {over} {way.relation} ({way.weight:g}) from {origin}{past}"
        answers.append(
            {
                "node": graph.wire(way.number),
                "cost": way.cost,
                "hops": way.hops,
                "path": path,
                "reason": reason,
            }
        )
    return answers


def _name(number: int, graph: Graph) -> str:
    element = graph.elements[number]
    return element.name if isinstance(element, Concept) else graph.id_of(number)
