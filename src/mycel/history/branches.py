"""Branches: copies of a graph beside it. From its creation on, a branch has its own history."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mycel.errors import (
    AccessDenied,
    ConstraintViolation,
    DatabaseBusy,
    NotADatabase,
    ResourceExhausted,
)
from mycel.merkle.proofs import ConsistencyProof
from mycel.model import allowance, times
from mycel.model.names import count, shorten
from mycel.model.permission import check_reads_all, sees_branch
from mycel.store.backend.interface import Connection
from mycel.store.check.proofs import prove_consistency
from mycel.store.database import Store
from mycel.store.file import branch_files
from mycel.store.file.branch_files import MAIN
from mycel.store.file.workspace_databases import is_address
from mycel.store.log import submissions
from mycel.store.log.merges import forget_open_merges
from mycel.store.opening import branches_at
from mycel.store.query.commits import transaction_of
from mycel.store.query.lineage import Parting, is_contained, parting
from mycel.store.query.reader import Reader

if TYPE_CHECKING:
    from mycel.history.copies import GraphCopy

BRANCHES_MAX: Final = 256


class Branch(NamedTuple):
    """One branch: its file, its last commit, and how it differs from main."""

    name: str
    path: Path | str
    """The path of the branch, or its URL."""
    commit: str
    time_us: int
    parting: Parting
    """The last commit shared with main, and the number of commits of each after it."""
    is_merged: bool
    """True if main has every commit of the branch, or has merged them."""

    @property
    def time(self) -> datetime:
        """The time of the last commit."""
        return times.to_datetime(self.time_us)

    def to_dict(self) -> dict[str, Any]:
        return {
            "branch": self.name,
            "path": str(self.path),
            "commit": self.commit,
            "time": times.to_text(self.time_us),
            "parted_at": self.parting.commit,
            "ahead": self.parting.ahead,
            "behind": self.parting.behind,
            "merged": self.is_merged,
        }


class Branches:
    """The branches of one graph: `db.branches`."""

    def __init__(self, store: Store) -> None:
        self._store: Final = store
        self._places: Final = store.location.branches
        self.open: Final = self._places.open
        """The name of the branch that is open."""

    def __iter__(self) -> Iterator[Branch]:
        """All branches, main first, the others by name."""
        with self.reading(MAIN) as main:
            for name in self.names():
                allowance.check()
                yield self._branch(name, main)

    def names(self) -> list[str]:
        """The names of all branches that may be read, main first."""
        self._check_in_file()
        return self._places.names()

    def unreadable(self) -> list[str]:
        """The names of branches on a server that the role may not read."""
        self._check_in_file()
        return self._places.unreadable()

    def get(self, name: str) -> Branch:
        """The branch with this name.

        Raises:
            InvalidIdentifier, NotFound: there is no such branch.
        """
        with self.reading(MAIN) as main:
            return self._branch(name, main)

    def create(self, name: str) -> Branch:
        """Copy the present state of the open branch to a new branch.

        Others may write meanwhile; if the graph has 8 MiB or more, they wait. The branch gets its
        name when it is complete.

        Raises:
            InvalidIdentifier, DuplicateExists: the branch cannot have this name, or another one has
                it.
            ConstraintViolation: this thread is in a transaction, or the graph is in memory.
            ResourceExhausted: there are too many branches.
            DatabaseBusy, DatabaseReadOnly, DiskFull, DatabaseError: the copy cannot be made, or
                would leave too little of the disk for writing on.
        """
        self._check_in_file()
        self._store.check_may_write()
        check_reads_all(self.open, "create branches")
        if not sees_branch(name):
            raise AccessDenied(f"The token is not for a branch {shorten(repr(name))}.")
        self._store.check_idle("Create the branch after the transaction.")
        self._check_room()
        self._places.create(name, _forget_unfinished)
        return self.get(name)

    def _check_room(self) -> None:
        if len(self.names()) >= BRANCHES_MAX:
            raise ResourceExhausted(
                f"The graph has {BRANCHES_MAX} branches, which is the limit.",
                hint="Delete some first: `mycel branch delete NAME`.",
            )
        self._places.check_room()

    def delete(self, name: str, *, unmerged: bool = False) -> Branch:
        """Delete a branch for good. Returns the deleted branch.

        Raises:
            InvalidIdentifier, NotFound: there is no such branch.
            ConstraintViolation: the branch is main, or it has commits that main lacks and
                `unmerged` is False.
            DatabaseBusy: the branch is open somewhere, or is the one that `mycel` uses.
        """
        self._store.check_may_write()
        branch = self.get(name)
        if name == MAIN:
            raise ConstraintViolation(
                "main is the graph itself, and cannot be deleted.",
                hint="To remove the graph, remove its file or its workspace.",
            )
        if self._places.current == name:
            raise DatabaseBusy(
                f"Commands use the branch {name!r} by default.",
                hint="Switch to another one first: `mycel branch switch main`.",
            )
        if not branch.is_merged and not unmerged:
            number = branch.parting.ahead
            raise ConstraintViolation(
                f"The branch {name!r} has {count(number, 'commit')} that main lacks.",
                hint="They would be lost. To delete the branch anyway, pass unmerged=True"
                " (--yes, ?unmerged=true).",
                data={"branch": name, "ahead": number},
            )
        self._places.remove(name)
        return branch

    def copy(self, target: str | os.PathLike[str]) -> GraphCopy:
        """Copy the open branch, with its whole journal, to another path or URL.

        Roots, commits and proofs of the copy are the same, also between a file and PostgreSQL.
        The copy is verified. The source stays, and others may write to it meanwhile.

        Raises:
            DuplicateExists: there is a graph at the target.
            ConstraintViolation: this thread is in a transaction.
            DatabaseCorrupt: the graph does not verify; no copy is left.
            NotADatabase, DatabaseReadOnly, DiskFull, DatabaseError: the copy cannot be made.
        """
        from mycel.history.copies import copy_graph  # noqa: PLC0415 - verification is large

        return copy_graph(self._store, target)

    def prove(self, name: str, other: str = MAIN) -> tuple[ConsistencyProof, ConsistencyProof]:
        """Prove where two branches part: both journals begin with the same entries.

        The first proof is about the journal of `name`, the second about that of `other`; both have
        the same `old_entries` and `old_journal_root`, those of the last commit that they share.

        Raises:
            InvalidIdentifier, NotFound: there is no such branch.
        """
        with self.reading(name) as one, self.reading(other) as two:
            entries = parting(one, two).entries
            return prove_consistency(one, entries), prove_consistency(two, entries)

    # The branch that commands use.

    @property
    def current(self) -> str:
        """The branch that the commands of `mycel` use by default."""
        return self._places.current

    def switch(self, name: str) -> None:
        """Choose the branch that commands of `mycel` use by default. Open graphs keep their branch.

        Raises:
            InvalidIdentifier, NotFound: there is no such branch.
            DatabaseReadOnly: the folder of the graph cannot be written.
        """
        self._check_in_file()
        self._places.switch(name)

    def _branch(self, name: str, main: Reader) -> Branch:
        with self.reading(name) as reader:
            last = transaction_of(reader, reader.head().seq)
            parted = parting(reader, main)
            is_merged = parted.ahead == 0 or is_contained(main, reader)
            return Branch(
                name, self._places.place(name), last.commit, last.time_us, parted, is_merged
            )

    # Reading.

    @contextmanager
    def reading(self, name: str) -> Iterator[Reader]:
        """A reader of one snapshot of a branch: its last commit.

        Raises:
            InvalidIdentifier, NotFound: there is no such branch.
        """
        self._check_in_file()
        place = self._places.existing(name)
        if name == self.open:
            with self._store.reading() as reader:
                yield reader
            return
        with closing(opened(place)) as store, store.reading() as reader:
            yield reader

    def _check_in_file(self) -> None:
        if self._store.is_in_memory:
            raise ConstraintViolation(
                "A graph in memory has no branches.", hint="Open one in a file."
            )


def _forget_unfinished(connection: Connection) -> None:
    """Remove open merges and proposals from a new branch; the old branch keeps them."""
    forget_open_merges(connection)
    submissions.forget_all(connection)


def branch_place(path: str | os.PathLike[str], name: str) -> Path | str:
    """The place of a branch. The given path or URL may be that of any branch of the graph.

    Raises:
        InvalidIdentifier, NotFound: there is no such branch.
        NotADatabase: there is no graph.
    """
    if os.fsdecode(path) == ":memory:":
        raise ConstraintViolation("A graph in memory has no branches.", hint="Open one in a file.")
    if is_address(os.fsdecode(path)):
        return branches_at(os.fsdecode(path)).existing(name)
    graph, _ = branch_files.split(Path(os.fsdecode(path)).resolve())
    if branch_files.check_name(name) != MAIN and not graph.exists():
        raise NotADatabase(f"There is no database at {str(graph)!r}, so it has no branches.")
    return branch_files.existing(graph, name)


def opened(place: Path | str) -> Store:
    """The graph at a path or URL."""
    # If possible, the graph is opened for writing, because closing it then leaves no files beside
    # it.
    return Store(place, create=False, readonly=not may_write(place))


def may_write(place: Path | str) -> bool:
    """True unless a place is a file without write permission."""
    return is_address(str(place)) or os.access(place, os.W_OK)
