"""All instances of one type, or all links of one predicate, a chunk at a time.

The numbers are read first, eight bytes each, so that the caller may change the rows between two
chunks.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from typing import Final, NamedTuple

from mycel.model.state import State
from mycel.model.values import JsonObject, parse_object
from mycel.store.file.layout import KIND_COLUMN, OPEN_END, Table
from mycel.store.file.rows import json_array, text_array
from mycel.store.query.reader import Reader

CHUNK_ROWS: Final = 2000

_CONTENT: Final[dict[Table, str]] = {
    "concept": "c.id, c.type, c.name, 0, 0, c.attributes, c.metadata, 1.0",
    "proposition": "c.id, c.predicate, '', c.subject, c.object, c.attributes, c.metadata, c.weight",
}


class Instance(NamedTuple):
    """A concept or a link: a concept has a name, a link has two ends and a weight."""

    number: int
    kind: int
    """The number of its type or predicate."""
    name: str
    subject: int
    object: int
    attributes_json: str
    metadata_json: str
    weight: float

    @property
    def attributes(self) -> JsonObject:
        return parse_object(self.attributes_json)

    @property
    def metadata(self) -> JsonObject:
        return parse_object(self.metadata_json)


def numbers(reader: Reader, table: Table, kind: int) -> array[int]:
    """The instances of a type, or links of a predicate, oldest first."""
    is_of_kind = f"c.{KIND_COLUMN[table]} = ?"
    query = f"SELECT c.id FROM {{table}} c WHERE {is_of_kind} AND {{in_force}} ORDER BY c.id"
    generator = (
        reader.connection.execute(sql, (kind,)) for sql in _queries(query, table, reader.state)
    )
    return array("q", (number for (number,) in merge(*generator)))


def count(reader: Reader, table: Table, kind: int) -> int:
    """The number of live instances of a type, or links of a predicate."""
    return reader.count(f"SELECT count(*) FROM {table} WHERE {KIND_COLUMN[table]} = ?", (kind,))


def count_named(reader: Reader, kind: int, names: Sequence[str]) -> int:
    """The number of live concepts of a type that have one of these names."""
    query = (
        "SELECT count(*) FROM concept WHERE type = ? AND name IN (SELECT value FROM json_each(?))"
    )
    return reader.count(query, (kind, text_array(names)))


def are_there(reader: Reader, table: Table, kind: int, reason: str | None = None) -> bool:
    """True if a type or predicate has live instances, or instances removed for `reason`."""
    query = f"SELECT 1 FROM {table} WHERE {KIND_COLUMN[table]} = ?1"
    if reason is not None:
        query += (
            f" UNION ALL SELECT 1 FROM {table}_past WHERE {KIND_COLUMN[table]} = ?1"
            f" AND to_seq = {OPEN_END} AND tombstoned_reason = ?2"
        )
    bindings = (kind,) if reason is None else (kind, reason)
    return bool(reader.fetch_all(f"{query} LIMIT 1", bindings))


def rows(reader: Reader, table: Table, kind: int) -> Iterator[Instance]:
    """All instances of a type, or links of a predicate, oldest first."""
    for chunk in chunks(reader, table, numbers(reader, table, kind)):
        yield from chunk


def chunks(reader: Reader, table: Table, chosen: Sequence[int]) -> Iterator[list[Instance]]:
    """Rows by number, in that order, a chunk at a time; missing elements are left out."""
    query = (
        f"SELECT {_CONTENT[table]} FROM json_each(?) j CROSS JOIN {{table}} c"
        " WHERE c.id = j.value AND {in_force} ORDER BY j.key"
    )
    yield from _in_chunks(reader, _queries(query, table, reader.state), chosen)


def _in_chunks(
    reader: Reader, queries: Sequence[str], chosen: Sequence[int]
) -> Iterator[list[Instance]]:
    for at in range(0, len(chosen), CHUNK_ROWS):
        chunk = chosen[at : at + CHUNK_ROWS]
        text = json_array(chunk)
        rows = [Instance(*row) for query in queries for row in reader.fetch_all(query, (text,))]
        if len(queries) > 1:
            place = {number: at for at, number in enumerate(chunk)}
            rows.sort(key=lambda row: place[row.number])
        yield rows


def names(reader: Reader, chosen: Iterable[int]) -> dict[int, tuple[str, str]]:
    """The type and name of each concept among these elements."""
    query = (
        "SELECT c.id, t.name, c.name FROM json_each(?) j CROSS JOIN {table} c"
        " JOIN type t ON t.id = c.type WHERE c.id = j.value AND {in_force}"
    )
    among = json_array(set(chosen))
    return {
        number: (type_, name)
        for sql in _queries(query, "concept", reader.state)
        for number, type_, name in reader.fetch_all(sql, (among,))
    }


def first_versions(
    reader: Reader,
    table: Table,
    actor: str,
    message: str,
) -> Iterator[int]:
    """Elements that some transactions created and that no other transaction changed."""
    query = (
        "SELECT c.id FROM tx t JOIN actor a ON a.id = t.actor AND a.name = ?1"
        " CROSS JOIN journal j CROSS JOIN {table} c"
        " WHERE j.seq BETWEEN t.first_seq AND t.seq AND c.id = j.element AND c.{since} = j.seq"
        " AND c.version = 1 AND t.message = ?2 AND {in_force}"
    )
    for sql in _queries(query, table, reader.state):
        yield from (number for (number,) in reader.fetch_all(sql, (actor, message)))


def has_metadata(reader: Reader, table: Table, kind: int) -> bool:
    """True if an instance has metadata of a user. Keys of the engine begin with `_`."""
    query = (
        f"SELECT 1 FROM {{table}} c WHERE c.{KIND_COLUMN[table]} = ? AND {{in_force}}"
        " AND c.metadata <> '{{}}' AND EXISTS"
        " (SELECT 1 FROM json_each(c.metadata) k WHERE substr(k.key, 1, 1) <> '_') LIMIT 1"
    )
    return any(reader.fetch_first(sql, (kind,)) for sql in _queries(query, table, reader.state))


def has_weights(reader: Reader, kind: int, usual: float) -> bool:
    """True if a link of a predicate has a weight other than the default."""
    query = "SELECT 1 FROM {table} c WHERE c.predicate = ? AND c.weight <> ? AND {in_force} LIMIT 1"
    queries = _queries(query, "proposition", reader.state)
    return any(reader.fetch_first(query, (kind, usual)) for query in queries)


def _queries(query: str, table: Table, state: State) -> list[str]:
    """A query for each table that holds rows of a state. At any moment, a row is in one of them.

    One query over both tables would be slow: SQLite would copy both before it looks for a row.
    """
    if state.is_live:
        return [query.format(table=table, since="seq", in_force="TRUE")]
    then = f"c.from_seq <= {state.seq} AND c.to_seq > {state.seq} AND c.tombstoned_at IS NULL"
    return [
        query.format(table=table, since="seq", in_force=f"c.seq <= {state.seq}"),
        query.format(table=f"{table}_past", since="from_seq", in_force=then),
    ]


def attributes_at(
    reader: Reader, table: Table, chosen: Sequence[int], seq: int, *, besides: str
) -> dict[int, str]:
    """The attributes, as text, that elements had at a position of the journal.

    An element that was removed since is left out, unless the reason was `besides`: if it lives
    again, it counts as a new element.
    """
    query = (
        f"SELECT c.id, c.attributes FROM json_each(?1) j CROSS JOIN {table}_past c"
        " WHERE c.id = j.value AND c.from_seq <= ?2 AND c.to_seq > ?2 AND c.tombstoned_at IS NULL"
        f" AND NOT EXISTS (SELECT 1 FROM {table}_past t WHERE t.id = c.id AND t.from_seq > ?2"
        " AND t.tombstoned_at IS NOT NULL AND t.tombstoned_reason IS DISTINCT FROM ?3)"
    )
    return dict(reader.fetch_all(query, (json_array(chosen), seq, besides)))


def removed_since(reader: Reader, chosen: Iterable[int], seq: int, *, besides: str) -> set[int]:
    """The concepts that were removed after `seq` for another reason than `besides`.

    A concept that was created again since is included, because it counts as a new one.
    """
    query = (
        "SELECT j.value FROM json_each(?1) j WHERE EXISTS (SELECT 1 FROM concept_past t"
        " WHERE t.id = j.value AND t.from_seq > ?2 AND t.tombstoned_at IS NOT NULL"
        " AND t.tombstoned_reason IS DISTINCT FROM ?3)"
    )
    among = json_array(sorted(set(chosen)))
    return set(reader.column(query, (among, seq, besides)))


def retired_at(reader: Reader, table: Table, time_us: int, reason: str) -> array[int]:
    """Elements that were removed at a time for a reason and are still removed, oldest first.

    A tombstone keeps its time and reason when it gets another key. No index helps: the query reads
    every tombstone in force.
    """
    query = (
        f"SELECT id FROM {table}_past WHERE to_seq = {OPEN_END}"
        " AND tombstoned_at = ? AND tombstoned_reason = ? ORDER BY id"
    )
    return array("q", (number for (number,) in reader.connection.execute(query, (time_us, reason))))


def count_retired(reader: Reader, table: Table, kind: int, time_us: int, reason: str) -> int:
    """The number of instances of a type that were removed at a time for a reason, and still are."""
    query = (
        f"SELECT count(*) FROM {table}_past WHERE {KIND_COLUMN[table]} = ? AND to_seq = {OPEN_END}"
        " AND tombstoned_at = ? AND tombstoned_reason = ?"
    )
    return reader.count(query, (kind, time_us, reason))


def count_hidden(
    reader: Reader,
    table: Table,
    kind: int,
    names: tuple[str, str],
    seq: int,
    *,
    besides: str,
) -> int:
    """The number of live instances that lost the value of an attribute since `seq`.

    `names` are the names of the attribute at that time and now. An instance that was removed since
    does not count, unless the reason was `besides`: if it lives again, it counts as a new instance.
    """
    query = (
        f"SELECT count(*) FROM {table} n CROSS JOIN {table}_past c"
        f" WHERE c.id = n.id AND n.{KIND_COLUMN[table]} = ?1 AND c.from_seq <= ?2 AND c.to_seq > ?2"
        " AND c.tombstoned_at IS NULL"
        " AND (c.attributes ->> ?3) IS NOT NULL AND (n.attributes ->> ?4) IS NULL"
        f" AND NOT EXISTS (SELECT 1 FROM {table}_past t WHERE t.id = c.id AND t.from_seq > ?2"
        " AND t.tombstoned_at IS NOT NULL AND t.tombstoned_reason IS DISTINCT FROM ?5)"
    )
    paths = (f'$."{name}"' for name in names)
    return reader.count(query, (kind, seq, *paths, besides))


def tombstones(reader: Reader, table: Table, chosen: Sequence[int]) -> Iterator[list[Instance]]:
    """The tombstones of these elements, in the order of their numbers."""
    query = (
        f"SELECT {_CONTENT[table]} FROM json_each(?) j CROSS JOIN {table}_past c"
        f" WHERE c.id = j.value AND c.to_seq = {OPEN_END} ORDER BY j.key"
    )
    yield from _in_chunks(reader, [query], chosen)


def links_elsewhere(
    reader: Reader, predicate: int, from_type: int, to_type: int
) -> Iterator[tuple[int, int, int]]:
    """Links of a predicate, with their ends, that do not lead from one given type to the other."""
    query = (
        "SELECT p.id, p.subject, p.object FROM proposition p"
        " LEFT JOIN concept s ON s.id = p.subject LEFT JOIN concept o ON o.id = p.object"
        " WHERE p.predicate = ?1 AND (s.type IS DISTINCT FROM ?2 OR o.type IS DISTINCT FROM ?3)"
    )
    yield from reader.fetch_all(query, (predicate, from_type, to_type))


def sources_beyond(
    reader: Reader, predicate: int, minimum: int, maximum: int | None
) -> Iterator[tuple[int, int]]:
    """Elements with links of a predicate, but fewer or more than allowed, and their number."""
    query = (
        "SELECT subject, count(*) FROM proposition WHERE predicate = ?1 GROUP BY subject"
        " HAVING count(*) < ?2 OR count(*) > coalesce(?3, count(*))"
    )
    yield from reader.fetch_all(query, (predicate, minimum, maximum))


def ends_of(reader: Reader, predicate: int) -> list[tuple[int | None, int | None]]:
    """The pairs of types that links of a predicate join; None stands for a link at an end."""
    query = (
        "SELECT DISTINCT s.type, o.type FROM proposition p"
        " LEFT JOIN concept s ON s.id = p.subject LEFT JOIN concept o ON o.id = p.object"
        " WHERE p.predicate = ? ORDER BY 1, 2"
    )
    return [(subject, object_) for subject, object_ in reader.fetch_all(query, (predicate,))]
