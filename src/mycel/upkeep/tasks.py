"""SleepTasks: questions that upkeep cannot decide. A task has a unique name, so it is made once."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from mycel.engine.due import PENDING, is_open_task
from mycel.errors import InvalidId
from mycel.model import ids
from mycel.model.elements import Concept, Element
from mycel.model.names import SLEEP_TASK, SYSTEM_ACTOR, shorten
from mycel.model.values import JsonObject, own_metadata
from mycel.store.index.lifetimes import ARCHIVED_AT
from mycel.store.query.reader import Reader
from mycel.store.write.transaction import Transaction

ASSIGNED_TO: Final = "assigned_to"
CONTRADICTION: Final = "resolve_contradiction"
MERGE: Final = "merge_duplicates"
REVIEW: Final = "review"
CONSOLIDATED_TO: Final = "consolidated_to"
DERIVED_FROM: Final = "derived_from"
NOT_BEFORE: Final = "not_before"
"""The attribute of a postponed task: the time after which it is shown again."""
POSTPONED_BECAUSE: Final = "postponed_because"
"""The attribute of a postponed task with the reason, if one was given."""
NAME_CHARACTERS: Final = 200
ASKED: Final = "_asked"
"""The metadata of a task that a cycle has made. Callers cannot write it, so nobody can answer a
question before it is asked."""


def priority_of(task: Concept) -> float:
    """The urgency of a task; 0 if the task has none."""
    priority = task.attributes.get("priority")
    return float(priority) if isinstance(priority, int | float) else 0.0


def make_task(
    tx: Transaction,
    element: Element,
    action: str,
    reason: str,
    others: tuple[str, ...] = (),
    *,
    mark: str = "",
    priority: float = 0,
) -> bool:
    """Make a task about an element, unless a cycle has made it before. Returns True if it is new.

    A decided task stays in the graph, so its question is not asked again unless it has another
    mark. If somebody else wrote a task of that name, it gets the content of this one. A graph
    without core capsules has no tasks.
    """
    if tx.reader.find_type(SLEEP_TASK) is None:
        return False
    name = task_name(element, action, others, mark)
    if was_asked(tx.reader, name):
        return False
    target_type, target_name = _target(element)
    attributes: JsonObject = {
        "target_type": target_type,
        "target_name": target_name,
        "requested_action": action,
        "reason": reason,
        "status": PENDING,
    }
    if others:
        attributes["others"] = list(others)
    if priority:
        attributes["priority"] = priority
    task = tx.put_concept(SLEEP_TASK, name, attributes)
    written = tx.get(task)
    tx.update_found(
        written,
        drop_attributes=written.attributes.keys() - attributes.keys(),
        drop_metadata=own_metadata(written.metadata),
        reserved={ASKED: True},
    )
    tx.put_proposition(task, ASSIGNED_TO, ("Person", SYSTEM_ACTOR))
    return True


def was_asked(reader: Reader, name: str) -> bool:
    """True if a cycle has made the task of this name."""
    task = reader.find_concept(SLEEP_TASK, name)
    return task is not None and is_of_cycle(task)


def was_decided(reader: Reader, element: Element) -> bool:
    """True if a cycle has asked about the retention of an element, and the task is closed."""
    task = reader.find_concept(SLEEP_TASK, task_name(element, REVIEW))
    return task is not None and is_of_cycle(task) and not is_open_task(task)


def is_of_cycle(task: Concept) -> bool:
    """True for a task that a cycle, not a caller, has made."""
    return task.created_by == SYSTEM_ACTOR or task.metadata.get(ASKED) is True


def task_name(element: Element, action: str, others: tuple[str, ...] = (), mark: str = "") -> str:
    """The name of the task for a question about an element; it is unique for each question."""
    about = (*((mark,) if mark else ()), ":".join(_target(element)), *others)
    return shorten(f"{action}: {' / '.join(about)}", NAME_CHARACTERS)


def task_elements(reader: Reader, task: Concept) -> list[Element]:
    """The elements that a task is about, without removed and archived ones.

    The target of a contradiction is the common subject of the links, which is not one of the
    elements.
    """
    target_type, target_name, others = (
        task.attributes.get(key) for key in ("target_type", "target_name", "others")
    )
    names = [f"{target_type}:{target_name}"]
    if isinstance(others, list) and others:
        is_between = task.attributes.get("requested_action") == CONTRADICTION
        texts = [text for text in others if isinstance(text, str)]
        names = texts if is_between else [*names, *texts]
    elements = {}
    for name in names:
        element = _find_element(reader, name)
        if element is not None and element.metadata.get(ARCHIVED_AT) is None:
            elements[element.number] = element
    return list(elements.values())


def count_named(task: Concept) -> int:
    """The number of elements that a task was made for."""
    others = task.attributes.get("others")
    number = len(others) if isinstance(others, list) else 0
    is_between = number and task.attributes.get("requested_action") == CONTRADICTION
    return number + (0 if is_between else 1)


def _find_element(reader: Reader, name: str) -> Element | None:
    """The element that a task names as `Type:name`, as `predicate:id`, or by its id."""
    kind, _, rest = name.partition(":")
    concept = reader.find_concept(kind, rest) if rest else None
    if concept is not None:
        return concept
    for text in (name, rest):
        with suppress(InvalidId):
            return reader.element(ids.parse_id(text))
    return None


def _target(element: Element) -> tuple[str, str]:
    if isinstance(element, Concept):
        return element.type, element.name
    return element.predicate, element.id


def is_moot(reader: Reader, task: Concept) -> bool:
    """True for a task whose elements are removed, archived or merged."""
    others = task.attributes.get("others")
    is_pair = task.attributes.get("requested_action") in (MERGE, CONTRADICTION)
    needed = 2 if is_pair and isinstance(others, list) and others else 1
    return len(task_elements(reader, task)) < needed
