"""Opens the file at a path, and makes a database of an empty one."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Final

import apsw

from mycel.errors import DatabaseError, DatabaseReadOnly, NotADatabase
from mycel.store.backend.failures import translated
from mycel.store.backend.interface import Backend
from mycel.store.backend.sqlite.connection import SqliteConnection
from mycel.store.backend.sqlite.format import check_format
from mycel.store.file import layout
from mycel.store.file.locks import set_aside, turn
from mycel.store.file.rows import fetch_first, fetch_one

_MAKING: Final = "-making"
"""The suffix of the lock of a file that is being created."""
_PRIVATE: Final = 0o600
"""The mode of a new database; SQLite gives the log the same mode."""


def open_or_create(
    location: Backend,
    connect: Callable[[], SqliteConnection],
    begin: Callable[[SqliteConnection], None],
    examine: Callable[[str, SqliteConnection], None],
    *,
    create: bool,
) -> SqliteConnection:
    """Open a file, or make a database of a new one. Returns the first connection.

    Raises:
        NotADatabase, FormatTooNew, DatabaseReadOnly, DatabaseError: the file cannot be opened.
    """
    _check_path(location, create=create)
    with translated():
        try:
            connection = connect()
        except apsw.CantOpenError as error:
            raise _cannot_open(location, error) from error
        except apsw.NotADBError as error:
            raise NotADatabase(f"{location.path!r} is no database ({error}).") from error
        try:
            if _is_new(connection):
                if location.readonly or not create:
                    raise NotADatabase(f"{location.path!r} holds no Mycel database.")
                with _making(location):
                    _create(connection, begin)
            check_format(location.path, connection)
            examine(location.path, connection)
        except BaseException:
            connection.close()
            raise
    return connection


def _check_path(location: Backend, *, create: bool) -> None:
    path = Path(location.path)
    try:
        if path.is_dir():
            raise NotADatabase(f"{location.path!r} is a directory.", hint="Name a file in it.")
        if path.exists():
            return
    except OSError as error:
        raise DatabaseError(f"{location.path!r} cannot be looked at ({error}).") from error
    if location.readonly or not create:
        raise NotADatabase(
            f"There is no database at {location.path!r}.", hint="Create one with `mycel init`."
        )
    if not path.parent.is_dir():
        raise DatabaseError(
            f"There is no directory {str(path.parent)!r}.", hint="Create it, or name another."
        )
    _make_room(location)


def _make_room(location: Backend) -> None:
    """Make an empty file, and remove leftovers of an earlier file beside it.

    Never called for an existing file, because the files beside it may be in use.
    """
    path = Path(location.path)
    with _making(location), suppress(OSError):  # SQLite will report the error with more detail.
        if not path.exists():
            set_aside(path)
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _PRIVATE))


def _making(location: Backend) -> AbstractContextManager[None]:
    """A lock for creating the file: SQLite has no lock before the database exists."""
    return turn(Path(f"{location.path}{_MAKING}"), location.busy_timeout_s, location.path)


def _is_new(connection: SqliteConnection) -> bool:
    (application,) = fetch_one(connection, "PRAGMA application_id")
    return (
        application == 0 and fetch_first(connection, "SELECT 1 FROM sqlite_schema LIMIT 1") is None
    )


def _create(connection: SqliteConnection, begin: Callable[[SqliteConnection], None]) -> None:
    connection.execute("PRAGMA journal_mode = wal").fetchall()
    connection.execute("BEGIN IMMEDIATE")
    try:
        if _is_new(connection):  # Another process may have made the database first.
            connection.execute(layout.CREATE)
            begin(connection)
            connection.execute(f"PRAGMA application_id = {layout.APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {layout.FORMAT}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _cannot_open(location: Backend, error: apsw.Error) -> DatabaseError:
    path = Path(location.path)
    if path.exists() and not os.access(path, os.R_OK):
        return DatabaseReadOnly(f"{location.path!r} may not be read ({error}).")
    if not os.access(path.parent, os.W_OK):
        return DatabaseReadOnly(f"The directory {str(path.parent)!r} may not be written ({error}).")
    return DatabaseError(f"{location.path!r} cannot be opened ({error}).")
