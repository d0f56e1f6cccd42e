"""The health of a graph: stale, contested, duplicate and orphaned elements, and its growth.

Questions of the last cycle are read from its SleepTasks, which is cheap but misses later changes.
Due elements, elements without links, and sizes are up to date.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, Literal, NamedTuple, get_args

from mycel.engine.due import due_elements, is_open_task, label, waiting_for_purge
from mycel.engine.missing_concepts import MISSING
from mycel.model.elements import Concept
from mycel.model.names import SLEEP_TASK, SYSTEM_ACTOR
from mycel.store.file.use_counts import Use
from mycel.store.query import retention
from mycel.store.query.reader import Reader
from mycel.upkeep.tasks import is_moot, priority_of, task_elements, was_decided

Section = Literal["stale", "contested", "duplicate", "orphaned", "events"]
SECTIONS: Final[tuple[Section, ...]] = get_args(Section)
ACTIONS: Final[dict[str, Section]] = {
    "review": "stale",
    "archive": "stale",
    "resolve_contradiction": "contested",
    "merge_duplicates": "duplicate",
    "consolidate_to_semantic": "events",
}
"""The sections of tasks, by the action that they ask for."""
DOMAIN: Final = "Domain"
MEMBERSHIP: Final = "belongs_to_domain"
COUNTED_MAX: Final = 1_000
"""The number up to which the elements of a section are counted."""
WEEK_US: Final = 7 * 86_400_000_000
SHOWN_DEFAULT: Final = 20


class HealthFinding(NamedTuple):
    """One problem, and the elements that it concerns."""

    elements: tuple[int, ...]
    text: str
    task: str = ""
    """The id of the SleepTask about the problem, if there is one."""


class HealthSection(NamedTuple):
    """The findings of one kind, the oldest first."""

    name: Section
    total: int
    """The number of all findings, up to `COUNTED_MAX`."""
    findings: tuple[HealthFinding, ...]


class Growth(NamedTuple):
    """The size of a type, and its changes within a week."""

    type: str
    concepts: int
    new: int
    archived: int
    """The concepts of the type that are archived now."""


class Health(NamedTuple):
    """The health of a graph at one moment."""

    last_cycle: str | None
    tasks: int
    """The number of open tasks."""
    sections: tuple[HealthSection, ...]
    growing: tuple[Growth, ...]
    """Types with new concepts, those with the most new concepts first."""
    log: tuple[dict[str, Any], ...]
    """The reports of the last cycles, the newest first, each with `time` and `done`."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "last_cycle": self.last_cycle,
            "tasks": self.tasks,
            "sections": [
                {
                    "name": section.name,
                    "total": section.total,
                    "findings": [finding._asdict() for finding in section.findings],
                }
                for section in self.sections
            ],
            "growing": [growth._asdict() for growth in self.growing],
            "log": list(self.log),
        }


def read_health(
    reader: Reader, uses: dict[int, Use] | None = None, limit: int = SHOWN_DEFAULT
) -> Health:
    """The health of the state that a reader shows, with up to `limit` findings a section.

    Findings with tasks come first, the most urgent ones at the top.
    """
    findings: dict[Section, list[HealthFinding]] = {name: [] for name in SECTIONS}
    tasks = (reader.concept(number) for number in retention.instances(reader, SLEEP_TASK))
    waiting = [
        task
        for task in tasks
        if task is not None and is_open_task(task) and not is_moot(reader, task)
    ]
    for task in sorted(waiting, key=lambda task: -priority_of(task)):
        section = ACTIONS.get(str(task.attributes.get("requested_action")))
        if section is not None:
            findings[section].append(_of_task(reader, task))
    asked = {number for finding in findings["stale"] for number in finding.elements}
    findings["stale"] += _due(reader, uses or {}, asked)
    findings["orphaned"] += _orphans(reader)
    system = reader.find_concept("Person", SYSTEM_ACTOR)
    attributes = {} if system is None else system.attributes
    log = attributes.get("maintenance_log")
    return Health(
        retention.cycle_state(reader).get("last"),
        len(waiting),
        tuple(
            HealthSection(name, len(entries), tuple(entries[:limit]))
            for name, entries in findings.items()
        ),
        tuple(Growth(*row) for row in retention.growth(reader, reader.now_us() - WEEK_US, limit)),
        tuple(reversed(log)) if isinstance(log, list) else (),
    )


def _of_task(reader: Reader, task: Concept) -> HealthFinding:
    numbers = tuple(element.number for element in task_elements(reader, task))
    return HealthFinding(numbers, str(task.attributes.get("reason", "")), task.id)


def _due(reader: Reader, uses: dict[int, Use], asked: set[int]) -> Iterator[HealthFinding]:
    """Findings for elements that are due, and about which no task is open or was decided."""
    for archived in waiting_for_purge(reader, reader.now_us()):
        text = (
            f"{label(archived)} is archived and waits for a person: `mycel purge {archived.id}`,"
            ' or retention "never" keeps it.'
        )
        yield HealthFinding((archived.number,), text)
    for due in islice(due_elements(reader, reader.now_us(), uses), COUNTED_MAX):
        element = None if due.number in asked else reader.element(due.number)
        if element is not None and not (due.end == "ask" and was_decided(reader, element)):
            text = f"{label(element)} is due: {due.end}, {due.reason}."
            yield HealthFinding((due.number,), text)


def _orphans(reader: Reader) -> Iterator[HealthFinding]:
    for numbers, defect in (
        (retention.unlinked(reader, COUNTED_MAX), "has no link"),
        (retention.empty_instances(reader, DOMAIN, MEMBERSHIP), "has no member"),
        (retention.instances(reader, MISSING), "is linked to and not written yet"),
    ):
        for number, element in sorted(reader.elements(numbers[:COUNTED_MAX]).items()):
            yield HealthFinding((number,), f"{label(element)} {defect}.")
