"""A cache beside a graph: bytes under a group and a key, in a small SQLite file of its own.

Its content can always be computed again, so a damaged file, or a file of another format, is
replaced.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

import apsw

from mycel.store.file.rows import fetch_all, text_array

_LAYOUT: Final = (
    "CREATE TABLE IF NOT EXISTS facts (workspace TEXT NOT NULL, path TEXT NOT NULL,"
    " hash INTEGER NOT NULL, facts BLOB NOT NULL, PRIMARY KEY (workspace, path))"
)
_BUSY_MS: Final = 200


class CacheFile:
    """A cache with entries of one format. Each has a key, a hash of its source, and bytes."""

    def __init__(self, path: Path, format_: int) -> None:
        self._path: Final = path
        self._format: Final = format_

    def read(self, group: str, keys: Collection[str]) -> list[tuple[str, int, bytes]]:
        """The stored entries with these keys."""
        if not keys or not self._path.exists():
            return []
        query = (
            "SELECT f.path, f.hash, f.facts FROM json_each(?2) j CROSS JOIN facts f"
            " ON f.workspace = ?1 AND f.path = j.value"
        )
        try:
            with closing(self._open()) as connection:
                rows = fetch_all(connection, query, (group, text_array(keys)))
        except (apsw.Error, OSError):
            return []
        return [(key, hash_, bytes(content)) for key, hash_, content in rows]

    def write(
        self, group: str, entries: Sequence[tuple[str, int, bytes]], removals: Collection[str]
    ) -> None:
        """Write entries over those with the same keys, and remove those whose keys are `removals`.

        Nothing is written while another process writes.
        """
        try:
            with closing(self._open()) as connection, connection:
                connection.executemany(
                    "INSERT OR REPLACE INTO facts VALUES (?, ?, ?, ?)",
                    [(group, *entry) for entry in entries],
                )
                connection.executemany(
                    "DELETE FROM facts WHERE workspace = ? AND path = ?",
                    [(group, key) for key in removals],
                )
        except apsw.BusyError:
            return  # The hash shows that an entry is old.
        except (apsw.Error, OSError):
            # The file is damaged or read-only. The next call starts with an empty cache.
            with suppress(OSError):
                self._path.unlink()

    def _open(self) -> apsw.Connection:
        # The entries have content of the graph, so other users must not read the file.
        os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
        connection = apsw.Connection(str(self._path))
        connection.set_busy_timeout(_BUSY_MS)
        connection.pragma("synchronous", "off")
        if connection.pragma("user_version") != self._format:
            connection.execute(f"DROP TABLE IF EXISTS facts; PRAGMA user_version = {self._format}")
        connection.execute(_LAYOUT)
        return connection
