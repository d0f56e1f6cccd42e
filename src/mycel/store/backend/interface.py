"""The Protocols of a backend.

Ledger, journal, trees, indexes, guards, history and checks are the same for every database. A
backend supplies the rest: how a connection is opened, begins and ends a transaction, waits for
other writers and is stopped. `Backend` is one graph in one database, `Connection` one connection to
it. SQL that databases spell in different ways is in the dialect of a connection (`sql/dialect`).

A statement is written once, in SQL that every database reads, with `?`, `?1` or `:name` for a
value.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, Protocol

from mycel.errors import MycelError
from mycel.sql.dialect import Dialect
from mycel.text.analysis import AnalysedText
from mycel.text.queries import ColumnWeights, TextMatch, TextQuery

Durability = Literal["full", "normal", "off"]

MemoryUse = Literal["ample", "modest"]
"""An amount of memory for `keep_in_memory`: it stands for the part of a file that a process may
keep in memory.
"""


class Failure(Exception):  # noqa: N818 - `error` is the error.
    """An error of a database whose driver may not be installed, with the error that replaces it."""

    def __init__(self, error: MycelError, *, is_sure: bool = True) -> None:
        super().__init__(error.message)
        self.error: Final = error
        self.is_sure: Final = is_sure
        """True if nothing was written; False if a COMMIT may have succeeded."""


class Cursor(Protocol):
    """The rows of a statement, read one by one."""

    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __next__(self) -> Any: ...
    def close(self) -> None: ...
    @property
    def get(self) -> Any:
        """The only row, or the only cell of it; None if there is no row."""


class Selection(NamedTuple):
    """A selection of elements for the text index: elements whose row `text` passes a condition."""

    before: str = ""
    """The SQL before SELECT."""
    joined: str = ""
    """The joins with other tables."""
    where: str = "0 = 0"
    """The condition on `text.rowid` and on the joined tables."""
    bindings: Mapping[str, Any] = {}
    is_link: bool | None = None
    """True for links only, False for concepts only."""
    is_newest_first: bool = False

    def newest(self) -> Selection:
        """The same selection, newest elements first."""
        return self._replace(is_newest_first=True)

    def narrowed(self, condition: str) -> Selection:
        """The same selection with one more condition."""
        return self._replace(where=f"{self.where} AND {condition}")


ALL_TEXTS: Final = Selection()


class TextIndex(Protocol):
    """The index of the words of all elements, with the places of each word."""

    def size(self, connection: Any) -> int:
        """The number of elements in the index."""

    def counts(self, connection: Any, phrases: Sequence[str], most: int) -> list[int]:
        """For each of these phrases, the number of elements that have it, up to `most`."""

    def numbers(
        self,
        connection: Any,
        query: TextQuery,
        chosen: Selection,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[int]:
        """The numbers of elements that fit a query, in order."""

    def ranked(
        self,
        connection: Any,
        query: TextQuery,
        chosen: Selection,
        columns: ColumnWeights,
        limit: int | None = None,
    ) -> list[TextMatch]:
        """The elements that fit a query, best first, with the BM25 scores that FTS5 computes."""

    def scores(
        self, connection: Any, phrase: str, columns: ColumnWeights
    ) -> list[tuple[int, float]]:
        """The BM25 score of every element that has a phrase."""

    def add(self, connection: Any, documents: Iterable[tuple[int, AnalysedText]]) -> None: ...
    def remove(self, connection: Any, numbers: Iterable[int]) -> None: ...
    def differences(
        self,
        connection: Any,
        documents: Iterable[tuple[int, AnalysedText | None]],
        aside: Collection[int],
    ) -> Iterator[tuple[str, str]] | None:
        """Differences from an index of these documents, except elements `aside`; None for FTS5."""

    def merge_some(self, connection: Any) -> bool:
        """Merge a few pages of the index for faster searches. Returns False if none is left."""

    def forget_removed(self, connection: Any) -> None:
        """Remove the traces of removed documents."""


class Connection(Protocol):
    """One connection. It runs one statement at a time, for one thread at a time."""

    @property
    def dialect(self) -> Dialect: ...
    @property
    def text_index(self) -> TextIndex: ...
    def execute(self, statements: str, bindings: Any = ..., /) -> Cursor: ...
    def executemany(self, statements: str, rows: Iterable[Any], /) -> Any: ...
    def cursor(self) -> Cursor: ...
    @property
    def in_transaction(self) -> bool: ...
    @property
    def is_lost(self) -> bool:
        """True if the connection was cut, and can run nothing more."""

    @property
    def has_pages(self) -> bool:
        """True if the database is a file, whose pages can be checked."""

    @property
    def is_remote(self) -> bool:
        """True if each statement costs a round trip.

        One larger statement is then cheaper than several.
        """

    def changes(self) -> int:
        """The number of rows that the last statement changed."""

    def total_changes(self) -> int:
        """The number of rows that all statements of this connection changed."""

    def data_version(self) -> int:
        """A number that changes when another connection has committed something.

        Inside a transaction, it is the number of the transaction's snapshot.
        """

    def execute_with_version(self, cursor: Any, statement: str, bindings: Any) -> None:
        """Run a statement, and keep the data version, which the caller asks for next."""

    def begin_reading(self) -> None:
        """Begin a transaction that reads one snapshot."""

    def begin_writing(self, *, patient: bool = True) -> None:
        """Begin a transaction that writes. With `patient`, wait for the other writer to end."""

    def is_unused(self) -> bool:
        """True if no statement and no transaction is open."""

    def watch(self, are_over: Callable[[], bool] | None) -> None:
        """Call a function now and then while statements run, and stop them if it returns True."""

    def forget_statistics(self) -> None:
        """Remove the planner's statistics about the content."""

    def replica_lag_s(self) -> float | None:
        """The seconds by which a replica is behind; None if the database is no replica."""

    def has_writing_rights(self) -> bool:
        """True if the server lets this role write; always True for a file."""

    def has_objects(self, *names: str) -> bool:
        """True if the database has all of these tables and indexes."""

    def missing_objects(self) -> list[str]:
        """Tables, keys, indexes and views of a graph that the database lacks or does not use.

        Only a database without pages of its own (`has_pages`) is asked.
        """

    def make(self, statements: str) -> None:
        """Make the tables and indexes that a graph in a file gets only when it needs them."""

    def append(self, table: str, columns: str, rows: Sequence[Sequence[Any]]) -> None:
        """Insert many new rows into a table."""

    def unmake(self, *tables: str) -> None:
        """Remove such tables with all their rows."""

    def steps(self, statement: str, bindings: Sequence[Any]) -> list[str]:
        """The database's plan of a statement, one line for each step."""

    def map_nothing(self) -> None:
        """Stop mapping the file into memory: read through the page cache only."""

    def keep_in_memory(self, kib: int) -> None:
        """Keep at most this much of the database in memory, and free the rest."""

    def keep_nothing(self) -> None:
        """Free the memory that the connection keeps for later statements."""

    def close(self, force: bool = ..., /) -> None: ...


