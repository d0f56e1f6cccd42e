"""JSON values: equality, order and sums.

Besides JSON values there are whole elements, which are only ever the same as themselves.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from math import isfinite
from typing import Any

from mycel.model.limits import INTEGER_MAX, INTEGER_MIN
from tests.reference.graph import Concept, Link

Kind = str


def kind(value: object) -> Kind:
    """The JSON name of this kind of value, or `element`.

    >>> [kind(value) for value in (None, True, 1.5, "a", [], {})]
    ['null', 'boolean', 'number', 'string', 'array', 'object']
    """
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case dict():
            return "object"
        case Concept() | Link():
            return "element"
        case _:
            raise TypeError(f"{value!r} is no JSON value")


def canonical(value: Any) -> Any:
    """A hashable thing that is equal for values that KIP calls equal, and only for those.

    >>> canonical([1, {"a": None}]) == canonical([1.0, {"a": None}])
    True
    >>> canonical(True) == canonical(1)
    False
    """
    match value:
        case Concept() | Link():
            return "element", value.number
        case list():
            return "array", tuple(canonical(item) for item in value)
        case dict():
            return "object", frozenset((key, canonical(item)) for key, item in value.items())
        case _:
            return kind(value), value


def same(left: Any, right: Any) -> bool:
    """`==`: the same kind, and the same value; numbers by value, arrays and objects in depth."""
    return bool(canonical(left) == canonical(right))


def identical(left: Any, right: Any) -> bool:
    """True if two values are stored alike: here 1 is not 1.0."""
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)


def comparable(left: Any, right: Any) -> bool:
    """True if two values have an order: two numbers, or two strings."""
    return kind(left) == kind(right) and kind(left) in ("number", "string")


_RANKS = ("boolean", "number", "string", "array", "object", "element")


def order(value: Any) -> tuple[int, Any]:
    """The key by which ORDER BY sorts values that are not null.

    Python compares strings by code points.
    """
    rank = _RANKS.index(kind(value))
    match value:
        case list() | dict():
            return rank, json.dumps(
                value, sort_keys=True, ensure_ascii=False, separators=(",", ":")
            )
        case Concept() | Link():
            return rank, value.number
        case _:
            return rank, value


def distinct(values: Iterable[Any]) -> list[Any]:
    """The values, each once, in the order in which they first come.

    >>> distinct(["b", "a", "b"])
    ['b', 'a']
    """
    found: dict[Any, Any] = {}
    for value in values:
        found.setdefault(canonical(value), value)
    return list(found.values())


def signed(number: int | float) -> int | float:
    """A number as SUM and AVG see it: an integer that needs the place of the sign is a float."""
    return number if number <= INTEGER_MAX else float(number)


def total(numbers: list[Any]) -> Any:
    """The sum: an integer if all are and it fits 64 bits with a sign, otherwise a float.

    None if it is beyond the largest float.
    """
    whole = sum(numbers)
    if isinstance(whole, int) and not INTEGER_MIN <= whole <= INTEGER_MAX:
        return float(whole)
    return whole if isfinite(whole) else None
