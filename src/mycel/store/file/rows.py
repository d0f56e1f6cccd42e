"""Typed rows of a query, and lists that are bound to a query.

SQLite's columns may hold anything, so each row is a tuple of `Any`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import orjson

from mycel.errors import DatabaseCorrupt
from mycel.model import ids


class Statements(Protocol):
    """An object that runs statements, such as a connection."""

    def execute(self, statements: str, bindings: Any = ..., /) -> Any: ...


Row = tuple[Any, ...]
Bindings = tuple[Any, ...] | dict[str, Any]
"""Values of a query by position, or by name."""


def fetch_first(connection: Statements, query: str, bindings: Bindings = ()) -> Row | None:
    cursor = connection.execute(query, bindings)
    row: Row | None = cursor.fetchone()
    return row


def fetch_one(connection: Statements, query: str, bindings: Bindings = ()) -> Row:
    """The first row of a query that has one in every sound database.

    Raises:
        DatabaseCorrupt: the query has no row.
    """
    row = fetch_first(connection, query, bindings)
    if row is None:
        raise DatabaseCorrupt("A row that must be there is missing.")
    return row


def fetch_all(connection: Statements, query: str, bindings: Bindings = ()) -> list[Row]:
    rows: list[Row] = connection.execute(query, bindings).fetchall()
    return rows


class NumberList(str):
    """Numbers as a parameter of `json_each`: JSON text in SQLite, an array in PostgreSQL."""


class TextList(str):
    """Texts as a parameter of `json_each`: JSON text in SQLite, an array in PostgreSQL."""


def json_array(numbers: Iterable[int]) -> NumberList:
    """Numbers in the form that is bound to `json_each`."""
    return NumberList(orjson.dumps(list(numbers)).decode())


def text_array(texts: Iterable[str]) -> TextList:
    """Texts in the form that is bound to `json_each`."""
    return TextList(orjson.dumps(list(texts)).decode())


def json_rows(rows: Iterable[Sequence[Any]]) -> str:
    """Rows in the form that is bound to `json_each`: arrays, whose items `->>` reads as texts."""
    return orjson.dumps(list(rows)).decode()


def table_of(number: int) -> str:
    """The table of the live rows of an element; `_past` after its name gives the past rows."""
    return "concept" if ids.is_concept(number) else "proposition"
