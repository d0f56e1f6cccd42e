"""Questions that no rule decides. Each question becomes a task once.

Each finder reads the graph, and yields a question for each problem, the oldest first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import Final, NamedTuple

from mycel.engine.due import is_open_task, label, link_text
from mycel.engine.missing_concepts import MISSING
from mycel.model import times
from mycel.model.directions import Way
from mycel.model.elements import Concept, Proposition
from mycel.model.evidence import belief
from mycel.model.names import SLEEP_TASK, count, first_few
from mycel.search.changed_citations import find_changed_citations
from mycel.search.index.passages import prose
from mycel.search.similar_texts import SIMILARITY_MIN, SimilarText, SimilarTexts
from mycel.store.query import retention
from mycel.store.query.reader import Reader
from mycel.text.kinds import STAMP
from mycel.upkeep.contradictions import contested_links, contradictions
from mycel.upkeep.duplicates import are_apart
from mycel.upkeep.tasks import CONSOLIDATED_TO, DERIVED_FROM, is_of_cycle, task_elements

OPPOSITE: Final = "opposite"
"""The attribute of a predicate that names its opposite predicate."""
CONTRADICTS: Final = "contradicts"
EVENT: Final = "Event"
TURN: Final = "Turn"
"""The class of events that are turns of an imported conversation."""
EVENTS_TOGETHER: Final = 12
"""The maximum number of events of one task."""
DISTIL_TASKS_MAX: Final = 20
"""The maximum number of open tasks about events."""
SETTLED_US: Final = 86_400_000_000
"""The age from which events are distilled; younger events may still get related events."""
CONTRADICTION_PRIORITY: Final = 2.0
"""The priority of contradictions.

The priority of possible duplicates is their similarity, at most 1.
"""
FOUND_MAX: Final = 20_000
"""The maximum number of links that one finder reads in a cycle."""
COMPARED_MAX: Final = 3_000
"""The maximum number of texts that are compared in a cycle."""
FAMILY_MATES_MIN: Final = 4
"""The number of about equally similar mates that make a text one of a family."""
FAMILY_ODDS_MAX: Final = 3.0
"""The maximum ratio of the odds (s to 1 - s) of the most similar mate and the fourth one.

