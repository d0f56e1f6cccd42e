"""Bulk queries for concepts under a URI prefix, and the links on them.

They serve callers that compare a part of the graph with a folder or another outside source: one
query reads all elements.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final, Literal, NamedTuple

import orjson

from mycel.store.file.layout import OPEN_END
from mycel.store.file.rows import json_array, json_rows, text_array
from mycel.store.query.reader import Reader

_HELD: Final = "c.id, c.type, c.name, c.attributes, c.metadata, c.version"
_LINK: Final = "p.id, p.subject, p.predicate, p.object, p.weight, p.metadata, p.version"
_BELOW: Final = (
    "FROM json_each(?) j CROSS JOIN concept c"
    " WHERE c.name > j.value || '/' AND c.name < j.value || '0'"
)
_ANY_REMOVED: Final = f"SELECT 1 FROM proposition_past WHERE to_seq = {OPEN_END} LIMIT 1"
_REMOVED: Final = (
    "SELECT p.subject, p.predicate, p.object FROM json_each(?1) j CROSS JOIN proposition_past p"
    " WHERE p.subject = CAST(j.value ->> 0 AS BIGINT) AND p.predicate = CAST(j.value ->> 1 AS"
    " BIGINT)"
    " AND p.object = CAST(j.value ->> 2 AS BIGINT)"
    f" AND p.to_seq = {OPEN_END} AND p.tombstoned_reason IS DISTINCT FROM ?2 AND NOT EXISTS"
    " (SELECT 1"
    " FROM concept_past c WHERE c.id IN (p.subject, p.object)"
    " AND c.tombstoned_at = p.tombstoned_at)"
)


class Held(NamedTuple):
    """A live concept as stored: number of the type, attributes and metadata as canonical JSON."""

    number: int
    type: int
    name: str
    attributes: str
    metadata: str
    version: int


class HeldLink(NamedTuple):
    """A live link as it is stored."""

    number: int
    subject: int
    predicate: int
    object: int
    weight: float
    metadata: str
    version: int


def attribute_below(reader: Reader, path: str, key: str) -> list[tuple[str, object]]:
    """The name and an attribute of each concept below a path that has the attribute.

    Objects and lists come as JSON.
    """
    rows = reader.fetch_all(
        "SELECT name, attributes ->> ?2 FROM concept WHERE name > ?1 || '/' AND name < ?1 || '0'"
        " AND (attributes ->> ?2) IS NOT NULL",
        (path, f'$."{key}"'),
    )
    return [(name, value) for name, value in rows]


def attribute_of(reader: Reader, name: str, key: str) -> object:
    """An attribute of the concept with a name, of any type; None if the concept lacks it."""
    row = reader.fetch_first(
        "SELECT attributes ->> ?2 FROM concept WHERE name = ?1 ORDER BY id LIMIT 1",
        (name, f'$."{key}"'),
    )
    return None if row is None else row[0]


def find_by_name(reader: Reader, names: Collection[str]) -> list[Held]:
    """The concepts that have one of these names, of any type, by number."""
    query = (
        f"SELECT {_HELD} FROM json_each(?) j CROSS JOIN concept c WHERE c.name = j.value"
        " ORDER BY c.id"
    )
    return list(map(Held._make, reader.fetch_all(query, (text_array(names),))))


def numbered(reader: Reader, numbers: Collection[int]) -> list[Held]:
    """The live concepts among these elements."""
    query = f"SELECT {_HELD} FROM json_each(?) j CROSS JOIN concept c WHERE c.id = j.value"
    return list(map(Held._make, reader.fetch_all(query, (json_array(numbers),))))


def below(reader: Reader, paths: Collection[str]) -> list[Held]:
    """The concepts below one of these paths, by number."""
    query = f"SELECT {_HELD} {_BELOW} ORDER BY c.id"
    return list(map(Held._make, reader.fetch_all(query, (text_array(paths),))))


def numbers_below(reader: Reader, paths: Collection[str]) -> list[tuple[str, int]]:
    """Names and numbers of the concepts below one of these paths."""
    rows = reader.fetch_all(f"SELECT c.name, c.id {_BELOW}", (text_array(paths),))
    return [(name, number) for name, number in rows]


class StoredSpan(NamedTuple):
    """The lines of a symbol in its file: first and last."""

    name: str
    kind: str
    first: int
    last: int


def spans_below(reader: Reader, type_number: int, paths: Collection[str]) -> list[StoredSpan]:
    """The lines of the concepts of a type below these paths; those without lines are left out."""
    # The plus makes SQLite use the index of names.
    query = (
        "SELECT c.name, json_extract(c.attributes, '$.kind', '$.line', '$.end_line')"
        f" {_BELOW} AND +c.type = ?2"
    )
    stored_spans = []
    for name, values in reader.fetch_all(query, (text_array(paths), type_number)):
        kind, first, last = orjson.loads(values)
        if isinstance(first, int) and isinstance(last, int):
            stored_spans.append(StoredSpan(name, str(kind), first, last))
    return stored_spans


def names_of(reader: Reader, numbers: Collection[int]) -> dict[int, str]:
    """The names of the live concepts among these elements."""
    query = "SELECT c.id, c.name FROM json_each(?) j CROSS JOIN concept c WHERE c.id = j.value"
    return dict(reader.fetch_all(query, (json_array(numbers),)))


def links_on(reader: Reader, numbers: Collection[int]) -> list[HeldLink]:
    """The links that leave or reach these elements; each link comes once."""
    query = " UNION ".join(
        f"SELECT {_LINK} FROM json_each(?1) j CROSS JOIN proposition p WHERE p.{end} = j.value"
        for end in ("subject", "object")
    )
    return list(map(HeldLink._make, reader.fetch_all(query, (json_array(numbers),))))


def links_at(
    reader: Reader,
    end: Literal["subject", "object"],
    numbers: Collection[int],
    predicates: Collection[int],
) -> list[HeldLink]:
    """The links of some predicates that leave or reach these elements."""
    query = (
        f"SELECT {_LINK} FROM json_each(?1) j CROSS JOIN json_each(?2) k CROSS JOIN proposition p"
        f" WHERE p.{end} = j.value AND p.predicate = k.value"
    )
    rows = reader.fetch_all(query, (json_array(numbers), json_array(predicates)))
    return list(map(HeldLink._make, rows))


def removed_links(
    reader: Reader, places: Collection[tuple[int, int, int]], except_for: str
) -> set[tuple[int, int, int]]:
    """The places among these (subject, predicate, object) whose link was removed on purpose.

    Links that were removed for the reason `except_for`, or because one of their ends was removed,
    do not count.
    """
    if reader.fetch_first(_ANY_REMOVED, ()) is None:
        return set()
    rows = reader.fetch_all(_REMOVED, (json_rows(places), except_for))
    return {(subject, predicate, object_) for subject, predicate, object_ in rows}


def past_attributes(reader: Reader, number: int) -> Iterator[str]:
    """The past attributes of a concept as JSON, the latest first."""
    query = (
        "SELECT attributes FROM concept_past WHERE id = ? AND to_seq != ? ORDER BY from_seq DESC"
    )
    return (attributes for (attributes,) in reader.execute(query, (number, OPEN_END)))
