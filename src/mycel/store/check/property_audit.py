"""Checks the index of properties against the live rows, both ways, and against the definitions.

The index is derived data, so the journal does not contain it and a replay cannot check it. It is
compared with the live rows, which determine its entries, and its slots with the declarations in the
definitions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import orjson

from mycel.model.values import parse_object
from mycel.schema.model import Interface, index_slots
from mycel.schema.stored_declaration import PG, declaration
from mycel.store.backend.interface import Connection
from mycel.store.file.layout import CONCEPT_TYPE_NUMBER, PROPOSITION_TYPE_NUMBER
from mycel.store.file.rows import fetch_all
from mycel.store.index.properties import live_rows
from mycel.store.index.slots import Slot, read_slots, value_of

Owner = tuple[int, bool]
"""The number of a type or predicate, and True if it is a predicate."""

_DEFINITIONS: Final = (
    ("type", CONCEPT_TYPE_NUMBER, False),
    ("predicate", PROPOSITION_TYPE_NUMBER, True),
)


def property_problems(connection: Connection) -> Iterator[tuple[str, str]]:
    """The differences between the index and the live rows and definitions, each with its place."""
    yield from _rows_of_slots(connection)
    slots: dict[Owner, list[Slot]] = {}
    for slot in read_slots(connection):
        slots.setdefault((slot.owner, slot.is_link), []).append(slot)
    yield from _undeclared(connection, slots)
    counts: dict[int, int] = {}
    for (owner, link), own_slots in slots.items():
        counts |= {slot.number: 0 for slot in own_slots}
        yield from _missing(connection, owner, own_slots, counts, link=link)
    yield from _extra(connection, {slot.number: slot for s in slots.values() for slot in s}, counts)


def _rows_of_slots(connection: Connection) -> Iterator[tuple[str, str]]:
    """Report rows of `property_slot` that Mycel cannot have written."""
    for number, is_link, columns, is_unique in fetch_all(
        connection, "SELECT slot, is_link, columns, is_unique FROM property_slot"
    ):
        names = orjson.loads(columns)
        as_written = isinstance(names, list) and orjson.dumps(names).decode() == columns
        if not as_written or not names or not all(isinstance(name, str) for name in names):
            yield f"slot {number}", "has invalid columns"
        if {is_link, is_unique} - {0, 1} or number < 1:
            yield f"slot {number}", "is an invalid slot"


def _undeclared(
    connection: Connection, slots: Mapping[Owner, list[Slot]]
) -> Iterator[tuple[str, str]]:
    """Report declared types without a slot that their constraints ask for."""
    for table, meta, link in _DEFINITIONS:
        rows = fetch_all(
            connection,
            f"SELECT n.id, n.name, c.attributes FROM concept c JOIN {table} n ON n.name = c.name"
            " WHERE c.type = ?",
            (meta,),
        )
        for number, name, attributes in rows:
            declared = _declared_slots(attributes)
            indexes = {slot.columns: slot.is_unique for slot in slots.get((number, link), ())}
            if declared is not None and declared != indexes:
                yield f"{table} {name}", "does not have the indexes that it declares"


def _declared_slots(attributes_text: str) -> dict[tuple[str, ...], bool] | None:
    """The slots that a definition asks for; None if it declares no type."""
    if f'"{PG}":' not in attributes_text:
        return None
    schema_type = declaration(parse_object(attributes_text))
    if schema_type is None:
        return None
    return {} if isinstance(schema_type, Interface) else index_slots(schema_type)


def _missing(
    connection: Connection, owner: int, slots: list[Slot], counts: dict[int, int], *, link: bool
) -> Iterator[tuple[str, str]]:
    """Report values of live rows without an entry, and count the existing entries."""
    entry = connection.dialect.entry("?")
    probe = f"SELECT 1 FROM property WHERE slot = ? AND value = {entry} AND element = ?"
    for number, attributes, ends in live_rows(connection, owner, link=link):
        for slot in slots:
            value = value_of(slot, attributes, ends)
            if value is None:
                continue
            if connection.execute(probe, (slot.number, value, number)).fetchone() is None:
                yield f"slot {slot.number}", f"lacks the value of {number}"
            else:
                counts[slot.number] += 1


def _extra(
    connection: Connection, slots: Mapping[int, Slot], values: Mapping[int, int]
) -> Iterator[tuple[str, str]]:
    """Report entries that belong to no live row."""
    counts = fetch_all(connection, "SELECT slot, count(*) FROM property GROUP BY slot")
    for number, count in counts:
        if number not in slots:
            yield f"slot {number}", "has entries, but does not exist"
        elif count != values[number]:
            yield from _entries_of_nobody(connection, slots[number])


def _entries_of_nobody(connection: Connection, slot: Slot) -> Iterator[tuple[str, str]]:
    rows = connection.execute("SELECT value, element FROM property WHERE slot = ?", (slot.number,))
    for value, element in rows:
        values = [
            value_of(slot, attributes, ends)
            for _, attributes, ends in live_rows(
                connection, slot.owner, link=slot.is_link, number=element
            )
        ]
        if values != [value]:
            yield f"slot {slot.number}", f"has an entry of {element} that is not its value"