A text that is much closer to one mate than to the others of its family may repeat that one.
"""
FAMILIES_MAX: Final = 50
"""The maximum number of families with whose first text others are compared."""
BOOTSTRAP_METADATA: Final = '{"author":"bootstrap"}'
_NOT_COMPARED: Final = frozenset(("Resource", "Section", "Symbol", EVENT, SLEEP_TASK, MISSING))


class UpkeepQuestion(NamedTuple):
    """A question about an element."""

    number: int
    action: str
    reason: str
    others: tuple[str, ...] = ()
    mark: str = ""
    """A part of the name of the task; with another mark, the question is asked again."""
    priority: float = 0
    """The urgency of the task: the greater, the sooner."""


Finder = Callable[[Reader, int], Iterator[UpkeepQuestion]]


def ask_about_rivals(reader: Reader, _now_us: int) -> Iterator[UpkeepQuestion]:
    """Ask about values of a functional predicate that hold at the same time."""
    for pair in contradictions(reader):
        subject = reader.element(pair.subject)
        if subject is None:
            continue
        ends = [reader.element(link.ends[1]) for link in (pair.one, pair.other)]
        values = " and ".join(label(end) for end in ends if end is not None)
        yield UpkeepQuestion(
            pair.subject,
            "resolve_contradiction",
            f"{pair.predicate} of {label(subject)} has several values at a time: {values}.",
            (pair.one.id, pair.other.id),
            priority=CONTRADICTION_PRIORITY,
        )


def ask_about_contested(reader: Reader, _now_us: int) -> Iterator[UpkeepQuestion]:
    """Ask about links that are contested or rejected by their evidence."""
    for link in contested_links(reader):
        reason = f"{link_text(reader, link)} is {belief(link.metadata).text}."
        yield UpkeepQuestion(
            link.number, "resolve_contradiction", reason, priority=CONTRADICTION_PRIORITY
        )


def ask_about_opposites(reader: Reader, _now_us: int) -> Iterator[UpkeepQuestion]:
    """Ask about links of two opposite predicates, and about links `contradicts`."""
    asked = set()
    for name, opposite in retention.predicates_naming(reader, OPPOSITE):
        one, other = (reader.find_predicate(text) for text in (name, opposite))
        if one is None or other is None or one == other or frozenset((one, other)) in asked:
            continue
        asked.add(frozenset((one, other)))
        for number in retention.paired_links(reader, one, other, FOUND_MAX):
            link = reader.link(number)
            against = (
                None if link is None else reader.link_between(link.ends[0], other, link.ends[1])
            )
            if link is not None and against is not None:
                reason = f"{link_text(reader, link)}, and {link_text(reader, against)}."
                ids_ = (link.id, against.id)
                yield UpkeepQuestion(
                    link.ends[0],
                    "resolve_contradiction",
                    reason,
                    ids_,
                    priority=CONTRADICTION_PRIORITY,
                )
    predicate = reader.find_predicate(CONTRADICTS)
    for number in retention.links_with(reader, predicate or 0, FOUND_MAX):
        link = reader.link(number)
        ends = [] if link is None else [reader.element(end) for end in link.ends]
        if link is None or any(_is_settled(end) for end in ends):
            continue
        names = tuple(_task_name(end) for end in ends if end is not None)
        yield UpkeepQuestion(
            link.ends[0],
            "resolve_contradiction",
            f"{link_text(reader, link)}.",
            names,
            priority=CONTRADICTION_PRIORITY,
        )


def _is_settled(element: Concept | Proposition | None) -> bool:
    """True if an end of a contradiction is removed or superseded."""
    return element is None or element.metadata.get("status") == "superseded"


def _task_name(element: Concept | Proposition) -> str:
    if isinstance(element, Concept):
        return f"{element.type}:{element.name}"
    return element.id


def ask_about_changes(reader: Reader, _now_us: int) -> Iterator[UpkeepQuestion]:
    """Ask about notes on files and symbols whose content has changed since."""
    if not any(reader.find_type(name) for name in ("Resource", "Symbol", "Section")):
        return
    numbers = [
        number
        for number, _, _, attributes in retention.named_concepts(reader)
        if f'"{STAMP}"' not in attributes
    ]
    changed = find_changed_citations(reader, numbers, BOOTSTRAP_METADATA)
    for number, names in sorted(changed.items()):
        note = reader.concept(number)
        if note is None or STAMP in note.attributes:
            continue
        cited = reader.concept_named(None, names[0])
        yield UpkeepQuestion(
            number,
            "review",
            f"{label(note)} may be outdated: {', '.join(first_few(list(names), 3))} changed.",
            mark="" if cited is None else times.to_text(cited.updated_us),
        )


def ask_about_events(reader: Reader, now_us: int) -> Iterator[UpkeepQuestion]:
    """Ask about events from which no lasting knowledge was derived yet, several in one question."""
    waiting: set[int] = set()
    tasks = 0
    for number in retention.instances(reader, SLEEP_TASK):
        task = reader.concept(number)
        if task is None or not is_open_task(task) or not is_of_cycle(task):
            continue
        if task.attributes.get("requested_action") == "consolidate_to_semantic":
            waiting.update(element.number for element in task_elements(reader, task))
            tasks += 1
    events: list[Concept] = []
    room = (DISTIL_TASKS_MAX - tasks) * EVENTS_TOGETHER
    for number in retention.instances(reader, EVENT):
        if len(events) >= room:
            break
        event = None if number in waiting else reader.concept(number)
        if event is None or event.created_us > now_us - SETTLED_US:
            continue
        if event.attributes.get("event_class") == TURN:
            continue  # The question is about its conversation.
        status = event.attributes.get("consolidation_status", "pending")
        if status == "pending" and not _is_distilled(reader, number):
            events.append(event)
    for day in islice(_days(events), max(DISTIL_TASKS_MAX - tasks, 0)):
        first, *others = day
        yield UpkeepQuestion(
            first.number,
            "consolidate_to_semantic",
            f"{count(len(day), 'event')} of {times.to_text(first.created_us)[:10]} may contain"
            " lasting knowledge.",
            tuple(map(_task_name, others)),
        )


def _is_distilled(reader: Reader, event: int) -> bool:
    """True if a link says that knowledge was derived from an event."""
    ways: tuple[tuple[str, Way], ...] = ((CONSOLIDATED_TO, "out"), (DERIVED_FROM, "in"))
    return any(
        True
        for name, way in ways
        if (predicate := reader.find_predicate(name)) is not None
        for _ in reader.neighbours((event,), (way,), (predicate,))
    )


def _days(events: list[Concept]) -> Iterator[list[Concept]]:
    """Events of one day, at most `EVENTS_TOGETHER` together, in groups of much the same size."""
    for _, group in groupby(events, lambda event: times.to_text(event.created_us)[:10]):
        day = list(group)
        parts = -(-len(day) // EVENTS_TOGETHER)
        size = -(-len(day) // parts)
        yield from (day[at : at + size] for at in range(0, len(day), size))


@dataclass(slots=True)
class Families:
    """The families of texts of one form that a cycle has found."""

    members: set[int] = field(default_factory=set)
    firsts: list[Concept] = field(default_factory=list)
    """One text of each family, with which others are compared."""


class Repetitions:
    """Finds concepts whose text is similar to that of another concept of their type.

    A concept with several mates that are about equally similar is one of a family: texts of one
    form, which mostly say different things. Such a family is asked about once.
    """

    def __init__(self, reader: Reader, numbers: Sequence[int], families: Families) -> None:
        """Compare the concepts; `families` were found before in this cycle."""
        self._reader, self._numbers, self._families = reader, numbers, families
        self.compared = 0
        """The number of concepts that were compared so far."""

    def __iter__(self) -> Iterator[UpkeepQuestion | None]:
        """Yield the question about each concept, or None."""
        texts = SimilarTexts(self._reader, (), _has_text)
        for number in self._numbers:
            question = self._ask(texts, number)
            self.compared += 1
            yield question

    def _ask(self, texts: SimilarTexts, number: int) -> UpkeepQuestion | None:
        concept = self._reader.concept(number)
        if concept is None or not _has_text(concept):
            return None
        similar = texts.similar(concept)
        closest = next(iter(similar), None)
        if closest is None or closest.other.type != concept.type:
            return None
        if family := _family(concept, similar):
            return self._ask_family(texts, concept, family)
        if are_apart(self._reader, number, closest.other.number):
            return None
        keep, other = sorted((concept, closest.other), key=lambda concept: concept.number)
        return UpkeepQuestion(
            keep.number,
            "merge_duplicates",
            f"{label(keep)} and {label(other)} may be one: their texts are similar"
            f" ({closest.similarity:.0%}).",
            (_task_name(other),),
            priority=round(closest.similarity, 2),
        )

    def _ask_family(
        self, texts: SimilarTexts, concept: Concept, family: list[SimilarText]
    ) -> UpkeepQuestion | None:
        """Ask about a family, unless one of its members has led to the question before."""
        members = {concept.number, *(mate.other.number for mate in family)}
        families = self._families
        is_known = not members.isdisjoint(families.members) or any(
            texts.similarity(concept, first) >= SIMILARITY_MIN
            for first in families.firsts
            if first.type == concept.type
        )
        families.members |= members
        if is_known:
            return None
        if len(families.firsts) < FAMILIES_MAX:
            families.firsts.append(concept)
        if any(self._was_in_family(texts, concept, mate.other) for mate in family):
            return None
        first, *others = sorted(
            (concept, *(mate.other for mate in family)), key=lambda member: member.number
        )
        least, most = family[-1].similarity, family[0].similarity
        return UpkeepQuestion(
            first.number,
            "merge_duplicates",
            f"{label(first)} and {count(len(others), 'other')} have texts of one form"
            f" ({least:.0%} to {most:.0%} similar). Others of that form are not asked about.",
            tuple(map(_task_name, others)),
            priority=round(least / 2, 2),
        )

    def _was_in_family(self, texts: SimilarTexts, concept: Concept, mate: Concept) -> bool:
        """True if a mate that was compared before the concept has a family without it."""
        if mate.number > concept.number:
            return False
        earlier = [text for text in texts.similar(mate) if text.other.number != concept.number]
        return bool(_family(mate, earlier))


def _family(concept: Concept, similar: Sequence[SimilarText]) -> list[SimilarText]:
    """The mates of a text of one type, if they are several and about equally similar."""
    mates = [text for text in similar if text.other.type == concept.type]
    if len(mates) < FAMILY_MATES_MIN:
        return []
    closest, last = (mates[at].similarity for at in (0, FAMILY_MATES_MIN - 1))
    is_even = closest * (1 - last) <= FAMILY_ODDS_MAX * last * (1 - closest)
    return mates if is_even else []


def uncompared(reader: Reader, after: int) -> list[int]:
    """The concepts after a number, whose texts were not compared yet."""
    return [
        number
        for number, type_number, _, _ in retention.named_concepts(reader)
        if number > after and reader.type_name(type_number) not in _NOT_COMPARED
    ]


def _has_text(concept: Concept) -> bool:
    attributes = concept.attributes
    return concept.type not in _NOT_COMPARED and STAMP not in attributes and bool(prose(attributes))


FINDERS: Final[tuple[Finder, ...]] = (
    ask_about_rivals,
    ask_about_contested,
    ask_about_opposites,
)
"""The finders of the step `contradictions`."""
