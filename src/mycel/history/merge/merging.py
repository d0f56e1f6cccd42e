"""Merging: from a request to a commit, or to an open merge that waits for decisions.

A merge is computed from three states and from what was decided so far, and nothing else. So an open
merge keeps only these: the commit of the source, the options and the decisions. It is computed
again whenever somebody looks at it; if the target has moved on meanwhile, decisions about values
that are still the same stay in force.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import Any, Final, NamedTuple

from mycel.engine.violation_list import UNLIMITED, apart
from mycel.errors import (
    ConstraintViolation,
    DatabaseBusy,
    InvalidIdentifier,
    MycelError,
    NotFound,
)
from mycel.history.merge.edits import EditSides
from mycel.history.merge.merge_plan import MergePlan
from mycel.history.merge.origins import OriginsByPlace, merged_origins
from mycel.history.merge.outcome import (
    Choice,
    Conflict,
    Merge,
    Resolution,
    conflict_id,
)
from mycel.history.merge.planner import Planner
from mycel.history.merge.requests import Request, check, full_id, overrides
from mycel.history.merge.rules import Rules
from mycel.history.merge.schemas import declared_keys, without_exchanged
from mycel.history.merge.sides import BranchSides
from mycel.history.merge.versions import OBJECT, SUBJECT, values_of, with_values
from mycel.history.state_steps import GONE, Obstacle, ReachedState, attempt
from mycel.migration.apply import apply_within
from mycel.migration.schema_in_force import read as schema_at
from mycel.model import ids
from mycel.model.commits import short
from mycel.model.elements import Concept, Element, Proposition
from mycel.model.names import META_TYPES, first_few
from mycel.model.state import LIVE, State
from mycel.model.values import object_text
from mycel.schema.catalog import Catalog
from mycel.schema.steps import SchemaStep
from mycel.store.database import Store
from mycel.store.log import marks, merges
from mycel.store.query.alignment import NEW
from mycel.store.query.commits import commit_at
from mycel.store.query.diff import Diff, change_of, diff, identity_of, label_of, place_of
from mycel.store.query.history import entry_at
from mycel.store.query.lineage import merged_copies
from mycel.store.query.merges import opened, stored_conflicts
from mycel.store.query.origins import Origin
from mycel.store.query.purges import purges_since
from mycel.store.query.reader import Reader
from mycel.store.write.marks import add_mark
from mycel.store.write.merges import end_merge, keep_choices, keep_matches, keep_origins
from mycel.store.write.purge import purge
from mycel.store.write.transaction import Transaction, rehearsal

ATTEMPTS_MAX: Final = 2
"""The number of times that a merge is computed while others may write."""
DECISIONS_MAX: Final = 5
"""The number of times that a merge is read again because somebody else has decided about it."""
TURN_S_MAX: Final = 10.0
"""The time for which computing a merge may keep others from writing."""
LISTED_MAX: Final = 5
"""The number of conflicts in the message of an error."""

OpenReader = Callable[[str], AbstractContextManager[Reader]]
"""Opens a branch, by name."""


class MergeDraft(NamedTuple):
    """A merge as it was computed, before it is tried."""

    request: Request
    plan: MergePlan
    seq: int
    """The position of the target that it was computed for."""
    commits: tuple[str, str]
    bases: tuple[str, ...]
    lineage: tuple[marks.Mark, ...]
    """The parents that the commit gets."""
    purged_keys: frozenset[bytes]
    """The keys that the source has purged, and the target has not."""
    matches: Mapping[int, int]
    """The numbers of elements in the source, and in the plan."""
    origins: Mapping[int, OriginsByPlace]
    """The origins of the values that the merge takes over, by the numbers of the plan."""
    is_news: bool
    """False if the source has nothing that the target has not seen."""
    warnings: tuple[str, ...]

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        return (*self.plan.conflicts, *self.request.constraints)

    @property
    def has_nothing(self) -> bool:
        """True if there is nothing to merge."""
        plan = self.plan
        return not (self.is_news or plan.goals or plan.purges or self.conflicts)

    @property
    def is_decided(self) -> bool:
        """True if no conflict is left."""
        return all_decided(self.conflicts)


def all_decided(conflicts: Sequence[Conflict]) -> bool:
    """True if no conflict is left."""
    return all(conflict.resolution is not None for conflict in conflicts)


class _MovedError(Exception):
    """The target has moved on since the merge was computed."""


class _LeftError(Exception):
    """Nothing is committed in this turn."""

    def __init__(self, outcome: Merge | MergeDraft, broken: tuple[Conflict, ...] = ()) -> None:
        super().__init__()
        self.outcome = outcome
        """The result; or a draft that has to be decided about."""
        self.broken = broken
        """The constraints that do not allow it."""


class _RewrittenError(Exception):
    """Somebody else has written or ended the open merge since it was read."""


class _BrokenError(Exception):
    """Constraints do not allow the merge."""

    def __init__(self, conflicts: tuple[Conflict, ...]) -> None:
        super().__init__()
        self.conflicts = conflicts


class Merging:
    """Merges into one open graph."""

    def __init__(self, store: Store, into: str, reading: OpenReader) -> None:
        self._store: Final = store
        self._into: Final = into
        self._reading: Final = reading

    # Beginning.

    def merge(self, request: Request, *, dry_run: bool, by: str) -> Merge:
        """Merge, or open a merge if somebody has to decide about something."""
        if dry_run:
            return self._run(request, dry_run=True, by=by)
        self._store.check_idle("Merge after the transaction.")

        def work() -> Merge:
            known = next((each for each in self._requests() if each.source == request.source), None)
            if known is None:
                return self._run(request, dry_run=False, by=by)
            again = request._replace(
                opened=known.opened,
                resolutions=known.resolutions,
                constraints=known.constraints,
                version=known.version,
            )
            return self._run(again, dry_run=False, by=by)

        return self._in_turn(work)

    def _in_turn(self, work: Callable[[], Merge]) -> Merge:
        """Do something with an open merge, from the beginning if others have written it."""
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
            except _MovedError:
                continue
            except _BrokenError as broken:
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
        """Compute a merge and commit it while nobody else can write."""
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
                except _BrokenError as broken:
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
        """A draft with the constraints that do not allow it, each with the choices that would do.

        Each choice is tried for all of them at once.
        """
        refused: dict[str, list[str]] = {conflict.id: [] for conflict in broken}
        for choice in ("ours", "theirs", "base") if broken else ():
            decided = (conflict._replace(resolution=Resolution(choice)) for conflict in broken)
            trial = self._draft(request.with_broken(tuple(decided)))
            try:
                if trial.is_decided:  # Otherwise it leads to other questions.
                    self._try(trial, dry_run=True, by=by)
            except _MovedError:
                continue
            except _BrokenError as again:
                for conflict in broken:
                    if any(_is_like(conflict, other) for other in again.conflicts):
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
            return MergeDraft(
                request,
                plan,
                ours,
                sides.commits,
                sides.bases,
                tuple(sides.marks(request.source)),
                sides.purged_keys,
                sides.matches(
                    (goal.then.number for goal in plan.goals if goal.then and not goal.now),
                    plan.joined,
                ),
                merged_origins(sides, plan) if all_decided(plan.conflicts) else {},
                sides.is_news,
                (*plan.warnings, *_moved(request, sides.commits[0], plan)),
            )

    @contextmanager
    def _sides(self, request: Request) -> Iterator[BranchSides | EditSides]:
        """The states that are merged, as long as this lasts."""
        with self._store.reading() as ours:
            if request.edits is not None:
                origin = Origin(request.opened, request.by)
                yield EditSides(ours, entry_at(ours, request.theirs), request.edits, origin)
                return
            with self._reading(request.source) as reader:
                theirs = reader.at(State(entry_at(reader, request.theirs)))
                with ExitStack() as copies:
                    yield BranchSides(ours, theirs, self._others(ours, theirs, request, copies))

    def _others(
        self, ours: Reader, theirs: Reader, request: Request, opened: ExitStack
    ) -> list[Reader]:
        """Readers of other branches that one of the two has merged, as far as they are there."""
        readers = []
        for name in sorted(merged_copies(ours, theirs) - {self._into, request.source}):
            with suppress(NotFound, InvalidIdentifier):
                readers.append(opened.enter_context(self._reading(name)))
        return readers

    # Trying.

    def _try(self, draft: MergeDraft, *, dry_run: bool, by: str) -> Merge:
        """Make a draft a commit.

        Raises:
            _MovedError: the target has moved on since.
            _BrokenError: constraints do not allow it.
        """
        message = _message(draft.request)
        if dry_run:
            with rehearsal(self._store.transaction(actor=by, message=message)) as tx:
                return self._rehearse(tx, draft)

        seq = self._store.run(lambda tx: self._write(tx, draft), actor=by, message=message)
        return self._merge_result(draft, seq)

    def _rehearse(self, tx: Transaction, draft: MergeDraft) -> Merge:
        """The result that a draft would have; the transaction is to be rolled back."""
        self._apply(tx, draft)
        tx.flush()
        changes = diff(tx.reader, State(draft.seq), State(tx.position))
        return self._merge(draft, "clean", changes=changes)

    def _write(self, tx: Transaction, draft: MergeDraft) -> int | None:
        """Write a draft as one commit. Returns its last entry; None if nothing changes."""
        # First, because a purge ends every open merge.
        if not end_merge(tx, draft.request.id, self._request_fields(draft.request)):
            raise _RewrittenError
        reached = self._apply(tx, draft)
        if tx.is_empty:
            return None
        seq = tx.position + 1  # With the row that closes it.
        keep_choices(tx, seq, [_row(choice) for choice in draft.plan.choices])
        keep_matches(tx, seq, _matches(tx, draft, reached))
        origins = {
            reached.numbers.get(number, number): places for number, places in draft.origins.items()
        }
        keep_origins(tx, seq, origins)
        return seq

    def _merge_result(self, draft: MergeDraft, seq: int | None) -> Merge:
        """The result of a merge that is committed."""
        if seq is None:
            return self._merge(draft, "up_to_date")
        if draft.plan.purges:
            self._store.scrub()
        with self._store.reading() as reader:
            commit = commit_at(reader, seq)
            changes = diff(reader, State(draft.seq), State(seq))
        merged = self._merge(draft, "merged", changes=changes)
        choices = tuple(choice._replace(commit=commit) for choice in draft.plan.choices)
        return merged._replace(commit=commit, choices=choices)

    def _apply(self, tx: Transaction, draft: MergeDraft) -> ReachedState:
        """Write a draft."""
        if tx.first_seq - 1 != draft.seq:
            raise _MovedError
        tx.memo[UNLIMITED] = True
        schema = draft.plan.schema
        if schema is not None:
            _settle_rows(tx, draft)
            _apply_schema(tx, *schema)
        for extra in draft.plan.extras:
            _say_beside_schema(tx, extra)
        # Purges come first, so that their keys are free. A definition has to be out of use before.
        self._purge(tx, draft, definitions=False)
        reached = attempt(
            tx,
            draft.plan.goals,
            {},
            reason=f"merge {draft.request.source}",
            has_moved=schema is not None,
        )
        broken = [
            _broken(obstacle.element, obstacle.message, obstacle.code)
            for obstacle in _first(reached)
        ]
        if not broken:
            self._purge(tx, draft, definitions=True)
            for mark in (*draft.lineage, *_purge_mark(tx, draft)):
                add_mark(tx, mark)
        if not tx.spoiled:
            try:
                tx.check()
            except MycelError as error:
                errors = [each for each in apart(error) if not broken or not _is_too_few(each)]
                broken += [_violation(tx, draft, reached, error) for error in errors]
        if broken:
            raise _BrokenError(tuple({conflict.id: conflict for conflict in broken}.values()))
        return reached

    def _purge(self, tx: Transaction, draft: MergeDraft, *, definitions: bool) -> None:
        """Purge what the source has purged: definitions, or everything else."""
        for number in draft.plan.purges:
            live = tx.reader.element(number)
            is_definition = isinstance(live, Concept) and live.type in META_TYPES
            if is_definition == definitions and tx.reader.was_ever(number):
                purge(tx, tx.reader.outer_id(number), f"purged in {draft.request.source}")

    # Open merges.

    def _requests(self) -> list[Request]:
        with self._store.reading() as reader:
            stored = opened(reader)
        return [Request.from_dict(each) for each in stored if each["into"] == self._into]

    def _keep(self, draft: MergeDraft) -> None:
        request = draft.request._replace(ours=draft.commits[0])
        rows = [_row(conflict._replace(merge=request.id)) for conflict in draft.conflicts]
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
        """An open merge whose states cannot be read any more, as it was computed last."""
        with self._store.reading() as reader:
            found = stored_conflicts(reader, request.id)
        message = f"{error.message} The merge can only be given up (`mycel merge --abort`)."
        return Merge(
            "conflicts",
            request.source,
            self._into,
            request.ours,
            request.theirs,
            (),
            Diff(LIVE, LIVE, ()),
            tuple(map(Conflict.from_dict, found)),
            warnings=(message,),
            id=request.id,
        )

    def _open(self, id_: str | None) -> Request:
        """The open merge of an id; without one, the only one.

        Raises:
            NotFound: there is none.
            ConstraintViolation: there are several, and no id is given.
        """
        requests = self._requests()
        if id_ is not None:
            requests = [request for request in requests if id_ in (request.id, request.source)]
        if not requests:
            named = "" if id_ is None else f" {id_!r}"
            raise NotFound(
                f"No merge{named} is open in {self._into}.",
                hint="db.merges (`mycel conflicts`) lists them.",
            )
        if len(requests) > 1:
            raise ConstraintViolation(
                f"{len(requests)} merges are open: "
                f"{', '.join(request.id for request in requests)}.",
                hint="Say which one: merge=….",
            )
        return requests[0]

    def resolve(self, decisions: Mapping[str, Resolution], merge: str | None, *, by: str) -> Merge:
        """Decide about conflicts, or overrule choices; all of the decisions, or none.

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
        constraints = {constraint.id: constraint for constraint in request.constraints}
        for given, resolution in decisions.items():
            wanted = [conflict.id for conflict in draft.conflicts if conflict.resolution is None]
            if given != "*":
                wanted = [full_id(given, [*conflicts, *choices])]
            for id_ in wanted:
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
            except _MovedError:
                pass  # It is computed again with the commit.
            except _BrokenError as broken:
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
        done = self._run(request, dry_run=False, by=by)
        if done.status == "conflicts":
            left = done.unresolved
            listed = first_few(
                [f"{conflict.label}: {conflict.reason}" for conflict in left], LISTED_MAX
            )
            number = "One conflict" if len(left) == 1 else f"{len(left)} conflicts"
            raise ConstraintViolation(
                f"{number} of the merge of {request.source} must be decided first:\n  "
                + "\n  ".join(listed),
                hint="Decide with db.merges.resolve (`mycel resolve`), or give up with"
                " db.merges.abort() (`mycel merge --abort`).",
                data={"merge": request.id, "conflicts": [each.to_dict() for each in left]},
            )
        if done.status == "up_to_date":
            self._store.maintain(merges.remove, request.id)
        return done

    def abort(self, merge: str | None) -> Merge:
        """Give an open merge up. Nothing was written by it, so nothing is undone."""
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
            _expected(draft.plan, draft.seq) if changes is None else changes,
            tuple(conflict._replace(merge=id_) for conflict in draft.conflicts),
            draft.plan.choices,
            draft.warnings,
            id=id_,
        )


