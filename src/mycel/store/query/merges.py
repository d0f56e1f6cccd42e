"""Reads the conflicts of open merges, and the choices of committed merges."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

import orjson

from mycel.store.file.rows import Row, json_array
from mycel.store.log import merges
from mycel.store.query.reader import Reader

_UNDECIDED: Final = "json_extract(body, '$.resolution') IS NULL"


def may_have_conflicts(reader: Reader) -> bool:
    """False if no merge of this file ever had a conflict. No row is read for the test."""
    return merges.are_there(reader.connection)


def stored_conflicts(reader: Reader, id_: str) -> list[dict[str, Any]]:
    """The conflicts of one open merge, as last computed."""
    return _conflicts(reader, "merge = ?", (id_,))


def conflicts_named(reader: Reader, name: str) -> list[dict[str, Any]]:
    """The undecided conflicts about concepts with a name; the concepts need not exist."""
    where = f"json_extract(body, '$.identity.name') = ? AND {_UNDECIDED}"
    return _conflicts(reader, where, (name,))


def _conflicts(reader: Reader, where: str, bindings: Row) -> list[dict[str, Any]]:
    if not may_have_conflicts(reader):
        return []
    query = f"SELECT body FROM merge_conflict WHERE {where} ORDER BY rowid"
    return list(map(orjson.loads, reader.column(query, bindings)))


def open_conflicts(reader: Reader, numbers: Collection[int]) -> dict[int, list[dict[str, Any]]]:
    """The undecided conflicts of open merges, by number of the element that each is about."""
    by_element: dict[int, list[dict[str, Any]]] = {}
    if not numbers or not may_have_conflicts(reader):
        return by_element
    query = (
        "SELECT place.element, told.body FROM json_each(?) AS wanted"
        " CROSS JOIN merge_contested AS place CROSS JOIN merge_conflict AS told"
        " WHERE place.element = wanted.value AND told.merge = place.merge AND told.id = place.id"
        f" AND {_UNDECIDED} ORDER BY told.rowid"
    )
    for element, body in reader.fetch_all(query, (json_array(numbers),)):
        by_element.setdefault(element, []).append(orjson.loads(body))
    return by_element


def count_undecided(reader: Reader) -> int:
    """The number of undecided conflicts of open merges, as last computed."""
    if not may_have_conflicts(reader):
        return 0
    return reader.count(f"SELECT count(*) FROM merge_conflict WHERE {_UNDECIDED}")


def match(
    reader: Reader, number: int, merged: Collection[int], *, of_source: bool
) -> tuple[int, int] | None:
    """The newest merge that has paired an element, with its number on the other side.

    `merged` has the last entries of the merges. The given number is one of the source, or one of
    this copy.
    """
    if not merged or not may_have_conflicts(reader):
        return None
    side, column = ("other", "number") if of_source else ("number", "other")
    query = (
        f"SELECT seq, {column} FROM merge_match WHERE {side} = ?"
        " AND seq IN (SELECT value FROM json_each(?)) ORDER BY seq DESC LIMIT 1"
    )
    return reader.fetch_first(query, (number, json_array(merged)))


def choices(reader: Reader, seq: int | None = None) -> list[tuple[int, dict[str, Any]]]:
    """Automatic choices of one merge, or of all, newest first, with the last entry of the merge."""
    if not may_have_conflicts(reader):
        return []
    query = "SELECT seq, body FROM merge_choice WHERE seq = ?1 OR ?1 IS NULL ORDER BY seq DESC, id"
    return [(at, orjson.loads(body)) for at, body in reader.fetch_all(query, (seq,))]
