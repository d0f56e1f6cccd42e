"""Slots of the index of properties: the type or predicate of each, and its values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import orjson

from mycel.model.limits import INTEGER_MAX, INTEGER_MIN, JSON_INTEGER_MAX
from mycel.store.backend.interface import Connection
from mycel.store.file.rows import fetch_all

SUBJECT, OBJECT = "src", "dst"
"""Names of columns that stand for the ends of a link."""

Value = str | int | float
Ends = tuple[int, int]
NO_ENDS: Final[Ends] = (0, 0)
"""The ends of a concept, which has none."""


class Slot(NamedTuple):
    """One index: its type or predicate, and its columns."""

    number: int
    owner: int
    is_link: bool
    columns: tuple[str, ...]
    is_unique: bool


def encode(values: tuple[Any, ...]) -> Value | None:
    """The index value of a slot's columns; None if one of them is absent.

    A single value is stored in a form that compares and sorts: texts and numbers unchanged, true
    and false as 1 and 0, and an integer too large for SQLite as 20 digits, which sort after all
    numbers. Several values become a JSON array, in which equal numbers are written the same way.
    """
    if None in values:
        return None
    if len(values) == 1:
        return encoded(values[0])
    return orjson.dumps([_plain(value) for value in values], option=orjson.OPT_SORT_KEYS).decode()


def encoded(value: Any) -> Value:
    """The form in which the index stores a single value."""
    match value:
        case str() | float():
            return value
        case bool():
            return int(value)
        case int():
            return value if value <= INTEGER_MAX else f"{value:020d}"
        case _:
            return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def _plain(value: Any) -> Any:
    if value.__class__ is float and value.is_integer():
        integer = int(value)
        return integer if INTEGER_MIN <= integer <= JSON_INTEGER_MAX else value
    return value


class Slots:
    """All slots of one type or predicate."""

    def __init__(self, slots: Iterable[Slot]) -> None:
        self.all: Final = tuple(slots)

    def values(self, attributes: Mapping[str, Any], ends: Ends) -> dict[Slot, Value]:
        """The index values of an element, by slot."""
        generator = ((slot, value_of(slot, attributes, ends)) for slot in self.all)
        return {slot: value for slot, value in generator if value is not None}


def value_of(slot: Slot, attributes: Mapping[str, Any], ends: Ends) -> Value | None:
    """The index value of an element in a slot."""
    return encode(tuple([column_of(attributes, ends, column) for column in slot.columns]))


def column_of(attributes: Mapping[str, Any], ends: Ends, column: str) -> Any:
    """The value of a column: that of an attribute, or the number of an end."""
    if ends is not NO_ENDS and column in (SUBJECT, OBJECT):
        return ends[column == OBJECT]
    return attributes.get(column)


class KnownSlots(NamedTuple):
    """All slots that exist."""

    types: dict[int, Slots]
    predicates: dict[int, Slots]


def read_slots(connection: Connection) -> list[Slot]:
    """All slots that exist, in order."""
    rows = fetch_all(
        connection,
        "SELECT slot, owner, is_link, columns, is_unique FROM property_slot ORDER BY slot",
    )
    return [
        Slot(number, owner, bool(is_link), tuple(orjson.loads(columns)), bool(is_unique))
        for number, owner, is_link, columns, is_unique in rows
    ]
