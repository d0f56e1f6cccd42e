"""All instances of one type, or all links of one predicate, a chunk at a time.

The numbers are read first, eight bytes each, so that whoever reads may change the rows meanwhile.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple

import apsw
import orjson

from mycel.model.values import JsonObject, parse_object
from mycel.store.layout import OPEN_END
from mycel.store.rows import every, only

Table = Literal["concept", "proposition"]

CHUNK_ROWS: Final = 2000

_KIND: Final[dict[Table, str]] = {"concept": "type", "proposition": "predicate"}
_CONTENT: Final[dict[Table, str]] = {
    "concept": "c.id, c.type, c.name, 0, 0, c.attributes, c.metadata, 1.0",
    "proposition": "c.id, c.predicate, '', c.subject, c.object, c.attributes, c.metadata, c.weight",
}


class Instance(NamedTuple):
    """A concept or a link. A concept has a name, a link has two ends and a weight."""

    number: int
    kind: int
    """Its type, or its predicate, by number."""
    name: str
    subject: int
    object: int
    attributes_json: str
    metadata_json: str
    weight: float

    @property
    def attributes(self) -> JsonObject:
        return parse_object(self.attributes_json)


def numbers(connection: apsw.Connection, table: Table, kind: int) -> array[int]:
    """The live instances of a type, or links of a predicate, oldest first."""
    query = f"SELECT id FROM {table} WHERE {_KIND[table]} = ? ORDER BY id"
    return array("q", (number for (number,) in connection.execute(query, (kind,))))


def count(connection: apsw.Connection, table: Table, kind: int) -> int:
    """The number of live instances of a type, or links of a predicate."""
    (found,) = only(connection, f"SELECT count(*) FROM {table} WHERE {_KIND[table]} = ?", (kind,))
    return int(found)


def count_named(connection: apsw.Connection, kind: int, names: Sequence[str]) -> int:
    """The number of live concepts of a type that have one of these names."""
    query = (
        "SELECT count(*) FROM concept WHERE type = ? AND name IN (SELECT value FROM json_each(?))"
    )
    (found,) = only(connection, query, (kind, orjson.dumps(list(names)).decode()))
    return int(found)


def are_there(
    connection: apsw.Connection, table: Table, kind: int, reason: str | None = None
) -> bool:
    """Whether there are live instances of a type or predicate, or some removed for a reason."""
    query = f"SELECT 1 FROM {table} WHERE {_KIND[table]} = ?1"
    if reason is not None:
        query += (
            f" UNION ALL SELECT 1 FROM {table}_past WHERE {_KIND[table]} = ?1"
            f" AND to_seq = {OPEN_END} AND tombstoned_reason = ?2"
        )
    bindings = (kind,) if reason is None else (kind, reason)
    return bool(every(connection, f"{query} LIMIT 1", bindings))


def chunks(
    connection: apsw.Connection, table: Table, chosen: Sequence[int]
) -> Iterator[list[Instance]]:
    """Live rows by number, in that order; those that are gone are left out."""
    query = (
        f"SELECT {_CONTENT[table]} FROM json_each(?) j CROSS JOIN {table} c ON c.id = j.value"
        " ORDER BY j.key"
    )
    yield from _in_chunks(connection, query, chosen)


def _in_chunks(
    connection: apsw.Connection, query: str, chosen: Sequence[int]
) -> Iterator[list[Instance]]:
    for at in range(0, len(chosen), CHUNK_ROWS):
        wanted = orjson.dumps(list(chosen[at : at + CHUNK_ROWS])).decode()
        yield [Instance(*row) for row in every(connection, query, (wanted,))]


def attributes_at(
    connection: apsw.Connection, table: Table, chosen: Sequence[int], seq: int, *, besides: str
) -> dict[int, str]:
    """The attributes, as text, that elements had at a position of the journal.

    One that was removed since for another reason than `besides` is another one now.
    """
    query = (
        f"SELECT c.id, c.attributes FROM json_each(?1) j CROSS JOIN {table}_past c"
        " ON c.id = j.value WHERE c.from_seq <= ?2 AND c.to_seq > ?2 AND c.tombstoned_at IS NULL"
        f" AND NOT EXISTS (SELECT 1 FROM {table}_past t WHERE t.id = c.id AND t.from_seq > ?2"
        " AND t.tombstoned_at IS NOT NULL AND t.tombstoned_reason IS NOT ?3)"
    )
    return dict(every(connection, query, (orjson.dumps(list(chosen)).decode(), seq, besides)))


def retired_at(connection: apsw.Connection, table: Table, time_us: int, reason: str) -> array[int]:
    """What was removed at a time for a reason and is still gone, oldest first.

    A tombstone keeps both when it gets another key, because an end of its link does. There is no
    index for this: it looks at every tombstone that is in force.
    """
    query = (
        f"SELECT id FROM {table}_past WHERE to_seq = {OPEN_END}"
        " AND tombstoned_at = ? AND tombstoned_reason = ? ORDER BY id"
    )
    return array("q", (number for (number,) in connection.execute(query, (time_us, reason))))


def count_retired(
    connection: apsw.Connection, table: Table, kind: int, time_us: int, reason: str
) -> int:
    """The number of instances of a type that were removed at a time for a reason, and are gone."""
    query = (
        f"SELECT count(*) FROM {table}_past WHERE {_KIND[table]} = ? AND to_seq = {OPEN_END}"
        " AND tombstoned_at = ? AND tombstoned_reason = ?"
    )
    (found,) = only(connection, query, (kind, time_us, reason))
    return int(found)


def count_hidden(
    connection: apsw.Connection, table: Table, kind: int, name: str, seq: int, *, besides: str
) -> int:
    """The number of live instances that have no value of an attribute, but had one at `seq`.

    One that was removed since for another reason than `besides` is another one now.
    """
    query = (
        f"SELECT count(*) FROM {table} n CROSS JOIN {table}_past c ON c.id = n.id"
        f" WHERE n.{_KIND[table]} = ?1 AND c.from_seq <= ?2 AND c.to_seq > ?2"
        " AND c.tombstoned_at IS NULL"
        " AND n.attributes ->> ?3 IS NULL AND c.attributes ->> ?3 IS NOT NULL"
        f" AND NOT EXISTS (SELECT 1 FROM {table}_past t WHERE t.id = c.id AND t.from_seq > ?2"
        " AND t.tombstoned_at IS NOT NULL AND t.tombstoned_reason IS NOT ?4)"
    )
    (found,) = only(connection, query, (kind, seq, f'$."{name}"', besides))
    return int(found)


def tombstones(
    connection: apsw.Connection, table: Table, chosen: Sequence[int]
) -> Iterator[list[Instance]]:
    """What is left, by number and in that order, of elements that are gone."""
    query = (
        f"SELECT {_CONTENT[table]} FROM json_each(?) j CROSS JOIN {table}_past c"
        f" ON c.id = j.value AND c.to_seq = {OPEN_END} ORDER BY j.key"
    )
    yield from _in_chunks(connection, query, chosen)


def links_elsewhere(
    connection: apsw.Connection, predicate: int, from_type: int, to_type: int
) -> Iterator[tuple[int, int, int]]:
    """Links of a predicate, with their ends, that do not lead from one type to the other."""
    query = (
        "SELECT p.id, p.subject, p.object FROM proposition p"
        " LEFT JOIN concept s ON s.id = p.subject LEFT JOIN concept o ON o.id = p.object"
        " WHERE p.predicate = ?1 AND (s.type IS NOT ?2 OR o.type IS NOT ?3)"
    )
    yield from every(connection, query, (predicate, from_type, to_type))


def sources_beyond(
    connection: apsw.Connection, predicate: int, minimum: int, maximum: int | None
) -> Iterator[tuple[int, int]]:
    """Elements from which fewer or more links of a predicate leave than allowed, and how many."""
    query = (
        "SELECT subject, count(*) FROM proposition WHERE predicate = ?1 GROUP BY subject"
        " HAVING count(*) < ?2 OR count(*) > coalesce(?3, count(*))"
    )
    yield from every(connection, query, (predicate, minimum, maximum))


def ends_of(connection: apsw.Connection, predicate: int) -> list[tuple[int | None, int | None]]:
    """The pairs of types that links of a predicate join; a link at an end has none."""
    query = (
        "SELECT DISTINCT s.type, o.type FROM proposition p"
        " LEFT JOIN concept s ON s.id = p.subject LEFT JOIN concept o ON o.id = p.object"
        " WHERE p.predicate = ? ORDER BY 1, 2"
    )
    return [(subject, object_) for subject, object_ in every(connection, query, (predicate,))]