def _message(request: Request) -> str:
    """The message of the commit."""
    at = "" if request.edits is not None else f" ({short(request.theirs)})"
    return request.message or f"merge {request.source}{at}"


# Conflicts.


def _broken(label: str, message: str, code: str) -> Conflict:
    """The conflict of an element that cannot be what it should be."""
    row = {"element": None, "label": label, "message": message, "code": code}
    return _constraint(label, message, [row])


def _constraint(label: str, message: str, rows: Sequence[Mapping[str, Any]]) -> Conflict:
    """The conflict of a constraint that does not allow the merge."""
    identity = {"id": label}
    id_ = conflict_id("constraint", identity, "", (), message)
    return Conflict(id_, "constraint", identity, reason=message, rows=tuple(rows))


def _say_beside_schema(tx: Transaction, definition: Element) -> None:
    """Let a definition say what it should, beside what the schema says in it."""
    live = tx.reader.element(definition.number)
    if live is None:
        return
    keys = declared_keys(live)
    payload = {key: value for key, value in live.attributes.items() if key in keys}
    text = object_text({**definition.attributes, **payload}, "attributes")
    tx.replace_content(
        live, live._replace(attributes_json=text, metadata_json=definition.metadata_json)
    )


def _settle_rows(tx: Transaction, draft: MergeDraft) -> None:
    """Change rows that somebody has decided about, before the merged schema checks them."""
    for goal in draft.plan.goals:
        live = None if goal.now is None else tx.reader.element(goal.now.number)
        if live is None or live.number not in draft.plan.overridden:
            continue
        with suppress(MycelError):  # It may fit the merged schema alone, and is written later.
            if goal.then is None:
                tx.retire(live.id, reason=f"merge {draft.request.source}")
            else:
                tx.replace_content(live, goal.then)


