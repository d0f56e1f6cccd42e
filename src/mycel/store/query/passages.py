"""Stored passages and vectors of search, and the elements that they are derived from."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

import orjson

from mycel.store.index import passages
from mycel.store.index.passages import PassageRow
from mycel.store.query.reader import Reader


class Source(NamedTuple):
    """A live concept as it stands in the graph."""

    element: int
    seq: int
    type: int
    name: str
    attributes: str


def mark(reader: Reader, model: str) -> int | None:
    """The entry of the journal up to which all is derived; None if nothing is."""
    return passages.mark(reader.connection, model)


def last_entry(reader: Reader) -> int:
    """The last entry of the journal."""
    return int(reader.only("SELECT coalesce(max(seq), 0) FROM journal")[0])


def changed_since(reader: Reader, seq: int) -> set[int]:
    """Concepts that entries of the journal after this one are about."""
    query = "SELECT DISTINCT element FROM journal WHERE seq > ? AND element & 1 = 0"
    return {number for (number,) in reader.every(query, (seq,))}


def count_sources(reader: Reader) -> int:
    """The number of live concepts."""
    return int(reader.only("SELECT count(*) FROM concept")[0])


def sources(reader: Reader, numbers: Collection[int] | None = None) -> list[Source]:
    """Live concepts that are no definitions, or those among them with these numbers."""
    query = "SELECT id, seq, type, name, attributes FROM concept WHERE type NOT IN (1, 2)"
    if numbers is None:
        return [Source(*row) for row in reader.every(query)]
    query += " AND id IN (SELECT value FROM json_each(?))"
    return [Source(*row) for row in reader.every(query, (_listed(numbers),))]


def stored(reader: Reader, model: str) -> Iterator[tuple[PassageRow, bytes]]:
    """All stored passages with their vectors by a model, by element."""
    query = (
        "SELECT p.*, v.vector FROM recall_passage p JOIN recall_vector v ON v.element = p.element"
        " AND v.model = (SELECT id FROM recall_mark WHERE name = ?) ORDER BY p.element"
    )
    for *row, vector in reader.every(query, (model,)):
        yield PassageRow(*row), vector


def pieces_of(reader: Reader, numbers: Collection[int]) -> dict[int, bytes]:
    """The word pieces of stored passages."""
    query = (
        "SELECT element, pieces FROM recall_passage"
        " WHERE element IN (SELECT value FROM json_each(?))"
    )
    if not passages.has_tables(reader.connection):
        return {}
    found: dict[int, bytes] = dict(reader.every(query, (_listed(numbers),)))
    return found


def _listed(numbers: Iterable[int]) -> str:
    return orjson.dumps(list(numbers)).decode()
