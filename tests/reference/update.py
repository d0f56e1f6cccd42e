"""UPDATE: new values for many elements, given or computed from the old ones."""

from __future__ import annotations

from contextlib import suppress
from math import isfinite
from typing import Any, assert_never

from mycel.errors import ConstraintViolation, UnknownReference
from mycel.kip import ast
from mycel.model.limits import INTEGER_MIN, JSON_INTEGER_MAX
from mycel.model.records import canonical_weight
from mycel.model.values import check_metadata_keys
from tests.reference.conditions import Conditions
from tests.reference.draft import Draft
from tests.reference.graph import Graph, JsonObject
from tests.reference.json_values import kind
from tests.reference.parameters import Parameters
from tests.reference.patterns import Row
from tests.reference.scopes import check_path
from tests.reference.targets import required_targets

Changes = tuple[tuple[str, ast.Change], ...] | ast.Placeholder | None


class _NoNumber(Exception):  # noqa: N818  it is no error
    """An operand is neither a number nor null, or a result is no number that JSON has."""


def update(draft: Draft, update_: ast.Update, parameters: Parameters) -> JsonObject:
    """Change every target; expressions see the elements as they were before the command."""
    for changes in (update_.attributes, update_.metadata):
        _check_changes(changes, update_.target, parameters)
    check_metadata_keys(_keys(update_.metadata, parameters))
    if update_.weight is not None:
        _check(update_.weight, update_.target, parameters)
        if not isinstance(update_.weight, ast.Arithmetic):
            canonical_weight(parameters.number(update_.weight))
    limit = None if update_.limit is None else parameters.positive(update_.limit)
    numbers = required_targets(update_.target, update_.where, draft.graph, parameters)[:limit]
    before = draft.graph.copy()
    updated = 0
    for number in numbers:
        row: Row = {update_.target.name: number}
        attributes = _computed(update_.attributes, row, before, parameters)
        metadata = _computed(update_.metadata, row, before, parameters)
        weight = _weight(update_.weight, row, Conditions(before, parameters))
        updated += draft.merge_keys(number, attributes, metadata, weight)
    return {"updated": updated, "matched": len(numbers)}


def _weight(node: ast.Number | ast.Arithmetic | None, row: Row, look: Conditions) -> float | None:
    with suppress(_NoNumber):
        number = None if node is None else _number(node, row, look)
        return None if number is None else canonical_weight(number)
    return None


def _computed(changes: Changes, row: Row, graph: Graph, parameters: Parameters) -> JsonObject:
    """The keys to set on one element, with their values. What cannot be computed is left alone."""
    if isinstance(changes, ast.Placeholder):
        return parameters.mapping(changes)
    look = Conditions(graph, parameters)
    values = {}
    for key, change in changes or ():
        if isinstance(change, ast.Arithmetic):
            with suppress(_NoNumber):
                if (number := _number(change, row, look)) is not None:
                    values[key] = number
        else:
            values[key] = parameters.value(change)
    return values


def _number(node: ast.Arithmetic | ast.Path | ast.Number, row: Row, look: Conditions) -> Any:
    """A number, or null."""
    match node:
        case ast.Arithmetic("COALESCE", (first, otherwise)):
            number = _number(first, row, look)
            return _number(otherwise, row, look) if number is None else number
        case ast.Arithmetic(function, arguments):
            return _combined(function, [_number(each, row, look) for each in arguments])
        case ast.Path():
            value = look.value(node, row)
        case ast.Literal() | ast.Placeholder():
            value = look.parameters.value(node)
        case _:
            assert_never(node)
    if kind(value) not in ("number", "null"):
        raise _NoNumber
    return value


def _combined(function: ast.ArithmeticName, numbers: list[Any]) -> Any:
    """The result of a function; null if its operand is null."""
    if None in numbers:
        return None
    if function == "ADD":
        return _fitting(numbers[0] + numbers[1])
    if function == "MUL":
        return _fitting(numbers[0] * numbers[1])
    value, low, high = numbers
    if low > high:
        raise _NoNumber
    return min(max(value, low), high)


def _fitting(number: int | float) -> int | float:
    """An integer that fits 64 bits, otherwise a finite float."""
    if isinstance(number, int) and INTEGER_MIN <= number <= JSON_INTEGER_MAX:
        return number
    if not isfinite(number):
        raise _NoNumber
    return float(number)


# Checks.


def _keys(changes: Changes, parameters: Parameters) -> list[str]:
    if isinstance(changes, ast.Placeholder):
        return list(parameters.mapping(changes))
    return [key for key, _ in changes or ()]


def _check_changes(changes: Changes, target: ast.Variable, parameters: Parameters) -> None:
    if isinstance(changes, ast.Placeholder):
        parameters.mapping(changes)
    else:
        for _, change in changes or ():
            _check(change, target, parameters)


def _check(change: ast.Change | ast.Path, target: ast.Variable, parameters: Parameters) -> None:
    """Refuse a command that is wrong for any elements."""
    match change:
        case ast.Arithmetic(_, arguments):
            for argument in arguments:
                if isinstance(argument, ast.Literal | ast.Placeholder):
                    parameters.number(argument)
                else:
                    _check(argument, target, parameters)
            _check_bounds(change, parameters)
        case ast.Path(variable):
            if variable != target:
                raise UnknownReference(
                    f"?{variable.name} is not the target.",
                    hint=f"Compute from ?{target.name} itself.",
                )
            check_path(change, {target.name}, set())
        case _:
            parameters.value(change)


def _check_bounds(expression: ast.Arithmetic, parameters: Parameters) -> None:
    """Refuse a lower bound above the upper one, also if there are no elements."""
    given = [each for each in expression.arguments[1:] if isinstance(each, ast.Number)]
    bounds = [parameters.number(each) for each in given]
    if expression.function == "CLAMP" and len(bounds) == 2 and bounds[0] > bounds[1]:
        raise ConstraintViolation(f"No number is between {bounds[0]} and {bounds[1]}.")
