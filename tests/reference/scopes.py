"""Checks of a WHERE before it runs: its variables, and names that are undefined.

Everything is checked, even in blocks that no row reaches: an undefined name is an error inside a
NOT that excludes nothing, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, assert_never

from mycel.errors import ConstraintViolation, TypeMismatch, UnknownReference, did_you_mean
from mycel.kip import ast
from mycel.model import ids
from mycel.syntax.regex import matcher
from tests.reference.graph import Graph
from tests.reference.parameters import Parameters

FIELDS = (
    *("id", "type", "name", "subject", "predicate", "object", "weight", "belief"),
    *("attributes", "metadata"),
)
OPEN_FIELDS = ("attributes", "metadata")
"""Those that hold JSON, as deep as somebody wrote it."""


# Variables.


def pattern_variables(clause: ast.Clause) -> set[str]:
    """The variables that a concept or link clause binds."""
    match clause:
        case ast.ConceptClause(variable):
            return {variable.name}
        case ast.LinkClause(variable, pattern):
            named = set() if variable is None else {variable.name}
            return named | set(_variables_in(pattern))
        case _:
            return set()


def _variables_in(endpoint: ast.Endpoint) -> Iterator[str]:
    match endpoint:
        case ast.Variable(name):
            yield name
        case ast.LinkPattern(subject, predicate, object_):
            yield from _variables_in(subject)
            if isinstance(predicate, ast.Variable):
                yield predicate.name
            yield from _variables_in(object_)


def bound_by(block: ast.Block) -> set[str]:
    """The variables that are visible outside after the block: all but those only in a NOT."""
    names: set[str] = set()
    for clause in block:
        names |= pattern_variables(clause)
        if isinstance(clause, ast.Optional | ast.Union):
            names |= bound_by(clause.block)
    return names


def predicate_variables(block: ast.Block) -> set[str]:
    """The variables that stand in a predicate's place, anywhere in the block."""
    return {
        pattern.predicate.name
        for pattern in link_patterns(block)
        if isinstance(pattern.predicate, ast.Variable)
    }


def element_variables(block: ast.Block) -> set[str]:
    """The variables that stand for an element, anywhere in the block."""
    names: set[str] = set()
    for clause in all_clauses(block):
        if isinstance(clause, ast.ConceptClause | ast.LinkClause) and clause.variable is not None:
            names.add(clause.variable.name)
    for pattern in link_patterns(block):
        ends = (pattern.subject, pattern.object)
        names |= {end.name for end in ends if isinstance(end, ast.Variable)}
    return names


# Walking.


def all_clauses(block: ast.Block) -> Iterator[ast.Clause]:
    """The clauses of a block and of every block inside it."""
    for clause in block:
        yield clause
        if isinstance(clause, ast.Not | ast.Optional | ast.Union):
            yield from all_clauses(clause.block)


def endpoints(block: ast.Block) -> Iterator[ast.Endpoint]:
    """Everything in a block that stands for an element: matchers and patterns, nested ones too."""
    for clause in all_clauses(block):
        if isinstance(clause, ast.ConceptClause):
            yield clause.matcher
        elif isinstance(clause, ast.LinkClause):
            yield from _nested(clause.pattern)


def _nested(endpoint: ast.Endpoint) -> Iterator[ast.Endpoint]:
    yield endpoint
    if isinstance(endpoint, ast.LinkPattern):
        yield from _nested(endpoint.subject)
        yield from _nested(endpoint.object)


def link_patterns(block: ast.Block) -> list[ast.LinkPattern]:
    return [each for each in endpoints(block) if isinstance(each, ast.LinkPattern)]


def paths_in(condition: ast.Condition) -> Iterator[ast.Path]:
    """The paths of a condition."""
    match condition:
        case ast.Comparison(_, left, right):
            operands: tuple[ast.Operand, ...] = (left, right)
        case ast.Membership(operand) | ast.NullTest(operand):
            operands = (operand,)
        case ast.TextTest(_, operand, argument):
            operands = (operand, argument)
        case ast.Negation(inner):
            yield from paths_in(inner)
            return
        case ast.Conjunction(conditions) | ast.Disjunction(conditions):
            for each in conditions:
                yield from paths_in(each)
            return
        case _:
            assert_never(condition)
    yield from (operand for operand in operands if isinstance(operand, ast.Path))


# Checks.


def check_where(where: ast.Block, graph: Graph, parameters: Parameters) -> None:
    """Refuse clauses that are wrong in any graph, and names that this graph does not define."""
    for endpoint in endpoints(where):
        _check_endpoint(endpoint, graph, parameters)
    if both := predicate_variables(where) & element_variables(where):
        raise ConstraintViolation(
            f"?{min(both)} stands for a predicate and for an element, so it can never match.",
            hint="Use two variables.",
        )
    _check_scope(where, set(), predicate_variables(where))
    for clause in all_clauses(where):
        if isinstance(clause, ast.Filter):
            _check_values(clause.condition, parameters)


