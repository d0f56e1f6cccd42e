"""What a writer uses again and again on its connection: cursors, and a place for an answer.

SQLite's statements are cached by their connection, but a cursor is made anew by each
`connection.execute`. For a small transaction, which runs a dozen statements, that adds up to more
than one of them costs. So a writer has two that it uses again.

SQLite goes on writing to a file that was moved or deleted, so every transaction asks where it is.
SQLite knows how to find out, in half the time that `os.stat` takes, and writes the answer to an
address.
"""

from __future__ import annotations

from array import array
from typing import Any, Final

import apsw

from mycel.store.file.rows import KEPT, Row


class Cursors:
    """The two cursors of one connection."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection: Final = connection
        writing = connection.cursor()
        self.write: Final = writing.execute
        """Runs a statement that gives no rows; one that comes again, `KEPT` (see `rows`)."""
        self.write_many: Final = writing.executemany
        """Runs one for each of some rows. What makes the rows must not write."""
        self._reading: Final = connection.cursor()
        self._moved: Final = array("i", [0])
        self._moved_at: Final = self._moved.buffer_info()[0]

    def row(self, query: str, bindings: tuple[Any, ...]) -> Row | None:
        """The first row of a query, or None. No statement stays open."""
        rows: list[Row] = self._reading.execute(query, bindings, prepare_flags=KEPT).fetchall()
        return rows[0] if rows else None

    def has_moved(self) -> bool:
        """Whether the file that is open is no longer found where it was opened."""
        self.connection.file_control("main", apsw.SQLITE_FCNTL_HAS_MOVED, self._moved_at)
        return bool(self._moved[0])
