"""`Graph`, which `mycel.open` returns: a nexus with its history to work with."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from mycel.embedding.embedder import Embedder
from mycel.engine.guards import GraphGuards
from mycel.engine.write_defaults import DEFAULT_ACTOR
from mycel.errors import ConstraintViolation, MycelError
from mycel.history import rollback
from mycel.history.branches import Branches, branch_path
from mycel.history.rollback import Rollback
from mycel.history.saved_views import SavedViews
from mycel.model.commits import short
from mycel.model.state import LIVE, State
from mycel.nexus import TIMEOUT_S, Nexus
from mycel.store.database import Store, wall_clock_us
from mycel.store.file.connections import Durability, MemoryUse
from mycel.store.file.workspace_databases import existing_database
from mycel.store.query import commits
from mycel.store.query import diff as differences
from mycel.store.query.diff import ABSENT, Diff
from mycel.store.query.history import Moment, entry_at, state_at
from mycel.store.query.reader import Reader
from mycel.store.query.refs import Ref
from mycel.store.write.marks import remove_tag, set_tag
from mycel.store.write.transaction import Guard, Transaction, rehearsal

if TYPE_CHECKING:
    from mycel.history.backups import Backup
    from mycel.history.merge.merging import Merging
    from mycel.history.merge.outcome import Choice, Conflict, Merge


class Graph(Nexus):
    """One open graph and its history: tags, branches, differences, merges, and ways back."""

    _options: Mapping[str, Any] = {}
    """The options of `open_graph` that `open_branch` uses again."""

    @cached_property
    def branches(self) -> Branches:
        """The branches of the graph: copies in files beside it, each with a history of its own."""
        return Branches(self._store)

    @cached_property
    def saved_views(self) -> SavedViews:
        """Views of the graph under names, for people: no part of its knowledge or history."""
        return SavedViews(self._store, lambda: self.actor)

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
        present. It may be one of another branch: `"draft"` is its last commit, `"draft:v1"` an
        earlier one. `paths` are URIs, whose elements and those below them count, or ids of
        elements; a link belongs to its subject. The cost follows the number of changes in between.

        Raises:
            ConstraintViolation, NotFound: there is no such state, or it was scrubbed.
        """
        ours, theirs = (self._state_named(each) for each in (a, b))
        with self._reading_branch(ours.branch) as old:
            first = _state_in(old, ours)
            if ours.branch == theirs.branch:
                return differences.diff(old, first, _state_in(old, theirs), _listed(paths))
            with self._reading_branch(theirs.branch) as new:
                sides = old.at(first), new.at(_state_in(new, theirs))
                return differences.diff_copies(*sides, _listed(paths))

    def _reading_branch(self, name: str) -> AbstractContextManager[Reader]:
        return self._store.reading() if name == self.branch else self.branches.reading(name)

    def _state_named(self, moment: Moment | None) -> _Named:
        """The branch of a moment, and the moment in it.

        A text may be the name of a branch, or `branch:moment`. What the open graph knows as a tag
        or a commit comes first.
        """
        here = _Named(self.branch, moment)
        if not isinstance(moment, str) or self._store.is_in_memory:
            return here
        name, _, rest = moment.partition(":")
        known = self.branches.names()
        if name not in known or (name in self.tags() and not rest):
            return here
        return _Named(name, rest or None)

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
        said = self._why(message) or f"rollback to {short(name)}"
        return self._lead_back(work, by, said, dry_run=dry_run)

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
        said = self._why(message) or f"revert {short(entry.commit)}: {entry.message}"

        def work(tx: Transaction) -> Diff:
            before = state_at(tx.reader, entry.first_seq - 1)  # It may be scrubbed.
            return rollback.revert(tx, before, State(entry.seq))

        return self._lead_back(work, by, said, dry_run=dry_run)

    def _lead_back(
        self, work: Callable[[Transaction], Diff], by: str | None, message: str, *, dry_run: bool
    ) -> Rollback:
        """Run a way back; a dry run is checked whole, and rolled back."""
        if dry_run:
            with rehearsal(self.transaction(actor=by, message=message)) as tx:
                changes = work(tx)
                tx.check()
            return Rollback(None, changes)

        def run(tx: Transaction) -> tuple[Diff, int | None]:
            changes = work(tx)
            return changes, None if tx.is_empty else tx.position + 1  # With the row that closes it.

        changes, position = self.write(run, actor=by, message=message)
        if position is None:
            return Rollback(None, changes)
        with self._store.reading() as reader:
            return Rollback(commits.commit_at(reader, position), changes)

    # Merges.

    @property
    def _merging(self) -> Merging:
        from mycel.history.merge.merging import Merging  # noqa: PLC0415 - not every use merges

        return Merging(self._store, self.branch, self.branches.reading)

    def merge(
        self,
        source: str,
        *,
        into: str | None = None,
        policy: str | Mapping[str, str] | None = None,
        trust: Sequence[str] | None = None,
        granularity: Literal["key", "element"] = "key",
        restore_purged: bool = False,
        dry_run: bool = False,
        by: str | None = None,
        message: str = "",
    ) -> Merge:
        """Merge another branch into the one that is open, or `into` a third one.

        The two are compared with their common ancestor, element by element and key by key. If
        nothing is contested, the merge is one commit. Otherwise nothing is written, and the merge
        stays open until every conflict is decided (`resolve`) and it is committed
        (`commit_merge`), or until it is given up (`abort_merge`).

        `source` is the name of a branch, or `branch:moment`. `policy` decides about contested
        values: "ours", "theirs" or "newest" for all, or a mapping such as
        `{"Person.age": "max", "*": "ask"}`. `trust` names actors, the most trusted first. With the
        granularity "element", an element that both sides have changed is one conflict.

        Raises:
            InvalidIdentifier, NotFound: there is no such branch, or no such commit.
            ConstraintViolation: an option is wrong, or the common ancestor was scrubbed.
        """
        if into is not None and into != self.branch:
            with self.open_branch(into) as target:
                return target.merge(
                    source,
                    policy=policy,
                    trust=trust,
                    granularity=granularity,
                    restore_purged=restore_purged,
                    dry_run=dry_run,
                    by=self._who(by),
                    message=self._why(message),
                )
        name, _, moment = str(source).partition(":")
        with self.branches.reading(name) as reader:
            seq = entry_at(reader, moment) if moment else reader.head().seq
            commit = commits.commit_at(reader, seq)
        how = policy, trust, granularity, restore_purged
        return self._merge(name, commit, how, None, by, message, dry_run=dry_run)

    def merge_changes(
        self,
        edits: Sequence[Mapping[str, Any]],
        *,
        base: Moment,
        source: str = "import",
        policy: str | Mapping[str, str] | None = None,
        trust: Sequence[str] | None = None,
        granularity: Literal["key", "element"] = "key",
        restore_purged: bool = False,
        dry_run: bool = False,
        by: str | None = None,
        message: str = "",
    ) -> Merge:
        """Merge edits that somebody has made to an earlier state of this branch.

        `base` is the state that was edited. An edit names an element by its natural key there, and
        says what became of it; docs/history.md has its form. `source` names
        the origin of the edits. Everything else is as for `merge`.

        Raises:
            ConstraintViolation, NotFound: there is no such state, or an end of a link.
            InvalidValueType: an edit has another form.
        """
        with self._store.reading() as reader:
            commit = commits.commit_at(reader, entry_at(reader, base))
        how = policy, trust, granularity, restore_purged
        return self._merge(source, commit, how, list(edits), by, message, dry_run=dry_run)

    def _merge(
        self,
        source: str,
        commit: str,
        how: tuple[object, Sequence[str] | None, str, bool],
        edits: Sequence[Mapping[str, Any]] | None,
        by: str | None,
        message: str,
        *,
        dry_run: bool,
    ) -> Merge:
        """Merge; `how` has the policy, the trust, the granularity and `restore_purged`."""
        from mycel.history.merge.requests import Request, options  # noqa: PLC0415 - as above

        request = Request(
            source,
            commit,
            *options(*how),
            message=self._why(message),
            opened=self._store.now_us(),
            by=self._who(by),
            edits=edits,
        )
        return self._merging.merge(request, dry_run=dry_run, by=request.by)

    @property
    def merges(self) -> list[Merge]:
        """The merges into this branch that are open, oldest first."""
        return self._merging.open_merges()

    def conflicts(self, element: Ref | None = None) -> list[Conflict]:
        """The conflicts of all open merges, or of one element; those that are decided, too."""
        found = [each for merge in self.merges for each in merge.conflicts]
        if element is None:
            return found
        with self._store.reading() as reader:
            id_ = reader.outer_id(reader.number(element))
        return [each for each in found if each.element == id_]

    def resolve(
        self,
        conflict: Conflict | Choice | str | Mapping[str, Any] | Sequence[Mapping[str, Any]],
        choice: str | None = None,
        value: Any = ABSENT,
        *,
        merge: str | None = None,
        by: str | None = None,
    ) -> Merge:
        """Decide about a conflict of an open merge, or overrule an automatic choice.

        `choice` is "ours", "theirs", "base", or "value" with a `value`; for a text of several lines
        also "lines" with the text for its contested part, or a list of texts for its parts. The
        conflict is one of `conflicts()`, its id, or "*" for all that are left. Many are decided at
        once by a mapping from ids to choices, or by a list of
        `{"conflict": id, "choice": …, "value": …}`.

        Raises:
            NotFound: there is no such conflict, or no open merge.
            ConstraintViolation: the choice does not fit the conflict.
        """
        from mycel.history.merge.requests import decisions  # noqa: PLC0415 - as above

        given = decisions(conflict, choice, value)
        if merge is None:
            merge = getattr(conflict, "merge", None) or None
        return self._merging.resolve(given, merge, by=self._who(by))

    def commit_merge(
        self, merge: str | None = None, *, by: str | None = None, message: str = ""
    ) -> Merge:
        """Commit an open merge, as one commit.

        Raises:
            NotFound: there is none.
            ConstraintViolation: conflicts are left; the data has them.
        """
        return self._merging.commit(merge, by=self._who(by), message=self._why(message))

    def abort_merge(self, merge: str | None = None) -> Merge:
        """Give an open merge up. It has written nothing.

        Raises:
            NotFound: there is none.
        """
        return self._merging.abort(merge)

    def choices(self, commit: Moment | None = None) -> list[Choice]:
        """The automatic choices of the merge that made a commit; without one, of all merges.

        Raises:
            ConstraintViolation, NotFound: there is no such commit.
        """
        from mycel.history.merge.choices import choices  # noqa: PLC0415 - as above

        with self._store.reading() as reader:
            return choices(reader, None if commit is None else entry_at(reader, commit))

    def undo_choice(self, choice: Choice | str, *, by: str | None = None, message: str = "") -> str:
        """Give an attribute the value that a merge has not chosen. Returns the id of the commit.

        Raises:
            NotFound: there is no such choice, or the element is gone.
            ConstraintViolation: the value has changed since the merge.
        """
        from mycel.history.merge.choices import chosen, undo  # noqa: PLC0415 - as above

        def work(tx: Transaction) -> int:
            undo(tx, chosen(tx.reader, choice if isinstance(choice, str) else choice.id))
            return tx.position + 1  # With the row that closes it.

        seq = self.write(work, actor=by, message=self._why(message) or "undo a choice of a merge")
        with self._store.reading() as reader:
            return commits.commit_at(reader, seq)

    # Backups.

    def backup(
        self, target: str | os.PathLike[str], *, force: bool = False, full: bool = False
    ) -> list[Backup]:
        """Copy the branch that is open to a file, or all branches into a folder, and verify it.

        Others may write meanwhile. An older backup is replaced when the new one has been verified;
        one that is up to date is only verified. If the older one was verified, the new one is
        verified by what differs from it, unless `full`. `mycel.restore` is the way back.

        Raises:
            ConstraintViolation: an existing file is no earlier state of the graph, and `force` is
                False; the graph is in memory, or this thread is in a transaction.
            NotADatabase, DatabaseCorrupt: an existing file is no graph, or the copy is damaged.
            DatabaseBusy, DatabaseReadOnly, DiskFull, DatabaseError: the copy cannot be made.
        """
        from mycel.history.backups import back_up  # noqa: PLC0415 - verification is large

        return back_up(self._store, Path(os.fsdecode(target)), force=force, full=full)

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

        return self.write(work, actor=by, message=self._why(message) or f"tag {name}")

    def untag(self, name: str, *, by: str | None = None, message: str = "") -> None:
        """Take a tag back. The commit stays, and so does the record that it had this name.

        Raises:
            NotFound: there is no such tag.
        """
        said = self._why(message) or f"untag {name}"
        self.write(lambda tx: remove_tag(tx, name), actor=by, message=said)

    def tags(self) -> dict[str, str]:
        """The commit of every tag, by name, in the order in which they were set."""
        with self._store.reading() as reader:
            return commits.tags(reader)


