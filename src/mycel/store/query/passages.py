"""Reads stored passages and vectors of search, and the elements that they are derived from."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

from mycel.store.file.layout import CORE_CONCEPTS, OPEN_END
from mycel.store.file.rows import json_array
from mycel.store.index import passages
from mycel.store.index.passages import PassageRow
from mycel.store.query.reader import Reader

_SHOWN: Final = (
    f"NOT EXISTS (SELECT 1 FROM hidden h WHERE h.element = concept.id AND h.to_seq = {OPEN_END})"
)
"""An SQL condition: the concept is not archived. Search does not index archived concepts."""
_SOUGHT: Final = f"type NOT IN (1, 2) AND id NOT IN ({CORE_CONCEPTS}) AND {_SHOWN}"


class SourceRow(NamedTuple):
    """A live concept of the graph."""

    element: int
    seq: int
    type: int
    name: str
    attributes: str


def mark(reader: Reader, model: str) -> int | None:
    """The entry of the journal up to which everything is derived; None if nothing is."""
    return passages.mark(reader.connection, model)


def calibration(reader: Reader, model: str) -> tuple[float, float, float] | None:
    """The stored calibration of a model; None if there is none."""
    return passages.calibration(reader.connection, model)


def last_entry(reader: Reader) -> int:
    """The last entry of the journal."""
    return int(reader.fetch_one("SELECT coalesce(max(seq), 0) FROM journal")[0])


def changed_since(reader: Reader, seq: int) -> set[int]:
    """The concepts with journal entries after this one."""
    query = "SELECT DISTINCT element FROM journal WHERE seq > ? AND element & 1 = 0"
    return set(reader.column(query, (seq,)))


def sought(reader: Reader) -> array[int]:
    """The concepts among these that search may find."""
    cursor = reader.execute(f"SELECT id FROM concept WHERE {_SOUGHT} ORDER BY id")
    return array("q", (number for (number,) in cursor))


def sources(reader: Reader, numbers: Collection[int] | None = None) -> list[SourceRow]:
    """Live concepts except definitions: all of them, or those with these numbers."""
    query = "SELECT id, seq, type, name, attributes FROM concept"
    query += f" WHERE type NOT IN (1, 2) AND {_SHOWN}"
    if numbers is None:
        return [SourceRow(*row) for row in reader.fetch_all(f"{query} ORDER BY id")]
    query += " AND id IN (SELECT value FROM json_each(?)) ORDER BY id"
    return [SourceRow(*row) for row in reader.fetch_all(query, (json_array(numbers),))]


def stored(reader: Reader, model: str) -> Iterator[tuple[PassageRow, bytes]]:
    """Stored passages of the present versions of concepts, with their vectors by a model."""
    if not passages.has_tables(reader.connection):
        return
    query = (
        "SELECT p.*, v.vector FROM recall_passage p JOIN recall_vector v ON v.element = p.element"
        " AND v.seq = p.seq AND v.model = (SELECT id FROM recall_mark WHERE name = ?)"
        " JOIN concept c ON c.id = p.element AND c.seq = p.seq ORDER BY p.element"
    )
    for *row, vector in reader.execute(query, (model,)):
        yield PassageRow(*row), vector


def blocks(reader: Reader, model: str) -> Iterator[tuple[int, bytes]]:
    """The stored blocks of passages, in order, each with its number."""
    query = (
        "SELECT block, data FROM recall_block"
        " WHERE model = (SELECT id FROM recall_mark WHERE name = ?) ORDER BY block"
    )
    yield from reader.execute(query, (model,))


def vectors(reader: Reader, model: str) -> Iterator[tuple[int, bytes]]:
    """The stored vectors of a model, by element."""
    query = (
        "SELECT element, vector FROM recall_vector"
        " WHERE model = (SELECT id FROM recall_mark WHERE name = ?) ORDER BY element"
    )
    yield from reader.execute(query, (model,))


def vectors_of(reader: Reader, model: str, numbers: Collection[int]) -> dict[int, bytes]:
    """The stored vectors of the present versions of concepts, by element."""
    if not passages.has_tables(reader.connection):
        return {}
    query = (
        "SELECT c.id, v.vector FROM json_each(?) j CROSS JOIN concept c"
        " JOIN recall_vector v ON v.element = c.id AND v.seq = c.seq"
        " AND v.model = (SELECT id FROM recall_mark WHERE name = ?) WHERE c.id = j.value"
    )
    by_element: dict[int, bytes] = dict(reader.fetch_all(query, (json_array(numbers), model)))
    return by_element


def without_vector(reader: Reader, model: str) -> list[int]:
    """Concepts that search may find and whose present version has no vector by a model."""
    query = f"SELECT id FROM concept WHERE {_SOUGHT}"
    if passages.has_tables(reader.connection):
        query += (
            " AND NOT EXISTS (SELECT 1 FROM recall_vector v WHERE v.element = id"
            " AND v.seq = concept.seq AND v.model = (SELECT id FROM recall_mark WHERE name = ?))"
        )
        return reader.column(query, (model,))
    return reader.column(query)


def vector_bytes(reader: Reader, model: str) -> tuple[int, int]:
    """The number of stored vectors of a model, and their size in bytes."""
    if not passages.has_tables(reader.connection):
        return 0, 0
    query = (
        "SELECT count(*), coalesce(sum(length(vector)), 0) FROM recall_vector"
        " WHERE model = (SELECT id FROM recall_mark WHERE name = ?)"
    )
    count, size = reader.fetch_one(query, (model,))
    return count, size


def pieces_of(reader: Reader, numbers: Collection[int]) -> dict[int, bytes]:
    """The word pieces of stored passages."""
    query = (
        "SELECT element, pieces FROM recall_passage"
        " WHERE element IN (SELECT value FROM json_each(?))"
    )
    if not passages.has_tables(reader.connection):
        return {}
    pieces: dict[int, bytes] = dict(reader.fetch_all(query, (json_array(numbers),)))
    return pieces
