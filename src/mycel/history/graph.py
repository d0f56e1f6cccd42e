"""`Graph`, which `mycel.open` returns: a nexus with its history to work with."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

from mycel.engine.guards import GraphGuards
from mycel.errors import MycelError
from mycel.history import rollback
from mycel.history.branches import Branches, branch_path
from mycel.history.rollback import Rollback
from mycel.model.commits import short
from mycel.model.state import LIVE, State
from mycel.nexus import DEFAULT_ACTOR, TIMEOUT_S, Nexus
from mycel.search.embedding import Embedder
from mycel.store.database import Store, wall_clock_us
from mycel.store.file.connections import Durability, MemoryUse
from mycel.store.query import commits
from mycel.store.query import diff as differences
from mycel.store.query.diff import Diff
from mycel.store.query.history import Moment, entry_at, state_at
from mycel.store.write.tags import remove_tag, set_tag
from mycel.store.write.transaction import Guard, Transaction


class _DryRunError(Exception):
    """Ends the transaction of a dry run."""

    def __init__(self, changes: Diff) -> None:
        super().__init__()
        self.changes = changes


class Graph(Nexus):
    """One open graph and its history: tags, differences between states, and ways back."""

    _options: Mapping[str, Any] = {}
    """The options of `open_graph` that `open_branch` uses again."""

    @cached_property
    def branches(self) -> Branches:
        """The branches of the graph: copies in files beside it, each with a history of its own."""
        return Branches(self._store)

    @property
    def branch(self) -> str:
        """The name of the branch that is open; main is the graph itself."""
        return self.branches.open

    def open_branch(self, name: str) -> Graph:
        """Open another branch of the graph, with the options of this one. The caller closes it.

        Raises:
            InvalidIdentifier, NotFound: there is no such branch.
            NotADatabase, FormatTooNew, DatabaseError: it cannot be opened.
        """
        path = branch_path(self._store.path, name)
        readonly = self._store.location.readonly or not os.access(path, os.W_OK)
        return open_graph(
            path,
            create=False,
            readonly=readonly,
            actor=self.actor,
            message=self.message,
            **self._options,
        )

    # Differences, and ways back.

    def diff(self, a: Moment, b: Moment | None = None, *, paths: Sequence[object] = ()) -> Diff:
        """The elements that differ between two states, each with its values before and after.

        A state is that of a commit, a tag, a time or a position of the journal; without `b`, the
        present. `paths` are URIs, whose elements and those below them count, or ids of elements; a
        link belongs to its subject. The cost follows the number of changes in between.

        Raises:
            ConstraintViolation, NotFound: there is no such state, or it was scrubbed.
        """
        with self._store.reading() as reader:
            then = LIVE if b is None else state_at(reader, b)
            return differences.diff(reader, state_at(reader, a), then, _listed(paths))

    def rollback(
        self,
        to: Moment,
        *,
        paths: Sequence[object] = (),
        dry_run: bool = False,
        by: str | None = None,
        message: str = "",
    ) -> Rollback:
        """Make everything, or what is under some paths, what it was in a state.

        It is one new transaction: history is never rewritten, and a rollback can be rolled back.
        With `dry_run` nothing is written, and the result shows what would change.

        Raises:
            ConstraintViolation: rules of the graph, or links from outside of the paths, do not
                allow it; the data lists everything that would break.
            NotFound: there is no such state.
        """

        def work(tx: Transaction) -> Diff:
            return rollback.roll_back(tx, state_at(tx.reader, to), _listed(paths))

        with self._store.reading() as reader:
            seq = entry_at(reader, to)
            name = commits.commit_at(reader, seq)
        return self._lead_back(work, by, message or f"rollback to {short(name)}", dry_run=dry_run)

    def revert(
        self, commit: Moment, *, dry_run: bool = False, by: str | None = None, message: str = ""
    ) -> Rollback:
        """Take back what one commit changed, and keep what changed since.

        Raises:
            ConstraintViolation: a value that it changed has changed again since, or rules of the
                graph do not allow it; the data lists everything that stands in the way.
            NotFound: there is no such commit.
        """
        with self._store.reading() as reader:
            entry = commits.transaction_of(reader, max(1, entry_at(reader, commit)))
        said = message or f"revert {short(entry.commit)}: {entry.message}"

        def work(tx: Transaction) -> Diff:
            before = state_at(tx.reader, entry.first_seq - 1)  # It may be scrubbed.
            return rollback.revert(tx, before, State(entry.seq))

        return self._lead_back(work, by, said, dry_run=dry_run)

    def _lead_back(
        self, work: Callable[[Transaction], Diff], by: str | None, message: str, *, dry_run: bool
    ) -> Rollback:
        """Run a way back; a dry run is checked whole, and rolled back."""

        def run(tx: Transaction) -> tuple[Diff, int | None]:
            changes = work(tx)
            if dry_run:
                tx.check()
                raise _DryRunError(changes)
            return changes, None if tx.is_empty else tx.position + 1  # With the row that closes it.

        try:
            changes, position = self.write(run, actor=by, message=message)
        except _DryRunError as rehearsed:
            return Rollback(None, rehearsed.changes)
        if position is None:
            return Rollback(None, changes)
        with self._store.reading() as reader:
            return Rollback(commits.commit_at(reader, position), changes)

    # Tags.

    def tag(
        self, name: str, moment: Moment | None = None, *, by: str | None = None, message: str = ""
    ) -> str:
        """Name the commit of a moment, by default the last one. Returns the id of the commit.

        A tag is an entry of the journal: every copy of the graph has it, and moving it to another
        commit is an entry again. Wherever a moment is asked for, a tag names one.

        Raises:
            InvalidIdentifier: a tag begins with a letter and has letters, digits and . _ - / only.
            ConstraintViolation, NotFound: there is no such moment, or no commit before it.
        """

        def work(tx: Transaction) -> str:
            # With the lock of the writer: nobody commits in between.
            state = LIVE if moment is None else state_at(tx.reader, moment)
            return set_tag(tx, name, state)

        return self.write(work, actor=by, message=message or f"tag {name}")

    def untag(self, name: str, *, by: str | None = None, message: str = "") -> None:
        """Take a tag back. The commit stays, and so does the record that it had this name.

        Raises:
            NotFound: there is no such tag.
        """
        said = message or f"untag {name}"
        self.write(lambda tx: remove_tag(tx, name), actor=by, message=said)

    def tags(self) -> dict[str, str]:
        """The commit of every tag, by name, in the order in which they were set."""
        with self._store.reading() as reader:
            return commits.tags(reader)


def open_graph(
    path: str | os.PathLike[str] = ":memory:",
    *,
    branch: str | None = None,
    actor: str = DEFAULT_ACTOR,
    message: str = "",
    create: bool = True,
    readonly: bool = False,
    durability: Durability = "full",
    busy_timeout_s: float = 30.0,
    clock_us: Callable[[], int] = wall_clock_us,
    guards: Sequence[Guard] = (),
    vfs: str | None = None,
    memory: MemoryUse = "ample",
    strict: bool = False,
    bootstrap: bool = True,
    timeout_s: float = TIMEOUT_S,
    embedder: Embedder | str | None = None,
) -> Graph:
    """Open a graph; a new one is made if there is none, with the core capsules applied.

    With `branch`, the branch of that name is opened, which has to be there; main is the graph
    itself. Without, it is the file at the path, whatever `mycel branch switch` says.
    `durability` says what a commit waits for: "full" (the default) survives a power cut,
    "normal" may then lose the last commits but never harms the file, "off" is for scratch data.
    With `strict`, an element without the attributes that its type requires is refused; otherwise
    that is a warning. Without `bootstrap`, a new graph holds nothing but the two meta-types and the
    built-in predicates, and stays so. `timeout_s` bounds every command that reads, and how long a
    command that writes may look for what it is about. `guards` are asked about every change. An
    `embedder` makes the vectors of search by meaning, and of properties with `@embed`: an object,
    or a name of `mycel.embedding.choice` such as "static", the one inside the package. Without it,
    the one of `mycel embed use` makes them.
    The `message` stands in the journal for every transaction that is given none of its own.
    `memory` says how much of the file this process may keep in its own: "ample", or "modest" for
    one that serves for days beside others. `clock_us` and `vfs` are for tests.

    Raises:
        NotADatabase, FormatTooNew, DatabaseReadOnly, DatabaseError: it cannot be opened.
        InvalidValueType: no embedder has this name.
        InvalidIdentifier, NotFound: there is no such branch.
    """
    if branch is not None:
        path = branch_path(path, branch)
    if isinstance(embedder, str):
        from mycel.embedding.choice import embedder_named  # noqa: PLC0415 - it brings numpy

        embedder = embedder_named(embedder)
    store = Store(
        path,
        create=create,
        readonly=readonly,
        durability=durability,
        busy_timeout_s=busy_timeout_s,
        clock_us=clock_us,
        guards=GraphGuards(guards, strict=strict),
        vfs=vfs,
        memory=memory,
        bare=not bootstrap,
    )
    try:
        if not readonly and store.is_expectant():
            from mycel.engine.bootstrap import bootstrap as begin  # noqa: PLC0415 - if new only

            begin(store)
        graph = Graph(store, actor=actor, message=message, timeout_s=timeout_s, embedder=embedder)
    except BaseException:
        with suppress(MycelError):  # What went wrong first is what is to be known.
            store.close()
        raise
    graph._options = {
        "durability": durability,
        "busy_timeout_s": busy_timeout_s,
        "clock_us": clock_us,
        "guards": guards,
        "vfs": vfs,
        "memory": memory,
        "strict": strict,
        "timeout_s": timeout_s,
        "embedder": embedder,
    }
    return graph


def _listed(paths: Sequence[object]) -> Sequence[object]:
    """Paths as a list; one text is one path."""
    return (paths,) if isinstance(paths, str) else tuple(paths)
