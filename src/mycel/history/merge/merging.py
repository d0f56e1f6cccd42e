"""Runs a merge: from a request to a commit, or to an open merge that waits for decisions.

A merge is computed only from three states and the decisions so far. An open merge therefore keeps
only the commit of the source, the options and the decisions, and is computed again for each access.
If the target has changed meanwhile, a decision about unchanged values stays in force.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import Any, Final

from mycel.errors import (
    ConstraintViolation,
    DatabaseBusy,
    InvalidIdentifier,
    MycelError,
    NotFound,
)
from mycel.history.merge.broken_constraints import (
    BrokenError,
    is_about_same,
    kept_elements,
)
from mycel.history.merge.edits import EditSides
from mycel.history.merge.merge_draft import (
    MergeDraft,
    MovedError,
    all_decided,
    apply_draft,
    keep_draft,
    merge_row,
)
from mycel.history.merge.merge_plan import MergePlan
from mycel.history.merge.origins import merged_origins
from mycel.history.merge.outcome import (
    Conflict,
    Merge,
    Resolution,
)
from mycel.history.merge.planner import Planner
from mycel.history.merge.requests import Request, check, full_id, overrides
from mycel.history.merge.rules import Rules
from mycel.history.merge.sides import BranchSides
from mycel.model.commits import short
from mycel.model.elements import Element
from mycel.model.names import first_few
from mycel.model.state import LIVE, State
from mycel.store.database import Store
from mycel.store.log import merges
from mycel.store.query.alignment import NEW
from mycel.store.query.commits import commit_at
from mycel.store.query.diff import Diff, change_of, diff, place_of
from mycel.store.query.history import entry_at
from mycel.store.query.lineage import merged_copies
from mycel.store.query.merges import stored_conflicts
from mycel.store.query.origins import Origin
from mycel.store.query.reader import Reader
from mycel.store.write.merges import (
    end_merge,
)
from mycel.store.write.transaction import Transaction, rehearsal

ATTEMPTS_MAX: Final = 2
"""The maximum number of times a merge is computed while others may write."""
DECISIONS_MAX: Final = 5
"""The maximum number of times that a merge is read again because somebody else has changed it."""
TURN_S_MAX: Final = 10.0
"""The maximum time for which computing a merge may keep others from writing."""
LISTED_MAX: Final = 5
"""The maximum number of conflicts that the message of an error lists."""

OpenReader = Callable[[str], AbstractContextManager[Reader]]
"""A function that opens a branch by name."""


class _LeftError(Exception):
    """Raised to end a turn of the writer without a commit."""

    def __init__(self, outcome: Merge | MergeDraft, broken: tuple[Conflict, ...] = ()) -> None:
        super().__init__()
        self.outcome = outcome
        """The result, or a draft with undecided conflicts."""
        self.broken = broken
        """The constraints that prevent the merge."""


class _RewrittenError(Exception):
    """The error if somebody else wrote or ended the open merge after it was read."""


class Merging:
    """Runs merges into one open graph."""

    def __init__(self, store: Store, into: str, reading: OpenReader) -> None:
        self._store: Final = store
        self._into: Final = into
        self._reading: Final = reading

    # New merges.

    def merge(self, request: Request, *, dry_run: bool, by: str) -> Merge:
        """Merge a branch. If there are conflicts, open a merge."""
        if dry_run:
            return self._run(request, dry_run=True, by=by)
        self._store.check_idle("Merge after the transaction.")

        def work() -> Merge:
            open_merge = next(
                (other for other in self._requests() if other.source == request.source), None
            )
            if open_merge is None:
                return self._run(request, dry_run=False, by=by)
            again = request._replace(
                opened=open_merge.opened,
                resolutions=open_merge.resolutions,
                constraints=open_merge.constraints,
                version=open_merge.version,
            )
            return self._run(again, dry_run=False, by=by)

        return self._in_turn(work)

    def _in_turn(self, work: Callable[[], Merge]) -> Merge:
        """Run a step on an open merge; start again if others have changed the merge meanwhile."""
        for _ in range(DECISIONS_MAX):
            try:
                return work()
            except _RewrittenError:
                continue
        raise DatabaseBusy(
            "Others write to this merge all the time.", hint="Try again when fewer do."
        )

    def _run(self, request: Request, *, dry_run: bool, by: str) -> Merge:
        request = request.with_broken()
        spent_s = 0.0
        for _ in range(ATTEMPTS_MAX):
            begun = time.monotonic()
            draft = self._draft(request)
            spent_s = max(spent_s, time.monotonic() - begun)
            if draft.has_nothing:
                return self._merge(draft, "up_to_date")
            if not draft.is_decided:
                return self._left_open(draft, dry_run=dry_run)
            try:
                return self._try(draft, dry_run=dry_run, by=by)
            except MovedError:
                continue
            except BrokenError as broken:
                draft = self._with_broken(draft, request, broken.conflicts, by)
                return self._left_open(draft, dry_run=dry_run)
        if spent_s > TURN_S_MAX:
            raise DatabaseBusy(
                "Others write to the target all the time, and the merge takes too long to keep them"
                f" waiting: {spent_s:.0f} s.",
                hint="Try again when fewer write.",
            )
        return self._run_in_turn(request, dry_run=dry_run, by=by)

    def _run_in_turn(self, request: Request, *, dry_run: bool, by: str) -> Merge:
        """Compute a merge and commit it while holding the writer's turn."""
        try:
            with self._store.transaction(actor=by, message=_message(request)) as tx:
                draft = self._draft(request)
                if draft.has_nothing:
                    raise _LeftError(self._merge(draft, "up_to_date"))
                if not draft.is_decided:
                    raise _LeftError(draft)
                try:
                    if dry_run:
                        raise _LeftError(self._rehearse(tx, draft))
                    seq = self._write(tx, draft)
                except BrokenError as broken:
                    raise _LeftError(draft, broken.conflicts) from broken
        except _LeftError as error:
            if isinstance(error.outcome, Merge):
                return error.outcome
            left = self._with_broken(error.outcome, request, error.broken, by)
            return self._left_open(left, dry_run=dry_run)
        return self._merge_result(draft, seq)

    def _with_broken(
        self, draft: MergeDraft, request: Request, broken: tuple[Conflict, ...], by: str
    ) -> MergeDraft:
        """A draft with the constraints that prevent it, each with the choices that would help.

        A choice is tried for all of these constraints at once.
        """
        refused: dict[str, list[str]] = {conflict.id: [] for conflict in broken}
        for choice in ("ours", "theirs", "base") if broken else ():
            decided = (conflict._replace(resolution=Resolution(choice)) for conflict in broken)
            trial = self._draft(request.with_broken(tuple(decided)))
            try:
                if trial.is_decided:  # If not, the choice leads to other conflicts.
                    self._try(trial, dry_run=True, by=by)
            except MovedError:
                continue
            except BrokenError as again:
                for conflict in broken:
                    if any(is_about_same(conflict, other) for other in again.conflicts):
                        refused[conflict.id].append(choice)
        offered = tuple(
            conflict._replace(refused=tuple(refused[conflict.id])) for conflict in broken
        )
        return draft._replace(request=request.with_broken(offered))

    def _left_open(self, draft: MergeDraft, *, dry_run: bool) -> Merge:
        if dry_run:
            return self._merge(draft, "conflicts")
        self._keep(draft)
        return self._merge(draft, "conflicts", id_=draft.request.id)

    # Computing.

    def _draft(self, request: Request) -> MergeDraft:
        with self._sides(request) as sides:
            planner = Planner(
                sides,
                Rules(request.policy, request.trust),
                request.resolutions,
                by_element=request.by_element,
                restore_purged=request.restore_purged,
                overrides=overrides(request.constraints),
            )
            plan = planner.plan()
            ours = sides.reader.position
            new = [goal.then.number for goal in plan.goals if goal.then and not goal.now]
            draft = MergeDraft(
                request,
                plan,
                ours,
                sides.commits,
                sides.bases,
                tuple(sides.marks(request.source)),
                sides.purged_keys,
                sides.matches(new, plan.joined),
                *sides.creations(new, plan.joined),
                merged_origins(sides, plan) if all_decided(plan.conflicts) else {},
                sides.has_news,
                (*plan.warnings, *_moved(request, sides.commits[0], plan)),
            )
        return draft if draft.is_decided else _with_kept(draft)

    @contextmanager
    def _sides(self, request: Request) -> Iterator[BranchSides | EditSides]:
        """The states to merge, open during the block."""
        with self._store.reading() as ours:
            if request.edits is not None:
                origin = Origin(request.opened, request.by)
                yield EditSides(
                    ours, entry_at(ours, request.theirs), request.edits, origin, request.schema
                )
                return
            with self._reading(request.source) as reader:
                theirs = reader.at(State(entry_at(reader, request.theirs)))
                with ExitStack() as copies:
                    yield BranchSides(ours, theirs, self._others(ours, theirs, request, copies))

    def _others(
        self, ours: Reader, theirs: Reader, request: Request, opened: ExitStack
    ) -> list[Reader]:
        """Readers of other existing branches that either side has merged."""
        readers = []
        for name in sorted(merged_copies(ours, theirs) - {self._into, request.source}):
            with suppress(NotFound, InvalidIdentifier):
                readers.append(opened.enter_context(self._reading(name)))
        return readers

    # Trying.

    def _try(self, draft: MergeDraft, *, dry_run: bool, by: str) -> Merge:
        """Commit a draft.

        Raises:
            MovedError: the target has changed since.
            BrokenError: constraints prevent it.
        """
        message = _message(draft.request)
        if dry_run:
            with rehearsal(self._store.transaction(actor=by, message=message)) as tx:
                return self._rehearse(tx, draft)

        seq, warnings = self._store.run(
            lambda tx: (self._write(tx, draft), tx.warnings), actor=by, message=message
        )
        return _with_warnings(self._merge_result(draft, seq), warnings)

    def _rehearse(self, tx: Transaction, draft: MergeDraft) -> Merge:
        """The result that a draft would have. The caller rolls the transaction back."""
        apply_draft(tx, draft)
        tx.flush()
        changes = diff(tx.reader, State(draft.seq), State(tx.position))
        return _with_warnings(self._merge(draft, "clean", changes=changes), tx.warnings)

    def _write(self, tx: Transaction, draft: MergeDraft) -> int | None:
        """Write a draft as one commit. Returns its last entry; None if nothing changes."""
        # The open merge is ended first, because a purge ends every open merge.
        if not end_merge(tx, draft.request.id, self._request_fields(draft.request)):
            raise _RewrittenError
        reached = apply_draft(tx, draft)
        if tx.is_empty:
            return None
        seq = tx.position + 1  # The row that closes the transaction follows the last entry.
        keep_draft(tx, seq, draft, reached)
        return seq

    def _merge_result(self, draft: MergeDraft, seq: int | None) -> Merge:
        """The result of a committed merge."""
        if seq is None:
            return self._merge(draft, "up_to_date")
        if draft.has_purges:
            self._store.scrub()
        with self._store.reading() as reader:
            commit = commit_at(reader, seq)
            changes = diff(reader, State(draft.seq), State(seq))
        merged = self._merge(draft, "merged", changes=changes)
        choices = tuple(choice._replace(commit=commit) for choice in draft.plan.choices)
        return merged._replace(commit=commit, choices=choices)

    # Open merges.

    def _requests(self) -> list[Request]:
        with self._store.reading() as reader:
            stored = reader.run(merges.opened)
        return [Request.from_dict(payload) for payload in stored if payload["into"] == self._into]

    def _keep(self, draft: MergeDraft) -> None:
        request = draft.request._replace(ours=draft.commits[0])
        rows = [merge_row(conflict._replace(merge=request.id)) for conflict in draft.conflicts]
        if not self._store.maintain(merges.keep, request.id, self._request_fields(request), rows):
            raise _RewrittenError

    def _request_fields(self, request: Request) -> dict[str, Any]:
        return request.to_dict() | {"into": self._into}

    def open_merges(self) -> list[Merge]:
        """The merges that are open, oldest first."""
        return [self._look(request) for request in self._requests()]

    def _look(self, request: Request) -> Merge:
        try:
            draft = self._draft(request)
        except (NotFound, ConstraintViolation) as error:
            return self._as_stored(request, error)
        return self._merge(draft, "conflicts", id_=request.id)

    def _as_stored(self, request: Request, error: MycelError) -> Merge:
        """An open merge as it was last computed, if its states can no longer be read."""
        with self._store.reading() as reader:
            conflicts = stored_conflicts(reader, request.id)
        message = f"{error.message} The merge can only be given up (`mycel merge --abort`)."
        return Merge(
            "conflicts",
            request.source,
            self._into,
            request.ours,
            request.theirs,
            (),
            Diff(LIVE, LIVE, ()),
            tuple(map(Conflict.from_dict, conflicts)),
            warnings=(message,),
            id=request.id,
        )

    def _open(self, id_: str | None) -> Request:
        """The open merge with an id; without an id, the only open merge.

        Raises:
            NotFound: no such merge is open.
            ConstraintViolation: several merges are open, and no id is given.
        """
        requests = self._requests()
        if id_ is not None:
            requests = [request for request in requests if id_ in (request.id, request.source)]
        if not requests:
            name = "" if id_ is None else f" {id_!r}"
            raise NotFound(
                f"No merge{name} is open in {self._into}.",
                hint="db.merges (`mycel conflicts`) lists them.",
            )
        if len(requests) > 1:
            raise ConstraintViolation(
                f"{len(requests)} merges are open: "
                f"{', '.join(request.id for request in requests)}.",
                hint="Choose one with merge=….",
            )
        return requests[0]

    def resolve(self, decisions: Mapping[str, Resolution], merge: str | None, *, by: str) -> Merge:
        """Decide about conflicts, or overrule choices: all decisions count, or none.

        Raises:
            NotFound: there is no such conflict.
            ConstraintViolation: a choice does not fit its conflict.
        """
        return self._in_turn(lambda: self._resolve(decisions, merge, by))

    def _resolve(self, decisions: Mapping[str, Resolution], merge: str | None, by: str) -> Merge:
        request = self._open(merge)
        draft = self._draft(request)
        conflicts = {conflict.id: conflict for conflict in draft.conflicts}
        choices = {choice.id: choice for choice in draft.plan.choices}
        resolutions = dict(request.resolutions)
        constraints = {constraint.id: constraint for constraint in draft.request.constraints}
        for conflict_id, resolution in decisions.items():
            conflict_ids = [
                conflict.id for conflict in draft.conflicts if conflict.resolution is None
            ]
            if conflict_id != "*":
                conflict_ids = [full_id(conflict_id, [*conflicts, *choices])]
            for id_ in conflict_ids:
                check(resolution, conflicts.get(id_) or choices[id_])
                if id_ in constraints:
                    constraints[id_] = constraints[id_]._replace(resolution=resolution)
                else:
                    resolutions[id_] = resolution
        request = request._replace(resolutions=resolutions, constraints=tuple(constraints.values()))
        request = request.with_broken()
        draft = self._draft(request)
        if draft.is_decided:
            try:
                self._try(draft, dry_run=True, by=by)
            except MovedError:
                pass  # `commit` computes the merge again.
            except BrokenError as broken:
                draft = self._with_broken(draft, request, broken.conflicts, by)
        self._keep(draft)
        return self._merge(draft, "conflicts", id_=request.id)

    def commit(self, merge: str | None, *, by: str, message: str) -> Merge:
        """Commit an open merge.

        Raises:
            ConstraintViolation: conflicts are left; the data has them.
        """
        return self._in_turn(lambda: self._commit(merge, by, message))

    def _commit(self, merge: str | None, by: str, message: str) -> Merge:
        request = self._open(merge)
        request = request._replace(message=message or request.message)
        outcome = self._run(request, dry_run=False, by=by)
        if outcome.status == "conflicts":
            left = outcome.unresolved
            reasons = first_few(
                [f"{conflict.label}: {conflict.reason}" for conflict in left], LISTED_MAX
            )
            number = "One conflict" if len(left) == 1 else f"{len(left)} conflicts"
            raise ConstraintViolation(
                f"{number} of the merge of {request.source} must be decided first:\n  "
                + "\n  ".join(reasons),
                hint="Decide with db.merges.resolve (`mycel resolve`), or give up with"
                " db.merges.abort() (`mycel merge --abort`).",
                data={"merge": request.id, "conflicts": [conflict.to_dict() for conflict in left]},
            )
        if outcome.status == "up_to_date":
            self._store.maintain(merges.remove, request.id)
        return outcome

    def abort(self, merge: str | None) -> Merge:
        """Give up an open merge. It has written nothing to the graph, so nothing is undone."""
        request = self._open(merge)
        self._store.maintain(merges.remove, request.id)
        nothing = Diff(LIVE, LIVE, ())
        return Merge(
            "aborted", request.source, self._into, request.ours, request.theirs, (), nothing
        )

    def _merge(
        self, draft: MergeDraft, status: Any, *, id_: str = "", changes: Diff | None = None
    ) -> Merge:
        return Merge(
            status,
            draft.request.source,
            self._into,
            *draft.commits,
            draft.bases,
            expected_changes(draft.plan, draft.seq) if changes is None else changes,
            tuple(conflict._replace(merge=id_) for conflict in draft.conflicts),
            draft.plan.choices,
            draft.warnings,
            id=id_,
        )