def _apply_schema(tx: Transaction, ours: Catalog, merged: Catalog) -> None:
    """Put the merged schema in force.

    Raises:
        _BrokenError: a step of it is not possible.
    """
    between = without_exchanged(ours, merged)
    for before, after in ((ours, between), (between, merged)):
        if before != after:
            # With hidden properties: one that comes back does so with its values.
            accepted = schema_at(tx.reader, dropped=True) if before is ours else before
            impossible = apply_within(tx, accepted, after)
            if impossible:
                raise _BrokenError(tuple(map(_impossible, impossible)))


def _impossible(step: SchemaStep) -> Conflict:
    """The conflict of a step of the merged schema that is not possible, with the rows."""
    payload = step.to_dict()
    message = f"{payload.get('entity', '')}: {payload.get('reason', '')}"
    rows = [
        {"element": each.get("id"), "label": each["instance"], "message": each["message"]}
        for each in payload.get("violations", ())
    ]
    return _constraint(str(payload.get("entity", "schema")), message, rows)


def _first(reached: ReachedState) -> list[Obstacle]:
    """The obstacles, without those that only follow from others: links to what is not there."""
    obstacles = [obstacle for obstacle in reached.obstacles if obstacle.code != NotFound.code]
    return obstacles or reached.obstacles


