"""The store as a whole: open, create, close; readers on snapshots, one writer.

Readers are connections that cannot write, kept in a pool. Whoever reads takes one for as long as
one snapshot has to last: a single statement, a `reading()` block, or the life of a generator.
"""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import count
from pathlib import Path
from typing import Final, TypeVar

import apsw

from mycel.errors import (
    DatabaseClosed,
    DatabaseError,
    DatabaseReadOnly,
    FormatTooNew,
    NotADatabase,
)
from mycel.merkle.proofs import Snapshot
from mycel.model import ids
from mycel.model.names import CONCEPT_TYPE, PROPOSITION_TYPE, SYSTEM_ACTOR
from mycel.store import layout, text
from mycel.store.connections import Durability, Location, translated
from mycel.store.journal import Head
from mycel.store.ledger import Ledger
from mycel.store.reader import Reader
from mycel.store.registry import Registry
from mycel.store.rows import first, only
from mycel.store.transaction import Guard, Transaction
from mycel.store.trees import StateTrees
from mycel.store.writer import Writer

MEMORY: Final = ":memory:"
IDLE_READERS_MAX: Final = 16

Result = TypeVar("Result")


def wall_clock_us() -> int:
    """Microseconds since the epoch. The default clock; tests pass their own."""
    return time.time_ns() // 1000


class Store:
    """One open database."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        create: bool = True,
        readonly: bool = False,
        durability: Durability = "full",
        busy_timeout_s: float = 30.0,
        clock_us: Callable[[], int] = wall_clock_us,
        guards: Sequence[Guard] = (),
        vfs: str | None = None,
    ) -> None:
        self.path: Final = os.fspath(path)
        self.registry: Final = Registry()
        self.location = _location(self.path, readonly, durability, busy_timeout_s, vfs)
        self._idle: list[Reader] = []
        self._anchor = _open_or_create(self, create=create, clock_us=clock_us)
        self._writer = Writer(self.location, self.registry, clock_us, guards)
        self._closed = False
        _OPEN.add(self)

    # Reading.

    def take(self) -> Reader:
        """A reader of one's own, until it is given back."""
        try:
            return self._idle.pop()
        except IndexError:
            if self._closed:
                raise DatabaseClosed("This database has been closed.") from None
            with translated():
                return Reader(self.location.connect(), self.registry)

    def give(self, reader: Reader) -> None:
        """Return a reader that has no statement open."""
        if self._closed or len(self._idle) >= IDLE_READERS_MAX:
            reader.connection.close()
        else:
            self._idle.append(reader)

    @contextmanager
    def reading(self) -> Iterator[Reader]:
        """A reader that sees one snapshot for as long as the block lasts."""
        reader = self.take()
        try:
            with translated():
                reader.connection.execute("BEGIN")
                try:
                    yield reader
                finally:
                    if reader.connection.in_transaction:
                        reader.connection.execute("COMMIT")
        finally:
            self.give(reader)

    @property
    def holds_snapshots(self) -> bool:
        """Whether a reader can be held open while others write; not so in memory."""
        return not self.location.in_memory

    def snapshot(self) -> Snapshot:
        """All roots of this moment."""
        with self.reading() as reader:
            return Head.read(reader.connection).snapshot()

    # Writing.

    def transaction(self, *, actor: str, message: str) -> AbstractContextManager[Transaction]:
        self._check_writable()
        return self._writer.open(actor=actor, message=message)

    def run(self, work: Callable[[Transaction], Result], *, actor: str, message: str) -> Result:
        self._check_writable()
        return self._writer.run(work, actor=actor, message=message)

    def scrub(self) -> bool:
        """Write the file anew, so that no page keeps bytes of what was deleted, and cut the log.

        Moving rows between pages leaves copies in unused space; nothing short of this removes them.
        False if others kept the file busy (or the disk full) for so long that traces may remain.
        """
        self._check_writable()
        if self.location.in_memory:
            return True
        deadline = time.monotonic() + self.location.busy_timeout_s
        try:
            connection = self.location.connect(writable=True)
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

    def fold(self, *, wait: bool = True) -> bool:
        """Bring tree pages and text index up to date on disk. False if it was not its turn."""
        if self.location.readonly:
            return False

        def work(connection: apsw.Connection, trees: StateTrees) -> None:
            head = Head.read(connection)
            trees.catch_up(head.seq, head.folded_seq)
            trees.write(head)
            text.fold(connection)
            head.write(connection, b"", b"")

        return self._writer.maintain(work, wait=wait)

    def scratch_checks(self, work: Callable[[apsw.Connection], Result]) -> Result:
        """Run work that needs a writable connection but whose writes are all undone."""
        with translated():
            connection = self.location.connect(writable=True)
            try:
                connection.execute("BEGIN IMMEDIATE")
                return work(connection)
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                connection.close()

    def _check_writable(self) -> None:
        if self._closed:
            raise DatabaseClosed("This database has been closed.")
        if self.location.readonly:
            raise DatabaseReadOnly("This database was opened for reading only.")

    def close(self) -> None:
        """Close every connection. Closing twice does no harm."""
        if self._closed:
            return
        self._closed = True
        _OPEN.discard(self)
        with translated():
            self._writer.close()
            while self._idle:
                self._idle.pop().connection.close()
            self._anchor.close()

    def after_fork(self) -> None:
        """In a forked child: use none of the parent's connections."""
        _ABANDONED.extend(reader.connection for reader in self._idle)
        _ABANDONED.append(self._anchor)
        self._idle = []
        self._writer.after_fork()