class Housekeeping(Protocol):
    """Background work on the storage, beside commits."""

    def watch(self, connection: Any) -> None: ...
    def begin(self) -> None: ...
    def stop(self) -> None: ...


class BranchPlaces(Protocol):
    """The branches of a graph. Each has a place: a path or a URL."""

    @property
    def open(self) -> str:
        """The name of the branch that is open."""

    def names(self) -> list[str]:
        """The names of the branches that the caller may see; main is the first."""

    def unreadable(self) -> list[str]:
        """The names of the branches that exist, but that the caller may not read."""

    def place(self, name: str) -> Path | str:
        """The place of a branch, which need not exist.

        Raises:
            InvalidIdentifier: no branch can have this name.
        """

    def existing(self, name: str) -> Path | str:
        """The place of an existing branch.

        Raises:
            InvalidIdentifier, NotFound: there is no such branch.
        """

    def check_room(self) -> None:
        """Check that there is room for a copy of the graph.

        Raises:
            DiskFull: there is not.
        """

    def create(self, name: str, prepare: Callable[[Any], None]) -> None:
        """Copy the open branch. `prepare` gets a connection to the copy before others can see it.

        Raises:
            InvalidIdentifier, DuplicateExists: the branch cannot have this name, or another one has
                it.
            DatabaseBusy, DatabaseReadOnly, DiskFull, DatabaseError: the copy cannot be made.
        """

    def remove(self, name: str) -> None:
        """Remove a branch for good.

        Raises:
            DatabaseBusy: the branch is open somewhere.
        """

    @property
    def current(self) -> str:
        """The branch that commands use by default."""

    def switch(self, name: str) -> None:
        """Choose the branch that commands use by default.

        Raises:
            InvalidIdentifier, NotFound: there is no such branch.
            DatabaseReadOnly, Unsupported: the branch cannot be chosen.
        """