def _is_too_few(error: MycelError) -> bool:
    """True for a violation that may only follow from an element that could not be written."""
    count, least = error.data.get("count"), error.data.get("min")
    return isinstance(count, int) and isinstance(least, int) and count < least


def _violation(
    tx: Transaction, draft: MergeDraft, reached: ReachedState, error: MycelError
) -> Conflict:
    """The conflict of a constraint that the merged elements break, with all of these."""
    here = {made: number for number, made in reached.numbers.items() if made != GONE}
    data = error.data
    outer = [*data.get("elements", ()), *([data["id"]] if "id" in data else ())]
    numbers = [ids.parse_id(each) for each in dict.fromkeys(outer)]
    names = dict(draft.plan.names)
    about = {"message": error.message, "code": error.code}
    rows = []
    for number in numbers:
        element = tx.reader.element(number)
        told = None if element is None else _in_plan(element, here)
        identity = {"id": number} if told is None else identity_of(told, names)
        known = None if number in here else tx.reader.outer_id(number)
        rows.append({"element": known, "label": label_of(identity), **about})
    if str(data.get("constraint", "")).startswith("@card"):
        links = _links_from(tx, draft, here, numbers[-1], str(data["type"]))
        listed = [{"element": known, "label": label, **about} for label, known in links.items()]
        # Too many links are a matter of the links alone.
        rows = [*(rows if _is_too_few(error) else ()), *listed]
    return _constraint(str(rows[0]["label"]) if rows else error.message, error.message, rows)


