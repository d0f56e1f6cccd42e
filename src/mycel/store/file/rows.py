"""Rows of a query, typed, and lists that are bound to one.

SQLite's columns may hold anything, so each row is a tuple of `Any`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import apsw
import orjson

from mycel.errors import DatabaseCorrupt
from mycel.model import ids

Row = tuple[Any, ...]
Bindings = tuple[Any, ...] | dict[str, Any]
"""Values of a query by position, or by name."""


def fetch_first(connection: apsw.Connection, query: str, bindings: Bindings = ()) -> Row | None:
    """The first row of a query, or None."""
    cursor = connection.execute(query, bindings)
    row: Row | None = cursor.fetchone()
    return row


def fetch_one(connection: apsw.Connection, query: str, bindings: Bindings = ()) -> Row:
    """The first row of a query that always has one in a sound database.

    Raises:
        DatabaseCorrupt: it has none.
    """
    row = fetch_first(connection, query, bindings)
    if row is None:
        raise DatabaseCorrupt("A row that must be there is missing.")
    return row


def fetch_all(connection: apsw.Connection, query: str, bindings: Bindings = ()) -> list[Row]:
    """All rows of a query."""
    rows: list[Row] = connection.execute(query, bindings).fetchall()
    return rows


def json_array(values: Iterable[Any]) -> str:
    """Values as they are bound to `json_each`."""
    return orjson.dumps(list(values)).decode()


def table_of(number: int) -> str:
    """The table of an element, live; its past is in the one with `_past` behind the name."""
    return "concept" if ids.is_concept(number) else "proposition"
