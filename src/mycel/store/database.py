"""The store as a whole: readers on snapshots, one writer, and closing.

Readers are connections that cannot write. They are kept in a pool. A caller takes a reader as long
as it needs one snapshot: for a statement, a `reading()` block, or the life of a generator.
"""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, Final, ParamSpec, TypeVar

from mycel.errors import ConstraintViolation, DatabaseClosed, DatabaseReadOnly, NotADatabase
from mycel.merkle.proofs import Snapshot
from mycel.model.permission import author_of
from mycel.model.state import LIVE, State
from mycel.store.backend.failures import FAILURES, translate, translated
from mycel.store.backend.interface import Backend, Connection, Durability, MemoryUse
from mycel.store.file.branch_files import MAIN
from mycel.store.file.use_counts import UseCounts
from mycel.store.file.workspace_databases import is_address
from mycel.store.index import text
from mycel.store.log.journal import Head
from mycel.store.log.registry import Registry
from mycel.store.log.trees import StateTrees
from mycel.store.opening import (
    EXPECTANT,
    GENESIS,
    MEMORY,
    begin,
    locate,
    private_directory,
)
from mycel.store.query import history
from mycel.store.query.reader import Reader
from mycel.store.write.transaction import Guard, Transaction
from mycel.store.write.writer import GroupMember, Writer

if TYPE_CHECKING:
    from mycel.store.log.purge_entries import KnownPurges
    from mycel.store.write.journal_copy import CopiedPage

READ_ONCE_CACHE_KIB: Final = 2_048
"""The page cache of a connection that reads each page once."""

IDLE_READERS_MAX: Final = 16

P = ParamSpec("P")
T = TypeVar("T")


def wall_clock_us() -> int:
    """The default clock: microseconds since the epoch. Tests pass their own clock."""
    return time.time_ns() // 1000