_OPEN: weakref.WeakSet[Store] = weakref.WeakSet()
_ABANDONED: list[apsw.Connection] = []
"""Connections of a parent process, kept from being closed: closing would drop its file locks."""


def _after_fork_in_child() -> None:
    for store in list(_OPEN):
        store.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)

_memory_names = count(1)


def _location(
    path: str, readonly: bool, durability: Durability, busy_timeout_s: float, vfs: str | None
) -> Location:
    if path == MEMORY:
        name = f"/mycel-{os.getpid()}-{next(_memory_names)}"
        return Location(name, False, "off", busy_timeout_s, "memdb")
    return Location(str(Path(path).absolute()), readonly, durability, busy_timeout_s, vfs)


def _open_or_create(store: Store, *, create: bool, clock_us: Callable[[], int]) -> apsw.Connection:
    """Look at the file, make a database of it if it is new, and keep one connection open."""
    location = store.location
    with translated():
        _check_path(location, create=create)
        try:
            connection = _connect_first(location, create=create)
        except apsw.CantOpenError as error:
            raise _cannot_open(location, error) from error
        try:
            if _is_new(connection):
                if location.readonly or not create:
                    raise NotADatabase(f"{store.path!r} holds no Mycel database.")
                _create(store, connection, clock_us)
            _check_format(store.path, connection)
        except BaseException:
            connection.close()
            raise
        connection.execute("PRAGMA query_only = 1")
    return connection


def _truncate_log(connection: apsw.Connection) -> bool:
    try:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    except apsw.BusyError:  # Another checkpoint is running, or a reader needs the log.
        return False
    return True


def _check_path(location: Location, *, create: bool) -> None:
    if location.in_memory:
        return
    path = Path(location.path)
    if path.is_dir():
        raise NotADatabase(f"{location.path!r} is a directory.")
    if not path.exists():
        if location.readonly or not create:
            raise NotADatabase(f"There is no database at {location.path!r}.")
        if not path.parent.is_dir():
            raise DatabaseError(
                f"There is no directory {str(path.parent)!r}.", hint="Create it, or name another."
            )


def _connect_first(location: Location, *, create: bool) -> apsw.Connection:
    if location.readonly:
        return location.connect()
    return location.connect(writable=True, create=create)


def _is_new(connection: apsw.Connection) -> bool:
    (application,) = only(connection, "PRAGMA application_id")
    tables = first(connection, "SELECT 1 FROM sqlite_schema LIMIT 1")
    return application == 0 and tables is None


def _create(store: Store, connection: apsw.Connection, clock_us: Callable[[], int]) -> None:
    if not store.location.in_memory:
        connection.execute("PRAGMA journal_mode = wal").fetchall()
    connection.execute("BEGIN IMMEDIATE")
    try:
        if _is_new(connection):  # Another process may have been faster.
            connection.execute(layout.CREATE)
            _genesis(store, connection, clock_us())
            connection.execute(f"PRAGMA application_id = {layout.APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {layout.FORMAT}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _genesis(store: Store, connection: apsw.Connection, now_us: int) -> None:
    """The first transaction: the two meta-types, and the predicates every graph has."""
    empty = bytes(32)
    connection.execute(
        "INSERT INTO head VALUES (0, 0, ?, ?, 0, 0, 0, ?, ?, ?, x'', x'')",
        (ids.FIRST_CONCEPT, ids.FIRST_PROPOSITION, bytes(8), empty, empty),
    )
    meta = (
        (layout.CONCEPT_TYPE_NUMBER, CONCEPT_TYPE),
        (layout.PROPOSITION_TYPE_NUMBER, PROPOSITION_TYPE),
    )
    connection.executemany("INSERT INTO type VALUES (?, ?)", meta)
    connection.executemany(
        "INSERT INTO predicate VALUES (?, ?)",
        ((number, name) for name, number in layout.BUILT_IN_PREDICATES.items()),
    )
    tx = Transaction(
        Ledger(
            connection,
            store.registry,
            StateTrees(connection),
            Head.read(connection),
            actor=SYSTEM_ACTOR,
            message="genesis",
            now_us=now_us,
        )
    )
    tx.define_meta_types()
    for name in layout.BUILT_IN_PREDICATES:
        tx.define_predicate(name)
    tx.finish()


def _check_format(path: str, connection: apsw.Connection) -> None:
    (application,) = only(connection, "PRAGMA application_id")
    if application != layout.APPLICATION_ID:
        raise NotADatabase(f"{path!r} is a SQLite database, but not one of Mycel.")
    (found,) = only(connection, "PRAGMA user_version")
    if found > layout.FORMAT:
        raise FormatTooNew(
            f"{path!r} has format {found}; this version of Mycel reads up to {layout.FORMAT}."
        )


def _cannot_open(location: Location, error: apsw.Error) -> DatabaseError:
    path = Path(location.path)
    if path.exists() and not os.access(path, os.R_OK):
        return DatabaseReadOnly(f"{location.path!r} may not be read ({error}).")
    if not os.access(path.parent, os.W_OK):
        return DatabaseReadOnly(f"The directory {str(path.parent)!r} may not be written ({error}).")
    return DatabaseError(f"{location.path!r} cannot be opened ({error}).")
