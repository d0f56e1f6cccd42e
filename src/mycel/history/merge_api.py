"""`db.merges`: open merges with their conflicts and decisions, and choices of committed merges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

from mycel.engine.write_defaults import WriteDefaults
from mycel.history.branches import Branches
from mycel.store.database import Store
from mycel.store.query import commits
from mycel.store.query.diff import ABSENT
from mycel.store.query.history import Moment, entry_at
from mycel.store.query.refs import Ref
from mycel.store.write.transaction import Transaction

if TYPE_CHECKING:
    from mycel.history.merge.merging import Merging
    from mycel.history.merge.outcome import Choice, Conflict, Merge


class Merges:
    """The merges into one branch: `db.merges`. Iterating gives the open merges."""

    def __init__(self, store: Store, defaults: WriteDefaults, branches: Branches) -> None:
        self._store: Final = store
        self._defaults: Final = defaults
        self._branches: Final = branches

    @property
    def _merging(self) -> Merging:
        from mycel.history.merge.merging import Merging  # noqa: PLC0415 - not every use merges

        return Merging(self._store, self._branches.open, self._branches.reading)

    def merge_changes(
        self,
        edits: Sequence[Mapping[str, Any]],
        *,
        base: Moment,
        source: str = "import",
        schema: str | None = None,
        policy: str | Mapping[str, str] | None = None,
        trust: Sequence[str] | None = None,
        granularity: Literal["key", "element"] = "key",
        restore_purged: bool = False,
        dry_run: bool = False,
        by: str | None = None,
        message: str = "",
    ) -> Merge:
        """Merge edits that were made to an earlier state of this branch.

        `base` is the state that was edited. An edit names an element by its natural key in that
        state, and gives its new content; docs/history.md describes the form. `source` names the
        origin of the edits. `schema` is a new text of the schema, applied in the same transaction.
        All other parameters are those of `db.merge`.

        Raises:
            ConstraintViolation, NotFound: there is no such state, or an end of a link.
            InvalidValueType: an edit has another form.
        """
        with self._store.reading() as reader:
            commit = commits.commit_at(reader, entry_at(reader, base))
        how = policy, trust, granularity, restore_purged
        return self.merge_commit(
            source, commit, how, list(edits), by, message, schema=schema, dry_run=dry_run
        )

    def merge_commit(
        self,
        source: str,
        commit: str,
        how: tuple[object, Sequence[str] | None, str, bool],
        edits: Sequence[Mapping[str, Any]] | None,
        by: str | None,
        message: str,
        *,
        schema: str | None = None,
        dry_run: bool,
    ) -> Merge:
        """Merge a commit of a source; `db.merge` calls this.

        `how` has the policy, the trusted actors, the granularity and `restore_purged`.
        """
        from mycel.history.merge.requests import Request, options  # noqa: PLC0415 - as above

        request = Request(
            source,
            commit,
            *options(*how),
            message=self._defaults.message_or(message),
            opened=self._store.now_us(),
            by=self._defaults.actor_or(by),
            edits=edits,
            schema=schema,
        )
        return self._merging.merge(request, dry_run=dry_run, by=request.by)

    def __iter__(self) -> Iterator[Merge]:
        """The open merges into this branch, oldest first."""
        return iter(self._merging.open_merges())

    def __len__(self) -> int:
        """The number of open merges."""
        return len(self._merging.open_merges())

    def conflicts(self, element: Ref | None = None) -> list[Conflict]:
        """The conflicts of all open merges, or of one element; decided conflicts are included."""
        conflicts = [conflict for merge in self for conflict in merge.conflicts]
        if element is None:
            return conflicts
        with self._store.reading() as reader:
            id_ = reader.outer_id(reader.number(element))
        return [conflict for conflict in conflicts if conflict.element == id_]

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

        `choice` is "ours", "theirs", "base", or "value" with a `value`. For a text of several lines
        it may be "lines": `value` then has the new text of the contested part, or a list of texts
        for several parts. `conflict` is one of `conflicts()`, an id, or "*" for all undecided
        conflicts. A mapping from ids to choices, or a list of `{"conflict": id, "choice": …,
        "value": …}`, decides about many at once.

        Raises:
            NotFound: there is no such conflict, or no open merge.
            ConstraintViolation: the choice does not fit the conflict.
        """
        from mycel.history.merge.requests import decisions  # noqa: PLC0415 - as above

        all_decisions = decisions(conflict, choice, value)
        if merge is None:
            merge = getattr(conflict, "merge", None) or None
        return self._merging.resolve(all_decisions, merge, by=self._defaults.actor_or(by))

    def commit(
        self, merge: str | None = None, *, by: str | None = None, message: str = ""
    ) -> Merge:
        """Commit an open merge, as one commit.

        Raises:
            NotFound: no such merge is open.
            ConstraintViolation: conflicts are undecided; the data has them.
        """
        return self._merging.commit(
            merge, by=self._defaults.actor_or(by), message=self._defaults.message_or(message)
        )

    def abort(self, merge: str | None = None) -> Merge:
        """Give up an open merge. It has written nothing.

        Raises:
            NotFound: no such merge is open.
        """
        return self._merging.abort(merge)

    def choices(self, commit: Moment | None = None) -> list[Choice]:
        """The automatic choices of the merge that made a commit; without a commit, of all merges.

        Raises:
            ConstraintViolation, NotFound: there is no such commit.
        """
        from mycel.history.merge.choices import choices  # noqa: PLC0415 - as above

        with self._store.reading() as reader:
            return choices(reader, None if commit is None else entry_at(reader, commit))

    def undo_choice(self, choice: Choice | str, *, by: str | None = None, message: str = "") -> str:
        """Give an attribute the value that a merge did not choose. Returns the id of the commit.

        Raises:
            NotFound: there is no such choice, or the element is gone.
            ConstraintViolation: the value has changed since the merge.
        """
        from mycel.history.merge.choices import chosen, undo  # noqa: PLC0415 - as above

        def work(tx: Transaction) -> int:
            undo(tx, chosen(tx.reader, choice if isinstance(choice, str) else choice.id))
            return tx.position + 1  # The row that closes the transaction follows the last entry.

        full_message = self._defaults.message_or(message) or "undo a choice of a merge"
        seq = self._store.run(work, actor=self._defaults.actor_or(by), message=full_message)
        with self._store.reading() as reader:
            return commits.commit_at(reader, seq)
