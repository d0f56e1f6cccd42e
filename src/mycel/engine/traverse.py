"""TRAVERSE: what is near an element, the nearest first (our extension).

    TRAVERSE FROM {type: "Module", name: "login"} ALONG "imports" | "calls" MAX_COST 2 LIMIT 50

A link costs its weight. Links that KIP writes have a weight of 1; the edges API and the knowledge
engine set others. What a budget cut off is told by a warning. The search itself is that of
`graph.traversal`.
"""

from __future__ import annotations

from typing import Any, Final, get_args

from mycel.engine.find import moment_of
from mycel.engine.outcome import Outcome
from mycel.engine.planner import Planner
from mycel.engine.values import Values
from mycel.errors import ConstraintViolation, MycelError, NotFound, did_you_mean
from mycel.graph import traversal
from mycel.graph.adjacency import Adjacency
from mycel.kip import ast
from mycel.model.ids import parse_concept_id, parse_proposition_id
from mycel.model.names import shorten
from mycel.model.values import JsonObject
from mycel.store.query import lookup
from mycel.store.query.history import state_at
from mycel.store.query.reader import Reader
from mycel.store.query.vocabulary import Vocabulary
from mycel.syntax.diagnostics import located

_NAMES_COMPARED_MAX: Final = 1000


def traverse(
    reader: Reader,
    node: ast.Traverse,
    values: Values,
    adjacency: Adjacency | None = None,
    planner: Planner | None = None,
) -> Outcome:
    """Run a TRAVERSE; `planner` may know the vocabulary of the present already.

    Raises:
        NotFound: there is nothing to start from.
        TypeMismatch: a type or predicate is not defined.
        ConstraintViolation: a bound that is none.
        ExecutionTimeout: it took too long.
    """
    reader, bounds, start = prepared(reader, node, values, planner)
    use = adjacency if reader.state.is_live and not reader.is_writer else None
    found = traversal.traverse(reader, start, bounds, use)
    result = [_wire(each) for each in found.nodes]
    return Outcome(result, warnings=tuple(each.sentence for each in found.cut_off))


def prepared(
    reader: Reader, node: ast.Traverse, values: Values, planner: Planner | None = None
) -> tuple[Reader, traversal.Bounds, int]:
    """A reader of the state that is traversed, the bounds, and the element to start from."""
    if node.as_of is not None:
        reader = reader.at(state_at(reader, moment_of(node, values)))
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
    given: dict[str, Any] = {}
    if node.max_cost is not None:
        given["max_cost"] = values.number(node.max_cost, "MAX_COST")
    if node.limit is not None:
        given["max_nodes"] = values.positive(node.limit, "LIMIT")
    if node.max_tokens is not None:
        given["max_tokens"] = values.positive(node.max_tokens, "MAX_TOKENS")
    if node.direction is not None:
        given["direction"] = values.text(node.direction, "DIRECTION of TRAVERSE")
        known = list(get_args(traversal.Direction))
        if given["direction"] not in known:
            raise ConstraintViolation(
                f"There is no direction {shorten(given['direction'])!r}.",
                hint='It is "out" (along the links), "in" (against them) or "both".',
            )
    if node.along:
        names = [values.text(each, "predicate") for each in node.along]
        for name in names:
            vocabulary.predicate(name)
        given["relation_types"] = tuple(names)
    return traversal.Bounds(**given)


def _start(reader: Reader, node: ast.Traverse, values: Values, vocabulary: Vocabulary) -> int:
    match node.start:
        case ast.LinkById(id_):
            text = values.text(id_, "id of a proposition")
            number = parse_proposition_id(text)
            link = reader.proposition(number)
            if link is None or link.id != text:
                raise _no_such_id("proposition", text)
            return number
        case ast.ConceptMatcher(id=None, type=type_, name=name) if type_ and name:
            type_name = values.text(type_, "type of a concept")
            named = values.text(name, "name of a concept")
            found = reader.concept_named(vocabulary.type_number(type_name), named)
            if found is None:
                raise _no_such_concept(reader, vocabulary, type_name, named)
            return found.number
        case ast.ConceptMatcher(id=id_) if id_ is not None:
            text = values.text(id_, "id of a concept")
            number = parse_concept_id(text)
            if reader.concept(number) is None:
                raise _no_such_id("concept", text)
            return number
        case _:
            raise ConstraintViolation("A traversal starts at an id, or at a type and a name.")


def _no_such_id(what: str, text: str) -> NotFound:
    return NotFound(
        f"There is no {what} with the id {shorten(text)!r} to start from.",
        hint="It may have been removed: find the element again with SEARCH or FIND.",
    )


def _no_such_concept(reader: Reader, vocabulary: Vocabulary, type_name: str, name: str) -> NotFound:
    types = lookup.types_named(reader, name, 3)
    if types:
        named = " and ".join(reader.type_name(each) for each in types)
        close = f"There is one of that name of type {named}."
    else:
        number = vocabulary.type_number(type_name)
        close = did_you_mean(name, lookup.names_of_type(reader, number, _NAMES_COMPARED_MAX))
    return NotFound(
        f"There is no {type_name} named {shorten(name)!r} to start from.",
        hint=f"{close} Find it with SEARCH CONCEPT or FIND.".lstrip(),
        data={"type": type_name, "name": name},
    )


def _wire(reached: traversal.Reached) -> JsonObject:
    """An element as FIND gives it, its cost and hops, the path to it, and the reason."""
    node = reached.element.to_dict()
    node.pop("weight", None)  # A link of KIP has none.
    return {
        "node": node,
        "cost": reached.cost,
        "hops": reached.hops,
        "path": [step.to_dict() for step in reached.path],
        "reason": reached.reason,
    }