class ReaderLease:
    """A reader that is lent for a `with` block, in which errors of SQLite become ours.

    With `snapshot`, the whole block reads one snapshot.
    """

    __slots__ = ("_reader", "_snapshot", "_state", "_store")

    def __init__(self, store: Store, state: State, *, snapshot: bool) -> None:
        self._store, self._state, self._snapshot = store, state, snapshot

    def __enter__(self) -> Reader:
        reader = self._reader = self._store.take(self._state)
        if self._snapshot:
            try:
                reader.connection.begin_reading()
            except BaseException as error:
                self._end(error)
                raise
        return reader

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        try:
            # A failed statement may have ended the transaction.
            if self._snapshot and self._reader.connection.in_transaction:
                self._reader.execute("COMMIT")
        except FAILURES as failure:
            error = error or failure
        self._end(error)

    def _end(self, error: BaseException | None) -> None:
        self._store.give(self._reader)
        if isinstance(error, FAILURES):
            raise translate(error) from error


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
        memory: MemoryUse = "ample",
        bare: bool = True,
        count_uses: bool = False,
        empty: bool = False,
    ) -> None:
        self.path: Final = os.fsdecode(path)
        self.registry: Final = Registry()
        self.now_us: Final = clock_us
        """The clock, in microseconds since the epoch."""
        self._remove_private: weakref.finalize[..., Store] | None = None
        place = self.path
        if place == MEMORY:
            if readonly:
                raise NotADatabase(
                    "Opening a graph in memory read-only is refused: it is new and empty."
                )
            from shutil import rmtree  # noqa: PLC0415 - a graph in a file starts without it

            directory = private_directory()
            self._remove_private = weakref.finalize(self, rmtree, directory, ignore_errors=True)
            place = str(Path(directory) / "graph.db")
            durability = "off"
        self.location: Final[Backend] = locate(
            place,
            readonly=readonly,
            durability=durability,
            busy_timeout_s=busy_timeout_s,
            vfs=vfs,
            memory=memory,
        )
        self._idle: list[Reader] = []
        self._process = os.getpid()
        self._reads_without_locks = self.location.is_read_without_locks
        first = GENESIS if bare else EXPECTANT
        connection = self.location.open(
            lambda on: None if empty else begin(on, self.registry, clock_us(), first),
            # A branch on a server is a copy of another one, never a new graph.
            create=create and self._is_file_or_main(),
        )
        if readonly:
            self._idle.append(self._reader(connection))
        # The writer has its own registry: names that it adds are not shared before the commit.
        self._writer = Writer(
            self.location, Registry(), clock_us, guards, None if readonly else connection
        )
        self._closed = False
        has_file = not (self.is_in_memory or readonly or is_address(str(self.location.path)))
        use_path = Path(f"{self.location.path}-use") if has_file else None
        self.use_counts: Final = UseCounts(use_path, clock_us, is_on=count_uses and not readonly)
        """Counts of elements that were read, in a file beside the graph."""
        _STORES.add(self)

    def _is_file_or_main(self) -> bool:
        return not is_address(self.location.path) or self.location.branches.open == MAIN

    # Reading.

    def take(self, state: State = LIVE) -> Reader:
        """Take a reader for one caller, who has to give it back.

        Raises:
            ConstraintViolation: the state was scrubbed.
        """
        try:
            reader = self._idle.pop()
            if self._reads_without_locks:
                self.location.check_unchanged()
        except IndexError:
            self._check_open()
            self.location.check_unchanged()
            with translated():
                reader = self._reader(self.location.connect())
        reader.limit()
        if state is LIVE:
            return reader
        try:
            with translated():
                history.check_kept(reader, state)
        except BaseException:
            self.give(reader)
            raise
        return reader.at(state)

    def _reader(self, connection: Connection) -> Reader:
        reader = Reader(connection, self.registry)
        reader.now_us = self.now_us
        reader.watch()
        return reader

    def give(self, reader: Reader) -> None:
        """Give back a reader that has no open statement."""
        reader = reader.live
        reader.free()
        if reader.process != self._process:
            self.location.abandon(reader.connection)
        elif reader.connection.is_lost:
            # The pooled readers have probably lost their connections too; the next caller gets a
            # new one.
            self._drop_idle()
        elif self._closed or len(self._idle) >= IDLE_READERS_MAX:
            reader.connection.close()
        else:
            self._idle.append(reader)

    def _drop_idle(self) -> None:
        while self._idle:
            self._idle.pop().connection.close()

    def lending(self, state: State = LIVE) -> ReaderLease:
        """A reader for the block, without a snapshot: each statement sees the newest commit."""
        return ReaderLease(self, state, snapshot=False)

    def reading(self, state: State = LIVE) -> ReaderLease:
        """A reader that sees one snapshot during the block."""
        return ReaderLease(self, state, snapshot=True)

    def stream(self, state: State, read: Callable[[Reader], Iterator[T]]) -> Iterator[T]:
        """Yield the items that `read` yields. The reader is lent until they end."""
        reader = self.take(state)
        try:
            rows = read(reader)
        except BaseException as error:
            self.give(reader)
            if isinstance(error, FAILURES):
                raise translate(error) from error
            raise
        return self._streamed(reader, rows)

    def _streamed(self, reader: Reader, rows: Iterator[T]) -> Iterator[T]:
        try:
            yield from rows
        except FAILURES as error:
            raise translate(error) from error
        finally:
            del rows  # This closes the statement before the reader is used again.
            self.give(reader)

    @contextmanager
    def reading_afresh(self) -> Iterator[Reader]:
        """A reader as in `reading`, on a new connection and with no cached names."""
        self._check_open()
        with translated():
            connection = self.location.connect()
            try:
                connection.begin_reading()
                yield Reader(connection, Registry())
            finally:
                connection.close()

    @contextmanager
    def reading_once(self) -> Iterator[Reader]:
        """A reader as in `reading_afresh`, for reading much of the file once.

        The connection maps nothing into memory: the process would grow by all that it reads, and
        stay that large.
        """
        with self.reading_afresh() as reader:
            reader.connection.map_nothing()
            reader.connection.keep_in_memory(READ_ONCE_CACHE_KIB)
            yield reader

    def needs_seed(self) -> bool:
        """True if the core capsules are still to be written into the graph.

        The graph is new, or the process that made it died before it wrote them. False for a bare
        graph, which needs none.
        """
        with self.reading() as reader:
            rows = reader.fetch_all("SELECT message FROM tx ORDER BY seq LIMIT 2")
        return rows == [(EXPECTANT,)]

    def has_pending_text(self) -> bool:
        """True if the text index does not yet have all text."""
        with self.lending() as reader:
            return bool(text.pending(reader.connection))

    def snapshot(self) -> Snapshot:
        """All roots of the present state."""
        with self.reading() as reader:
            return reader.head().snapshot()

    @property
    def is_in_memory(self) -> bool:
        """True if the file is private and is removed when the graph is closed."""
        return self._remove_private is not None

    def check_idle(self, hint: str) -> None:
        """Check that the store is open, and that this thread is in no transaction.

        Raises:
            ConstraintViolation, DatabaseClosed: a transaction is open, or the store is closed.
        """
        self._check_open()
        if self._writer.is_mine():
            raise ConstraintViolation("A transaction is open in this thread.", hint=hint)

    def check_in_place(self) -> None:
        """Check that the file is still at its path (`Writer.check_in_place`)."""
        self._writer.check_in_place()

    # Writing.

    def check_may_write(self) -> None:
        """Check that this thread has permission to write to this branch.

        Raises:
            AccessDenied: the thread lacks the permission.
        """
        author_of("", self._writer.branch)

    def transaction(self, *, actor: str, message: str) -> AbstractContextManager[Transaction]:
        self._check_writable()
        return self._writer.open(actor=author_of(actor, self._writer.branch), message=message)

    def run(
        self,
        work: Callable[[Transaction], T],
        *,
        actor: str,
        message: str,
        is_long: bool = False,
    ) -> T:
        self._check_writable()
        author = author_of(actor, self._writer.branch)
        return self._writer.run(work, actor=author, message=message, is_long=is_long)

    def together(self, work: Callable[[Sequence[GroupMember]], T]) -> T:
        """Let the transactions that `work` runs share one commit (`Writer.together`)."""
        return self._writer.together(work)

    def check_may_scrub(self) -> None:
        """Check that a scrub may rewrite the graph.

        Raises:
            DatabaseReadOnly: a scrub is not allowed.
        """
        self._check_writable()
        self.location.check_may_scrub()

    def scrub(self) -> bool:
        """Rewrite the file so that no page keeps bytes of deleted content, and empty the log.

        Moving rows between pages leaves copies in unused space, so only a rewrite removes them.
        Returns False if traces may remain: others kept the file busy, the disk was full, or the
        graph is on a server.
        """
        self._check_writable()
        return self.location.scrub()

    def fold(self, *, wait: bool = True) -> bool:
        """Write pending changes into the tree pages and the text index.

        Returns False, and writes nothing, if the file is read-only, this thread is in a
        transaction, or without `wait` somebody else is writing.
        """
        if self.location.readonly or self._writer.is_mine():
            return False

        def work(connection: Connection, trees: StateTrees) -> None:
            head = Head.read(connection)
            trees.follow(head, head.seq)
            trees.write(head)
            text.fold(connection)
            head.settle(connection)

        return self._writer.maintain(work, wait=wait)

    @property
    def pending_changes(self) -> int:
        """The number of changes that wait for the next fold, as the writer last saw it."""
        return self._writer.pending_changes

    def merge_text(self) -> bool:
        """Merge a few pages of the text index.

        Returns False if none is left, the file is read-only, or somebody is writing.
        """
        if self.location.readonly or self._writer.is_mine():
            return False
        merged: list[bool] = []
        self._writer.maintain(
            lambda connection, _: merged.append(connection.text_index.merge_some(connection)),
            wait=False,
        )
        return any(merged)

    def begin_checkpoint(self) -> None:
        """Start to copy the log into the file in the background, unless a writer is at work."""
        if not self.location.readonly and not self._writer.is_mine():
            self._writer.begin_checkpoint()

    def maintain(
        self,
        work: Callable[Concatenate[Connection, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Change tables that hold no knowledge, in the turn of the writer.

        `work` is a function of `log.merges`, `log.saved_views`, `index.passages` or
        `index.property_vectors`, called with these arguments.
        """
        self.check_may_write()
        return self.annotate(work, *args, **kwargs)

    def annotate(
        self,
        work: Callable[Concatenate[Connection, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Run `maintain` for a caller without the right to write, such as one who may only propose.

        The caller checks the rights.
        """
        self._check_writable()
        results: list[T] = []
        self._writer.maintain(lambda on, _: results.append(work(on, *args, **kwargs)), wait=True)
        return results[-1]

    def copy_journal(self, page: CopiedPage, purges: KnownPurges) -> Head:
        """Append transactions of another copy of this graph, with all derived rows.

        Raises:
            DatabaseCorrupt: the transactions do not give the roots that they state; nothing was
                written.
            Unsupported: the other copy has purged an element that this copy still has.
        """
        from mycel.store.write.journal_copy import copy_page  # noqa: PLC0415 - seldom needed

        self._check_writable()
        self.check_may_write()
        self.check_idle("Copy after the transaction.")
        return self._writer.copy(
            lambda connection, registry, trees: copy_page(connection, registry, trees, page, purges)
        )

    def derive(
        self,
        work: Callable[Concatenate[Connection, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T | None:
        """Run `maintain` for data that can be derived again.

        Does nothing and returns None if the file is read-only or somebody is writing.
        """
        if self.location.readonly or self._writer.is_mine():
            return None
        results: list[T] = []
        is_done = self._writer.maintain(
            lambda on, _: results.append(work(on, *args, **kwargs)), wait=False
        )
        return results[-1] if is_done else None

    def _check_open(self) -> None:
        if self._closed:
            raise DatabaseClosed("This database has been closed.")

    def _check_writable(self) -> None:
        self._check_open()
        if self.location.readonly:
            raise DatabaseReadOnly(
                "This database was opened for reading only.", hint="Open it without readonly=True."
            )

    @property
    def has_written(self) -> bool:
        """True once a transaction of this process has changed something."""
        return self._writer.has_written

    def close(self) -> None:
        """Close every connection. Closing twice does no harm."""
        if self._closed:
            return
        self.use_counts.save()
        with translated():
            self._writer.close(self._close_readers)
        if self._remove_private is not None:
            self._remove_private()

    def _close_readers(self) -> None:
        self._closed = True
        self._drop_idle()

    def after_fork(self) -> None:
        """In a forked child process: use none of the parent's connections."""
        for reader in self._idle:
            self.location.abandon(reader.connection)
        self._idle = []
        self._process = os.getpid()
        self.use_counts.after_fork()
        self._writer.after_fork()
        if self._remove_private is not None:
            self._remove_private.detach()  # The directory belongs to the parent.


_STORES: weakref.WeakSet[Store] = weakref.WeakSet()
"""All stores of the process, also closed ones that may still get a reader back."""


def _after_fork_in_child() -> None:
    for store in list(_STORES):
        store.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
