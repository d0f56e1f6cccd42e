"""The draft of a merge, and writing a draft to a transaction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from mycel.engine.violation_list import UNLIMITED, apart
from mycel.errors import (
    MycelError,
)
from mycel.history.merge.broken_constraints import (
    BrokenError,
    broken_rule,
    first_obstacles,
    impossible_step,
    is_too_few,
    violation_conflict,
)
from mycel.history.merge.merge_plan import MergePlan
from mycel.history.merge.origins import OriginsByPlace
from mycel.history.merge.outcome import (
    Choice,
    Conflict,
)
from mycel.history.merge.requests import Request
from mycel.history.merge.schemas import declared_keys, without_exchanged
from mycel.history.state_steps import ReachedState, attempt
from mycel.migration.apply import apply_within
from mycel.migration.schema_in_force import read as schema_at
from mycel.model import ids
from mycel.model.elements import Concept, Element
from mycel.model.names import META_TYPES
from mycel.model.values import object_text
from mycel.schema.catalog import Catalog
from mycel.store.log import marks, merges
from mycel.store.log.purge_entries import NO_ELEMENT
from mycel.store.query.alignment import NEW
from mycel.store.query.purges import purged_after, purges_since
from mycel.store.write.marks import add_mark
from mycel.store.write.merges import (
    keep_choices,
    keep_creations,
    keep_matches,
    keep_origins,
)
from mycel.store.write.purge import purge
from mycel.store.write.transaction import Transaction


class MergeDraft(NamedTuple):
    """The computed result of a merge, before it is written."""

    request: Request
    plan: MergePlan
    seq: int
    """The position of the target for which the draft was computed."""
    commits: tuple[str, str]
    bases: tuple[str, ...]
    lineage: tuple[marks.Mark, ...]
    """The marks of the parents that the commit gets."""
    purged_keys: frozenset[bytes]
    """The keys that the source has purged and the target has not."""
    matches: Mapping[int, int]
    """Pairs of numbers of elements: in the source, and in the plan."""
    creations: Mapping[int, set[bytes]]
    """The creations that elements have in the source, by their numbers in the plan."""
    purged_creations: set[bytes]
    """The creations of elements that the source has purged and the target never had."""
    origins: Mapping[int, OriginsByPlace]
    """The origins of values that the merge takes from the source, by numbers in the plan."""
    has_news: bool
    """False if the target has already seen everything in the source."""
    warnings: tuple[str, ...]

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        return (*self.plan.conflicts, *self.request.constraints)

    @property
    def has_purges(self) -> bool:
        """True if the source has purged elements, even if the target never had them."""
        return bool(self.plan.purges or self.purged_keys or self.purged_creations)

    @property
    def has_nothing(self) -> bool:
        """True if there is nothing to merge."""
        plan = self.plan
        return not (self.has_news or plan.goals or plan.purges or self.conflicts)

    @property
    def is_decided(self) -> bool:
        """True if no conflict is left."""
        return all_decided(self.conflicts)


def all_decided(conflicts: Sequence[Conflict]) -> bool:
    """True if every conflict is decided."""
    return all(conflict.resolution is not None for conflict in conflicts)


class MovedError(Exception):
    """The error if the target has changed since the merge was computed."""


def apply_draft(tx: Transaction, draft: MergeDraft) -> ReachedState:
    """Write a draft to a transaction.

    Raises:
        MovedError: the target has changed since.
        BrokenError: constraints prevent it.
    """
    if tx.first_seq - 1 != draft.seq:
        raise MovedError
    tx.memo[UNLIMITED] = True
    schema = draft.plan.schema
    if schema is not None:
        _settle_rows(tx, draft)
        _apply_schema(tx, *schema)
    for extra in draft.plan.extras:
        _say_beside_schema(tx, extra)
    # Purges come first, because they free keys. Definitions are purged last, when nothing uses
    # them.
    _purge(tx, draft, definitions=False)
    reached = attempt(
        tx,
        draft.plan.goals,
        {},
        reason=f"merge {draft.request.source}",
        has_moved=schema is not None,
    )
    broken = [
        broken_rule(obstacle.element, obstacle.message, obstacle.code)
        for obstacle in first_obstacles(reached)
    ]
    if not broken:
        _purge(tx, draft, definitions=True)
        for mark in (*draft.lineage, *_purge_mark(tx, draft)):
            add_mark(tx, mark)
    if not tx.spoiled:
        try:
            tx.check()
        except MycelError as error:
            errors = [
                violation for violation in apart(error) if not broken or not is_too_few(violation)
            ]
            broken += [violation_conflict(tx, draft.plan, reached, error) for error in errors]
    if broken:
        raise BrokenError(tuple({conflict.id: conflict for conflict in broken}.values()))
    return reached


def _purge(tx: Transaction, draft: MergeDraft, *, definitions: bool) -> None:
    """Purge the elements that the source has purged: only definitions, or only other elements."""
    for number in draft.plan.purges:
        live = tx.reader.element(number)
        is_definition = isinstance(live, Concept) and live.type in META_TYPES
        if is_definition == definitions and tx.reader.was_ever(number):
            purge(tx, tx.reader.outer_id(number), f"purged in {draft.request.source}")


def _say_beside_schema(tx: Transaction, definition: Element) -> None:
    """Write the attributes of a definition that the schema does not own."""
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
    """Write the rows that decisions changed, before the merged schema checks them."""
    tx.restores = True
    for goal in draft.plan.goals:
        live = None if goal.now is None else tx.reader.element(goal.now.number)
        if live is None or live.number not in draft.plan.overridden:
            continue
        # The row may fit only the merged schema; it is then written later.
        with suppress(MycelError):
            if goal.then is None:
                tx.retire(live.id, reason=f"merge {draft.request.source}")
            else:
                tx.replace_content(live, goal.then)


def _apply_schema(tx: Transaction, ours: Catalog, merged: Catalog) -> None:
    """Put the merged schema in force.

    Raises:
        BrokenError: a step of it is not possible.
    """
    between = without_exchanged(ours, merged)
    for before, after in ((ours, between), (between, merged)):
        if before != after:
            # Hidden properties are included, so that a restored property gets its values back.
            accepted = schema_at(tx.reader, dropped=True) if before is ours else before
            impossible = apply_within(tx, accepted, after)
            if impossible:
                raise BrokenError(tuple(map(impossible_step, impossible)))


def _purge_mark(tx: Transaction, draft: MergeDraft) -> Iterator[marks.Mark]:
    """The mark that passes on purges of the source: those of elements that the target never had."""
    if draft.purged_keys:
        tx.flush()
        left = draft.purged_keys - purges_since(tx.reader, draft.seq).keys.keys()
        if left:
            yield marks.Mark.of_purge(left)


def _matches(tx: Transaction, draft: MergeDraft, reached: ReachedState) -> Mapping[int, int]:
    """The number of each element in the source, with its present number here.

    Purged elements are included: the source, or a copy that merges it, may still have them.
    """
    matches = {there: reached.numbers.get(here, here) for there, here in draft.matches.items()}
    alive = tx.reader.elements(here for here in matches.values() if 0 < here < NEW)
    kept_numbers = alive.keys() | {number for _, number in purged_after(tx.reader, 0)}
    return {there: here for there, here in matches.items() if here in kept_numbers}


def keep_draft(tx: Transaction, seq: int, draft: MergeDraft, reached: ReachedState) -> None:
    """Keep the tables that later merges need, for a merge whose commit ends at an entry."""
    keep_choices(tx, seq, [merge_row(choice) for choice in draft.plan.choices])
    keep_matches(tx, seq, _matches(tx, draft, reached))
    creations = {
        reached.numbers.get(number, number): own for number, own in draft.creations.items()
    }
    creations = {number: own for number, own in creations.items() if 0 < number < NEW}
    if draft.has_purges:  # A conflict of another open merge may show purged content.
        tx.maintain(merges.forget, ())
    if draft.purged_creations:
        creations[NO_ELEMENT] = draft.purged_creations
    keep_creations(tx, seq, creations)
    origins = {
        reached.numbers.get(number, number): places for number, places in draft.origins.items()
    }
    keep_origins(tx, seq, origins)


def merge_row(about: Conflict | Choice) -> merges.MergeRow:
    """A conflict or a choice in its stored form."""
    number = None if about.element is None else ids.parse_id(about.element)
    return merges.MergeRow(about.id, number, about.to_dict())