def _is_like(one: Conflict, other: Conflict) -> bool:
    """True if two broken constraints are about the same elements."""
    labels = ({row["label"] for row in conflict.rows} for conflict in (one, other))
    return one.id == other.id or not next(labels).isdisjoint(next(labels))


def _in_plan(element: Element, here: Mapping[int, int]) -> Element:
    """An element of the transaction in the numbers of the plan."""
    values = values_of(element)
    for place in (SUBJECT, OBJECT):
        if place in values:
            values[place] = here.get(values[place], values[place])
    return with_values(element, values, here.get(element.number, element.number))


def _links_from(
    tx: Transaction, draft: MergeDraft, here: Mapping[int, int], source: int, edge: str
) -> dict[str, str | None]:
    """The links of one kind that an element has in any version: labels, and ids in the target."""
    plan = draft.plan
    catalog = schema_at(tx.reader)
    predicate = next(
        (type_name.kip_name for type_name in catalog.types if type_name.name == edge), edge
    )
    number = here.get(source, source)
    written = [_in_plan(link, here) for link in tx.links_about(tx.reader.outer_id(source))]
    stored = [element for state in (plan.ours, plan.theirs) for element in state.values()]
    found: dict[str, str | None] = {}
    for element in (*written, *stored):
        if isinstance(element, Proposition) and (element.predicate, element.ends[0]) == (
            predicate,
            number,
        ):
            label = label_of(identity_of(element, plan.names))
            found.setdefault(label, element.id if element.number < NEW else None)
    return found


