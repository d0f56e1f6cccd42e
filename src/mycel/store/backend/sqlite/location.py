"""Opens SQLite connections to a file, and does the work that concerns the file as a whole.

No other module opens a connection to a graph.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import apsw

from mycel.errors import DatabaseError
from mycel.model.allowance import current
from mycel.store.backend.interface import Durability, MemoryUse
from mycel.store.backend.sqlite import creation, functions
from mycel.store.backend.sqlite.branches import FileBranches
from mycel.store.backend.sqlite.checkpoints import Checkpointer
from mycel.store.backend.sqlite.connection import SqliteConnection
from mycel.store.backend.sqlite.format import check_format
from mycel.store.file.locks import locked

_CACHE_KIB: dict[MemoryUse, int] = {"ample": 65_536, "modest": 4_096}
_MMAP_BYTES: dict[MemoryUse, int] = {"ample": 2 << 30, "modest": 0}
"""The part of a file that a connection maps.

It counts as memory of the process, once for each connection.
"""
_TEMPORARY: dict[MemoryUse, str] = {"ample": "memory", "modest": "file"}
"""The place where sorts that exceed the cache are stored."""
JOURNAL_SIZE_LIMIT = 64 << 20


@dataclass(frozen=True, slots=True)
class DatabaseLocation:
    """The file of a graph, and the settings of its connections."""

    path: str
    readonly: bool = False
    durability: Durability = "full"
    busy_timeout_s: float = 30.0
    vfs: str | None = None
    memory: MemoryUse = "ample"
    stamp: tuple[int, int, int] | None = None
    """Size and times of a file in a folder without write permission, not even for a lock. Such a
    file is read without locks, which is correct only while no other process changes it."""

    examine: Callable[[str, SqliteConnection], None] = lambda _path, _connection: None
    """A check of the objects of a file, which runs before anything else in it is read."""

    @property
    def cache_kib(self) -> int:
        """The size of the cache of one connection."""
        return _CACHE_KIB[self.memory]

    def identity(self, suffix: str = "") -> tuple[int, int] | None:
        """The device and number of the file, or of a companion; None if there is none.

        SQLite would go on writing to a moved or deleted file, so every transaction compares this.
        """
        try:
            status = os.stat(self.path + suffix)  # noqa: PTH116 - Path takes 20 µs
        except OSError:
            return None
        return status.st_dev, status.st_ino

    @property
    def is_read_without_locks(self) -> bool:
        return self.stamp is not None

    def open(self, begin: Callable[[SqliteConnection], None], *, create: bool) -> SqliteConnection:
        """Open the first connection. A new file is made; an existing one is checked.

        Raises:
            NotADatabase, FormatTooNew, DatabaseReadOnly, DatabaseError: the file cannot be opened.
        """
        may_write = not self.readonly
        return creation.open_or_create(
            self,
            lambda: self.connect(writable=may_write, create=create and may_write),
            begin,
            self.examine,
            create=create,
        )

    @property
    def branches(self) -> FileBranches:
        """The branches of the graph."""
        return FileBranches(self)

    @property
    def name(self) -> str:
        """The name of the file without its ending."""
        return Path(self.path).stem

    def check_format(self, connection: SqliteConnection) -> None:
        """Refuse a file that this version cannot read."""
        check_format(self.path, connection)

    def checkpointer(self) -> Checkpointer:
        """The checkpointer of the file: it moves the log into the file, in a thread."""
        return Checkpointer(self)

    def settle(self, connection: SqliteConnection) -> None:
        """Move the log into the file, except for changes that open readers must not see yet."""
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)

    def close_unsettled(self, connection: SqliteConnection) -> None:
        """Close a connection, but do not let it write its log into the file."""
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        connection.close(True)

    def listen(self, wake: Callable[[], None]) -> None:
        """Do nothing: subscribers have to ask the file, which takes microseconds."""

    def locked(self, name: str) -> AbstractContextManager[None]:
        """Hold the lock of a file beside the database."""
        return locked(Path(self.path + name))

    def check_may_scrub(self) -> None:
        """Check nothing: whoever writes a file may rewrite it."""

    def scrub(self) -> bool:
        """Rewrite the file, and empty the log (`Store.scrub`)."""
        deadline = time.monotonic() + self.busy_timeout_s
        try:
            connection = self.connect(writable=True)
        except apsw.Error:
            return False
        try:
            connection.execute("PRAGMA temp_store = file").fetchall()
            connection.execute("VACUUM")
            while not _truncate_log(connection):
                if time.monotonic() >= deadline:
                    return False
                time.sleep(0.005)
        except apsw.Error:
            return False
        finally:
            connection.close()
        return True

    def abandon(self, connection: SqliteConnection) -> None:
        """Keep a parent's connection open: closing it here would drop the parent's file locks."""
        _ABANDONED.append(connection)

    def check_unchanged(self) -> None:
        """Refuse to go on reading without locks when somebody has changed the file.

        Raises:
            DatabaseError: the file has changed.
        """
        if self.stamp is not None and stamp_of(self.path) != self.stamp:
            raise DatabaseError(
                f"The file {self.path!r} has changed while it was read without locks.",
                hint="Open it again.",
            )

    def connect(self, *, writable: bool = False, create: bool = False) -> SqliteConnection:
        """Open a new connection. If it is not writable, it refuses every statement that writes."""
        flags = apsw.SQLITE_OPEN_READONLY if self.readonly else apsw.SQLITE_OPEN_READWRITE
        if create:
            flags |= apsw.SQLITE_OPEN_CREATE
        name = self.path
        if self.stamp is not None:
            flags |= apsw.SQLITE_OPEN_URI
            name = f"file:{quote(self.path)}?immutable=1"
        connection = SqliteConnection(name, flags=flags, vfs=self.vfs)
        connection.patience = _patience(self.busy_timeout_s)
        connection.set_busy_handler(connection.patience)
        # Without QPSG, new bindings would prepare a cached statement again (STAT4).
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        # The last connection to close moves the log into the file and deletes it: only writers
        # should.
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0 if writable else 1)
        for pragma in (
            f"cache_size = -{self.cache_kib}",
            f"mmap_size = {_MMAP_BYTES[self.memory]}",
            f"temp_store = {_TEMPORARY[self.memory]}",
            f"synchronous = {self.durability}",
            f"journal_size_limit = {JOURNAL_SIZE_LIMIT}",
            f"query_only = {0 if writable else 1}",
        ):
            connection.execute(f"PRAGMA {pragma}").fetchall()
        functions.register(connection)
        return connection


def stamp_of(path: str) -> tuple[int, int, int] | None:
    """A stamp that changes when the file is written; None if it has a log or is unreadable."""
    if os.path.exists(f"{path}-wal"):  # noqa: PTH110 - every reader asks, and Path takes 20 µs
        return None
    try:
        status = os.stat(path)  # noqa: PTH116 - as above
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _patience(timeout_s: float) -> Callable[[int], bool]:
    """A busy handler that waits in short random steps, so that many writers get fair turns."""
    jitter = random.Random()
    started = 0.0

    def wait(attempt: int) -> bool:
        nonlocal started
        now = time.monotonic()
        if attempt == 0:
            started = now
        allowance = current()
        if now - started >= timeout_s or (allowance is not None and allowance.is_over()):
            return False
        time.sleep(jitter.uniform(0.0002, min(0.0005 * (attempt + 1), 0.01)))
        return True

    return wait


_ABANDONED: list[apsw.Connection] = []


def _truncate_log(connection: SqliteConnection) -> bool:
    try:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    except apsw.BusyError:  # Another checkpoint is running, or a reader needs the log.
        return False
    return True
