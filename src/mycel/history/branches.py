"""Branches: copies of a graph in files beside it, each with a history of its own from then on."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from mycel.errors import (
    ConstraintViolation,
    DatabaseBusy,
    DiskFull,
    NotADatabase,
    ResourceExhausted,
)
from mycel.merkle.proofs import ConsistencyProof
from mycel.model import allowance, times
from mycel.model.names import count
from mycel.store.check.proofs import prove_consistency
from mycel.store.database import Store
from mycel.store.file import branch_files
from mycel.store.file.branch_files import MAIN
from mycel.store.file.copy import check_unused, create_branch, remove
from mycel.store.log.merges import forget_open_merges
from mycel.store.query.commits import transaction_of
from mycel.store.query.lineage import Parting, is_contained, parting
from mycel.store.query.reader import Reader

BRANCHES_MAX: Final = 256
FREE_BYTES_MIN: Final = 128 << 20
"""Bytes of the disk that a new branch leaves for writing on."""


class Branch(NamedTuple):
    """One branch: its file, its last commit, and how it differs from main."""

    name: str
    path: Path
    commit: str
    time_us: int
    parting: Parting
    """The last commit that it shares with main, and how many each of the two has beyond it."""
    is_merged: bool
    """True if main has every commit of it, or has merged them."""

    @property
    def time(self) -> datetime:
        """The time of its last commit."""
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
        self._graph, self.open = branch_files.split(Path(store.location.path))
        """The file of main, and the name of the branch that is open."""

    def __iter__(self) -> Iterator[Branch]:
        """All branches, main first, the others by name."""
        with self.reading(MAIN) as main:
            for name in self.names():
                allowance.check()
                yield self._branch(name, main)

    def names(self) -> list[str]:
        """The names of all branches, main first."""
        self._check_in_file()
        return branch_files.names(self._graph)

    def get(self, name: str) -> Branch:
        """One branch.

        Raises:
            InvalidIdentifier, NotFound: there is no such branch.
        """
        with self.reading(MAIN) as main:
            return self._branch(name, main)

    def create(self, name: str) -> Branch:
        """Copy the graph that is open, as it is at this moment, to a new branch.

        Others may write meanwhile; to a graph of 8 MiB or more they wait. The branch is complete
        before it can be found under its name.

        Raises:
            InvalidIdentifier, DuplicateExists: it cannot have this name, or another one has it.
            ConstraintViolation: this thread is in a transaction, or the graph is in memory.
            ResourceExhausted: there are too many branches.
            DatabaseBusy, DatabaseReadOnly, DiskFull, DatabaseError: the copy cannot be made, or
                would leave too little of the disk for writing on.
        """
        self._check_in_file()
        self._store.check_idle("Create the branch after the transaction.")
        self._check_room()
        create_branch(self._store.location, self._graph, name, forget_open_merges)
        return self.get(name)

    def _check_room(self) -> None:
        if len(self.names()) >= BRANCHES_MAX:
            raise ResourceExhausted(
                f"The graph has {BRANCHES_MAX} branches, which is the limit.",
                hint="Delete some first: `mycel branch delete NAME`.",
            )
        size = Path(self._store.location.path).stat().st_size
        free = shutil.disk_usage(self._graph.parent).free
        if free - size < FREE_BYTES_MIN:
            raise DiskFull(
                f"A copy of {size} bytes would leave less than {FREE_BYTES_MIN} bytes of the disk"
                f" ({free} are free).",
                hint="Delete branches that are merged (`mycel branch delete NAME`), or make room.",
            )

    def delete(self, name: str, *, unmerged: bool = False) -> Branch:
        """Delete a branch, for good. Returns the branch as it was.

        Raises:
            InvalidIdentifier, NotFound: there is no such branch.
            ConstraintViolation: it is main, or it has commits that main lacks and `unmerged` is
                False.
            DatabaseBusy: it is open somewhere, or is the one that `mycel` uses.
        """
        branch = self.get(name)
        if name == MAIN:
            raise ConstraintViolation("main is the graph itself, and cannot be deleted.")
        if branch_files.current(self._graph) == name:
            raise DatabaseBusy(
                f"The branch {name!r} is the one that commands use.",
                hint="Switch to another one first: `mycel branch switch main`.",
            )
        if not branch.is_merged and not unmerged:
            number = branch.parting.ahead
            raise ConstraintViolation(
                f"The branch {name!r} has {count(number, 'commit')} that main lacks.",
                hint="They would be lost. To delete it, say unmerged=True (--yes, ?unmerged=true).",
                data={"branch": name, "ahead": number},
            )
        try:
            check_unused(branch.path)
        except DatabaseBusy as error:
            raise DatabaseBusy(f"The branch {name!r} is in use.", hint=error.hint) from None
        remove(branch.path)
        return branch

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

    # Where commands go.

    @property
    def current(self) -> str:
        """The branch that the commands of `mycel` use unless they name another one."""
        return branch_files.current(self._graph)

    def switch(self, name: str) -> None:
        """Choose the branch that the commands of `mycel` use. What is open stays as it is.

        Raises:
            InvalidIdentifier, NotFound: there is no such branch.
            DatabaseReadOnly: the folder of the graph cannot be written.
        """
        self._check_in_file()
        branch_files.set_current(self._graph, name)

    def _branch(self, name: str, main: Reader) -> Branch:
        with self.reading(name) as reader:
            last = transaction_of(reader, reader.head().seq)
            path = branch_files.file_of(self._graph, name)
            parted = parting(reader, main)
            is_merged = parted.ahead == 0 or is_contained(main, reader)
            return Branch(name, path, last.commit, last.time_us, parted, is_merged)

    # Reading.

    @contextmanager
    def reading(self, name: str) -> Iterator[Reader]:
        """A reader of the last commit of a branch, which sees one moment.

        Raises:
            InvalidIdentifier, NotFound: there is no such branch.
        """
        self._check_in_file()
        path = branch_files.existing(self._graph, name)
        if name == self.open:
            with self._store.reading() as reader:
                yield reader
            return
        with closing(opened(path)) as store, store.reading() as reader:
            yield reader

    def _check_in_file(self) -> None:
        if self._store.is_in_memory:
            raise ConstraintViolation(
                "A graph in memory has no branches.", hint="Open one in a file."
            )


def branch_path(path: str | os.PathLike[str], name: str) -> Path:
    """The file of a branch of the graph at a path, which may be that of another branch.

    Raises:
        InvalidIdentifier, NotFound: there is no such branch.
        NotADatabase: there is no graph.
    """
    if os.fsdecode(path) == ":memory:":
        raise ConstraintViolation("A graph in memory has no branches.", hint="Open one in a file.")
    graph, _ = branch_files.split(Path(os.fsdecode(path)).resolve())
    if branch_files.check_name(name) != MAIN and not graph.exists():
        raise NotADatabase(f"There is no database at {str(graph)!r}, so it has no branches.")
    return branch_files.existing(graph, name)


def opened(path: Path) -> Store:
    """The graph in a file."""
    # For writing where that is allowed: then closing it leaves no files beside it.
    return Store(path, create=False, readonly=not os.access(path, os.W_OK))