def _with_warnings(merge: Merge, warnings: Iterable[str]) -> Merge:
    """A merge that also says what the guards have warned about."""
    return merge._replace(warnings=tuple(dict.fromkeys((*merge.warnings, *warnings))))


def _message(request: Request) -> str:
    """The message of the merge commit."""
    at = "" if request.edits is not None else f" ({short(request.theirs)})"
    return request.message or f"merge {request.source}{at}"


def _with_kept(draft: MergeDraft) -> MergeDraft:
    """A draft that has conflicts, also with those about pinned and held elements.

    Writing a draft finds these too, but only when everything else is decided.
    """
    request = draft.request
    constraints = {constraint.id: constraint for constraint in kept_elements(draft.plan)}
    constraints |= {constraint.id: constraint for constraint in request.constraints}
    return draft._replace(request=request._replace(constraints=tuple(constraints.values())))


def _moved(request: Request, ours: str, plan: MergePlan) -> Iterator[str]:
    """A warning if the target has changed since an open merge was last computed."""
    if not request.ours or request.ours == ours:
        return
    present_ids = {conflict.id for conflict in plan.conflicts} | {
        choice.id for choice in plan.choices
    }
    lost = sum(resolution not in present_ids for resolution in request.resolutions)
    decisions = "1 decision no longer applies" if lost == 1 else f"{lost} decisions no longer apply"
    message = f" {decisions}." if lost else ""
    yield f"The target has changed to {short(ours)}, and the merge was computed again.{message}"


def expected_changes(plan: MergePlan, seq: int) -> Diff:
    """The changes of the target by a plan; a new element has its id in the source."""
    names: dict[int, Element] = dict(plan.names)
    before = names | {goal.now.number: goal.now for goal in plan.goals if goal.now is not None}
    changes = []
    for goal in plan.goals:
        change = change_of(goal.now, goal.then, before, names)
        if change is not None:
            after = change.after
            if after is not None and after.number >= NEW:
                change = replace(change, after=after._replace(number=after.number - NEW))
            changes.append(change)
    return Diff(State(seq), State(seq), tuple(sorted(changes, key=place_of)))
