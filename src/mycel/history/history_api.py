"""`db.history`: the log, versions of elements, differences, tags, rollback and revert."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Final, NamedTuple, TypeVar

from mycel.engine.write_defaults import WriteDefaults
from mycel.graph.walk import check_whole
from mycel.history import rollback
from mycel.history.branches import Branches
from mycel.history.rollback import Rollback
from mycel.model.commits import short
from mycel.model.limits import INTEGER_MAX
from mycel.model.state import LIVE, State
from mycel.store.database import Store
from mycel.store.query import commits
from mycel.store.query import diff as differences
from mycel.store.query.commits import LogEntry, LogFilter, transactions
from mycel.store.query.diff import Diff
from mycel.store.query.history import (
    Moment,
    Version,
    before_moment,
    entry_at,
    state_at,
    versions,
)
from mycel.store.query.paths import AnyPath, path_of
from mycel.store.query.reader import Reader
from mycel.store.query.refs import Ref
from mycel.store.write.marks import remove_tag, set_tag
from mycel.store.write.transaction import Transaction, rehearsal

LOG_PAGE: Final = 500

T = TypeVar("T")


class History:
    """The history of one graph: `db.history`. Rollback and revert are new commits in it."""

    def __init__(self, store: Store, defaults: WriteDefaults, branches: Branches) -> None:
        self._store: Final = store
        self._defaults: Final = defaults
        self._branches: Final = branches

    def _write(self, work: Callable[[Transaction], T], by: str | None, message: str) -> T:
        return self._store.run(work, actor=self._defaults.actor_or(by), message=message)

    def log(
        self,
        *,
        limit: int | None = None,
        before: int | None = None,
        path: AnyPath | None = None,
        type: str | None = None,  # noqa: A002 - the word for it
        actor: str | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        text: str | None = None,
    ) -> Iterator[LogEntry]:
        """Transactions that ended before the entry `before`, newest first.

        Every condition has to hold. `path`: elements under a URI, or links that begin there, were
        changed. `type`: elements of a type, or links of a predicate, were changed. `text`: the
        message has the text. `since` and `until`: the first and the last moment. Transactions are
        read a page at a time, so that a long log is not kept in memory.

        Raises:
            TypeMismatch: no such type or predicate was ever defined.
            NotFound: a moment names no commit or tag.
        """
        check_whole("limit", 1 if limit is None else limit)
        check_whole("before", 1 if before is None else before)
        before = None if before is None else min(before, INTEGER_MAX)
        with self._store.reading() as reader:
            where = LogFilter(
                None if path is None else path_of(path),
                type,
                actor,
                None if since is None else before_moment(reader, since),
                None if until is None else entry_at(reader, until),
                text,
            )
        while limit is None or limit > 0:
            size = LOG_PAGE if limit is None else min(limit, LOG_PAGE)
            with self._store.reading() as reader:
                page = list(transactions(reader, limit=size, before=before, where=where))
            yield from page
            if len(page) < size:
                return
            before = page[-1].seq
            limit = None if limit is None else limit - size

    def versions(self, ref: Ref) -> list[Version]:
        """Every version of an element, oldest first, with removals and purges.

        Raises:
            NotFound: there never was such an element.
        """
        with self._store.reading() as reader:
            return versions(reader, ref)

    def diff(self, a: Moment, b: Moment | None = None, *, paths: Sequence[object] = ()) -> Diff:
        """The elements that differ between two states, each with its values before and after.

        A state is given by a commit, a tag, a time or a position of the journal; without `b`, it is
        the present. It may belong to another branch: `"draft"` is the last commit of that branch,
        `"draft:v1"` a tagged commit of it. `paths` are ids of elements, or URIs, which include all
        elements below them; a link belongs to its subject. The cost depends on the number of
        changes in between.

        Raises:
            ConstraintViolation, NotFound: there is no such state, or it was scrubbed.
        """
        ours, theirs = (self._state_named(moment) for moment in (a, b))
        with self._reading_branch(ours.branch) as old:
            first = _state_in(old, ours)
            if ours.branch == theirs.branch:
                return differences.diff(old, first, _state_in(old, theirs), _path_list(paths))
            with self._reading_branch(theirs.branch) as new:
                sides = old.at(first), new.at(_state_in(new, theirs))
                return differences.diff_copies(*sides, _path_list(paths))

    def _reading_branch(self, name: str) -> AbstractContextManager[Reader]:
        return (
            self._store.reading() if name == self._branches.open else self._branches.reading(name)
        )

    def _state_named(self, moment: Moment | None) -> _Named:
        """The branch and the moment that a caller names.

        A text may be the name of a branch, or `branch:moment`. A tag or commit of the open graph
        takes precedence.
        """
        here = _Named(self._branches.open, moment)
        if not isinstance(moment, str) or self._store.is_in_memory:
            return here
        name, _, rest = moment.partition(":")
        branch_names = self._branches.names()
        if name not in branch_names or (name in self.tags() and not rest):
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
        """Bring all elements, or those under some paths, back to an earlier state.

        This is one new transaction: history is not rewritten, and a rollback can be rolled back
        too. With `dry_run`, nothing is written, and the result shows the changes.

        Raises:
            ConstraintViolation: rules of the graph, or links from outside of the paths, prevent it;
                the data lists all obstacles.
            NotFound: there is no such state.
        """

        def work(tx: Transaction) -> Diff:
            return rollback.roll_back(tx, state_at(tx.reader, to), _path_list(paths))

        with self._store.reading() as reader:
            seq = entry_at(reader, to)
            name = commits.commit_at(reader, seq)
        full_message = self._defaults.message_or(message) or f"rollback to {short(name)}"
        return self._lead_back(work, by, full_message, dry_run=dry_run)

    def revert(
        self, commit: Moment, *, dry_run: bool = False, by: str | None = None, message: str = ""
    ) -> Rollback:
        """Undo the changes of one commit, and keep all later changes.

        Raises:
            ConstraintViolation: a value that the commit changed has changed again since, or rules
                of the graph prevent it; the data lists all obstacles.
            NotFound: there is no such commit.
        """
        with self._store.reading() as reader:
            entry = commits.transaction_of(reader, max(1, entry_at(reader, commit)))
        full_message = (
            self._defaults.message_or(message) or f"revert {short(entry.commit)}: {entry.message}"
        )

        def work(tx: Transaction) -> Diff:
            # The state before the commit may be scrubbed.
            before = state_at(tx.reader, entry.first_seq - 1)
            return rollback.revert(tx, before, entry.seq)

        return self._lead_back(work, by, full_message, dry_run=dry_run)

    def _lead_back(
        self, work: Callable[[Transaction], Diff], by: str | None, message: str, *, dry_run: bool
    ) -> Rollback:
        """Run a rollback or revert. A dry run passes all checks, and is rolled back."""
        if dry_run:
            author = self._defaults.actor_or(by)
            with rehearsal(self._store.transaction(actor=author, message=message)) as tx:
                changes = work(tx)
                tx.check()
            return Rollback(None, changes)

        def run(tx: Transaction) -> tuple[Diff, int | None]:
            changes = work(tx)
            # The row that closes the transaction follows the last entry.
            return changes, None if tx.is_empty else tx.position + 1

        changes, position = self._write(run, by, message)
        if position is None:
            return Rollback(None, changes)
        with self._store.reading() as reader:
            return Rollback(commits.commit_at(reader, position), changes)

    def tag(
        self, name: str, moment: Moment | None = None, *, by: str | None = None, message: str = ""
    ) -> str:
        """Tag the commit of a moment, by default the last commit. Returns the id of the commit.

        A tag is an entry of the journal, so every copy of the graph has it; moving it is another
        entry. A tag can be used wherever a moment is expected.

        Raises:
            InvalidIdentifier: a tag begins with a letter and has letters, digits and . _ - / only.
            ConstraintViolation, NotFound: there is no such moment, or no commit before it.
        """

        def work(tx: Transaction) -> str:
            # The lock of the writer is held, so nobody commits in between.
            state = LIVE if moment is None else state_at(tx.reader, moment)
            return set_tag(tx, name, state)

        return self._write(work, by, self._defaults.message_or(message) or f"tag {name}")

    def untag(self, name: str, *, by: str | None = None, message: str = "") -> None:
        """Remove a tag. The commit stays, and the journal still shows that it had this name.

        Raises:
            NotFound: there is no such tag.
        """
        full_message = self._defaults.message_or(message) or f"untag {name}"
        self._write(lambda tx: remove_tag(tx, name), by, full_message)

    def tags(self) -> dict[str, str]:
        """The commit of every tag, by name, in the order in which they were set."""
        with self._store.reading() as reader:
            return commits.tags(reader)


class _Named(NamedTuple):
    """A state of a branch as a caller names it; the moment None stands for the last commit."""

    branch: str
    moment: Moment | None


def _state_in(reader: Reader, moment_name: _Named) -> State:
    return LIVE if moment_name.moment is None else state_at(reader, moment_name.moment)


def _path_list(paths: Sequence[object]) -> Sequence[object]:
    """Paths as a list. A single text is one path."""
    return (paths,) if isinstance(paths, str) else tuple(paths)
