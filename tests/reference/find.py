"""FIND: from solutions to columns (KIP §3.3, §3.5)."""

from __future__ import annotations

from math import isfinite
from typing import Any, NamedTuple, assert_never

from mycel.errors import ConstraintViolation, UnknownReference
from mycel.kip import ast
from mycel.model import times
from mycel.model.aggregates import AggregateName
from tests.reference.blocks import Blocks
from tests.reference.conditions import Conditions
from tests.reference.graph import Concept, Graph, Link
from tests.reference.json_values import canonical, distinct, kind, order, signed, total
from tests.reference.parameters import Parameters
from tests.reference.patterns import Row
from tests.reference.scopes import bound_by, check_path, check_where, predicate_variables


class Answer(NamedTuple):
    """One row of the result: the values of FIND, and those of ORDER BY."""

    values: list[Any]
    keys: list[Any]


def answers(find: ast.Find, graph: Graph, parameters: Parameters) -> list[Answer]:
    """Every row of the result, in order, with elements in their wire form."""
    check_find(find, graph, parameters)
    without = set() if find.include_archived else graph.hidden()
    if find.for_time is not None:
        without |= graph.outside(times.from_text(parameters.text(find.for_time)))
    rows = Blocks(graph, parameters, without).solutions(find.where)
    look = Conditions(graph, parameters)
    keys = [key.expression for key in find.order_by]
    found = [
        Answer(
            [_evaluate(each, group, look) for each in find.expressions],
            [_evaluate(each, group, look) for each in keys],
        )
        for group in _groups(find, rows, look)
    ]
    return [
        Answer([_wire(value, graph) for value in answer.values], answer.keys)
        for answer in _ordered(found, find.order_by)
    ]


def columns(find: ast.Find, page: list[Answer]) -> Any:
    """The result as KIP sends it: one array per expression, a lone one bare; totals as scalars."""
    if all(isinstance(each, ast.Aggregate) for each in find.expressions):
        (whole,) = page
        return whole.values[0] if len(whole.values) == 1 else whole.values
    arrays = [[answer.values[i] for answer in page] for i in range(len(find.expressions))]
    return arrays[0] if len(arrays) == 1 else arrays


def _is_aggregated(find: ast.Find) -> bool:
    return any(isinstance(each, ast.Aggregate) for each in find.expressions)


def _groups(find: ast.Find, rows: list[Row], look: Conditions) -> list[list[Row]]:
    """Rows in groups, one for each row of the result: each alone, or by equal plain values."""
    if not _is_aggregated(find):
        return [[row] for row in rows]
    plain = [each for each in find.expressions if isinstance(each, ast.Path)]
    groups: dict[Any, list[Row]] = {} if plain else {(): []}
    for row in rows:
        key = tuple(canonical(look.value(path, row)) for path in plain)
        groups.setdefault(key, []).append(row)
    return list(groups.values())


def _evaluate(expression: ast.Expression, group: list[Row], look: Conditions) -> Any:
    if isinstance(expression, ast.Path):
        return look.value(expression, group[0])  # The same in every row of the group.
    values = [look.value(expression.argument, row) for row in group]
    present = [value for value in values if value is not None]
    if expression.function in ("SUM", "AVG"):
        present = [signed(value) for value in present if kind(value) == "number"]
    return _aggregate(expression.function, distinct(present) if expression.distinct else present)


def _aggregate(function: AggregateName, values: list[Any]) -> Any:
    numbers = [value for value in values if kind(value) == "number"]
    sortable = [value for value in values if kind(value) in ("number", "string")]
    match function:
        case "COUNT":
            return len(values)
        case "SUM":
            return total(numbers) if numbers else None
        case "AVG":
            mean = sum(numbers) / len(numbers) if numbers else None
            return mean if mean is None or isfinite(mean) else None
        case "MIN":
            return min(sortable, key=order, default=None)
        case "MAX":
            return max(sortable, key=order, default=None)
        case _:
            assert_never(function)


def _ordered(found: list[Answer], order_by: tuple[ast.OrderKey, ...]) -> list[Answer]:
    """Sorted by the last key first: each further sort keeps the order among equals."""
    for place in reversed(range(len(order_by))):
        present = [answer for answer in found if answer.keys[place] is not None]
        absent = [answer for answer in found if answer.keys[place] is None]
        present.sort(
            key=lambda answer: order(answer.keys[place]),
            reverse=order_by[place].descending,
        )
        found = present + absent
    return found


def _wire(value: Any, graph: Graph) -> Any:
    return graph.wire(value.number) if isinstance(value, Concept | Link) else value


# Checks.


def check_find(find: ast.Find, graph: Graph, parameters: Parameters) -> None:
    """Refuse a FIND that cannot be answered."""
    check_where(find.where, graph, parameters)
    visible, predicates = bound_by(find.where), predicate_variables(find.where)
    sort_keys = [key.expression for key in find.order_by]
    for expression in (*find.expressions, *sort_keys):
        path = expression.argument if isinstance(expression, ast.Aggregate) else expression
        check_path(path, visible, predicates)
        if isinstance(expression, ast.Aggregate) and expression.function != "COUNT":
            _check_argument(expression, predicates)
    for key in sort_keys:
        if not _can_sort_by(key, find):
            raise UnknownReference(
                "A key of ORDER BY is not a value of the result's rows.",
                hint="Sort by an expression of FIND, or by an aggregate if FIND has one.",
            )


def _check_argument(aggregate: ast.Aggregate, predicates: set[str]) -> None:
    path = aggregate.argument
    if not path.fields and path.variable.name not in predicates:
        raise ConstraintViolation(
            f"{aggregate.function} needs values, and ?{path.variable.name} is a whole element.",
            hint="Give it a path, such as ?x.attributes.size, or use COUNT.",
        )


def _can_sort_by(key: ast.Expression, find: ast.Find) -> bool:
    if isinstance(key, ast.Aggregate):
        return _is_aggregated(find)
    if not _is_aggregated(find):
        return True
    return key in find.expressions or ast.Path(key.variable) in find.expressions
