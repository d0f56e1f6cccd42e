"""Reads stored vectors of properties, and the concepts that still need one."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from mycel.store.file.rows import json_array
from mycel.store.index import property_vectors
from mycel.store.index.property_vectors import Column
from mycel.store.query.passages import SourceRow
from mycel.store.query.reader import Reader


def stored(
    reader: Reader, column: Column, numbers: Collection[int] | None = None
) -> Iterator[tuple[int, bytes]]:
    """The vectors of the present versions of live concepts, by number: of all, or of these."""
    column_number = property_vectors.number_of(reader.connection, column)
    if column_number is None:
        return iter(())
    query = (
        "SELECT c.id, v.vector FROM concept c CROSS JOIN recall_property v"
        " WHERE v.column = :column AND v.element = c.id AND v.seq = c.seq"
        f" AND c.type = :type{_among(numbers)} ORDER BY c.id"
    )
    rows: Iterator[tuple[int, bytes]] = reader.execute(
        query, _bindings(column_number, column, numbers)
    )
    return rows


def missing(
    reader: Reader, column: Column, numbers: Collection[int] | None = None
) -> Iterator[SourceRow]:
    """Live concepts of a type whose present version has no vector: all, or those among these."""
    column_number = property_vectors.number_of(reader.connection, column)
    query = (
        "SELECT c.id, c.seq, c.type, c.name, c.attributes FROM concept c"
        f" WHERE c.type = :type{_among(numbers)}"
    )
    if column_number is not None:
        query += (
            " AND NOT EXISTS (SELECT 1 FROM recall_property v WHERE v.column = :column"
            " AND v.element = c.id AND v.seq = c.seq)"
        )
    rows = reader.execute(query, _bindings(column_number, column, numbers))
    return (SourceRow(*row) for row in rows)


def _among(numbers: Collection[int] | None) -> str:
    return "" if numbers is None else " AND c.id IN (SELECT value FROM json_each(:numbers))"


def _bindings(
    column_number: int | None, column: Column, numbers: Collection[int] | None
) -> dict[str, int | str | None]:
    among = None if numbers is None else json_array(numbers)
    return {"column": column_number, "type": column.type, "numbers": among}
