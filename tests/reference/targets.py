"""The elements that a DELETE, UPDATE, MERGE or EXPORT is about."""

from __future__ import annotations

from mycel.errors import ConstraintViolation, NotFound, UnknownReference
from mycel.kip import ast
from tests.reference.blocks import Blocks
from tests.reference.graph import Graph
from tests.reference.parameters import Parameters
from tests.reference.patterns import Patterns
from tests.reference.scopes import bound_by, check_where, predicate_variables


def targets(
    variable: ast.Variable,
    where: ast.Block,
    graph: Graph,
    parameters: Parameters,
    *,
    include_archived: bool = False,
) -> list[int]:
    """The elements that the variable is bound to in some solution, in order of their numbers."""
    check_where(where, graph, parameters)
    if variable.name not in bound_by(where):
        raise UnknownReference(f"No clause binds ?{variable.name}.")
    if variable.name in predicate_variables(where):
        raise ConstraintViolation(f"?{variable.name} is a predicate, and not an element.")
    without = set() if include_archived else graph.hidden()
    rows = Blocks(graph, parameters, without).solutions(where)
    terms = {row[variable.name] for row in rows}
    return sorted(term for term in terms if isinstance(term, int))


def required_targets(
    variable: ast.Variable,
    where: ast.Block,
    graph: Graph,
    parameters: Parameters,
    *,
    include_archived: bool = False,
) -> list[int]:
    """The targets; raises NotFound if WHERE names one outright that does not exist."""
    found = targets(variable, where, graph, parameters, include_archived=include_archived)
    if not found:
        _check_named(variable, where, Patterns(graph, parameters))
    return found


def _check_named(variable: ast.Variable, where: ast.Block, patterns: Patterns) -> None:
    for clause in where:
        match clause:
            case ast.ConceptClause(bound, matcher) if bound == variable:
                is_named = matcher.id is not None or None not in (matcher.type, matcher.name)
            case ast.LinkClause(bound, ast.LinkById()) if bound == variable:
                is_named = True
            case _:
                continue
        if is_named and not patterns.rows(clause):
            named = clause.matcher if isinstance(clause, ast.ConceptClause) else clause.pattern
            raise NotFound(f"There is no {patterns.shown(named)}.")
