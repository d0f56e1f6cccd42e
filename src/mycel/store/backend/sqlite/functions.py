"""SQL functions that SQLite lacks, for every connection.

They give JSON equality, unsigned integers of 64 bits, and regular expressions in linear time. The
functions for walks are in `walks`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from math import fsum, isfinite
from typing import Any, Final

import apsw
import orjson

from mycel.model import allowance
from mycel.model.evidence import belief
from mycel.model.limits import INTEGER_MAX, INTEGER_MIN, JSON_INTEGER_MAX
from mycel.store.backend.sqlite import walks
from mycel.store.backend.sqlite.connection import SqliteConnection
from mycel.syntax.regex import matcher


def register(connection: SqliteConnection) -> None:
    """Register the functions that compiled statements call on a connection."""
    walks.register(connection)
    for name, function, arguments in (
        ("mycel_json_equal", json_equal, 2),
        ("mycel_json_member", json_member, 2),
        ("mycel_json_key", json_key, 1),
        ("mycel_compare", compare, 2),
        ("mycel_digits", digits, 1),
        ("mycel_regex", matches, 2),
        ("mycel_belief_status", belief_status, 1),
    ):
        typed: Callable[..., Any] = function
        connection.create_scalar_function(name, typed, arguments, deterministic=True)
    uncertain: Callable[..., Any] = inexact
    connection.create_scalar_function("mycel_inexact", uncertain, 0)
    connection.create_aggregate_function("mycel_sum", _sum, 1)
    connection.create_aggregate_function("mycel_min", partial(_extreme, min), 1)
    connection.create_aggregate_function("mycel_max", partial(_extreme, max), 1)


LONG: Final = 1 << 14
"""The number of characters of JSON from which a comparison checks the deadline itself.

SQLite checks the deadline only after thousands of instructions, and a comparison is a single one.
"""


def json_equal(left: str | None, right: str | None) -> bool:
    """True if two JSON texts have equal values. Numbers compare by value, and null equals null."""
    if left == right:
        return True
    if left is None or right is None:
        return (left or right) == "null"
    if len(left) + len(right) > LONG:
        allowance.check()
    return bool(left) and bool(right) and equal_json_values(orjson.loads(left), orjson.loads(right))


def belief_status(metadata: str) -> str:
    """The status of a link with this metadata."""
    return belief(orjson.loads(metadata)).status


def json_member(value: str | None, items: str) -> bool:
    """True if a JSON text equals a member of a JSON array."""
    if value == "":  # Not a JSON value.
        return False
    if len(items) > LONG:
        allowance.check()
    member = None if value is None else orjson.loads(value)
    scalars, others = _members(items)
    if isinstance(member, list | dict):
        return any(equal_json_values(member, item) for item in others)
    return _scalar(member) in scalars


@lru_cache(16)
def _members(items: str) -> tuple[frozenset[Any], tuple[Any, ...]]:
    """The members of a JSON array: a set of scalars, and a tuple of others. Cached."""
    members = orjson.loads(items)
    others = tuple(item for item in members if isinstance(item, list | dict))
    return frozenset(_scalar(i) for i in members if not isinstance(i, list | dict)), others


def _scalar(value: Any) -> Any:
    """A scalar in a form that Python compares as JSON does: to Python, True equals 1."""
    return (value,) if isinstance(value, bool) else value


def equal_json_values(left: Any, right: Any) -> bool:
    """True if two values are equal as JSON. To Python, True equals 1; to JSON it does not."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal_json_values, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(
            equal_json_values(left[key], right[key]) for key in left
        )
    if isinstance(left, int | float) and isinstance(right, int | float):
        return left == right
    return type(left) is type(right) and bool(left == right)


def json_key(text: str) -> str:
    """A text that is the same for equal JSON arrays or objects: 1.0 is written as 1."""
    return orjson.dumps(_plain(orjson.loads(text)), option=orjson.OPT_SORT_KEYS).decode()


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, float) and value.is_integer() and _fits(value):
        return int(value)
    return value


def _fits(value: float) -> bool:
    return INTEGER_MIN <= value <= JSON_INTEGER_MAX


# SQLite reads integers from 2^63 on as floats, so different ones may compare as equal.


def compare(left: str | None, right: str | None) -> int | None:
    """The order of two JSON texts that are numbers: -1, 0 or 1; null for other texts."""
    if not left or not right:
        return None
    one, other = orjson.loads(left), orjson.loads(right)
    if type(one) not in _NUMBERS or type(other) not in _NUMBERS:
        return None
    return int(one > other) - int(one < other)


_NUMBERS: Final[frozenset[type]] = frozenset((int, float))


def digits(text: str | None) -> str | None:
    """A JSON number of 2^63 or more as digits, which sort numbers that are equal as floats.

    All floats of this size are whole; a float with more than 20 digits equals no integer.
    """
    return None if text is None else f"{int(orjson.loads(text)):020d}"


def inexact() -> None:
    """Raise the error of a sum of SQLite that overflows: the statement then runs again, exactly."""
    raise apsw.SQLError("integer overflow")


def _extreme(
    choose: Callable[..., Any],
) -> tuple[list[str], Callable[..., None], Callable[..., Any]]:
    """An aggregate: the least or greatest of JSON texts. Numbers come before strings."""

    def step(best: list[str], text: str | None) -> None:
        if text is not None:
            best[:] = [choose(*best, text, key=_rank)] if best else [text]

    return [], step, lambda best: best[0] if best else None


def _rank(text: str) -> tuple[bool, Any]:
    value = orjson.loads(text)
    return isinstance(value, str), value


class _Total:
    """A running sum. It is exact as an integer, and as floats with an exact sum (Shewchuk)."""

    __slots__ = ("count", "has_floats", "parts", "whole")

    def __init__(self) -> None:
        self.count = 0
        self.has_floats = False
        self.whole = 0
        self.parts: list[float] = []

    def add(self, value: Any) -> None:
        if value is None:
            return
        self.count += 1
        if isinstance(value, float):
            self.has_floats = True
        else:
            self.whole += value
        count, rest = 0, float(value)
        for part in self.parts:
            larger, smaller = (rest, part) if abs(rest) >= abs(part) else (part, rest)
            rest = larger + smaller
            lost = smaller - (rest - larger)
            if lost:
                self.parts[count] = lost
                count += 1
        self.parts[count:] = [rest]

    def result(self) -> Any:
        if not self.count:
            return None
        if not self.has_floats:
            fits = INTEGER_MIN <= self.whole <= INTEGER_MAX
            return self.whole if fits else float(self.whole)
        try:
            total = fsum(self.parts)
        except (OverflowError, ValueError):
            return None
        return total if isfinite(total) else None  # JSON has no infinity.


def _sum() -> tuple[_Total, Callable[..., None], Callable[..., Any]]:
    """An aggregate: a sum that becomes a float beyond 64 bits."""
    return _Total(), _Total.add, _Total.result


def matches(pattern: str | None, text: str | None) -> bool:
    """True if a regular expression matches anywhere in a text. Null never matches.

    Raises:
        InvalidSyntax: the pattern cannot be compiled.
        ResourceExhausted: the pattern is too large, by itself or for that text.
        ExecutionTimeout: the request that asks has no more time.
    """
    if pattern is None or text is None:
        return False
    # One text may take seconds, and SQLite checks the time only between its instructions.
    allowance.check()
    return matcher(pattern)(text)
