"""TRAVERSE: the elements near one element, the nearest first (our extension).

    TRAVERSE FROM {type: "Module", name: "login"} ALONG "imports" | "calls" MAX_COST 2 LIMIT 50

The cost of a link is its weight: 1 for links of KIP unless SET WEIGHT sets another, and other
values for links of the edges API and the knowledge API. A warning has the number of elements that a
budget cut off, and the nearest of them. `graph.traversal` does the search.
"""

from __future__ import annotations

from typing import Any

from mycel.engine.find import moment_value
from mycel.engine.outcome import Outcome
from mycel.engine.planner import FindPlanner
from mycel.engine.references import link_with_id, matched
from mycel.engine.values import Values
from mycel.errors import ConstraintViolation, InvalidSyntax, MycelError
from mycel.graph import traversal
from mycel.graph.adjacency import Adjacency
from mycel.graph.doubts import with_doubts
from mycel.kip import ast
from mycel.model import times
from mycel.model.directions import DIRECTIONS
from mycel.model.names import shorten
from mycel.model.state import Visibility
from mycel.model.values import JsonObject
from mycel.store.query.history import state_at
from mycel.store.query.reader import Reader
from mycel.store.query.vocabulary import Vocabulary
from mycel.syntax.diagnostics import located


def traverse(
    reader: Reader,
    node: ast.Traverse,
    values: Values,
    adjacency: Adjacency | None = None,
    planner: FindPlanner | None = None,
) -> Outcome:
    """Run a TRAVERSE; `planner` may hold the vocabulary of the present."""
    reader, bounds, start = prepared(reader, node, values, planner)
    use = adjacency if reader.state.is_live and not reader.is_writer else None
    outcome = with_doubts(reader, traversal.traverse(reader, start, bounds, use))
    result = [_wire(node) for node in outcome.nodes]
    return Outcome(result, warnings=tuple(cut_off.sentence for cut_off in outcome.cut_off))


def prepared(
    reader: Reader, node: ast.Traverse, values: Values, planner: FindPlanner | None = None
) -> tuple[Reader, traversal.Bounds, int]:
    """A reader of the state that is traversed, the bounds, and the element to start from."""
    if node.as_of is not None:
        reader = reader.at(state_at(reader, moment_value(node.as_of, values, "AS OF")))
    if planner is None or not reader.state.is_live:
        vocabulary = Vocabulary(reader)
    else:
        vocabulary = planner.vocabulary(reader, reader.reread())
    bounds = _bounds(node, values, vocabulary)
    try:
        return reader, bounds, _start(reader, node, values, vocabulary)
    except MycelError as error:
        raise located(error, node.start.span) from None


def _bounds(node: ast.Traverse, values: Values, vocabulary: Vocabulary) -> traversal.Bounds:
    arguments: dict[str, Any] = {"visibility": _visibility(node, values)}
    if node.max_cost is not None:
        arguments["max_cost"] = values.number(node.max_cost, "MAX_COST")
    if node.limit is not None:
        arguments["max_nodes"] = values.positive(node.limit, "LIMIT")
    if node.max_tokens is not None:
        arguments["max_tokens"] = values.positive(node.max_tokens, "MAX_TOKENS")
    if node.direction is not None:
        arguments["direction"] = values.text(node.direction, "DIRECTION of TRAVERSE")
        directions = list(DIRECTIONS)
        if arguments["direction"] not in directions:
            raise ConstraintViolation(
                f"There is no direction {shorten(arguments['direction'])!r}.",
                hint='It is "out" (along the links), "in" (against them) or "both".',
            )
    if node.along:
        names = [values.text(predicate, "predicate") for predicate in node.along]
        for name in names:
            vocabulary.predicate(name)
        arguments["relation_types"] = tuple(names)
    return traversal.Bounds(**arguments)


def _visibility(node: ast.Traverse, values: Values) -> Visibility:
    if node.for_time is None:
        return Visibility(node.include_archived)
    try:
        time = times.from_text(values.text(node.for_time, "time after FOR TIME"))
    except InvalidSyntax as error:
        raise located(error, node.for_time.span) from None
    return Visibility(node.include_archived, time)


def _start(reader: Reader, node: ast.Traverse, values: Values, vocabulary: Vocabulary) -> int:
    if isinstance(node.start, ast.LinkById):
        return link_with_id(reader, values.text(node.start.id, "id of a proposition")).number
    if node.start.id is None and node.start.type is not None:
        vocabulary.type_number(values.text(node.start.type, "type of a concept"))
    concept = matched(reader, node.start, values)
    if concept is None:
        raise ConstraintViolation("A traversal starts at an id, or at a type and a name.")
    return concept.number


def _wire(reached: traversal.Reached) -> JsonObject:
    """The wire form of a reached element: the element as in FIND, cost, hops, path and reason."""
    node = reached.element.to_dict()
    node.pop("weight", None)  # Elements in the wire form of KIP have no weight.
    return {
        "node": node,
        "cost": reached.cost,
        "hops": reached.hops,
        "path": [step.to_dict() for step in reached.path],
        "reason": reached.reason,
    }