def _purge_mark(tx: Transaction, draft: MergeDraft) -> Iterator[marks.Mark]:
    """The mark of what the source has purged and the target never had, so that it is passed on."""
    if draft.purged_keys:
        tx.flush()
        left = draft.purged_keys - purges_since(tx.reader, draft.seq).keys.keys()
        if left:
            yield marks.Mark.of_purge(left)


def _matches(tx: Transaction, draft: MergeDraft, reached: ReachedState) -> Mapping[int, int]:
    """The numbers of elements in the source, and those that they have now.

    Those of purged elements are kept too: the source, or what merges it, may still have them.
    """
    found = {there: reached.numbers.get(here, here) for there, here in draft.matches.items()}
    alive = tx.reader.elements(each for each in found.values() if 0 < each < NEW)
    known = alive.keys() | purges_since(tx.reader, 0).numbers
    return {there: here for there, here in found.items() if here in known}


def _row(each: Conflict | Choice) -> merges.MergeRow:
    number = None if each.element is None else ids.parse_id(each.element)
    return merges.MergeRow(each.id, number, each.to_dict())


def _moved(request: Request, ours: str, plan: MergePlan) -> Iterator[str]:
    """A warning if the target has moved on since somebody has looked at an open merge."""
    if not request.ours or request.ours == ours:
        return
    known = {conflict.id for conflict in plan.conflicts} | {choice.id for choice in plan.choices}
    lost = sum(resolution not in known for resolution in request.resolutions)
    decisions = "1 decision no longer applies" if lost == 1 else f"{lost} decisions no longer apply"
    message = f" {decisions}." if lost else ""
    yield f"The target has moved on to {short(ours)}, and the merge was computed again.{message}"


def _expected(plan: MergePlan, seq: int) -> Diff:
    """The changes of the target that a plan leads to; new elements have ids of the source."""
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
