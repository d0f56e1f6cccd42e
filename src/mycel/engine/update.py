"""UPDATE: one change of many elements.

Each value is a JSON value, or is computed from the element as it was before the command. If a value
cannot be computed (an operand is no number, or a result is out of range), its key is not changed,
so one unsuitable element does not stop the others.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any, Final, NamedTuple, TypeAlias

from mycel.engine.metadata_warnings import MetadataWarnings
from mycel.engine.outcome import Outcome, all_or_nothing
from mycel.engine.values import Values
from mycel.engine.where_targets import named_targets, to_change
from mycel.errors import ConstraintViolation, MycelError, UnknownReference
from mycel.kip import ast
from mycel.kip.fragments import path_text
from mycel.model.elements import Element
from mycel.model.limits import INTEGER_MIN, JSON_INTEGER_MAX
from mycel.model.records import canonical_weight
from mycel.model.values import JsonObject, check_metadata_keys
from mycel.plan.bind import ELEMENT_FIELDS
from mycel.store.write.transaction import Transaction
from mycel.syntax.diagnostics import located

_Number: TypeAlias = int | float
_Compute: TypeAlias = Callable[[JsonObject], _Number | None]
"""A function that computes a number, or None for null, from the wire form of an element."""


class _NotANumberError(Exception):
    """An operand is no number and not null, or the result is no JSON number."""


class _Changes(NamedTuple):
    """The values of one SET: constants, and functions that compute a value from the element."""

    constants: JsonObject
    computed: dict[str, _Compute]


def update(tx: Transaction, node: ast.Update, values: Values) -> Outcome:
    """Change every element that the target is bound to, or the first of them with LIMIT.

    `matched` counts the elements, `updated` those that have changed.
    """
    attributes = _changes(node.attributes, node.target.name, values, "attributes")
    metadata = _changes(node.metadata, node.target.name, values, "metadata")
    check_metadata_keys((*metadata.constants, *metadata.computed))
    warnings = MetadataWarnings()
    warnings.check(metadata.constants)
    weight = _weight(node, values)
    limit = None if node.limit is None else values.positive(node.limit, "LIMIT")
    with all_or_nothing(tx):
        numbers = named_targets(tx, node, values, limit=limit)
        updated = sum(
            tx.update_found(
                element,
                attributes=_applied(attributes, element),
                metadata=_applied(metadata, element),
                weight=weight(element),
            )
            for element in to_change(tx, numbers)
        )
    tx.warnings.extend(warnings)
    return Outcome({"updated": updated, "matched": len(numbers)})


def _applied(changes: _Changes, element: Element) -> JsonObject:
    if not changes.computed:
        return changes.constants
    wire = element.to_dict()
    new = dict(changes.constants)
    for key, compute in changes.computed.items():
        try:
            result = compute(wire)
        except _NotANumberError:
            continue
        if result is not None:
            new[key] = result
    return new


def _weight(node: ast.Update, values: Values) -> Callable[[Element], float | None]:
    """Computes the new weight of a link; None means no change."""
    node_weight = node.weight
    if node_weight is None:
        return lambda _: None
    compute = _operand(node_weight, node.target.name, values)

    def weight(element: Element) -> float | None:
        try:
            number = compute(element.to_dict())
        except _NotANumberError:
            return None
        try:
            return None if number is None else canonical_weight(number)
        except MycelError as error:
            if isinstance(node_weight, ast.Arithmetic):
                error.hint = "Keep it within its bounds: SET WEIGHT CLAMP(…, 0, 1)."
            raise located(error, node_weight.span) from None

    if not isinstance(node_weight, ast.Arithmetic):
        # An invalid weight is refused even if nothing matches.
        canonical_weight(values.number(node_weight, "weight"))
    return weight


# Compiling the tree to functions, once for all elements.


def _changes(
    change_map: tuple[tuple[str, ast.Change], ...] | ast.Placeholder | None,
    target: str,
    values: Values,
    label: str,
) -> _Changes:
    if change_map is None:
        return _Changes({}, {})
    if isinstance(change_map, ast.Placeholder):
        return _Changes(values.mapping(change_map, label), {})
    constants: JsonObject = {}
    computed: dict[str, _Compute] = {}
    for key, change in change_map:
        if isinstance(change, ast.Arithmetic):
            computed[key] = _arithmetic(change, target, values)
        else:
            constants[key] = values.value(change)
    return _Changes(constants, computed)


def _operand(node: ast.Arithmetic | ast.Path | ast.Number, target: str, values: Values) -> _Compute:
    if isinstance(node, ast.Arithmetic):
        return _arithmetic(node, target, values)
    if isinstance(node, ast.Path):
        return _path(node, target)
    constant = values.number(node, "operand")
    return lambda _: constant


def _path(node: ast.Path, target: str) -> _Compute:
    if node.variable.name != target:
        raise UnknownReference(
            f"?{node.variable.name} cannot be used here: a value is computed from ?{target} alone.",
            hint=f"Use paths on ?{target}, numbers and parameters.",
            span=node.span,
        )
    fields = node.fields
    if fields and fields[0] not in ELEMENT_FIELDS:
        raise UnknownReference(
            f"An element has no field {fields[0]!r}.",
            hint=f"Fields are {', '.join(sorted(ELEMENT_FIELDS))}; write"
            f" {path_text(target, ('attributes', fields[0]))} for an attribute.",
            span=node.span,
        )

    def compute(wire: JsonObject) -> _Number | None:
        value: Any = wire
        for field in fields:
            value = value.get(field) if isinstance(value, dict) else None
        if value is None:
            return None
        if value.__class__ is int or value.__class__ is float:
            number: _Number = value
            return number
        raise _NotANumberError

    return compute


def _arithmetic(node: ast.Arithmetic, target: str, values: Values) -> _Compute:
    operands = [_operand(argument, target, values) for argument in node.arguments]
    if node.function == "COALESCE":
        return _coalesce(*operands)
    if node.function == "CLAMP":
        _check_bounds(node, values)
    combine = _COMBINE[node.function]

    def compute(wire: JsonObject) -> _Number | None:
        numbers = [operand(wire) for operand in operands]
        present = [number for number in numbers if number is not None]
        return combine(*present) if len(present) == len(numbers) else None

    return compute


def _coalesce(first: _Compute, otherwise: _Compute) -> _Compute:
    def compute(wire: JsonObject) -> _Number | None:
        number = first(wire)
        return otherwise(wire) if number is None else number

    return compute


def _check_bounds(node: ast.Arithmetic, values: Values) -> None:
    """Refuse constant bounds of CLAMP whose lower bound is above the upper one."""
    bounds = [
        values.number(argument, "bound")
        for argument in node.arguments[1:]
        if isinstance(argument, ast.Literal | ast.Placeholder)
    ]
    if len(bounds) == 2 and bounds[0] > bounds[1]:
        raise ConstraintViolation(
            f"No number is between {bounds[0]} and {bounds[1]}.",
            hint="Write CLAMP(value, low, high) with low <= high.",
            span=node.span,
        )


def _fitting(number: _Number) -> _Number:
    """An integer that fits 64 bits, or a finite float."""
    if number.__class__ is int:
        if INTEGER_MIN <= number <= JSON_INTEGER_MAX:
            return number
        number = float(number)
    if not isfinite(number):
        raise _NotANumberError
    return number


def _clamp(number: _Number, low: _Number, high: _Number) -> _Number:
    if low > high:
        raise _NotANumberError
    return min(max(number, low), high)


_COMBINE: Final[dict[ast.ArithmeticName, Callable[..., _Number]]] = {
    "ADD": lambda a, b: _fitting(a + b),
    "MUL": lambda a, b: _fitting(a * b),
    "CLAMP": _clamp,
}