class Workspaces(Protocol):
    """The graphs of one database on a server."""

    def url_of(self, name: str) -> str:
        """The URL of a workspace, which need not exist.

        Raises:
            NotADatabase, InvalidIdentifier: the database is no URL, or has a password, or no
                workspace can have this name.
        """

    def names(self) -> list[str]:
        """The names of the workspaces, without branches."""

    def sizes(self) -> dict[str, int]:
        """The bytes of each workspace, its branches included."""

    def remove(self, name: str) -> None:
        """Remove a workspace with all of its branches, for good.

        Raises:
            NotFound, DatabaseBusy, DatabaseReadOnly: the workspace is missing, in use, or another
                role's.
        """

    def exchange(self, name: str, url: str) -> None:
        """Let a workspace and the graph at a URL of the same database change places.

        Raises:
            DatabaseBusy, DatabaseReadOnly: the graph is in use, or another role's.
        """


class Listening(Protocol):
    """A subscription to the commits of a graph."""

    @property
    def is_told(self) -> bool:
        """True while every commit is reported; while it is False, the subscriber has to poll."""

    def close(self) -> None:
        """End the subscription."""


class Backend(Protocol):
    """One graph in one database, and the settings of its connections."""

    @property
    def path(self) -> str:
        """The path of the graph, or its URL without a password, as callers open it."""

    @property
    def readonly(self) -> bool: ...
    @property
    def branches(self) -> BranchPlaces: ...
    @property
    def name(self) -> str:
        """A short name of the graph, without folder or server."""

    @property
    def busy_timeout_s(self) -> float: ...
    @property
    def cache_kib(self) -> int:
        """The size of the cache of one connection."""

    @property
    def is_read_without_locks(self) -> bool:
        """True for a file that is read without locks; readers then call `check_unchanged`."""

    def open(self, begin: Callable[[Any], None], *, create: bool) -> Any:
        """Open the first connection. `begin` writes the first transaction of a new graph."""

    def connect(self, *, writable: bool = False) -> Any:
        """Open a new connection. If it is not writable, it refuses every statement that writes."""

    def check_format(self, connection: Any) -> None:
        """Refuse a graph whose tables this version cannot read."""

    def check_unchanged(self) -> None:
        """Raise an error if somebody has changed the graph since it was opened without locks."""

    def identity(self, suffix: str = "") -> tuple[int, int] | None:
        """The device and inode number of the file, or of a companion; None if it does not exist."""

    def checkpointer(self) -> Housekeeping:
        """The background work on the storage of this graph."""

    def settle(self, connection: Any) -> None:
        """Bring the storage in order before the last connection is closed."""

    def close_unsettled(self, connection: Any) -> None:
        """Close a connection whose companion files are lost, and leave the file unchanged."""

    def listen(self, wake: Callable[[], None]) -> Listening | None:
        """Call `wake` in a thread at each commit of any process; None if commits are not reported.

        `wake` is also called when reports begin or end, because commits may have been missed.
        """

    def locked(self, name: str) -> AbstractContextManager[None]:
        """Hold a named lock of the graph during the block.

        Raises:
            BlockingIOError: somebody else holds it.
            OSError: the lock file cannot be locked.
        """

    def check_may_scrub(self) -> None:
        """Check that the caller may rewrite the graph.

        Raises:
            DatabaseReadOnly: only others may.
        """

    def scrub(self) -> bool:
        """Remove all traces of removed content (`Store.scrub`)."""

    def abandon(self, connection: Any) -> None:
        """Keep this forked process from closing a connection of its parent."""
