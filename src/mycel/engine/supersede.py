"""SUPERSEDE: one element takes the place of another.

A link `supersedes` leads from the new element to the old one. The old element gets the status
`superseded`, and its validity ends: at the time that the caller gives, or where the validity of the
new element begins, or now. An earlier end stays. A query can find either element (`FOR TIME`).
Answers show the old element after the new one, with the name of its successor.

Links `supersedes` and `superseded_by` never make a circle, because no element of a circle would be
current. A guard refuses it at every door.

Validity never ends before it begins. A given time before the beginning is refused; if the new
element begins before the old one, the old one holds at no time, and a warning says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from mycel.engine.outcome import Outcome, all_or_nothing
from mycel.engine.periods import write_periods
from mycel.engine.values import Values
from mycel.engine.where_targets import only_target
from mycel.errors import ConstraintViolation, InvalidSyntax, SelfEdgeError
from mycel.kip import ast
from mycel.model import times
from mycel.model.directions import Way
from mycel.model.elements import Element
from mycel.model.limits import REASON_BYTES_MAX
from mycel.model.names import check_text
from mycel.model.periods import (
    VALID_FROM,
    Period,
    former_periods,
    present_period,
    unite,
)
from mycel.model.values import JsonObject
from mycel.store.query.reader import Reader
from mycel.store.write.guards import Change, identity_of
from mycel.store.write.transaction import Transaction
from mycel.syntax.diagnostics import located

SUPERSEDES: Final = "supersedes"
SUPERSEDED_BY: Final = "superseded_by"
SUPERSEDED: Final = "superseded"
CIRCLE_SHOWN_MAX: Final = 10


def supersede(tx: Transaction, node: ast.Supersede, values: Values) -> Outcome:
    """Run a SUPERSEDE of the one element that each variable is bound to."""
    reason = "" if node.reason is None else values.text(node.reason, "reason of SUPERSEDE")
    until = "" if node.until is None else _time(node.until, values)
    old, new = (
        only_target(tx, node.where, values, variable) for variable in (node.target, node.successor)
    )
    with all_or_nothing(tx):
        supersession = supersede_element(tx, old, new, reason, until)
    return Outcome(
        {
            "superseded": old.id,
            "by": new.id,
            "link": supersession.link,
            "valid_until": supersession.valid_until,
        }
    )


def _time(node: ast.Text, values: Values) -> str:
    text = values.text(node, "UNTIL of SUPERSEDE")
    try:
        times.from_text(text)
    except InvalidSyntax as error:
        raise located(error, node.span) from None
    return text


class Supersession(NamedTuple):
    """The effects of one element taking the place of another."""

    link: str
    """The id of the link `supersedes`."""
    valid_until: str
    """The time at which the validity of the old element ends."""


def supersede_element(
    tx: Transaction, old: Element, new: Element, reason: str = "", valid_until: str = ""
) -> Supersession:
    """Let an element take the place of another, from a time on.

    Raises:
        InvalidSyntax: `valid_until` is no time.
        SelfEdgeError: both are the same element.
        ConstraintViolation: the old element supersedes the new one, or begins after `valid_until`.
    """
    check_text(reason, "reason", REASON_BYTES_MAX)
    if valid_until:
        times.from_text(valid_until)
    if old.number == new.number:
        raise SelfEdgeError(f"{old.id} cannot supersede itself.")
    _refuse_circle(tx.reader, {(new.number, old.number)})
    metadata: JsonObject = {"reason": reason} if reason else {}
    link = tx.put_proposition(new.id, SUPERSEDES, old.id, metadata=metadata)
    periods = _ended_periods(tx, old, new, valid_until)
    status = {"status": SUPERSEDED}
    write_periods(tx, tx.get(old.id), periods[-1], unite(periods[:-1]), metadata=status)
    return Supersession(link, str(periods[-1].valid_until))


def _ended_periods(tx: Transaction, old: Element, new: Element, valid_until: str) -> list[Period]:
    """The periods of an element that has ended, in their order; at least one."""
    begins = new.metadata.get(VALID_FROM)
    until = valid_until or str(begins if times.is_time(begins) else times.to_text(tx.time_us))
    until_us = times.from_text(until)
    present = present_period(old.metadata)
    periods = [*former_periods(old.metadata), present]
    ended = [
        period if period.until_us <= until_us else period._replace(valid_until=until)
        for period in periods
        if period.since_us < until_us
    ]
    if valid_until and ended and present.since_us < until_us:
        ended[-1] = present._replace(valid_until=until)  # A given time also moves an earlier end.
    if ended:
        return ended
    first = periods[0]
    if valid_until:
        raise ConstraintViolation(
            f"{old.id} holds {first.words}, so it cannot hold until {until}.",
            hint="Give a time after its beginning. If it never held, correct its valid_from first,"
            " or archive it.",
        )
    tx.warnings.append(
        f"{old.id} held {first.words}, but {new.id} begins before that, so the old one"
        " holds at no time now, and FOR TIME does not find it. If it held until another time, give"
        " that time."
    )
    return [Period(first.valid_from, first.valid_from)]


class SupersessionGuard:
    """Refuses links `supersedes` and `superseded_by` that make a circle."""

    in_bulk = True

    def concerns(self, _tx: Transaction, type_or_predicate: str, *, link: bool) -> bool:
        """True for the predicates of supersession."""
        return link and type_or_predicate in (SUPERSEDES, SUPERSEDED_BY)

    def check(self, tx: Transaction, change: Change) -> None:
        """Note a link that is new or has new ends."""
        place = change.name_or_ends
        if change.kind == "retire" or isinstance(place, str):
            return
        if change.before is None or identity_of(change.before)[1] != place:
            tx.memo.setdefault(SupersessionGuard, {})[change.type_or_predicate, *place] = None

    def check_commit(self, tx: Transaction) -> None:
        """Refuse a circle through a link that was noted."""
        links: set[tuple[int, int]] = set()
        for predicate, subject, object_ in tx.memo.pop(SupersessionGuard, ()):
            link = tx.get_edge(subject, predicate, object_)
            if link is not None:
                new, old = link.ends if predicate == SUPERSEDES else reversed(link.ends)
                links.add((new, old))
        if links:  # Most commits have none, and ask the database nothing.
            _refuse_circle(tx.reader, links)


class _Older:
    """The elements that an element supersedes, by stored and by new links."""

    def __init__(self, reader: Reader, links: set[tuple[int, int]]) -> None:
        ways: tuple[tuple[str, Way], ...] = ((SUPERSEDES, "out"), (SUPERSEDED_BY, "in"))
        numbers = [(reader.find_predicate(name), way) for name, way in ways]
        self._predicates = [(number, way) for number, way in numbers if number is not None]
        self._reader = reader
        self._new: dict[int, list[int]] = {}
        for new, old in links:
            self._new.setdefault(new, []).append(old)

    def of(self, number: int) -> list[int]:
        return self._new.get(number, []) + [
            older
            for predicate, way in self._predicates
            for older in self._reader.neighbours((number,), (way,), (predicate,))
        ]


def _refuse_circle(reader: Reader, links: set[tuple[int, int]]) -> None:
    """Refuse new links, each from an element to an older one, that make a circle."""
    circle = _circle_through(_Older(reader, links), links)
    if circle:
        ids = [element.id for element in map(reader.element, circle) if element is not None]
        path = ids[:CIRCLE_SHOWN_MAX] + ["…"] * (len(ids) > CIRCLE_SHOWN_MAX)
        raise ConstraintViolation(
            f"Each of these elements would supersede the next: {', '.join([*path, ids[0]])}.",
            hint="Leave out the new link, or first remove a wrong link `supersedes` or"
            " `superseded_by` between two of them.",
            data={"circle": ids[:CIRCLE_SHOWN_MAX]},
        )


def _circle_through(older: _Older, links: set[tuple[int, int]]) -> list[int]:
    """The elements of a circle with a new link, from newer to older; empty if there is none.

    Reads each element once.
    """
    finished: set[int] = set()
    for start, _ in links:
        path: dict[int, Iterator[int]] = {}
        following: int | None = start if start not in finished else None
        while following is not None or path:
            if following is not None:
                path[following] = iter(older.of(following))
                following = None
            place = next(reversed(path))
            number = next(path[place], None)
            if number is None:
                finished.add(place)
                del path[place]
            elif number in path:
                circle = [*path][[*path].index(number) :]
                if not links.isdisjoint(pairwise([*circle, number])):
                    return circle
            elif number not in finished:
                following = number
    return []
