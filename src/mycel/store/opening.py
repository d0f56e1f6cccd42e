"""From a path to an open file: resolves it, checks it, and creates a new one.

A graph "in memory" is a private file in a directory that lives in memory where the system has one,
and is gone when the graph is closed. So it behaves like any other graph: readers keep their
snapshots while others write, which SQLite's own in-memory databases cannot offer.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Final, get_args

import apsw

from mycel.errors import (
    ConstraintViolation,
    DatabaseError,
    DatabaseReadOnly,
    NotADatabase,
)
from mycel.model.names import CONCEPT_TYPE, PROPOSITION_TYPE, SYSTEM_ACTOR, is_unicode
from mycel.store.file import layout
from mycel.store.file.connections import (
    DatabaseLocation,
    Durability,
    MemoryUse,
    stamp_of,
    translated,
)
from mycel.store.file.format import check_format
from mycel.store.file.locks import set_aside, turn
from mycel.store.file.rows import fetch_first, fetch_one
from mycel.store.log.journal import Head
from mycel.store.log.registry import Registry
from mycel.store.log.trees import StateTrees
from mycel.store.schema_objects import check_objects
from mycel.store.write.ledger import Ledger
from mycel.store.write.transaction import Transaction

MEMORY: Final = ":memory:"
GENESIS: Final = "create the graph"
EXPECTANT: Final = "create the graph; the core capsules follow"
"""The message of the first transaction of a graph whose core capsules are still to be written."""
_MEMORY_DIRECTORY: Final = "/dev/shm"
_MAKING: Final = "-making"
"""The suffix of the lock of a file that is being created."""
_PRIVATE: Final = 0o600
"""The mode of a new database. SQLite gives its log the same."""


def private_directory() -> str:
    """A new directory for a graph in memory; the caller has to remove it."""
    import tempfile  # noqa: PLC0415 - a graph in a file starts without it

    in_memory = Path(_MEMORY_DIRECTORY)
    parent = _MEMORY_DIRECTORY if in_memory.is_dir() and os.access(in_memory, os.W_OK) else None
    return tempfile.mkdtemp(prefix="mycel-", dir=parent)


def locate(
    path: str,
    *,
    readonly: bool,
    durability: Durability,
    busy_timeout_s: float,
    vfs: str | None,
    memory: MemoryUse = "ample",
) -> DatabaseLocation:
    """The location of a graph, checked.

    Raises:
        NotADatabase: no file can have this name.
        ConstraintViolation: there is no such durability, memory, or patience.
    """
    if durability not in get_args(Durability):
        raise ConstraintViolation(
            f"The durability {durability!r} is not one of {', '.join(get_args(Durability))}."
        )
    if memory not in get_args(MemoryUse):
        raise ConstraintViolation(
            f"The memory {memory!r} is not one of {', '.join(get_args(MemoryUse))}."
        )
    if not busy_timeout_s >= 0:
        raise ConstraintViolation(f"busy_timeout_s is {busy_timeout_s!r}; it must not be negative.")
    if "\0" in path or not is_unicode(path):
        raise NotADatabase(f"{path!r} is a name that no file can have.")
    place = Path(path).resolve()  # The log stands beside the file itself, not beside a link to it.
    locked_out = readonly and not os.access(place.parent, os.W_OK)
    stamp = stamp_of(str(place)) if locked_out else None
    return DatabaseLocation(str(place), readonly, durability, busy_timeout_s, vfs, memory, stamp)


def open_or_create(
    location: DatabaseLocation,
    registry: Registry,
    *,
    create: bool,
    now_us: int,
    message: str = GENESIS,
) -> apsw.Connection:
    """Look at the file, make a database of it if it is new, and return the first connection.

    Raises:
        NotADatabase, FormatTooNew, DatabaseReadOnly, DatabaseError: it cannot be opened.
    """
    _check_path(location, create=create)
    with translated():
        try:
            connection = location.connect(
                writable=not location.readonly, create=create and not location.readonly
            )
        except apsw.CantOpenError as error:
            raise _cannot_open(location, error) from error
        except apsw.NotADBError as error:
            raise NotADatabase(f"{location.path!r} is no database ({error}).") from error
        try:
            if _is_new(connection):
                if location.readonly or not create:
                    raise NotADatabase(f"{location.path!r} holds no Mycel database.")
                with _making(location):
                    _create(registry, connection, now_us, message)
            check_format(location.path, connection)
            check_objects(location.path, connection)
        except BaseException:
            connection.close()
            raise
    return connection


def _check_path(location: DatabaseLocation, *, create: bool) -> None:
    path = Path(location.path)
    try:
        if path.is_dir():
            raise NotADatabase(f"{location.path!r} is a directory.")
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


def _make_room(location: DatabaseLocation) -> None:
    """Make an empty file without leftovers of an earlier one beside it.

    Never once there is a file: the files beside it are then in use.
    """
    path = Path(location.path)
    with _making(location), suppress(OSError):  # SQLite meets it too, and says it in its own words.
        if not path.exists():
            set_aside(path)
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _PRIVATE))


def _making(location: DatabaseLocation) -> AbstractContextManager[None]:
    """One process at a time: SQLite has no lock for what happens before there is a database."""
    return turn(Path(f"{location.path}{_MAKING}"), location.busy_timeout_s, location.path)


def _is_new(connection: apsw.Connection) -> bool:
    (application,) = fetch_one(connection, "PRAGMA application_id")
    return (
        application == 0 and fetch_first(connection, "SELECT 1 FROM sqlite_schema LIMIT 1") is None
    )


def _create(registry: Registry, connection: apsw.Connection, now_us: int, message: str) -> None:
    connection.execute("PRAGMA journal_mode = wal").fetchall()
    connection.execute("BEGIN IMMEDIATE")
    try:
        if _is_new(connection):  # Another process may have been faster.
            connection.execute(layout.CREATE)
            _genesis(registry, connection, now_us, message)
            connection.execute(f"PRAGMA application_id = {layout.APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {layout.FORMAT}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        registry.reset()
        raise


def _genesis(registry: Registry, connection: apsw.Connection, now_us: int, message: str) -> None:
    """The first transaction: the two meta-types, and the predicates every graph has."""
    meta_types = (
        (layout.CONCEPT_TYPE_NUMBER, CONCEPT_TYPE),
        (layout.PROPOSITION_TYPE_NUMBER, PROPOSITION_TYPE),
    )
    connection.executemany("INSERT INTO type VALUES (?, ?)", meta_types)
    connection.executemany(
        "INSERT INTO predicate VALUES (?, ?)",
        ((number, name) for name, number in layout.BUILT_IN_PREDICATES.items()),
    )
    ledger = Ledger(
        connection,
        registry,
        StateTrees(connection),
        Head.before_genesis(),
        actor=SYSTEM_ACTOR,
        message=message,
        now_us=now_us,
    )
    tx = Transaction(ledger)
    tx.define_meta_types()
    for name in layout.BUILT_IN_PREDICATES:
        tx.define_predicate(name)
    tx.finish()


def _cannot_open(location: DatabaseLocation, error: apsw.Error) -> DatabaseError:
    path = Path(location.path)
    if path.exists() and not os.access(path, os.R_OK):
        return DatabaseReadOnly(f"{location.path!r} may not be read ({error}).")
    if not os.access(path.parent, os.W_OK):
        return DatabaseReadOnly(f"The directory {str(path.parent)!r} may not be written ({error}).")
    return DatabaseError(f"{location.path!r} cannot be opened ({error}).")
