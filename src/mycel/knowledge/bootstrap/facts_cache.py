"""The facts of files that have not changed, so that they need not be read again.

To find what one changed file refers to, the facts of all files are needed. They are kept in a file
beside the graph, `<graph>-facts`, with a hash of what they were made from. It is a cache: it holds
nothing that the sources do not say, whoever removes it loses some seconds, and when it is damaged
it is made anew. A graph in memory has none.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final

import apsw
import orjson

from mycel.knowledge.code.source_facts import FORMAT, FileFacts, decode, encode

SUFFIX: Final = "-facts"

_LAYOUT: Final = (
    "CREATE TABLE IF NOT EXISTS facts (workspace TEXT NOT NULL, path TEXT NOT NULL,"
    " hash INTEGER NOT NULL, facts BLOB NOT NULL, PRIMARY KEY (workspace, path))"
)
_BUSY_MS: Final = 200
_NONE: Final = b""

Facts = FileFacts | None
"""None is a file that has none."""


class Memory:
    """Facts by path and hash, in this process and beside the graph."""

    def __init__(self, database: str, workspace: str) -> None:
        self._path = Path(database + SUFFIX) if _is_file(database) else None
        self._workspace = workspace
        self._facts: dict[str, tuple[int, Facts]] = {}

    def recall(self, hashes: Mapping[str, int]) -> dict[str, Facts]:
        """What is known of files that have these hashes."""
        found: dict[str, Facts] = {}
        unknown: dict[str, int] = {}
        for path, hash_ in hashes.items():
            have = self._facts.get(path)
            if have is not None and have[0] == hash_:
                found[path] = have[1]
            else:
                unknown[path] = hash_
        for path, hash_, encoded in self._load(list(unknown)):
            if hash_ != unknown[path]:
                continue
            facts = decode(encoded) if encoded != _NONE else None
            if facts is not None or encoded == _NONE:
                found[path] = facts
                self._facts[path] = hash_, facts
        return found

    def keep(self, read: Mapping[str, tuple[int, Facts]], gone: Collection[str]) -> None:
        """Remember what was read, for later runs too; forget files that are gone."""
        self._facts.update(read)
        for path in gone:
            self._facts.pop(path, None)
        rows = [
            (self._workspace, path, hash_, _NONE if facts is None else encode(facts))
            for path, (hash_, facts) in read.items()
        ]
        if self._path is None or not (rows or gone):
            return
        try:
            with closing(self._open(self._path)) as connection, connection:
                connection.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?, ?, ?)", rows)
                connection.executemany(
                    "DELETE FROM facts WHERE workspace = ? AND path = ?",
                    [(self._workspace, path) for path in gone],
                )
        except apsw.BusyError:
            return  # Another run writes. What is old is known by its hash.
        except (apsw.Error, OSError):
            # It is damaged, or not ours to write: the next run begins anew.
            with suppress(OSError):
                self._path.unlink()

    def _load(self, paths: Collection[str]) -> list[tuple[str, int, bytes]]:
        if self._path is None or not paths or not self._path.exists():
            return []
        try:
            with closing(self._open(self._path)) as connection:
                rows: list[tuple[Any, ...]] = connection.execute(
                    "SELECT f.path, f.hash, f.facts FROM json_each(?2) j CROSS JOIN facts f"
                    " ON f.workspace = ?1 AND f.path = j.value",
                    (self._workspace, orjson.dumps(paths).decode()),
                ).fetchall()
        except (apsw.Error, OSError):
            return []
        return [(path, hash_, bytes(facts)) for path, hash_, facts in rows]

    def _open(self, path: Path) -> apsw.Connection:
        # What is in the graph is nobody else's business, and this is taken from the same files.
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        connection = apsw.Connection(str(path))
        connection.set_busy_timeout(_BUSY_MS)
        connection.pragma("synchronous", "off")
        if connection.pragma("user_version") != FORMAT:
            connection.execute(f"DROP TABLE IF EXISTS facts; PRAGMA user_version = {FORMAT}")
        connection.execute(_LAYOUT)
        return connection


def _is_file(database: str) -> bool:
    return bool(database) and Path(database).is_file()
