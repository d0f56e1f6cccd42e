"""One writer at a time: the turn, and group commit.

Inside a process a lock gives each writer its turn; across processes `BEGIN IMMEDIATE` does, with a
patient busy handler. There are two kinds of turns:

- `run(work)`: a short transaction whose work is a function. When other short ones already wait,
  the SQLite transaction stays open and the turn passes on; the last of them commits for all. Each
  has a savepoint of its own, so a failure undoes only its own work, and none returns before the
  common commit is durable. That is group commit: many small writes share one fsync.
- `open()`: a transaction whose work is the caller's own code. It first commits what is pending, so
  that no other commit waits for that code.

Short transactions of one thread can share a commit as well (`together`): then `run` returns before
the commit, and each caller gets the outcome of its own work at the end.

When SQLite gives up the whole transaction (a full disk, an I/O error), everyone in the group gets
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
"""The seconds after which a group takes no further member: other processes wait for the writer
meanwhile."""
_RECHECK_S: Final = 0.1
_COMPANIONS: Final = ("-wal", "-shm")
"""The log, and the index of it that all processes share: both stay while a connection is open."""
_LOST_COMPANION: Final = (
    "Stop every process that uses this graph, and open it again: what is there is what the file and"
    " the log beside it hold. Never delete, move or copy the files beside an open graph."
)
_WRITE_WITH_TX: Final = "Inside `with db.transaction() as tx`, write with the methods of tx."

T = TypeVar("T")


def _is_lost(path: str) -> str:
    return f"The file {path!r} was deleted or replaced while the graph was open"


def _set_holds_turn(holds: bool) -> None:
    """Tell the allowance of this thread, if it has one."""
    allowance = current()
    if allowance is not None:
        allowance.holds_turn = holds


class GroupMember:
    """A transaction that is done but for the common commit."""

    def __init__(self) -> None:
        self.unsettled = threading.Lock()
        """Held until the commit has been made, or has failed."""
        self.unsettled.acquire()
        self.error: MycelError | None = None
        """The failure of the common commit, once it is settled."""


class _TimedLock:
    """A lock with a limit on the wait for it.

    Only for threads of a server: an interrupt between its two steps would leave the lock taken.
    """

    def __init__(self, lock: threading.Lock, allowance: Allowance) -> None:
        self._lock = lock
        self._wait_s = allowance.wait_s()

    def __enter__(self) -> None:
        if not self._lock.acquire(timeout=min(self._wait_s, threading.TIMEOUT_MAX)):
            raise DatabaseBusy(
                "Other writers took all the time of this request; nothing was written.",
                hint="Retry later.",
                data={RETRY_AFTER: 1},
            )

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class _Tools(NamedTuple):
    """The tools for writing, all of one connection."""

    connection: Connection
    trees: StateTrees


class Writer:
    """The writing side of one database in one process."""

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
        """The branch that the database is."""
        self._registry = registry
        self._clock_us = clock_us
        self._guards = guards
        self._turn = threading.Lock()
        self._long_writers = threading.Lock()
        """Held by the long transaction that has the turn or waits for it."""
        self._counting = threading.Lock()
        self._short_waiting = 0
        self._owner: int | None = None
        self._group: list[GroupMember] = []
        self._group_since = 0.0
        self._held: dict[int, list[GroupMember]] = {}
        """By thread: the transactions whose commit its `together` waits for."""
        self._is_half_done = False
        """True if a member of the group has begun, and neither finished nor been undone."""
        self._closed = False
        self._forks = 0
        """The number of forks since the database was opened, on the way to this process."""
        self._grown = False
        """True if a load made the page cache grow."""
        self._identity = location.identity()
        self._companions: dict[str, tuple[int, int]] = {}
        """The identities of the files that SQLite keeps while the connection lives, by suffix."""
        self._head: Head | None = None
        """The head as this writer left it; another process may have moved on since."""
        self._changes_seen = -1
        """SQLite's count of what was committed, by others too, when this writer last looked."""
        self.has_written = False
        """True once a transaction of this process has changed something."""
        self._is_alone = False
        """True if no other process can have written since: then the head in memory is current."""
        self._memory: Final = WriteCache()
        self._checkpointer = location.checkpointer()
        self._tools = None
        if connection is not None:  # It has read the file, so the files beside it exist.
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

        Of those of a server that are `is_long`, one at a time waits for the turn. So a short one
        waits for one long one at most.
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

        Each is a transaction of its own, and one that fails takes nothing with it. Others may come
        between them. `work` gets the list of its transactions, which grows as they are done; when
        this returns, each of them says how the commit went.
        """
        self._refuse_nesting()
        group: list[GroupMember] = []
        counted = False
        try:
            with self._counting:
                self._short_waiting += 1  # As if one more were always about to come.
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
                    self._in_turn(lambda: None)  # Its end commits.
            for member in group:
                self._await(member)
        return result

    def open(self, *, actor: str, message: str) -> AbstractContextManager[Transaction]:
        """A transaction for the caller's own code: committed at its end, or rolled back."""
        raised: list[BaseException] = []
        return TransactionBlock(self._open(actor, message, raised), raised)

    def _open(
        self, actor: str, message: str, raised: list[BaseException]
    ) -> Generator[Transaction, None, None]:
        """The same in two steps, up to the block and from its end on. `raised` says how it ended.

        If the second is never taken, because an interrupt came between the two, it is rolled back
        when the generator goes.
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
            finally:  # As in `_in_turn`, which cannot be left in between.
                try:
                    self._end_turn()
                except BaseException:
                    self._end_turn()
                    raise
                finally:
                    self._owner = None
                    _set_holds_turn(False)

    def _finish(self, tx: Transaction) -> None:
        """Close the rows of a transaction, before its commit."""
        tx.finish()
        self._head = tx.ledger.head
        self.has_written |= not tx.is_empty

    def _undo(self, tools: _Tools, forks: int) -> None:
        """Roll back, unless this is a child of the process that began."""
        if self._forks == forks:
            self._roll_back(tools.connection)

    def maintain(self, work: Callable[[Connection, StateTrees], None], *, wait: bool) -> bool:
        """Run work that changes no knowledge, such as folding. False if it was not its turn.

        Without `wait` it gives up at once if anybody is writing, here or in another process.
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

    def begin_checkpoint(self) -> None:
        """Copy the log into the file soon, in a thread, unless anybody is writing now."""
        self.maintain(lambda _connection, _trees: self._checkpointer.begin(), wait=False)

    def copy(self, work: Callable[[Connection, Registry, StateTrees], T]) -> T:
        """Run work that appends to the journal what another copy has. Nothing is remembered."""
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
                    with suppress(*REFUSALS):  # Others may be reading; the log keeps everything.
                        self._location.settle(connection)
                self._close(connection)

    def after_fork(self) -> None:
        """In a forked child: leave the parent's connection alone and start afresh."""
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
            # One step of the interpreter: no interrupt comes between taking it and noting that.
            grants += map(turn.acquire, (wait,))
            if grants[0]:
                work()
        finally:
            if True in grants:
                turn.release()
        return grants[0]

    # Functions with their own `try`, here and in `_open`. A generator, interrupted where its caller
    # leaves it, would be resumed when somebody drops the traceback, in the middle of another turn.

    def _in_turn(self, work: Callable[[], T]) -> T:
        """Run the work of the thread that has the turn, between the steps that begin and end it."""
        try:
            self._begin_turn()
            return work()
        finally:
            try:
                self._end_turn()
            except BaseException:
                self._end_turn()  # The first call was interrupted, so it is repeated.
                raise
            finally:
                self._owner = None  # No call comes before it, which could be interrupted.
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
        """A lock, waited for no longer than the allowance of this thread lasts."""
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
        """Do the work of one more member, who then belongs to the group."""
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
        """Undo what one member did. If that fails, or SQLite has given up all, all have failed."""
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
        """Undo what a member has begun, if the thread that had to do so was interrupted."""
        if self._is_half_done and self._tools is not None:
            self._undo_member(self._tools.connection)
        self._is_half_done = False  # Without a connection nothing of it is left.

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
        """End a group whose transaction is over, but whose thread was interrupted before that."""
        tools = self._tools
        if self._group and (tools is None or not tools.connection.in_transaction):
            self._settle(CommitUncertain("The commit was interrupted."))

    def _end_turn(self) -> None:
        """Commit for all who wait, unless another short transaction is about to come."""
        if self._is_half_done:
            self._undo_half_done()
        self._memory.shrink()
        if self._group and (not self._short_waiting or self._is_full()):
            self._commit_group()
        if self._tools is None or self._group:
            return
        connection = self._tools.connection
        if connection.in_transaction:  # Interrupted where no handler could run.
            self._roll_back(connection)
        if self._grown:
            self._grown = False
            with suppress(*REFUSALS):  # It is only about memory, and the commit is made.
                connection.keep_in_memory(self._location.cache_kib)
                connection.keep_nothing()

    def _is_full(self) -> bool:
        """True if the group of those that wait for a commit takes no further member."""
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
        while group:  # A member is removed once it is told, so an interrupt leaves nobody waiting.
            member = group[0]
            member.error = error
            if member.unsettled.locked():
                member.unsettled.release()
            del group[0]

    def _await(self, member: GroupMember) -> None:
        """Wait for the common commit. Should the one who was to make it vanish, make it here."""
        while not member.unsettled.acquire(timeout=_RECHECK_S):
            self._when_free(self._commit_group, wait=False)

    # SQLite's part.

    def _write_tools(self) -> _Tools:
        """The tools for writing; on a new connection, if there is none or it was lost."""
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
            self._head = None  # The transaction changes it, and sets it at its end.
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
            # Whoever was reading on it was interrupted and left a statement open. SQLite does not
            # wait for others then, and the log could not start over.
            self._drop(tools.connection)
            tools = self._write_tools()
        try:
            tools.connection.begin_writing(patient=patient)
        except REFUSALS as error:
            if not tools.connection.is_lost:
                raise translate(error) from error
            self._drop(tools.connection)  # It was cut while nobody used it: nothing is half done.
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

        SQLite goes on with a file that was moved or deleted: what it writes would be lost with it.

        Raises:
            DatabaseError: one of them is gone, or another one is in its place.
        """
        identity = self._location.identity()
        if identity == self._identity:
            lost = self._lost_companion()
            if lost is not None:
                raise DatabaseError(f"{_is_lost(lost)}; nothing was written.", hint=_LOST_COMPANION)
            return
        what = "is gone" if identity is None else "was replaced by another file"
        raise DatabaseError(
            f"The file {self._location.path!r} {what} while it was open; nothing was written.",
            hint="Put it back; or open the database again, or restart the server, to go on with"
            " what is there now.",
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
        """A later version may have taken the file to its own format since it was opened here.

        What this version writes would lack what that format has. Only if somebody else has written
        is there anything to look at.
        """
        changes = connection.data_version()
        self._is_alone = changes == self._changes_seen
        if self._is_alone:
            return
        try:
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
                # It cannot be left half open: a closed connection is rolled back for certain.
                self._drop(connection)
        self._is_half_done = False

    def _drop(self, connection: Connection) -> None:
        """Close a connection with all that is open on it; the next to write gets a new one."""
        self._forget()
        self._tools, self._changes_seen = None, -1
        self._close(connection)

    def _close(self, connection: Connection) -> None:
        if self._lost_companion() is None:
            self._companions = {}  # The next connection may begin new ones.
        else:
            # The log that this connection knows stays out of the file: there may be another one.
            self._location.close_unsettled(connection)
            return
        connection.close(True)

    def _forget(self) -> None:
        """Drop what is remembered in memory of a transaction that is rolled back."""
        self._registry.reset()
        self._memory.forget()
        self._head = None
        if self._tools is not None:
            self._tools.trees.forget()
