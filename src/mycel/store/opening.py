"""Resolves the path of a graph, checks the file, and creates a new one.

A graph "in memory" is a private file, in a directory that the system keeps in memory if it can. It
is removed when the graph is closed. A graph in memory behaves like any other: readers keep their
snapshots while others write, which SQLite's own in-memory databases do not allow.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, get_args

from mycel.errors import (
    ConstraintViolation,
    DatabaseReadOnly,
    NotADatabase,
)
from mycel.model.extras import extra
from mycel.model.names import CONCEPT_TYPE, PROPOSITION_TYPE, SYSTEM_ACTOR, is_unicode
from mycel.store.backend.failures import translated
from mycel.store.backend.interface import (
    Backend,
    BranchPlaces,
    Connection,
    Durability,
    MemoryUse,
    Workspaces,
)
from mycel.store.backend.sqlite.location import DatabaseLocation, stamp_of
from mycel.store.file import layout
from mycel.store.file.workspace_databases import is_address
from mycel.store.index import lifetimes
from mycel.store.log.journal import Head
from mycel.store.log.registry import Registry
from mycel.store.log.trees import StateTrees
from mycel.store.schema_objects import check_objects
from mycel.store.write.ledger import Ledger
from mycel.store.write.transaction import Transaction

MEMORY: Final = ":memory:"
GENESIS: Final = "create the graph"
EXPECTANT: Final = "create the graph; the core capsules follow"
"""The message of the first transaction of a graph whose core capsules are not written yet."""
_MEMORY_DIRECTORY: Final = "/dev/shm"


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
) -> Backend:
    """The location of a graph, after checks.

    Raises:
        NotADatabase: no file can have this name.
        ConstraintViolation: `durability`, `memory` or `busy_timeout_s` has an impossible value.
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
    if is_address(path):
        return _locate_server(path, readonly=readonly, busy_timeout_s=busy_timeout_s)
    if "\0" in path or not is_unicode(path):
        raise NotADatabase(f"{path!r} is a name that no file can have.")
    place = Path(path).resolve()  # The log is beside the file itself, not beside a link to it.
    locked_out = readonly and not os.access(place.parent, os.W_OK)
    stamp = stamp_of(str(place)) if locked_out else None
    return DatabaseLocation(
        str(place), readonly, durability, busy_timeout_s, vfs, memory, stamp, _examine
    )


def check_address(url: str) -> None:
    """Check that a text can be the URL of a graph on a server, without asking the server.

    Raises:
        NotADatabase, InvalidIdentifier: the text is no such URL, or has a password.
    """
    from mycel.store.backend.postgres.address import parse_address  # noqa: PLC0415 - seldom used

    parse_address(url)


def workspaces_in(database: str) -> Workspaces:
    """The workspaces of a database on a server, by its URL."""
    extra("psycopg", "postgres")
    from mycel.store.backend.postgres.workspaces import (  # noqa: PLC0415 - it needs the extra
        DatabaseWorkspaces,
    )

    return DatabaseWorkspaces(database)


def branches_at(url: str) -> BranchPlaces:
    """The branches of a graph on a server."""
    return _locate_server(url, readonly=True, busy_timeout_s=30.0).branches


def _locate_server(url: str, *, readonly: bool, busy_timeout_s: float) -> Backend:
    from mycel.store.backend.postgres.address import parse_address  # noqa: PLC0415 - seldom used

    address = parse_address(url)
    extra("psycopg", "postgres")
    from mycel.store.backend.postgres.location import (  # noqa: PLC0415 - it needs the extra
        PostgresLocation,
    )

    return PostgresLocation(address, readonly, busy_timeout_s)


def _examine(path: str, connection: Connection) -> None:
    """Refuse foreign objects, and make tables that files of a development version lack.

    Raises:
        NotADatabase: there is a foreign object, or tables are missing and nothing may be written.
    """
    check_objects(path, connection)
    if not lifetimes.are_missing(connection):
        return
    try:
        with translated():
            _make_lifetimes(connection)
    except DatabaseReadOnly as error:
        raise NotADatabase(
            f"{path!r} is of a development version and lacks tables of this one.",
            hint="Open it once for writing, for instance with `mycel sleep --for 0.1`.",
        ) from error


def _make_lifetimes(connection: Connection) -> None:
    connection.begin_writing()
    try:
        if lifetimes.are_missing(connection):  # Another process may have made the tables first.
            lifetimes.make(connection)
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def begin(connection: Connection, registry: Registry, now_us: int, message: str) -> None:
    """Write the first transaction of a new graph."""
    try:
        _genesis(registry, connection, now_us, message)
    except BaseException:
        registry.reset()
        raise


def _genesis(registry: Registry, connection: Connection, now_us: int, message: str) -> None:
    """Write the two meta-types and the predicates of every graph: the first transaction."""
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
