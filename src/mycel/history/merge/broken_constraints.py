"""Makes conflicts of constraints that the merged elements would break."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from mycel.engine.kept_guard import stay_error
from mycel.errors import (
    MycelError,
    NotFound,
)
from mycel.history.merge.merge_plan import MergePlan
from mycel.history.merge.outcome import (
    Conflict,
    conflict_id,
)
from mycel.history.merge.versions import OBJECT, SUBJECT, values_of, with_values
from mycel.history.state_steps import GONE, Obstacle, ReachedState
from mycel.migration.schema_in_force import read as schema_at
from mycel.model import ids
from mycel.model.elements import Element, Proposition
from mycel.schema.steps import SchemaStep
from mycel.store.query.alignment import NEW
from mycel.store.query.diff import identity_of, label_of
from mycel.store.write.transaction import Transaction


class BrokenError(Exception):
    """The error if constraints prevent the merge."""

    def __init__(self, conflicts: tuple[Conflict, ...]) -> None:
        super().__init__()
        self.conflicts = conflicts


def broken_rule(label: str, message: str, code: str) -> Conflict:
    """The conflict about an element that cannot get its merged content."""
    row = {"element": None, "label": label, "message": message, "code": code}
    return constraint_conflict(label, message, [row])


def kept_elements(plan: MergePlan) -> Iterator[Conflict]:
    """The conflicts about pinned and held elements that a plan removes, as writing finds them."""
    for goal in plan.goals:
        if goal.now is not None and goal.then is None:
            error = stay_error(goal.now)
            if error is not None:
                conflict = broken_rule(goal.label, error.message, error.code)
                yield conflict._replace(refused=("theirs",))


def constraint_conflict(label: str, message: str, rows: Sequence[Mapping[str, Any]]) -> Conflict:
    """The conflict about a constraint that prevents the merge."""
    identity = {"id": label}
    id_ = conflict_id("constraint", identity, "", (), message)
    return Conflict(id_, "constraint", identity, reason=message, rows=tuple(rows))


def impossible_step(step: SchemaStep) -> Conflict:
    """The conflict about a step of the merged schema that some rows prevent."""
    payload = step.to_dict()
    message = f"{payload.get('entity', '')}: {payload.get('reason', '')}"
    rows = [
        {
            "element": violation.get("id"),
            "label": violation["instance"],
            "message": violation["message"],
        }
        for violation in payload.get("violations", ())
    ]
    return constraint_conflict(str(payload.get("entity", "schema")), message, rows)


def first_obstacles(reached: ReachedState) -> list[Obstacle]:
    """The obstacles, without links whose end is missing: those follow from other obstacles."""
    obstacles = [obstacle for obstacle in reached.obstacles if obstacle.code != NotFound.code]
    return obstacles or reached.obstacles


def is_too_few(error: MycelError) -> bool:
    """True if a violation may be only a consequence of an element that could not be written."""
    count, least = error.data.get("count"), error.data.get("min")
    return isinstance(count, int) and isinstance(least, int) and count < least


def violation_conflict(
    tx: Transaction, plan: MergePlan, reached: ReachedState, error: MycelError
) -> Conflict:
    """The conflict about a constraint that merged elements break, with all of these elements."""
    here = {
        new_number: number for number, new_number in reached.numbers.items() if new_number != GONE
    }
    data = error.data
    outer = [*data.get("elements", ()), *([data["id"]] if "id" in data else ())]
    numbers = [ids.parse_id(id_) for id_ in dict.fromkeys(outer)]
    about = {"message": error.message, "code": error.code}
    rows = []
    for number in numbers:
        element = tx.reader.element(number)
        planned = None if element is None else _in_plan(element, here)
        names = plan.names if planned is None else _with_ends(tx, plan, [planned])
        identity = {"id": number} if planned is None else identity_of(planned, names)
        outer_id = None if number in here else tx.reader.outer_id(number)
        rows.append({"element": outer_id, "label": label_of(identity), **about})
    if str(data.get("constraint", "")).startswith("@card"):
        links = _links_from(tx, plan, here, numbers[-1], str(data["type"]))
        link_rows = [
            {"element": outer_id, "label": label, **about} for label, outer_id in links.items()
        ]
        # If there are too many links, the conflict is only about the links.
        rows = [*(rows if is_too_few(error) else ()), *link_rows]
    return constraint_conflict(
        str(rows[0]["label"]) if rows else error.message, error.message, rows
    )


def is_about_same(one: Conflict, other: Conflict) -> bool:
    """True if two broken constraints are about the same elements."""
    labels = ({row["label"] for row in conflict.rows} for conflict in (one, other))
    return one.id == other.id or not next(labels).isdisjoint(next(labels))


def _in_plan(element: Element, here: Mapping[int, int]) -> Element:
    """An element of the transaction, with its number in the plan."""
    values = values_of(element)
    for place in (SUBJECT, OBJECT):
        if place in values:
            values[place] = here.get(values[place], values[place])
    return with_values(element, values, here.get(element.number, element.number))


def _links_from(
    tx: Transaction, plan: MergePlan, here: Mapping[int, int], source: int, edge: str
) -> dict[str, str | None]:
    """The links of a predicate that an element has in any version: labels, ids in the target."""
    catalog = schema_at(tx.reader)
    predicate = next(
        (type_name.kip_name for type_name in catalog.types if type_name.name == edge), edge
    )
    number = here.get(source, source)
    written = [_in_plan(link, here) for link in tx.links_about(tx.reader.outer_id(source))]
    stored = [element for state in (plan.ours, plan.theirs) for element in state.values()]
    links = [
        element
        for element in (*written, *stored)
        if isinstance(element, Proposition)
        and (element.predicate, element.ends[0]) == (predicate, number)
    ]
    names = _with_ends(tx, plan, links)
    by_label: dict[str, str | None] = {}
    for link in links:
        label = label_of(identity_of(link, names))
        by_label.setdefault(label, link.id if link.number < NEW else None)
    return by_label


def _with_ends(tx: Transaction, plan: MergePlan, elements: Iterable[Element]) -> dict[int, Element]:
    """The names in a plan, with those of ends that no side has changed."""
    names = dict(plan.names)
    pending = [end for element in elements for end in _ends_of(element)]
    while pending:
        number = pending.pop()
        end = tx.reader.element(number) if number < NEW and number not in names else None
        if end is not None:
            names[number] = end
            pending += _ends_of(end)
    return names


def _ends_of(element: Element) -> Sequence[int]:
    return element.ends if isinstance(element, Proposition) else ()