IN_MEMORY: Final = ":memory:"


def open_graph(
    path: str | os.PathLike[str] = IN_MEMORY,
    *,
    workspace: str | None = None,
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
    core_capsules: bool = True,
    timeout_s: float = TIMEOUT_S,
    embedder: Embedder | str | None = None,
) -> Graph:
    """Open a graph; a new one is made if there is none, with the core capsules applied.

    With `workspace` instead of a path, the database of that name is opened, as `--workspace` of the
    command line does; it has to be there. With `branch`, the branch of that name is opened, which
    has to be there; main is the graph itself. Without, it is the file at the path, whatever `mycel
    branch switch` says.
    `durability` says what a commit waits for: "full" (the default) survives a power cut,
    "normal" may then lose the last commits but never harms the file, "off" is for scratch data.
    With `strict`, an element without the attributes that its type requires is refused; otherwise
    that is a warning. Without `core_capsules`, a new graph holds nothing but the two meta-types and
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
        InvalidIdentifier, NotFound: there is no such branch or workspace.
        ConstraintViolation: both a path and a workspace are given.
    """
    if workspace is not None:
        if path != IN_MEMORY:
            raise ConstraintViolation(
                "Both a path and a workspace are given.", hint="Pass one of them."
            )
        path = existing_database(workspace)
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
        bare=not core_capsules,
    )
    try:
        if not readonly and store.needs_seed():
            from mycel.engine.seed import seed_graph  # noqa: PLC0415 - if new only

            seed_graph(store)
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


class _Named(NamedTuple):
    """A state of a branch, as a caller names it; without a moment, its last commit."""

    branch: str
    moment: Moment | None


def _state_in(reader: Reader, named: _Named) -> State:
    return LIVE if named.moment is None else state_at(reader, named.moment)


def _listed(paths: Sequence[object]) -> Sequence[object]:
    """Paths as a list; one text is one path."""
    return (paths,) if isinstance(paths, str) else tuple(paths)
