"""One writer at a time: the turn, and group commit.

Inside a process a lock gives each writer its turn; across processes `BEGIN IMMEDIATE` does, with a
patient busy handler. There are two kinds of turns:

- `run(work)`: a short transaction whose work is a function. When other short transactions already
  wait, the SQLite transaction stays open and the turn passes on; the last of them commits for all.
  Each has a savepoint of its own, so a failure undoes only its own work, and none returns before
  the common commit is durable. That is group commit: many small writes share one fsync.
- `open()`: a transaction whose work is the caller's own code. It first commits what is pending, so
  that no other commit waits for that code.

Short transactions of one thread can share a commit as well (`together`): then `run` returns before
the commit, and each caller gets the outcome of its own work at the end.

If SQLite gives up the whole transaction (a full disk, an I/O error), every member of the group gets
the error. When the final COMMIT itself fails, the outcome is uncertain, and the error says so.

The module is long because the lock, the group and the rollback of an interrupted turn depend on
each other step by step.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from time import monotonic
from typing import Final, NamedTuple, TypeVar

from mycel.errors import (
    CommitUncertain,
    ConstraintViolation,
    DatabaseBusy,
    DatabaseClosed,
    DatabaseError,
    MycelError,
)
from mycel.model.allowance import RETRY_AFTER, Allowance, current
from mycel.store.backend.failures import FAILURES, REFUSALS, SURE_FAILURES, translate, translated
from mycel.store.backend.interface import Backend, Connection, Failure
from mycel.store.index.write_cache import WriteCache
from mycel.store.log.journal import Head, current_head
from mycel.store.log.registry import Registry
from mycel.store.log.trees import StateTrees
from mycel.store.write.ledger import Ledger
from mycel.store.write.transaction import Guard, Transaction
from mycel.store.write.transaction_block import TransactionBlock

GROUP_SIZE_MAX: Final = 64
GROUP_AGE_MAX_S: Final = 0.5
"""The seconds after which a group takes no further member, because other processes wait for the
writer meanwhile."""
_RECHECK_S: Final = 0.1
_COMPANIONS: Final = ("-wal", "-shm")
"""Suffixes of the log and of its shared index, which exist while a connection is open."""
_LOST_COMPANION: Final = (
    "Stop every process that uses this graph, and open it again: it then has the content of the"
    " file and of the log beside it. Never delete, move or copy the files beside an open graph."
)
_WRITE_WITH_TX: Final = "Inside `with db.transaction() as tx`, write with the methods of tx."

T = TypeVar("T")


def _is_lost(path: str) -> str:
    return f"The file {path!r} was deleted or replaced while the graph was open"


def _set_holds_turn(holds: bool) -> None:
    """Tell the allowance of this thread, if it has one, whether the thread holds the turn."""
    allowance = current()
    if allowance is not None:
        allowance.holds_turn = holds


class GroupMember:
    """A transaction that is complete, and waits for the common commit of its group."""

    def __init__(self) -> None:
        self.unsettled = threading.Lock()
        """A lock that is held until the commit has succeeded or failed."""
        self.unsettled.acquire()
        self.error: MycelError | None = None
        """The error of the common commit; None until it fails."""


class _TimedLock:
    """A lock with a limit on the wait for it.

    Only threads of a server use it: an interrupt between taking the lock and the beginning of the
    block would leave the lock taken.
    """

    def __init__(self, lock: threading.Lock, allowance: Allowance) -> None:
        self._lock = lock
        self._wait_s = allowance.wait_s()

    def __enter__(self) -> None:
        if not self._lock.acquire(timeout=min(self._wait_s, threading.TIMEOUT_MAX)):
            raise DatabaseBusy(
                "Other writers held the graph for the whole time of this request; nothing was"
                " written.",
                hint="Retry later.",
                data={RETRY_AFTER: 1},
            )

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class _Tools(NamedTuple):
    """A connection that writes, and the state trees on it."""

    connection: Connection
    trees: StateTrees


class Writer:
    """Gives the threads of one process their turns to write to one database, and commits."""

    def __init__(
        self,
        location: Backend,
        registry: Registry,
        clock_us: Callable[[], int],
        guards: Sequence[Guard],
        connection: Connection | None,
    ) -> None:
        self._location = location
        self.branch: Final = location.branches.open
        """The name of the branch that this database holds."""
        self._registry = registry
        self._clock_us = clock_us
        self._guards = guards
        self._turn = threading.Lock()
        self._long_writers = threading.Lock()
        """A lock: the long transaction that has the turn, or waits for it, holds it."""
        self._counting = threading.Lock()
        self._short_waiting = 0
        self._owner: int | None = None
        self._group: list[GroupMember] = []
        self._group_since = 0.0
        self._held: dict[int, list[GroupMember]] = {}
        """By thread: the transactions of its `together` block, until the common commit."""
        self._is_half_done = False
        """True from the beginning of a group member's work until it is finished or undone."""
        self._closed = False
        self._forks = 0
        """The number of forks between the process that opened the database and this one."""
        self._grown = False
        """True if a load made the page cache grow."""
        self._identity = location.identity()
        self._companions: dict[str, tuple[int, int]] = {}
        """The identities of the companion files of the open connection, by suffix."""
        self._head: Head | None = None
        """The head after the last transaction here; another process may have written since."""
        self._changes_seen = -1
        """The data version that this writer last read; every commit changes it."""
        self.has_written = False
        """True once a transaction of this process has changed something."""
        self._is_alone = False
        """True if no other process has written since the data version was read; `_head` is then
        current."""
        self._memory: Final = WriteCache()
        self._checkpointer = location.checkpointer()
        self._tools = None
        # The connection has read the file, so the companion files exist.
        if connection is not None:
            self._tools = self._tools_on(connection)
            self._note_companions()

    # The two kinds of turns.

    def run(
        self,
        work: Callable[[Transaction], T],
        *,
        actor: str,
        message: str,
        is_long: bool = False,
    ) -> T:
        """Run `work` as one short transaction and return what it returns, once it is durable.

        Only one `is_long` transaction of a server waits for the turn at a time, so a short one
        waits for at most one long one.
        """
        self._refuse_nesting()
        with self._in_time(self._long_writers) if is_long else nullcontext():
            return self._run(work, actor, message)

    def _run(self, work: Callable[[Transaction], T], actor: str, message: str) -> T:
        member = GroupMember()
        waiting = False
        try:
            with self._counting:
                self._short_waiting += 1
                waiting = True
            with self._in_time(self._turn):
                with self._counting:
                    self._short_waiting -= 1
                    waiting = False
                result = self._in_turn(lambda: self._one(member, work, actor, message))
        finally:
            if waiting:
                with self._counting:
                    self._short_waiting -= 1
        if self._held and (group := self._held.get(threading.get_ident())) is not None:
            group.append(member)
            return result
        self._await(member)
        if member.error is not None:
            raise member.error
        return result

    def together(self, work: Callable[[Sequence[GroupMember]], T]) -> T:
        """Let the short transactions that `work` runs in this thread share one commit at its end.

        Each is a transaction of its own: if one fails, the others stay. Transactions of other
        threads may come between them. `work` gets the list of its transactions, which grows as they
        finish. When this returns, each of them has the outcome of the commit.
        """
        self._refuse_nesting()
        group: list[GroupMember] = []
        counted = False
        try:
            with self._counting:
                # The turns inside the block commit nothing; the last turn commits.
                self._short_waiting += 1
                counted = True
            self._held[threading.get_ident()] = group
            result = work(group)
        finally:
            self._held.pop(threading.get_ident(), None)
            if counted:
                with self._counting:
                    self._short_waiting -= 1
            if any(member.unsettled.locked() for member in group):
                with self._turn:
                    self._in_turn(lambda: None)  # The end of the turn commits.
            for member in group:
                self._await(member)
        return result

    def open(self, *, actor: str, message: str) -> AbstractContextManager[Transaction]:
        """Open a transaction for the caller's own code. Its end commits it, or rolls it back."""
        raised: list[BaseException] = []
        return TransactionBlock(self._open(actor, message, raised), raised)

    def _open(
        self, actor: str, message: str, raised: list[BaseException]
    ) -> Generator[Transaction, None, None]:
        """Run `open` in two steps: up to the block, and from the end of the block on.

        The caller puts the error of the block into `raised`. If an interrupt prevents the second
        step, the transaction is rolled back when the generator is dropped.
        """
        self._refuse_nesting()
        forks = self._forks
        with self._in_time(self._turn):
            try:
                self._begin_turn()
                if self._group:
                    self._commit_group()
                tools = self._begin()
                tx = self._transaction(tools, actor, message)
                try:
                    yield tx
                    if raised:
                        self._undo(tools, forks)
                    else:
                        if self._forks != forks:
                            raise self._forked()
                        self._finish(tx)
                except BaseException as error:
                    self._undo(tools, forks)
                    if isinstance(error, REFUSALS):
                        raise translate(error) from error
                    raise
                finally:
                    self._grown = tx.end() or self._grown
                if not raised:
                    self._commit(tools)
                elif isinstance(raised[0], REFUSALS):
                    raise translate(raised[0]) from raised[0]
            finally:  # As in `_in_turn`: an interrupt must not skip this.
                try:
                    self._end_turn()
                except BaseException:
                    self._end_turn()
                    raise
                finally:
                    self._owner = None
                    _set_holds_turn(False)

    def _finish(self, tx: Transaction) -> None:
        """Write the closing rows of a transaction, before its commit."""
        tx.finish()
        self._head = tx.ledger.head
        self.has_written |= not tx.is_empty

    def _undo(self, tools: _Tools, forks: int) -> None:
        """Roll back, unless this process is a fork of the one that began the transaction."""
        if self._forks == forks:
            self._roll_back(tools.connection)

    def maintain(self, work: Callable[[Connection, StateTrees], None], *, wait: bool) -> bool:
        """Run work that changes no knowledge, such as folding. Returns False if it got no turn.

        Without `wait`, it gives up at once if this or another process is writing.
        """
        self._refuse_nesting()
        try:
            return self._when_free(
                lambda: self._in_turn(lambda: self._maintain(work, patient=wait)), wait=wait
            )
        except DatabaseBusy:
            if wait:
                raise
            return False

    @property
    def pending_changes(self) -> int:
        """The number of changes that the last transaction of this process has left to be folded."""
        return 0 if self._head is None else self._head.pending

    def begin_checkpoint(self) -> None:
        """Copy the log into the file soon, in a thread, unless somebody is writing now."""
        self.maintain(lambda _connection, _trees: self._checkpointer.begin(), wait=False)

    def copy(self, work: Callable[[Connection, Registry, StateTrees], T]) -> T:
        """Append entries of another copy to the journal, with `work`; then forget cached values."""
        results: list[T] = []

        def apply(connection: Connection, trees: StateTrees) -> None:
            self._registry.reset()
            results.append(work(connection, self._registry, trees))

        self.maintain(apply, wait=True)
        self._when_free(self._forget, wait=True)
        self.has_written = True
        return results[-1]

    def _maintain(self, work: Callable[[Connection, StateTrees], None], *, patient: bool) -> None:
        self._commit_group()
        tools = self._begin(patient=patient)
        try:
            self._head = None
            with translated():
                work(tools.connection, tools.trees)
        except BaseException:
            self._roll_back(tools.connection)
            raise
        self._commit(tools)

    def close(self, close_readers: Callable[[], None]) -> None:
        """Wait for the turn, commit what is pending, then close for good, after the readers.

        Raises:
            ConstraintViolation: this thread is in the middle of a transaction.
        """
        self._refuse_nesting("Leave the `with` block before you close the database.")
        with self._turn:
            self._commit_group()
            self._closed = True
            self._checkpointer.stop()
            close_readers()
            if self._tools is not None:
                connection, self._tools = self._tools.connection, None
                if self._lost_companion() is None:
                    # A reader may prevent this; the log then keeps everything.
                    with suppress(*REFUSALS):
                        self._location.settle(connection)
                self._close(connection)

    def after_fork(self) -> None:
        """In a forked child process: leave the parent's connection alone, and start without one."""
        self._forks += 1
        self._turn, self._long_writers = threading.Lock(), threading.Lock()
        self._counting = threading.Lock()
        self._short_waiting, self._owner, self._group, self._held = 0, None, [], {}
        self._is_half_done = False
        self._checkpointer = self._location.checkpointer()
        if self._tools is not None:
            self._location.abandon(self._tools.connection)
        self._tools = self._head = None
        self._companions = {}
        self._changes_seen = -1

    def is_mine(self) -> bool:
        """True if this thread is in the middle of a transaction."""
        return self._owner == threading.get_ident()

    # Taking turns.

    def _refuse_nesting(self, hint: str = _WRITE_WITH_TX) -> None:
        if self.is_mine():
            raise ConstraintViolation("A transaction is already open in this thread.", hint=hint)

    def _when_free(self, work: Callable[[], object], *, wait: bool) -> bool:
        """Run work that needs the turn. Without `wait`, False if another thread has the turn."""
        turn, grants = self._turn, list[bool]()
        try:
            # This is one step of the interpreter: no interrupt comes between taking the lock and
            # noting it.
            grants += map(turn.acquire, (wait,))
            if grants[0]:
                work()
        finally:
            if True in grants:
                turn.release()
        return grants[0]

    # These functions have a `try` of their own, here and in `_open`, instead of a context manager:
    # a generator that an interrupt leaves open would go on when its traceback is dropped, in the
    # middle of another turn.

    def _in_turn(self, work: Callable[[], T]) -> T:
        """Begin the turn that this thread has just taken, run the work, and end the turn."""
        try:
            self._begin_turn()
            return work()
        finally:
            try:
                self._end_turn()
            except BaseException:
                self._end_turn()  # An interrupt has stopped the first call.
                raise
            finally:
                # No call stands before this line, so no interrupt comes between.
                self._owner = None
                _set_holds_turn(False)

    def _begin_turn(self) -> None:
        if self._closed:
            raise DatabaseClosed("This database has been closed.")
        self._owner = threading.get_ident()
        _set_holds_turn(True)
        if self._is_half_done:
            self._undo_half_done()
        if self._group:
            self._fail_orphaned_group()

    def _in_time(self, lock: threading.Lock) -> AbstractContextManager[object]:
        """A lock that is waited for only as long as the allowance of this thread lasts."""
        allowance = current()
        return lock if allowance is None else _TimedLock(lock, allowance)

    def _forked(self) -> ConstraintViolation:
        return ConstraintViolation(
            "This transaction was begun by the parent process.",
            hint="Leave the `with` block before you fork. This process cannot write to the file.",
        )

    # One member of a group.

    def _one(
        self, member: GroupMember, work: Callable[[Transaction], T], actor: str, message: str
    ) -> T:
        """Do the work of one member, and add the member to the group."""
        if self._group:
            result = self._one_more(work, actor, message)
        else:
            tools = self._begin()
            self._group_since = monotonic()
            try:
                result = self._work(tools, work, actor, message)
            except BaseException:
                self._roll_back(tools.connection)
                raise
        self._group.append(member)
        return result

    def _one_more(self, work: Callable[[Transaction], T], actor: str, message: str) -> T:
        tools = self._write_tools()
        connection = tools.connection
        self._is_half_done = True
        with translated():
            connection.execute("SAVEPOINT member")
        try:
            result = self._work(tools, work, actor, message)
        except BaseException:
            self._undo_member(connection)
            raise
        try:
            connection.execute("RELEASE member")
        except REFUSALS as error:
            self._give_up_group(connection, translate(error))
            raise translate(error) from error
        self._is_half_done = False
        return result

    def _undo_member(self, connection: Connection) -> None:
        """Undo the work of one member. If that is impossible, fail the whole group."""
        self._forget()
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK TO member; RELEASE member")
                self._is_half_done = False
                return
        except REFUSALS:
            pass
        failed = DatabaseError("The storage failed while transactions were waiting to commit.")
        self._give_up_group(connection, failed)

    def _undo_half_done(self) -> None:
        """Undo the work of a member whose thread was interrupted before it could."""
        if self._is_half_done and self._tools is not None:
            self._undo_member(self._tools.connection)
        self._is_half_done = False  # If the connection is lost, so is the work.

    def _give_up_group(self, connection: Connection, error: MycelError) -> None:
        self._roll_back(connection)
        self._settle(error)

    def _work(self, tools: _Tools, work: Callable[[Transaction], T], actor: str, message: str) -> T:
        tx = self._transaction(tools, actor, message)
        try:
            result = work(tx)
            self._finish(tx)
        except REFUSALS as error:
            raise translate(error) from error
        finally:
            self._grown = tx.end() or self._grown
        return result

    def _fail_orphaned_group(self) -> None:
        """Fail a group whose thread was interrupted after its transaction had ended."""
        tools = self._tools
        if self._group and (tools is None or not tools.connection.in_transaction):
            self._settle(CommitUncertain("The commit was interrupted."))

    def _end_turn(self) -> None:
        """Commit for the group, unless another short transaction waits and the group has room."""
        if self._is_half_done:
            self._undo_half_done()
        self._memory.shrink()
        if self._group and (not self._short_waiting or self._is_full()):
            self._commit_group()
        if self._tools is None or self._group:
            return
        connection = self._tools.connection
        if connection.in_transaction:  # An interrupt came at a place where no handler runs.
            self._roll_back(connection)
        if self._grown:
            self._grown = False
            with suppress(*REFUSALS):  # The commit is done; the rest only frees memory.
                connection.keep_in_memory(self._location.cache_kib)
                connection.keep_nothing()

    def _is_full(self) -> bool:
        """True if the group takes no further member, because of its size or its age."""
        is_old = monotonic() - self._group_since >= GROUP_AGE_MAX_S
        return is_old or len(self._group) >= GROUP_SIZE_MAX

    def _commit_group(self) -> None:
        self._undo_half_done()
        self._fail_orphaned_group()
        if not self._group:
            return
        try:
            self._commit(self._write_tools())
        except MycelError as error:
            self._settle(error)
        else:
            self._settle(None)

    def _settle(self, error: MycelError | None) -> None:
        group = self._group
        # A member is removed after it has its outcome, so an interrupt leaves no member without
        # one.
        while group:
            member = group[0]
            member.error = error
            if member.unsettled.locked():
                member.unsettled.release()
            del group[0]

    def _await(self, member: GroupMember) -> None:
        """Wait for the common commit. If the thread that had to commit has died, commit here."""
        while not member.unsettled.acquire(timeout=_RECHECK_S):
            self._when_free(self._commit_group, wait=False)

    # SQLite's part.

    def _write_tools(self) -> _Tools:
        """The tools for writing, on a new connection if there is none."""
        tools = self._tools
        if tools is None:
            with translated():
                connection = self._location.connect(writable=True)
            try:
                self.check_in_place()
            except DatabaseError:
                connection.close()
                raise
            tools = self._tools = self._tools_on(connection)
        return tools

    def _tools_on(self, connection: Connection) -> _Tools:
        self._checkpointer.watch(connection)
        return _Tools(connection, StateTrees(connection))

    def _transaction(self, tools: _Tools, actor: str, message: str) -> Transaction:
        connection, trees = tools
        try:
            head = self._head
            if head is None or not self._is_alone:
                head = current_head(connection, head)
            if head is not self._head:
                self._memory.forget()  # Another process has written.
            self._head = None  # The transaction changes the head; `_finish` sets it.
            ledger = Ledger(
                connection,
                self._registry,
                trees,
                head,
                actor=actor,
                message=message,
                now_us=self._clock_us(),
                memory=self._memory,
            )
        except FAILURES as error:
            raise translate(error) from error
        return Transaction(ledger, self._guards, branch=self.branch)

    def _begin(self, *, patient: bool = True) -> _Tools:
        tools = self._write_tools()
        if not tools.connection.is_unused():
            # An interrupted reader left a statement open on the connection. With it, SQLite would
            # not wait for other writers, and the log could not start over.
            self._drop(tools.connection)
            tools = self._write_tools()
        try:
            tools.connection.begin_writing(patient=patient)
        except REFUSALS as error:
            if not tools.connection.is_lost:
                raise translate(error) from error
            self._drop(tools.connection)  # The server cut an idle connection: nothing is half done.
            tools = self._write_tools()
            with translated():
                tools.connection.begin_writing(patient=patient)
        connection = tools.connection
        self._refuse_newer(connection)
        try:
            self.check_in_place()
        except DatabaseError:
            self._roll_back(connection)
            raise
        self._note_companions()
        return tools

    def check_in_place(self) -> None:
        """Check that the open file and the files beside it are still at their paths.

        SQLite goes on writing to a file that was moved or deleted, and those writes would be lost.

        Raises:
            DatabaseError: one of them is gone, or another one is in its place.
        """
        identity = self._location.identity()
        if identity == self._identity:
            lost = self._lost_companion()
            if lost is not None:
                raise DatabaseError(f"{_is_lost(lost)}; nothing was written.", hint=_LOST_COMPANION)
            return
        change = "is gone" if identity is None else "was replaced by another file"
        raise DatabaseError(
            f"The file {self._location.path!r} {change} while it was open; nothing was written.",
            hint="Put it back; or open the database again, or restart the server, to go on with"
            " the present file.",
        )

    def _note_companions(self) -> None:
        for suffix in _COMPANIONS:
            if suffix not in self._companions:
                identity = self._location.identity(suffix)
                if identity is not None:
                    self._companions[suffix] = identity

    def _lost_companion(self) -> str | None:
        """The path of a companion that was deleted or replaced."""
        for suffix, identity in self._companions.items():
            if self._location.identity(suffix) != identity:
                return self._location.path + suffix
        return None

    def _refuse_newer(self, connection: Connection) -> None:
        """Refuse to write if a later version of Mycel has raised the format of the open file.

        Writes of this version would lack parts of the newer format. The check is left out while no
        other process has written.
        """
        changes = connection.data_version()
        self._is_alone = changes == self._changes_seen
        if self._is_alone:
            return
        try:
            with translated():
                self._location.check_format(connection)
        except BaseException:
            self._roll_back(connection)
            raise
        self._changes_seen = changes

    def _commit(self, tools: _Tools) -> None:
        connection = tools.connection
        try:
            connection.execute("COMMIT")
        except SURE_FAILURES as error:
            self._roll_back(connection)
            raise translate(error) from error
        except REFUSALS as error:
            self._roll_back(connection)
            if isinstance(error, Failure) and error.is_sure:
                raise error.error from error
            raise CommitUncertain(f"The commit failed at its last step ({error}).") from error
        self._changes_seen = connection.data_version()
        lost = self._lost_companion()
        if lost is not None:
            raise CommitUncertain(
                f"{_is_lost(lost)}; the commit may be lost.", hint=_LOST_COMPANION
            )

    def _roll_back(self, connection: Connection) -> None:
        self._forget()
        if connection.in_transaction:
            try:
                connection.execute("ROLLBACK")
            except REFUSALS:
                # If the rollback fails, the connection is closed, which rolls back in any case.
                self._drop(connection)
        self._is_half_done = False

    def _drop(self, connection: Connection) -> None:
        """Close a connection with its open statements; the next write opens a new one."""
        self._forget()
        self._tools, self._changes_seen = None, -1
        self._close(connection)

    def _close(self, connection: Connection) -> None:
        if self._lost_companion() is None:
            self._companions = {}  # The next connection notes its own companion files.
        else:
            # A lost log may have been replaced, so this connection must not write its log into the
            # file.
            self._location.close_unsettled(connection)
            return
        connection.close(True)

    def _forget(self) -> None:
        """Drop values in memory that a rolled-back transaction may have set."""
        self._registry.reset()
        self._memory.forget()
        self._head = None
        if self._tools is not None:
            self._tools.trees.forget()
