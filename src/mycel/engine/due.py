"""Elements whose retention ends.

An element is due at its own `expires_at`, if it has one, or a time after it if its rule counts from
`expires_at`. Otherwise its own rule, or the rule of its type, sets the time, counted from its
creation, its last change by anybody except `$system`, its last use, or its last restoration from
the archive. Not due are pinned, held and archived elements, open tasks, elements whose own rule is
"never", and those that the `keep_if` of their rule keeps.

A purge cannot be undone, so only the rule of a type or predicate purges. If the element's own rule
says `purge`, upkeep asks instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

import orjson

from mycel.engine.archive import RESTORED_AT
from mycel.errors import MycelError
from mycel.model import ids, times
from mycel.model.elements import Concept, Element, Proposition
from mycel.model.names import SLEEP_TASK, SYSTEM_ACTOR
from mycel.model.retention import (
    RETENTION,
    Retention,
    RetentionEnd,
    is_kept,
    is_never,
    parse_retention,
)
from mycel.store.file.rows import table_of
from mycel.store.file.use_counts import Use
from mycel.store.index.lifetimes import ARCHIVED_AT, EXPIRES_AT
from mycel.store.query import retention
from mycel.store.query.reader import Reader

SUPERSEDES: Final = "supersedes"
DAY_US: Final = 86_400_000_000
PENDING: Final = "pending"
NO_USES: Final[Mapping[int, Use]] = MappingProxyType({})


class Due(NamedTuple):
    """An element that is due, with the action and the reason."""

    number: int
    end: RetentionEnd
    reason: str


def is_open_task(element: Element) -> bool:
    """True for a task that nobody has decided; retention never removes it."""
    if not isinstance(element, Concept) or element.type != SLEEP_TASK:
        return False
    return element.attributes.get("status", PENDING) not in ("completed", "failed")


class RetentionRules:
    """The rules in force: those of types and predicates, and those of single elements."""

    def __init__(self, reader: Reader, uses: Mapping[int, Use] = NO_USES) -> None:
        """Take the stored rules; `uses` has the counts of reads (`store.file.use_counts`)."""
        self.uses: Final = uses
        self._rules: dict[tuple[bool, str], Retention] = {}
        for is_link, name, text in retention.stored_rules(reader):
            rule = _read(orjson.loads(text))
            if rule is not None:
                self._rules[is_link, name] = rule

    def of(self, element: Element) -> Retention | None:
        """The rule for an element, its own or that of its type; None if there is no valid one.

        An element without a rule may still have an `expires_at`.
        """
        own = element.metadata.get(RETENTION)
        if own is not None:
            return _read(own)
        name = element.type if isinstance(element, Concept) else element.predicate
        return self._rules.get((not isinstance(element, Concept), name))

    def candidates(self, reader: Reader, now_us: int) -> list[int]:
        """The elements that may be due; no due element is missing."""
        numbers = {*retention.expired(reader, now_us), *retention.with_own_rule(reader)}
        for (is_link, name), rule in self._rules.items():
            kind = reader.find_predicate(name) if is_link else reader.find_type(name)
            if kind is not None and rule.start != EXPIRES_AT:
                table = "proposition" if is_link else "concept"
                numbers.update(retention.created_by(reader, table, kind, now_us - rule.after_us))
        return sorted(numbers)

    def judge(
        self, reader: Reader, element: Element, now_us: int, *, archived: bool = False
    ) -> Due | None:
        """Judge an element: its action and the reason if it is due now, and otherwise None.

        An archived element is due only with `archived`.
        """
        metadata, rule = element.metadata, self.of(element)
        own = metadata.get(RETENTION)
        if is_kept(metadata) or is_never(own):
            return None
        if is_open_task(element) or (metadata.get(ARCHIVED_AT) is not None and not archived):
            return None
        expires = metadata.get(EXPIRES_AT)
        if times.is_time(expires):
            after_us = 0 if rule is None or rule.start != EXPIRES_AT else rule.after_us
            due_us, why = times.from_text(expires) + after_us, f"expired on {expires}"
        elif rule is None or rule.start == EXPIRES_AT:
            return None
        else:
            due_us, why = self._start_us(reader, element, rule) + rule.after_us, ""
            if times.is_time(restored := metadata.get(RESTORED_AT)):
                # Otherwise a short rule would archive it in the next cycle again.
                due_us = max(due_us, times.from_text(restored) + max(rule.after_us, DAY_US))
        if due_us > now_us:
            return None
        if rule is not None and "linked" in rule.keep_if:
            supersedes = reader.find_predicate(SUPERSEDES)
            if retention.is_referred_to(reader, element.number, supersedes):
                return None
        if rule is not None and "used" in rule.keep_if:
            use = self.uses.get(element.number)
            if use is not None and use.last_us > now_us - max(rule.after_us, DAY_US):
                return None
        kind = element.type if isinstance(element, Concept) else element.predicate
        whose = f"the rule of {kind}" if own is None else "its own rule"
        why = why or f"{whose}: {_text(rule)}"
        end: RetentionEnd = "archive" if rule is None else rule.end
        if end == "purge" and own is not None:
            end = "ask"
            why += (
                f". Only rules of types and predicates purge by themselves: drop archives it, and a"
                f" person purges it with `mycel purge {element.id}`; until then health lists it"
            )
        return Due(element.number, end, why)

    def _start_us(self, reader: Reader, element: Element, rule: Retention) -> int:
        start = element.created_us
        if rule.start == "updated":
            table = table_of(element.number)
            written = retention.written_by_others(reader, table, element.number, SYSTEM_ACTOR)
            start = max(start, written or 0)
        elif rule.start == "last_used" and (use := self.uses.get(element.number)) is not None:
            start = max(start, use.last_us)
        return start


def waiting_for_purge(reader: Reader, now_us: int) -> Iterator[Element]:
    """Archived elements that their own rule would purge: only a person does that."""
    rules = RetentionRules(reader)
    archived = retention.with_own_rule(reader, archived=True)
    for element in reader.elements(archived).values():
        rule = rules.of(element)
        if rule is None or rule.end != "purge":
            continue
        if rules.judge(reader, element, now_us, archived=True) is not None:
            yield element


def due_elements(reader: Reader, now_us: int, uses: Mapping[int, Use] = NO_USES) -> Iterator[Due]:
    rules = RetentionRules(reader, uses)
    for number in rules.candidates(reader, now_us):
        element = reader.element(number)
        if element is not None and (due := rules.judge(reader, element, now_us)) is not None:
            yield due


def _read(value: object) -> Retention | None:
    """Parse a stored rule; an invalid rule has no effect (`definition_lint`)."""
    try:
        return parse_retention(value)
    except MycelError:
        return None


def _text(rule: Retention | None) -> str:
    if rule is None:
        return "none"
    number, unit = rule.after_us / DAY_US, "day"
    if 0 < number < 1:
        number, unit = (number * 24, "hour") if number >= 1 / 24 else (number * 1440, "minute")
    plural = "" if number == 1 else "s"
    unless = ", and nothing links to it" if "linked" in rule.keep_if else ""
    return (
        f"{rule.end} {number:g} {unit}{plural} after it was {rule.start.replace('_', ' ')}{unless}"
    )


def label(element: Element) -> str:
    """The label of an element in a report."""
    if isinstance(element, Concept):
        return f"{element.type} {element.name!r}"
    return ids.link_id(element.number, element.predicate)


def link_text(reader: Reader, link: Proposition) -> str:
    """A link as a sentence of its ends and its predicate."""
    ends = [reader.element(number) for number in link.ends]
    subject, object_ = ("?" if end is None else label(end) for end in ends)
    return f"{subject} {link.predicate} {object_}"
