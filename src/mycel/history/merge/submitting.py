"""Merges edits in one step: they are committed, or refused with their conflicts.

No merge stays open. A caller may write more in the same transaction, such as the outcome of a
submission.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from mycel.history.merge.broken_constraints import BrokenError
from mycel.history.merge.merge_draft import MergeDraft, MovedError, apply_draft, keep_draft
from mycel.history.merge.merging import Merging, expected_changes
from mycel.history.merge.outcome import Conflict
from mycel.history.merge.requests import Request
from mycel.store.query.commits import commit_at
from mycel.store.query.diff import Diff
from mycel.store.query.history import entry_at
from mycel.store.write.transaction import Transaction

ATTEMPTS_MAX: Final = 2
"""The maximum number of times a merge is computed while others may write."""

Keep = Callable[[Transaction, "Submitted"], None]
"""A function that writes more in the transaction of a commit; if it raises an error, all is rolled
back.
"""


class StaleBaseError(Exception):
    """The error if the base is not the head."""

    def __init__(self, head: str) -> None:
        super().__init__()
        self.head = head


class Submitted(NamedTuple):
    """The result of submitted edits."""

    counts: dict[str, int]
    warnings: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    """The conflicts that prevent the commit; then nothing is written."""
    seq: int | None = None
    """The entry at which the commit ends; None if nothing changed."""
    head: str = ""
    """The head with which the edits were merged."""


class Submitting(Merging):
    """Submits edits to one open graph."""

    def submit(self, request: Request, *, at_head: bool, keep: Keep, by: str) -> Submitted:
        """Merge edits and commit them, if there are no conflicts.

        Raises:
            StaleBaseError: with `at_head`, the base is not the head.
        """
        self._store.check_idle("Submit after the transaction.")
        for _ in range(ATTEMPTS_MAX):
            draft = self._draft(request)
            self._check_head(draft, request, at_head=at_head)
            if not draft.is_decided:
                return _refused(draft, draft.conflicts)
            try:
                return self._store.run(
                    lambda tx, draft=draft: self._write_submitted(tx, draft, keep),  # type: ignore[misc]
                    actor=by,
                    message=request.message,
                )
            except MovedError:
                continue
            except BrokenError as broken:
                return _refused(draft, broken.conflicts)
        try:
            with self._store.transaction(actor=by, message=request.message) as tx:
                draft = self._draft(request)
                self._check_head(draft, request, at_head=at_head)
                if not draft.is_decided:
                    raise _RefusedError(_refused(draft, draft.conflicts))
                try:
                    return self._write_submitted(tx, draft, keep)
                except BrokenError as broken:
                    raise _RefusedError(_refused(draft, broken.conflicts)) from broken
        except _RefusedError as error:
            return error.outcome

    def conflicts_of(self, request: Request) -> tuple[Conflict, ...]:
        """The present conflicts of edits; constraints are only checked at the commit."""
        return self._draft(request).conflicts

    def preview(self, request: Request) -> tuple[Submitted, Diff]:
        """The changes that edits would make now, with their conflicts. Nothing is written."""
        draft = self._draft(request)
        return _refused(draft, draft.conflicts), expected_changes(draft.plan, draft.seq)

    def _check_head(self, draft: MergeDraft, request: Request, *, at_head: bool) -> None:
        if at_head and draft.commits[0] != request.theirs:
            raise StaleBaseError(draft.commits[0])

    def _write_submitted(self, tx: Transaction, draft: MergeDraft, keep: Keep) -> Submitted:
        if not draft.plan.goals and draft.plan.schema is None:
            result = Submitted(_counts(draft), draft.warnings, head=draft.commits[0])
            keep(tx, result)
            return result
        reached = apply_draft(tx, draft)
        seq = tx.position + 1  # The row that closes the transaction follows the last entry.
        keep_draft(tx, seq, draft, reached)
        warnings = tuple(dict.fromkeys((*draft.warnings, *tx.warnings)))
        result = Submitted(_counts(draft), warnings, seq=seq, head=draft.commits[0])
        keep(tx, result)
        return result

    def base_commit(self, base: str | int | None) -> str:
        """The commit that a base names; the head if there is no base.

        Raises:
            ConstraintViolation, NotFound: there is no such commit.
        """
        with self._store.reading() as reader:
            position = reader.position if base is None else entry_at(reader, base)
            return commit_at(reader, position)


class _RefusedError(Exception):
    """Raised to end a transaction that must not write anything."""

    def __init__(self, outcome: Submitted) -> None:
        super().__init__()
        self.outcome = outcome


def _refused(draft: MergeDraft, conflicts: tuple[Conflict, ...]) -> Submitted:
    return Submitted(_counts(draft), draft.warnings, conflicts, head=draft.commits[0])


def _counts(draft: MergeDraft) -> dict[str, int]:
    """The number of elements that are added, removed and changed."""
    counts = {"added": 0, "removed": 0, "changed": 0}
    for goal in draft.plan.goals:
        kind = "added" if goal.now is None else "removed" if goal.then is None else "changed"
        counts[kind] += 1
    return counts
