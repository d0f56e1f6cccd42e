"""The Protocols of a backend.

Ledger, journal, trees, indexes, guards, history and checks are Mycel's own, and the same for every
database. A backend is what is left: how a connection is opened, begins and ends a transaction,
waits for other writers and is stopped. `Backend` is one graph in one database, `Connection` one
connection to it. What databases spell in different ways is in the dialect of a connection
(`sql/dialect`).

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
"""The amount of a file that a process may keep in memory."""


class Failure(Exception):  # noqa: N818 - `error` is the error.
    """An error of a database whose driver may not be installed, and what it becomes."""

    def __init__(self, error: MycelError, *, is_sure: bool = True) -> None:
        super().__init__(error.message)
        self.error: Final = error
        self.is_sure: Final = is_sure
        """True if nothing was written; otherwise a COMMIT may have been."""


class Cursor(Protocol):
    """The rows of a statement, read one by one."""

    def execute(self, statements: str, bindings: Any = ..., /) -> Any: ...
    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __next__(self) -> Any: ...
    def close(self) -> None: ...
    @property
    def get(self) -> Any:
        """The only row, or its only cell; None if there is none."""


class Selection(NamedTuple):
    """The elements among which the text index looks: those with a row `text` of it that passes."""

    before: str = ""
    """The words before SELECT."""
    joined: str = ""
    """Joins with other tables."""
    where: str = "0 = 0"
    """The condition on `text.rowid` and the tables that are joined."""
    bindings: Mapping[str, Any] = {}
    is_link: bool | None = None
    """True for links alone, False for concepts alone."""
    is_newest_first: bool = False

    def newest(self) -> Selection:
        """The same, the newest first."""
        return self._replace(is_newest_first=True)

    def narrowed(self, condition: str) -> Selection:
        """The selection with one more condition."""
        return self._replace(where=f"{self.where} AND {condition}")


ALL_TEXTS: Final = Selection()


class TextIndex(Protocol):
    """The words of all elements, and where they stand."""

    def size(self, connection: Any) -> int:
        """The number of elements in the index."""

    def counts(self, connection: Any, phrases: Sequence[str], most: int) -> list[int]:
        """The number of elements that have each of these phrases, up to `most`."""

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
        """Elements that fit a query with BM25 as FTS5 computes it, the best first."""

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
        """Differences from an index of these documents, some aside; None if it is one of FTS5."""

    def merge_some(self, connection: Any) -> bool:
        """Merge a few pages of the index, for faster searches; False if none is left."""

    def forget_removed(self, connection: Any) -> None:
        """Remove what is left of documents that were removed."""


class Connection(Protocol):
    """One connection: one statement at a time, of one thread at a time."""

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
        """True if it was cut, and can run nothing more."""

    @property
    def has_pages(self) -> bool:
        """True if the database is a file, whose structure can be checked."""

    def changes(self) -> int:
        """The number of rows that the last statement changed."""

    def total_changes(self) -> int:
        """The number of rows that all statements of this connection changed."""

    def data_version(self) -> int:
        """A number that changes when another connection has committed something.

        Inside a transaction it is about the snapshot of the transaction.
        """

    def execute_with_version(self, cursor: Any, statement: str, bindings: Any) -> None:
        """Run a statement after which `data_version` is asked for."""

    def begin_reading(self) -> None:
        """Begin a transaction in which everything is of one moment."""

    def begin_writing(self, *, patient: bool = True) -> None:
        """Begin the transaction of the one writer. With `patient`, wait for another one to end."""

    def is_unused(self) -> bool:
        """True if no statement and no transaction is open."""

    def watch(self, are_over: Callable[[], bool] | None) -> None:
        """Ask now and then whether the limits of what runs are over, and stop it if they are."""

    def forget_statistics(self) -> None:
        """Remove what the planner knows of the content."""

    def replica_lag_s(self) -> float | None:
        """The seconds by which a replica is behind; None if the database is none."""

    def has_objects(self, *names: str) -> bool:
        """True if the database has all of these tables and indexes."""

    def make(self, statements: str) -> None:
        """Make tables and indexes that a graph in a file gets only once it needs them."""

    def append(self, table: str, columns: str, rows: Sequence[Sequence[Any]]) -> None:
        """Write new rows of a table, many at once."""

    def unmake(self, *tables: str) -> None:
        """Remove such tables with all that is in them."""

    def steps(self, statement: str, bindings: Sequence[Any]) -> list[str]:
        """The plan of a statement, a line a step."""

    def map_nothing(self) -> None:
        """Read through the cache alone."""

    def keep_in_memory(self, kib: int) -> None:
        """Keep at most so much of the database in memory, and give the rest back."""

    def keep_nothing(self) -> None:
        """Give back memory that is kept for later."""

    def close(self, force: bool = ..., /) -> None: ...


class Housekeeping(Protocol):
    """Work on the storage that goes on beside commits."""

    def watch(self, connection: Any) -> None: ...
    def begin(self) -> None: ...
    def stop(self) -> None: ...


class BranchPlaces(Protocol):
    """The branches of a graph, and the place of each: a path or a URL."""

    @property
    def open(self) -> str:
        """The name of the one that is open."""

    def names(self) -> list[str]:
        """The names of those that the caller may see, main first."""

    def place(self, name: str) -> Path | str:
        """The place of a branch, if it is there or not.

        Raises:
            InvalidIdentifier: it cannot be the name of a branch.
        """

    def existing(self, name: str) -> Path | str:
        """The place of a branch that is there.

        Raises:
            InvalidIdentifier, NotFound: there is no such branch.
        """

    def check_room(self) -> None:
        """Check that there is room for a copy of the graph.

        Raises:
            DiskFull: there is not.
        """

    def create(self, name: str, prepare: Callable[[Any], None]) -> None:
        """Copy the branch that is open. `prepare` gets a connection to the copy before it is there.

        Raises:
            InvalidIdentifier, DuplicateExists: it cannot have this name, or another one has it.
            DatabaseBusy, DatabaseReadOnly, DiskFull, DatabaseError: the copy cannot be made.
        """

    def remove(self, name: str) -> None:
        """Remove a branch for good.

        Raises:
            DatabaseBusy: it is open somewhere.
        """

    @property
    def current(self) -> str:
        """The branch that commands use unless they name another one."""

    def switch(self, name: str) -> None:
        """Choose the branch that commands use.

        Raises:
            InvalidIdentifier, NotFound: there is no such branch.
            DatabaseReadOnly, Unsupported: it cannot be chosen.
        """


class Listening(Protocol):
    """One who is told when somebody commits to a graph."""

    @property
    def is_told(self) -> bool:
        """True while every commit is told; otherwise it has to be asked for."""

    def close(self) -> None:
        """Wait no longer."""


class Backend(Protocol):
    """One graph in one database, and the settings of its connections."""

    @property
    def path(self) -> str:
        """The name of the graph, as it is shown and opened: a path or a URL without a password."""

    @property
    def readonly(self) -> bool: ...
    @property
    def branches(self) -> BranchPlaces: ...
    @property
    def name(self) -> str:
        """A short name of the graph."""

    @property
    def busy_timeout_s(self) -> float: ...
    @property
    def cache_kib(self) -> int:
        """The size of the cache of one connection."""

    @property
    def is_read_without_locks(self) -> bool:
        """True if readers ask whether it is unchanged each time (`check_unchanged`)."""

    def open(self, begin: Callable[[Any], None], *, create: bool) -> Any:
        """The first connection. `begin` writes the first transaction of a new graph."""

    def connect(self, *, writable: bool = False) -> Any:
        """A new connection. One that is not writable refuses every statement that writes."""

    def check_format(self, connection: Any) -> None:
        """Refuse a graph whose tables this version cannot read."""

    def check_unchanged(self) -> None:
        """Refuse to go on reading without locks when somebody has changed the graph."""

    def identity(self, suffix: str = "") -> tuple[int, int] | None:
        """The device and number of the file, or of a companion; None if there is none."""

    def checkpointer(self) -> Housekeeping:
        """The work on the storage beside commits."""

    def settle(self, connection: Any) -> None:
        """Leave the storage tidy before the last connection is closed."""

    def close_unsettled(self, connection: Any) -> None:
        """Close a connection whose companions are lost, and change nothing."""

    def listen(self, wake: Callable[[], None]) -> Listening | None:
        """Call `wake` in a thread at each commit, of any process; None if commits are not told.

        It is also called when telling begins or ends: then something may have been missed.
        """

    def locked(self, name: str) -> AbstractContextManager[None]:
        """Hold a lock of the graph with a name.

        Raises:
            BlockingIOError: somebody else holds it.
            OSError: it cannot be locked.
        """

    def scrub(self) -> bool:
        """Remove all traces of what was deleted (`Store.scrub`)."""

    def abandon(self, connection: Any) -> None:
        """Keep a parent process's connection from being closed in this process."""
