"""SQLite connections: how they are opened, and what their errors become.

Every connection is opened here. `translated` is the one place where errors of SQLite become ours.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal
from urllib.parse import quote

import apsw

from mycel.errors import (
    DatabaseBusy,
    DatabaseCorrupt,
    DatabaseError,
    DatabaseReadOnly,
    DiskFull,
    ExecutionTimeout,
    InternalError,
    MycelError,
    NotADatabase,
    ResourceExhausted,
)
from mycel.model.allowance import current, too_little_memory
from mycel.store.file import functions

Durability = Literal["full", "normal", "off"]

MemoryUse = Literal["ample", "modest"]
"""The amount of a file that a process may keep in memory."""

_CACHE_KIB: dict[MemoryUse, int] = {"ample": 65_536, "modest": 4_096}
_MMAP_BYTES: dict[MemoryUse, int] = {"ample": 2 << 30, "modest": 0}
"""The mapped part of a file counts as memory of the process, once for each connection."""
_TEMPORARY: dict[MemoryUse, str] = {"ample": "memory", "modest": "file"}
"""The place of sorts that do not fit into the cache."""
JOURNAL_SIZE_LIMIT = 64 << 20


@dataclass(frozen=True, slots=True)
class DatabaseLocation:
    """The location of a database, and the settings of its connections."""

    path: str
    readonly: bool = False
    durability: Durability = "full"
    busy_timeout_s: float = 30.0
    vfs: str | None = None
    memory: MemoryUse = "ample"
    stamp: tuple[int, int, int] | None = None
    """Size and times of a file in a folder without write permission, not even for a lock. It is
    read without locks, which is correct only while no other process changes it."""

    @property
    def cache_kib(self) -> int:
        """The size of the cache of one connection."""
        return _CACHE_KIB[self.memory]

    def identity(self, suffix: str = "") -> tuple[int, int] | None:
        """The device and number of the file, or of a companion; None if there is none.

        SQLite would go on writing to a file that was moved or deleted, so every transaction asks.
        """
        try:
            found = os.stat(self.path + suffix)  # noqa: PTH116 - Path takes 20 µs
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def be_patient(self, connection: apsw.Connection) -> None:
        """Let a connection wait for others as long as this location says."""
        connection.set_busy_handler(_patience(self.busy_timeout_s))

    def check_unchanged(self) -> None:
        """Refuse to go on reading without locks when somebody has changed the file.

        Raises:
            DatabaseError: it has changed.
        """
        if self.stamp is not None and stamp_of(self.path) != self.stamp:
            raise DatabaseError(
                f"The file {self.path!r} has changed while it was read without locks.",
                hint="Open it again.",
            )

    def connect(self, *, writable: bool = False, create: bool = False) -> apsw.Connection:
        """A new connection. One that is not writable refuses every statement that writes."""
        flags = apsw.SQLITE_OPEN_READONLY if self.readonly else apsw.SQLITE_OPEN_READWRITE
        if create:
            flags |= apsw.SQLITE_OPEN_CREATE
        name = self.path
        if self.stamp is not None:
            flags |= apsw.SQLITE_OPEN_URI
            name = f"file:{quote(self.path)}?immutable=1"
        connection = apsw.Connection(name, flags=flags, vfs=self.vfs)
        self.be_patient(connection)
        # Without QPSG every new binding would prepare a cached statement again (STAT4).
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        # The last connection of all moves the log into the file and deletes it: a task for writers.
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
    """A stamp that changes when a file is written; None if it has a log, or cannot be read."""
    if os.path.exists(f"{path}-wal"):  # noqa: PTH110 - every reader asks, and Path takes 20 µs
        return None
    try:
        found = os.stat(path)  # noqa: PTH116 - as above
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _patience(timeout_s: float) -> Callable[[int], bool]:
    """A busy handler that waits in short random steps, so that many writers take fair turns."""
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


FAILURES = (apsw.Error, UnicodeDecodeError)
"""Errors of reading a file. SQLite returns text without checking that it is UTF-8."""


@contextmanager
def translated() -> Iterator[None]:
    """Turn errors of SQLite into ours; leave ours as they are."""
    try:
        yield
    except FAILURES as error:
        raise translate(error) from error


def translate(error: apsw.Error | UnicodeDecodeError) -> MycelError:
    """Our error for one of SQLite's."""
    message = str(error)
    match error:
        case UnicodeDecodeError():
            return DatabaseCorrupt(f"The database is damaged ({message}).")
        case apsw.BusyError() | apsw.LockedError():
            return DatabaseBusy(f"Another writer held the database for too long ({message}).")
        case apsw.FullError():
            return DiskFull(f"The disk is full ({message}).")
        case apsw.NotADBError():
            return NotADatabase(f"This file is no database ({message}).")
        case apsw.CorruptError() | apsw.FormatError():
            return DatabaseCorrupt(f"The database is damaged ({message}).")
        case apsw.ReadOnlyError() | apsw.PermissionsError():
            return DatabaseReadOnly(f"The database cannot be written ({message}).")
        case apsw.InterruptError():
            return ExecutionTimeout("The work was interrupted at its deadline.")
        case apsw.NoMemError():
            return too_little_memory()
        case apsw.TooBigError():
            return ResourceExhausted(f"The work needs more than it may have ({message}).")
        case apsw.CantOpenError() | apsw.IOError() | apsw.AuthError():
            return DatabaseError(f"The storage failed ({message}).")
        case apsw.SQLError() if any(word in message for word in _TOO_MUCH):
            return ResourceExhausted(
                f"The command is too large for one statement ({message}).",
                hint="Ask for less at once: fewer expressions, fewer clauses, less nesting.",
            )
        case _:
            return InternalError(f"The database engine refused a statement ({message}).")


_TOO_MUCH = ("too many", "too large", "too big", "at most 64", "too deep", "stack overflow")
"""Messages of SQLite about a statement beyond one of its limits."""

_ABANDONED: list[apsw.Connection] = []


def abandon(connection: apsw.Connection) -> None:
    """Keep a parent process's connection from being closed here: that would drop its file locks."""
    _ABANDONED.append(connection)
