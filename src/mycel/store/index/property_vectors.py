"""Tables of the vectors of properties, as arrays: those of records, and those of `@embed`.

    recall_column  a type, a property, and the model that embeds it ("" if no model does)
    recall_property  the vector of each concept in a column

This is derived data like `index.passages`: no record, root or history depends on it, and it is made
when first needed. A vector belongs to one version of its concept, named by `seq`. If the concept
has another `seq` now, the vector is out of date and not used. An empty vector means that this
version has none.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from mycel.store.backend.interface import Connection
from mycel.store.file.rows import fetch_first

TABLES: Final = """
CREATE TABLE IF NOT EXISTS recall_column (
    id INTEGER PRIMARY KEY, model TEXT NOT NULL, type INTEGER NOT NULL, property TEXT NOT NULL,
    UNIQUE (type, property, model)
) STRICT;
CREATE TABLE IF NOT EXISTS recall_property (
    id INTEGER PRIMARY KEY,
    column INTEGER NOT NULL,
    element INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    vector BLOB NOT NULL,
    UNIQUE (column, element)
) STRICT;
"""
_NAMES: Final = ("recall_column", "recall_property")


class Column(NamedTuple):
    """A property of a type, for which vectors are kept."""

    model: str
    """The model that embeds the texts of the property; empty if records bring the vectors."""
    type: int
    property: str


class PropertyVector(NamedTuple):
    """The vector of one version of a concept."""

    element: int
    seq: int
    vector: bytes
    """Little-endian f32 numbers; empty if this version has no vector."""


def has_tables(connection: Connection) -> bool:
    """True if the tables exist: vectors of properties are kept, and no table was lost."""
    return connection.has_objects(*_NAMES)


def number_of(connection: Connection, column: Column) -> int | None:
    """The number of a column; None if no vectors are kept for it."""
    if not has_tables(connection):
        return None
    query = "SELECT id FROM recall_column WHERE model = ? AND type = ? AND property = ?"
    row = fetch_first(connection, query, column)
    return None if row is None else int(row[0])


def keep(connection: Connection, column: Column, rows: Iterable[PropertyVector]) -> None:
    """Store vectors. Those of concepts that were changed or removed since are left out."""
    connection.make(TABLES)
    query = "INSERT INTO recall_column (model, type, property) VALUES (?, ?, ?)"
    connection.execute(f"{query} ON CONFLICT DO NOTHING", column)
    number = number_of(connection, column)
    connection.executemany(
        'INSERT INTO recall_property ("column", element, seq, vector)'
        " SELECT ?1, id, seq, ?4 FROM concept WHERE id = ?2 AND seq = ?3"
        ' ON CONFLICT ("column", element) DO UPDATE SET seq = excluded.seq,'
        " vector = excluded.vector",
        [(number, *property_vector) for property_vector in rows],
    )


def forget(connection: Connection, *, but: str | None = None) -> None:
    """Remove the embedded vectors of all models but one, and vectors of removed concepts."""
    if has_tables(connection):
        query = "DELETE FROM recall_column WHERE model <> '' AND model IS DISTINCT FROM ?"
        connection.execute(query, (but,))
        connection.execute(
            'DELETE FROM recall_property WHERE "column" NOT IN (SELECT id FROM recall_column)'
            " OR element NOT IN (SELECT id FROM concept)"
        )


def remove(connection: Connection, element: int) -> None:
    """Remove the vectors of a concept."""
    if has_tables(connection):
        query = (
            "DELETE FROM recall_property WHERE element = ?"
            ' AND "column" IN (SELECT id FROM recall_column)'
        )
        connection.execute(query, (element,))
    else:
        # Both tables, because a damaged one could otherwise keep vectors.
        connection.unmake(*_NAMES)