def _check_endpoint(endpoint: ast.Endpoint, graph: Graph, parameters: Parameters) -> None:
    match endpoint:
        case ast.ConceptMatcher(type_name, name, id_):
            if id_ is not None:
                ids.parse_concept_id(parameters.text(id_))
            if type_name is not None:
                check_type(parameters.text(type_name), graph)
            if name is not None:
                parameters.text(name)
        case ast.LinkById(id_):
            ids.parse_link_id(parameters.text(id_))
        case ast.LinkPattern(_, predicate, _):
            for name in _names(predicate):
                check_predicate(parameters.text(name), graph)


def _names(predicate: ast.Predicate) -> Iterable[ast.Text]:
    match predicate:
        case ast.Variable():
            return ()
        case ast.PredicateHops(name):
            return (name,)
        case ast.PredicateChoice(names):
            return names
        case _:
            return (predicate,)


def check_type(name: str, graph: Graph) -> None:
    known = graph.type_names()
    if name not in known:
        raise TypeMismatch(f"The type {name!r} is not defined.", hint=did_you_mean(name, known))


def check_predicate(name: str, graph: Graph) -> None:
    known = graph.predicate_names()
    if name not in known:
        raise TypeMismatch(
            f"The predicate {name!r} is not defined.", hint=did_you_mean(name, known)
        )


def _check_scope(block: ast.Block, outside: set[str], predicates: set[str]) -> None:
    visible = outside.union(*(pattern_variables(clause) for clause in block))
    for clause in block:
        if isinstance(clause, ast.Optional):
            _check_scope(clause.block, visible, predicates)
            visible |= bound_by(clause.block)
    for clause in block:
        match clause:
            case ast.Not(inner):
                _check_scope(inner, visible, predicates)
            case ast.Union(inner):
                _check_scope(inner, set(), predicates)
            case ast.Filter(condition):
                for path in paths_in(condition):
                    check_path(path, visible, predicates)


def _check_values(condition: ast.Condition, parameters: Parameters) -> None:
    """Refuse values of a condition that are wrong in any comparison."""
    match condition:
        case ast.Conjunction(conditions) | ast.Disjunction(conditions):
            for each in conditions:
                _check_values(each, parameters)
        case ast.Negation(inner):
            _check_values(inner, parameters)
        case ast.Comparison(_, left, right):
            for operand in (left, right):
                _value(operand, parameters)
        case ast.NullTest(operand):
            _value(operand, parameters)
        case ast.Membership(operand, values):
            _value(operand, parameters)
            parameters.array(values)
        case ast.TextTest(function, operand, argument):
            _value(operand, parameters)
            pattern = _value(argument, parameters)
            if function == "REGEX" and isinstance(pattern, str):
                matcher(pattern)
        case _:
            assert_never(condition)


def _value(operand: ast.Operand, parameters: Parameters) -> Any:
    return None if isinstance(operand, ast.Path) else parameters.value(operand)


def check_path(path: ast.Path, visible: set[str], predicates: set[str]) -> None:
    """Refuse a path on a variable that is not visible, or to a field that does not exist."""
    name = path.variable.name
    if name not in visible:
        close = did_you_mean(f"?{name}", [f"?{each}" for each in sorted(visible)])
        raise UnknownReference(
            f"?{name} is not bound here.", hint=f"Bind it in a clause of this block. {close}"
        )
    if path.fields and name in predicates:
        raise UnknownReference(f"?{name} is the name of a predicate; it has no fields.")
    if path.fields and path.fields[0] not in FIELDS:
        raise UnknownReference(
            f"There is no field {path.fields[0]!r}.", hint=f"Fields are {', '.join(FIELDS)}."
        )
    if path.fields[1:] and path.fields[0] not in OPEN_FIELDS:
        raise UnknownReference(f"{path.fields[0]!r} is a text and has no fields.")


def misplaced_clauses(block: ast.Block) -> Iterator[str]:
    """A warning for each clause that seems to be about the UNION before it and is not."""
    union_before = False
    for clause in block:
        if isinstance(clause, ast.Union):
            union_before = True
        elif union_before and isinstance(clause, ast.Filter | ast.Not | ast.Optional):
            keyword = type(clause).__name__.upper()
            yield (
                f"{keyword} after UNION applies to the block beside the UNION, not to its rows; "
                "repeat it inside."
            )
        if isinstance(clause, ast.Not | ast.Optional | ast.Union):
            yield from misplaced_clauses(clause.block)
