"""A writer's cursors.

SQLite's statements are cached by their connection, but a cursor is made anew by each
`connection.execute`. For a small transaction, which runs a dozen statements, that adds up to more
than one of them costs. So a writer has two that it uses again.
"""

from __future__ import annotations

from typing import Any, Final

import apsw

from mycel.store.rows import Row


class Cursors:
    """The two cursors of one connection."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection: Final = connection
        writing = connection.cursor()
        self.write: Final = writing.execute
        """Runs a statement that gives no rows."""
        self.write_many: Final = writing.executemany
        """Runs one for each of some rows. What makes the rows must not write."""
        self._reading: Final = connection.cursor()

    def row(self, query: str, bindings: tuple[Any, ...]) -> Row | None:
        """The first row of a query, or None. No statement stays open."""
        rows: list[Row] = self._reading.execute(query, bindings).fetchall()
        return rows[0] if rows else None
