"""Reads tables in a SQLite file of another program.

The other program may have the file open and write to it. Its tables change from version to version,
so callers get the columns that exist.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import apsw

from mycel.errors import DatabaseError

_MAGIC: Final = b"SQLite format 3\x00"
_BUSY_MS: Final = 5_000


class ForeignTables:
    """The tables of one file."""

    def __init__(self, path: Path) -> None:
        self._path: Final = path

    def has(self, table: str) -> bool:
        """True if the file is a SQLite file with this table."""
        with self._path.open("rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                return False
        try:
            with closing(self._open()) as connection:
                return bool(_columns(connection, table))
        except apsw.Error:
            return False

    def rows(self, table: str, **values: str) -> Iterator[Mapping[str, Any]]:
        """The rows of a table, in the order of its first column; none if there is no such table.

        `values` filters: an existing column has to have the given value, or null.

        Raises:
            DatabaseError: the file cannot be read.
        """
        try:
            with closing(self._open()) as connection:
                columns = _columns(connection, table)
                conditions = [
                    f"({_quoted(name)} = ? OR {_quoted(name)} IS NULL)"
                    for name in values
                    if name in columns
                ]
                if not columns:
                    return
                query = " ".join(
                    (
                        f"SELECT * FROM {_quoted(table)}",
                        f"WHERE {' AND '.join(conditions)}" if conditions else "",
                        "ORDER BY 1",
                    )
                )
                bindings = tuple(value for name, value in values.items() if name in columns)
                for row in connection.execute(query, bindings):
                    yield dict(zip(columns, row, strict=True))
        except apsw.Error as error:
            raise DatabaseError(f"{self._path.name} cannot be read: {error}.") from None

    def _open(self) -> apsw.Connection:
        connection = apsw.Connection(str(self._path), flags=apsw.SQLITE_OPEN_READONLY)
        connection.set_busy_timeout(_BUSY_MS)
        return connection


def _columns(connection: apsw.Connection, table: str) -> list[str]:
    rows = connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
    return [str(name) for (name,) in rows]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
