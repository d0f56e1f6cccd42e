"""A connection of SQLite with the methods of `Connection` that SQLite's own connection lacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import apsw

from mycel.sql import sqlite
from mycel.sql.dialect import Dialect
from mycel.store.backend.interface import TextIndex
from mycel.store.backend.sqlite import text_index

STEPS_UNWATCHED: Final = 4000
"""The number of SQLite instructions, some hundreds of rows, after which the clock is read.

At 500, reading the clock took a tenth of the time of a long query. At 4,000, a query over documents
of a megabyte each may run a second beyond its deadline.
"""


class SqliteConnection(apsw.Connection):
    """A connection of SQLite, as the `Connection` of the store."""

    dialect: Dialect = sqlite
    text_index: TextIndex = text_index
    has_pages = True
    is_remote = False
    is_lost = False
    patience: Callable[[int], bool] | None = None
    """The busy handler, which waits for other connections."""
    are_over: Callable[[], bool] | None = None
    """Asked while statements run; True stops them. It may wait for its turn before it answers."""

    def execute_with_version(
        self, cursor: apsw.Cursor, statement: str, bindings: Sequence[Any]
    ) -> None:
        cursor.execute(statement, bindings)

    def begin_reading(self) -> None:
        self.execute("BEGIN")

    def begin_writing(self, *, patient: bool = True) -> None:
        if patient:
            self.execute("BEGIN IMMEDIATE")
            return
        self.set_busy_handler(None)
        try:
            self.execute("BEGIN IMMEDIATE")
        finally:
            self.set_busy_handler(self.patience)

    def is_unused(self) -> bool:
        return self.txn_state() == apsw.SQLITE_TXN_NONE

    def watch(self, are_over: Callable[[], bool] | None) -> None:
        self.are_over = are_over
        self.set_progress_handler(are_over, STEPS_UNWATCHED)

    def replica_lag_s(self) -> float | None:
        return None

    def has_writing_rights(self) -> bool:
        return True

    def has_objects(self, *names: str) -> bool:
        marks = ", ".join("?" * len(names))
        query = f"SELECT count(*) FROM sqlite_schema WHERE name IN ({marks})"
        ((count,),) = self.execute(query, names)
        return bool(count == len(names))

    def keep_in_memory(self, kib: int) -> None:
        self.execute(f"PRAGMA cache_size = -{kib}").fetchall()

    def keep_nothing(self) -> None:
        self.execute("PRAGMA shrink_memory").fetchall()

    def missing_objects(self) -> list[str]:
        """None: the check of pages finds damaged indexes."""
        return []

    def make(self, statements: str) -> None:
        self.execute(statements)

    def append(self, table: str, columns: str, rows: Sequence[Sequence[Any]]) -> None:
        marks = ", ".join("?" * (columns.count(",") + 1))
        self.executemany(f"INSERT INTO {table} ({columns}) VALUES ({marks})", rows)

    def unmake(self, *tables: str) -> None:
        for table in tables:
            self.execute(f"DROP TABLE IF EXISTS {table}")

    def forget_statistics(self) -> None:
        query = "SELECT name FROM sqlite_schema WHERE name GLOB 'sqlite_stat[14]'"
        for (table,) in self.execute(query).fetchall():
            self.execute(f"DELETE FROM {table}")

    def steps(self, statement: str, bindings: Sequence[Any]) -> list[str]:
        depth = {0: -1}
        lines = []
        for number, parent, _, detail in self.execute(f"EXPLAIN QUERY PLAN {statement}", bindings):
            depth[number] = depth.get(parent, -1) + 1
            lines.append(f"{'  ' * depth[number]}{detail}")
        return lines

    def map_nothing(self) -> None:
        self.execute("PRAGMA mmap_size = 0").fetchall()
