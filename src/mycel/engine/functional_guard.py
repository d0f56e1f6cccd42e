"""The guard of functional predicates: one value for a subject at a time.

A definition says `functional: true`. A new link with such a predicate does not replace an older one
of the same subject. The older one ends where the new one begins: at its `valid_from`, or now. A
query can ask for either of them (`FOR TIME`). A link that has ended before the new one begins is
left as it is. If another link of the subject begins later than the new one, the new one ends there.
So the values of two merged branches follow each other in the order of their times. A new link with
an end of its own within the time of another one, such as that of a stand-in, does not end that one:
both hold then, and a warning says so.

A graph has one link per predicate between two elements, so a former value comes back in its old
link: a command gives that link a `valid_from` after its end. The link then holds again, without an
end, and the others end there. Its former time is in its history (`AS OF`), and `FOR TIME` does not
find it any more; a warning says so for every write that moves a link to another time. Without a
later `valid_from` nothing changes, so a command may be repeated; a warning says that the link has
ended (`warn_ended`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mycel.engine.periods import period_text, period_us
from mycel.model import times
from mycel.model.elements import Proposition
from mycel.model.values import JsonObject, parse_object
from mycel.store.file.layout import PROPOSITION_TYPE_NUMBER
from mycel.store.index.lifetimes import ARCHIVED_AT, VALID_FROM, VALID_UNTIL
from mycel.store.write.guards import Change
from mycel.store.write.transaction import Transaction

FUNCTIONAL: Final = "functional"


def is_functional(attributes: JsonObject) -> bool:
    """True if the definition of a predicate allows one value for a subject at a time."""
    return attributes.get(FUNCTIONAL) is True


class FunctionalGuard:
    """Ends the validity of the older link when a functional predicate gets a new one."""

    in_bulk = False

    def concerns(self, tx: Transaction, type_or_predicate: str, *, link: bool) -> bool:
        """True for a functional predicate."""
        if not link:
            return False
        attributes = tx.definition(PROPOSITION_TYPE_NUMBER, type_or_predicate)
        return attributes is not None and is_functional(parse_object(attributes))

    def check(self, tx: Transaction, change: Change) -> None:
        """Note the new link, whose number is not known yet."""
        if isinstance(change.name_or_ends, str):
            return
        subject, object_ = change.name_or_ends
        place = (subject, change.type_or_predicate, object_)
        has_moved = _has_moved(change)
        is_open = change.metadata.get(VALID_UNTIL) is None
        if change.kind == "create" or _comes_back(change) or (has_moved and is_open):
            tx.memo.setdefault(FunctionalGuard, {})[place] = change.metadata
        if change.before is not None and (has_moved or _begins_later(change, tx.time_us)):
            tx.memo.setdefault(_has_moved, {}).setdefault(place, change.before.metadata)

    def check_commit(self, tx: Transaction) -> None:
        """End the validity of the older links, for one new link after the other."""
        former = tx.memo.pop(_has_moved, {})
        for place, metadata in tx.memo.pop(FunctionalGuard, {}).items():
            link = tx.get_edge(*place)
            if link is None or link.metadata.get(ARCHIVED_AT) is not None:
                continue
            if _is_inverted(metadata):
                tx.update_found(link, drop_metadata=(VALID_UNTIL,))
                link = tx.get_edge(*place) or link
            _end_others(tx, link, link.metadata)
        for place, metadata in former.items():
            _warn_moved(tx, place, metadata)


def warn_ended(tx: Transaction, id_: str, metadata: Mapping[str, Any] | None) -> None:
    """Warn if a link that has ended was written again without a time.

    `metadata` is the written metadata. Only links of functional predicates are looked at.
    """
    if metadata and not metadata.keys().isdisjoint((VALID_FROM, VALID_UNTIL)):
        return
    predicate = id_.split(":", 2)[2]
    known = tx.memo.setdefault(warn_ended, {})
    if predicate not in known:
        known[predicate] = bool(
            tx.guards.concerned(tx, predicate, link=True)
        ) and FunctionalGuard().concerns(tx, predicate, link=True)
    link = tx.get(id_) if known[predicate] else None
    if isinstance(link, Proposition) and times.is_past(link.metadata.get(VALID_UNTIL), tx.time_us):
        tx.warnings.append(
            f"{id_} has ended at {link.metadata[VALID_UNTIL]}, and does not hold again by being"
            " written again: give it a later valid_from if it does."
        )


def _comes_back(change: Change) -> bool:
    """True if a link that has ended gets a `valid_from` after its end, so that it holds again."""
    before = change.before
    return (
        change.kind == "update"
        and isinstance(before, Proposition)
        and before.metadata.get(VALID_UNTIL) == change.metadata.get(VALID_UNTIL)
        and before.metadata.get(VALID_FROM) != change.metadata.get(VALID_FROM)
        and _is_inverted(change.metadata)
    )


def _has_moved(change: Change) -> bool:
    """True if a link gets a time that has nothing in common with the time it had before."""
    before = change.before
    if change.kind != "update" or not isinstance(before, Proposition):
        return False
    (since, until), (begin, end) = period_us(before.metadata), period_us(change.metadata)
    return since < until and (until <= begin or end <= since)


def _begins_later(change: Change, now_us: int) -> bool:
    """True if a link that has begun, or has ended, gets a later beginning."""
    if change.kind != "update" or not isinstance(change.before, Proposition):
        return False
    before = change.before.metadata
    since, _ = period_us(before)
    begin, _ = period_us(change.metadata)
    return times.is_past(before.get(VALID_FROM), now_us) and since < begin


def _warn_moved(tx: Transaction, place: tuple[str, str, str], former: JsonObject) -> None:
    link = tx.get_edge(*place)
    if link is None:
        return
    tx.warnings.append(
        f"{link.id} held {period_text(former)} before. A link has one time, so FOR TIME does not"
        " find it then any more; only past states do"
        f" (AS OF a time before {times.to_text(tx.time_us)})."
    )


def _is_inverted(metadata: JsonObject) -> bool:
    begins, ends = metadata.get(VALID_FROM), metadata.get(VALID_UNTIL)
    return times.is_time(begins) and times.is_past(ends, times.from_text(begins))


def _end_others(tx: Transaction, new: Proposition, metadata: JsonObject) -> None:
    begins = metadata.get(VALID_FROM)
    until = begins if times.is_time(begins) else times.to_text(tx.time_us)
    until_us = times.from_text(until)
    changes: JsonObject = {}
    ends = metadata.get(VALID_UNTIL)
    others = [
        other
        for other in tx.reader.touching_links(new.ends[0])
        if other.number != new.number
        and other.predicate == new.predicate
        and other.subject == new.subject
        and other.metadata.get(ARCHIVED_AT) is None
    ]
    for other in others:
        later = other.metadata.get(VALID_FROM)
        if times.is_time(later) and times.from_text(later) > until_us:
            if not times.is_time(ends) or times.from_text(ends) > times.from_text(later):
                ends = changes[VALID_UNTIL] = later
        elif _is_within(metadata, other, others):
            tx.warnings.append(
                f"{new.id} holds until {ends}, within the time of {other.id}, which stays as it is:"
                f" both hold then. If {other.id} has ended, give it a valid_until."
            )
        elif not times.is_past(other.metadata.get(VALID_UNTIL), until_us) and later != until:
            tx.update_found(other, metadata={VALID_UNTIL: until})
            if begins != until:
                changes[VALID_FROM] = until
    if changes:
        tx.update_found(new, metadata=changes)


def _is_within(metadata: JsonObject, other: Proposition, others: list[Proposition]) -> bool:
    """True if a link ends before another one, and no link begins where it ends."""
    _, end = period_us(metadata)
    return end < period_us(other.metadata)[1] and all(
        period_us(third.metadata)[0] != end for third in others
    )
