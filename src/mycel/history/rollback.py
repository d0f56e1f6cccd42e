"""Rolls back and reverts: a new transaction gives elements an earlier content.

Metadata that cycles compute is ignored, and stays unchanged.

`roll_back` leads to an earlier state, and drops all later changes. `revert` undoes one commit and
keeps later changes; it is refused if these changed the same values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from mycel.errors import ConstraintViolation, MycelError
from mycel.history.state_steps import LISTED_MAX, Goal, Obstacle, reach
from mycel.model.elements import Concept, Element, Proposition
from mycel.model.names import META_TYPES
from mycel.model.retention import HOLD, PINNED, is_kept
from mycel.model.state import LIVE, State
from mycel.model.values import object_text
from mycel.search.validity import OF_UPKEEP
from mycel.store.query.commits import later_transactions
from mycel.store.query.diff import (
    ABSENT,
    Diff,
    ElementChange,
    ValueChange,
    diff,
    same_value,
    values_of,
)
from mycel.store.write.transaction import Transaction


class Rollback(NamedTuple):
    """The result of a rollback: its commit, and the changes."""

    commit: str | None
    """The commit; None if nothing had to change, or in a dry run."""
    diff: Diff

    def to_dict(self) -> dict[str, Any]:
        return {"commit": self.commit, "diff": self.diff.to_dict()}


def roll_back(tx: Transaction, state: State, paths: Sequence[object]) -> Diff:
    """Make the elements under some paths, or all, what they were in a state.

    A definition with the same declaration as in that state is left unchanged. It can differ only in
    its list of dropped properties, which only the application of a schema writes.

    Raises:
        ConstraintViolation: the rollback would break a rule; the data lists all obstacles.
    """
    changes = diff(tx.reader, LIVE, state, paths)
    to_reach = tuple(element for element in changes.elements if not _is_declared_alike(element))
    changes = changes._replace(elements=to_reach)
    goals = [Goal(element.label, element.before, element.after) for element in changes.elements]
    reach(tx, goals, changes.twins)
    return changes


def _is_declared_alike(change: ElementChange) -> bool:
    """True if a schema declares a definition in the same way before and after."""
    before, after = change.before, change.after
    if before is None or after is None or before.type not in META_TYPES:
        return False
    from mycel.schema.stored_declaration import (  # noqa: PLC0415 - a first answer needs no schema
        OWNED,
        declaration,
    )

    schema_type = declaration(before.attributes)
    return (
        schema_type is not None
        and schema_type == declaration(after.attributes)
        and all(value.field == "attributes" and value.key in OWNED for value in change.values)
    )


def revert(tx: Transaction, before: State, after: int) -> Diff:
    """Undo the changes from one state to that after an entry, and keep later changes.

    Elements that were purged in between do not come back; the difference counts them.

    Raises:
        ConstraintViolation: a value has changed since, it would break something else, or the commit
            has only purged.
    """
    back = diff(tx.reader, State(after), before)
    if back.purged and not back.elements:
        raise ConstraintViolation(
            "This commit has purged elements, and a purge cannot be undone: nothing of the"
            " removed content is left.",
            hint="Write the content again, or restore a backup from before the purge.",
        )
    live = tx.reader.elements(
        version.number for change in back.elements for version in change.versions
    )
    goals: list[Goal] = []
    obstacles: list[Obstacle] = []
    changed_since: set[int] = set()
    for change in back.elements:
        now = next(
            (live[version.number] for version in change.versions if version.number in live), None
        )
        try:
            then = _taken_back(change, now)
        except _ChangedSinceError as error:
            obstacles.append(Obstacle(change.label, str(error), MycelError.code))
            changed_since.update(version.number for version in change.versions)
            continue
        if now is not None or then is not None:  # Otherwise it is removed already.
            goals.append(Goal(change.label, now, then))
    later = later_transactions(tx.reader, changed_since, after, LISTED_MAX)
    for goal in goals:
        # An element that has not changed since its creation has its pin or hold from there too.
        if goal.now is not None and goal.then is None and is_kept(goal.now.metadata):
            tx.update(goal.now.id, drop_metadata=(PINNED, HOLD))
    reach(tx, goals, back.twins, obstacles, later)
    return back


class _ChangedSinceError(Exception):
    """The error if a later commit has changed the values to be undone."""


def _taken_back(change: ElementChange, now: Element | None) -> Element | None:
    """The present element with a change undone; `change` is the way back to the old version."""
    if now is None:
        if change.kind in ("changed", "moved"):
            raise _ChangedSinceError("It was removed since.")
        return change.after
    if change.kind == "added":
        raise _ChangedSinceError("It was added again since.")
    current = values_of(now)
    values = []
    for value in change.values:
        if value.field in ("subject", "object"):
            is_same = change.before is not None and change.before.ends == now.ends
        else:
            is_same = same_value(current.get((value.field, value.key), ABSENT), value.old)
        if is_same:
            values.append(value)
        elif not _is_computed(value.field, value.key):
            raise _ChangedSinceError(f"{value.where} has changed since.")
    if change.after is None:
        if change.before is None or _size(change.before) != _size(now):
            raise _ChangedSinceError("It has changed since.")
        return None
    return _with(now, change.after, values)


def _is_computed(field: str, key: str) -> bool:
    """True for the metadata that sleep cycles compute."""
    return field == "metadata" and key in OF_UPKEEP


def _size(element: Element) -> int:
    """The number of values of an element, without those that cycles compute."""
    return sum(not _is_computed(*place) for place in values_of(element))


def _with(now: Element, then: Element, values: Sequence[ValueChange]) -> Element:
    """An element in which some values are those of its earlier version."""
    content = {"attributes": now.attributes, "metadata": now.metadata}
    for value in values:
        if value.field in ("attributes", "metadata"):
            content[value.field].pop(value.key, None)
            if value.new is not ABSENT:
                content[value.field][value.key] = value.new
    now = now._replace(
        attributes_json=object_text(content["attributes"], "attributes"),
        metadata_json=object_text(content["metadata"], "metadata"),
    )
    fields = {value.field for value in values}
    if isinstance(now, Concept):
        if isinstance(then, Concept) and fields & {"type", "name"}:
            now = now._replace(type=then.type, name=then.name)
    elif isinstance(then, Proposition):
        if fields & {"subject", "predicate", "object"}:
            now = now._replace(subject=then.subject, predicate=then.predicate, object=then.object)
        if "weight" in fields:
            now = now._replace(weight=then.weight)
    return now
