"""Use counts: how often elements were read or loaded, and links followed.

They are in the file `<graph>-use` beside the graph and are no part of it: no root covers them,
nothing is journaled, and a lost count does no harm. A read only adds to lists in memory. The lists
are counted, and the counts written, when the graph is closed, when many have gathered, and when
upkeep asks for them. A graph in memory or on a server has only the counts of this process.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from threading import Lock
from typing import Any, Final, NamedTuple

import apsw

FORMAT: Final = 1
PENDING_MAX: Final = 5_000
"""The number of elements and links with counts in memory at which the counts are written."""
READS_MAX: Final = 500
"""The number of reads in memory at which they are counted."""
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
        self._read: list[tuple[int, Sequence[int]]] = []
        """Reads that are not counted yet: the time of each, and its elements."""
        self._steps: list[Followed] = []
        """Links that were followed and are not counted yet. Counting them one by one would cost
        a read twice as much as noting them."""
        self._uses = Counter[int]()
        self._last: dict[int, int] = {}
        self._followed = Counter[Followed]()
        self._lock = Lock()
        """Held while what was noted is counted, and while the counts are taken."""

    def note(self, numbers: Sequence[int]) -> None:
        """Note a use of these elements: they were read, loaded or shown as an answer."""
        if not self.is_on:
            return
        self._read.append((self._clock_us(), numbers))
        if len(self._read) > READS_MAX:
            self._count()

    def note_followed(self, links: Sequence[Followed]) -> None:
        """Note a use of these links: each led from one element to another."""
        if not self.is_on:
            return
        self._steps.extend(links)
        if len(self._steps) > PENDING_MAX:
            self._count()

    def _count(self) -> None:
        """Count what was noted, and write the counts if many have gathered."""
        with self._lock:
            read, self._read = self._read, []
            for now_us, numbers in read:
                self._last.update(dict.fromkeys(numbers, now_us))
                self._uses.update(numbers)
            steps, self._steps = self._steps, []
            self._followed.update(steps)
        if max(len(self._uses), len(self._followed)) > PENDING_MAX:
            self._write()

    def save(self) -> None:
        """Count what was noted, and write the counts; lost if the file cannot be written."""
        self._count()
        self._write()

    def _write(self) -> None:
        if self._path is None or not (self._uses or self._followed):
            return
        with self._lock:
            pending = self._counts()
            followed = self._followed
            self._forget()
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
            with self._lock:
                return self._counts()
        return {number: Use(*use) for number, *use in self._rows("SELECT * FROM use")}

    def followed(self) -> dict[Followed, int]:
        """The number of times each link was followed since the last `forget_followed`."""
        self.save()
        if self._path is None:
            with self._lock:
                return dict(self._followed)
        rows = self._rows("SELECT * FROM followed")
        return {(subject, str(name), object_): uses for subject, name, object_, uses in rows}

    def forget_followed(self) -> None:
        """Set the counts of followed links to 0, after upkeep has derived weights from them."""
        with self._lock:
            self._steps, self._followed = [], Counter()
        if self._path is not None and self._path.exists():
            with suppress(apsw.Error, OSError), closing(self._open()) as connection:
                connection.execute("DELETE FROM followed")

    def after_fork(self) -> None:
        """In a forked child: forget what was noted, which the parent writes."""
        self._lock = Lock()  # Another thread of the parent may have held the lock.
        self._read, self._steps = [], []
        self._forget()

    def _counts(self) -> dict[int, Use]:
        """The gathered counts of elements."""
        return {number: Use(count, self._last[number]) for number, count in self._uses.items()}

    def _forget(self) -> None:
        """Begin to count at 0."""
        self._uses, self._last, self._followed = Counter(), {}, Counter()

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
