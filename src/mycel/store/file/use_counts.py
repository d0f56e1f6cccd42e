"""Use counts: how often elements were read or loaded, and links followed.

They are in the file `<graph>-use` beside the graph and are no part of it: no root covers them,
nothing is journaled, and a lost count does no harm. A read only adds to numbers in memory. These
are written when the graph is closed, when many have gathered, and when upkeep asks for them. A
graph in memory or on a server has only the counts of this process.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import apsw

FORMAT: Final = 1
PENDING_MAX: Final = 5_000
"""The number of elements and links with counts in memory at which the counts are written."""
_BUSY_MS: Final = 200
_TABLES: Final = (
    "CREATE TABLE IF NOT EXISTS use (element INTEGER PRIMARY KEY, uses INTEGER NOT NULL,"
    " last INTEGER NOT NULL);"
    "CREATE TABLE IF NOT EXISTS followed (subject INTEGER NOT NULL, predicate TEXT NOT NULL,"
    " object INTEGER NOT NULL, uses INTEGER NOT NULL, PRIMARY KEY (subject, predicate, object))"
)

Followed = tuple[int, str, int]
"""A link that was followed: its subject, predicate and object."""


class Use(NamedTuple):
    """The number of uses of an element, and the time of the last one."""

    uses: int
    last_us: int


class UseCounts:
    """The counts of one graph."""

    def __init__(self, path: Path | None, clock_us: Callable[[], int], *, is_on: bool) -> None:
        """Without a path, counts are never written."""
        self._path: Final = path
        self._clock_us: Final = clock_us
        self.is_on: Final = is_on
        self._uses: dict[int, int] = {}
        self._last: dict[int, int] = {}
        self._followed: dict[Followed, int] = {}

    def note(self, numbers: Iterable[int]) -> None:
        """Count a use of these elements: they were read, loaded or shown as an answer."""
        if not self.is_on:
            return
        now_us, uses, last = self._clock_us(), self._uses, self._last
        for number in numbers:
            # The time comes first: another thread may take the counts meanwhile.
            last[number] = now_us
            uses[number] = uses.get(number, 0) + 1
        if len(uses) > PENDING_MAX:
            self.save()

    def note_followed(self, links: Iterable[Followed]) -> None:
        """Count a use of these links: each led from one element to another."""
        if not self.is_on:
            return
        followed = self._followed
        for link in links:
            followed[link] = followed.get(link, 0) + 1
        if len(followed) > PENDING_MAX:
            self.save()

    def save(self) -> None:
        """Write the gathered counts. They are dropped if the file cannot be written."""
        if self._path is None or not (self._uses or self._followed):
            return
        pending = self._take()
        followed, self._followed = self._followed, {}
        with suppress(apsw.Error, OSError), closing(self._open()) as connection, connection:
            connection.executemany(
                "INSERT INTO use VALUES (?, ?, ?) ON CONFLICT (element) DO UPDATE"
                " SET uses = uses + excluded.uses, last = max(last, excluded.last)",
                [(number, *use) for number, use in pending.items()],
            )
            connection.executemany(
                "INSERT INTO followed VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE"
                " SET uses = uses + excluded.uses",
                [(*link, uses) for link, uses in followed.items()],
            )

    def uses(self) -> dict[int, Use]:
        """The use of every element that was ever used, by this process or before."""
        self.save()
        if self._path is None:
            return {number: Use(uses, self._last[number]) for number, uses in self._uses.items()}
        return {number: Use(*use) for number, *use in self._rows("SELECT * FROM use")}

    def followed(self) -> dict[Followed, int]:
        """The number of times each link was followed since the last `forget_followed`."""
        self.save()
        if self._path is None:
            return dict(self._followed)
        rows = self._rows("SELECT * FROM followed")
        return {(subject, str(name), object_): uses for subject, name, object_, uses in rows}

    def forget_followed(self) -> None:
        """Set the counts of followed links to 0, after upkeep has derived weights from them."""
        self._followed = {}
        if self._path is not None and self._path.exists():
            with suppress(apsw.Error, OSError), closing(self._open()) as connection:
                connection.execute("DELETE FROM followed")

    def after_fork(self) -> None:
        """In a forked child: forget the gathered counts, which the parent writes."""
        self._take()
        self._followed = {}

    def _take(self) -> dict[int, Use]:
        """Take the gathered counts of elements; counting in memory starts again at 0."""
        (uses, self._uses), (last, self._last) = (self._uses, {}), (self._last, {})
        return {number: Use(count, last[number]) for number, count in list(uses.items())}

    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        if self._path is None or not self._path.exists():
            return []
        with suppress(apsw.Error, OSError), closing(self._open()) as connection:
            return list(connection.execute(query))
        return []

    def _open(self) -> apsw.Connection:
        path = str(self._path)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        try:
            return self._with_tables(path)
        except (apsw.NotADBError, apsw.CorruptError):
            Path(path).unlink()  # The file is damaged: counting begins again.
            return self._with_tables(path)

    def _with_tables(self, path: str) -> apsw.Connection:
        connection = apsw.Connection(path)
        try:
            connection.set_busy_timeout(_BUSY_MS)
            connection.pragma("synchronous", "off")
            if connection.pragma("user_version") != FORMAT:
                connection.execute("DROP TABLE IF EXISTS use; DROP TABLE IF EXISTS followed")
                connection.pragma("user_version", FORMAT)
            connection.execute(_TABLES)
        except BaseException:
            connection.close()
            raise
        return connection
