"""Copies a graph to another place, from a file to PostgreSQL and back, with equal roots."""

from __future__ import annotations

import os
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

from mycel.errors import ConstraintViolation, DatabaseCorrupt, InternalError, MycelError
from mycel.store.backend.sqlite.copy import remove
from mycel.store.check.verify import verify
from mycel.store.copying import copy_store
from mycel.store.database import Store
from mycel.store.file.workspace_databases import is_address
from mycel.store.opening import locate
from mycel.store.query.commits import commit_at


class GraphCopy(NamedTuple):
    """A verified copy of one branch of a graph."""

    place: str
    """The path or URL of the copy."""
    commit: str
    """The last commit in the copy."""
    entries: int
    """The length of the journal in the copy."""
    root: str
    """The root of the journal, which equals the graph's root at this commit."""

    def to_dict(self) -> dict[str, Any]:
        return self._asdict()


def copy_graph(store: Store, target: str | os.PathLike[str]) -> GraphCopy:
    """Copy the open branch to a place where there is no graph, and verify the copy.

    Others may write meanwhile. The whole journal is copied, so roots, commits and proofs are the
    same. Open merges are copied too. Data that search derives is derived again.

    Raises:
        DuplicateExists: there is a graph at the target.
        ConstraintViolation: this thread is in a transaction.
        DatabaseCorrupt: the graph does not verify; no copy is left.
        NotADatabase, DatabaseReadOnly, DiskFull, DatabaseError: the copy cannot be made.
    """
    store.check_idle("Copy the graph after the transaction.")
    place = os.fsdecode(target)
    if place == ":memory:":
        raise ConstraintViolation("A copy in memory would be lost.", hint="Name a file or a URL.")
    is_new_file = not is_address(place) and not Path(place).exists()
    is_on_server = False
    try:
        path, snapshot = copy_store(store, place)
        is_on_server = is_address(place)
        with closing(Store(place, create=False)) as copied:
            if copied.snapshot() != snapshot:
                raise InternalError(f"The copy at {path!r} has another root.")
            report = verify(copied)
            if not report.ok:
                raise DatabaseCorrupt(
                    f"The graph does not verify: {report.problems[0]}.",
                    hint="`mycel verify` lists everything.",
                )
            with copied.reading() as reader:
                commit = commit_at(reader, snapshot.entries)
    except BaseException:
        if is_new_file:
            remove(Path(place))
        if is_on_server:
            with suppress(MycelError):
                branches = locate(
                    place, readonly=False, durability="full", busy_timeout_s=30.0, vfs=None
                ).branches
                branches.remove(branches.open)
        raise
    return GraphCopy(path, commit, snapshot.entries, snapshot.overall_root.hex())
