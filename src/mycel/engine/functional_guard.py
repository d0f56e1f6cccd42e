"""The guard of functional predicates: one value for a subject at a time.

If a definition says `functional: true`, the periods of all links of a subject with the predicate,
present and former periods alike (`model.periods`), are parts of one line of time: no two of them
overlap. A query can find each value at its time (`FOR TIME`). Dates in attributes count where the
metadata has none. A new period takes its time from the others by these rules:

1. It begins at its `valid_from`. Without one, it begins now, unless it has ended already.
2. It ends at its `valid_until`, or before that where another value begins later. So the values of
   two merged branches follow each other in the order of their times.
3. A period of another value in which it begins ends there. If the new one has an end of its own, as
   that of a stand-in has, the other value holds again from that end on: the part before becomes a
   former period of its link. A warning says so.
4. A period that begins at the same time as the new one stays as it is, except in two cases. If the
   new one ends before it does, it begins where the new one ends. If it began there only because a
   stand-in ended, the new one takes its place. Otherwise the two values contradict each other: a
   warning names both, and a cycle asks about them.

A period is new if its link is new, if it overlaps no period that the link had, or if somebody adds
it to `former_periods`. Other changes of dates are corrections. They move no other value, nor does a
merge of two subjects; if values then overlap, a warning names both, and a cycle asks about them.

A graph has one link per predicate between two elements, so a former value returns as its old link:
a command gives that link a `valid_from` after its end. Without a later `valid_from` the link stays
ended, so a command may be repeated; a warning says that the link has ended (`warn_ended`).

This guard also gives the warnings about periods that a write kept, for links with any predicate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Final, NamedTuple

from mycel.engine.due import link_text
from mycel.engine.periods import write_periods
from mycel.model import times
from mycel.model.elements import Proposition
from mycel.model.names import count
from mycel.model.periods import (
    FORMER_PERIODS,
    VALID_FROM,
    VALID_UNTIL,
    Period,
    all_periods,
    dated,
    former_periods,
    former_words,
    present_period,
)
from mycel.model.values import JsonObject, parse_object
from mycel.store.file.layout import PROPOSITION_TYPE_NUMBER
from mycel.store.index.lifetimes import ARCHIVED_AT
from mycel.store.write.guards import Change
from mycel.store.write.transaction import Transaction

FUNCTIONAL: Final = "functional"
NAMED_MAX: Final = 3
"""The maximum number of links whose kept periods are named."""


def is_functional(attributes: JsonObject) -> bool:
    """True if the definition of a predicate allows one value for a subject at a time."""
    return attributes.get(FUNCTIONAL) is True


class FunctionalGuard:
    """Takes the time of a new value of a functional predicate from the other values."""

    in_bulk = False

    def concerns(self, tx: Transaction, type_or_predicate: str, *, link: bool) -> bool:
        """True for a functional predicate."""
        if not link:
            return False
        attributes = tx.definition(PROPOSITION_TYPE_NUMBER, type_or_predicate)
        return attributes is not None and is_functional(parse_object(attributes))

    def check(self, tx: Transaction, change: Change) -> None:
        """Note the new periods of a link; the number of a new link is not known yet."""
        if isinstance(change.name_or_ends, str) or change.kind == "retire":
            return
        if change.number is not None and tx.memo.get(write_periods) == change.number:
            return
        subject, object_ = change.name_or_ends
        place = (subject, change.type_or_predicate, object_)
        if periods := _new_periods(change):
            tx.memo.setdefault(FunctionalGuard, {}).setdefault(place, []).extend(periods)
        elif _has_moved(change):
            tx.memo.setdefault(_warn_both, {})[place] = None
        if isinstance(change.before, Proposition) and _is_shortened(change, tx.time_us):
            tx.memo.setdefault(_is_shortened, {}).setdefault(place, _dates(change.before))

    def check_commit(self, tx: Transaction) -> None:
        """Take the time of new periods from other values, for one link after the other."""
        shortened = tx.memo.pop(_is_shortened, {})
        for place, periods in tx.memo.pop(FunctionalGuard, {}).items():
            link = tx.get_edge(*place)
            if link is None or link.metadata.get(ARCHIVED_AT) is not None:
                continue
            for claimed in all_periods(_dates(link)):
                if any(period.overlaps(claimed) for period in periods):
                    _claim(tx, place, claimed)
        for place in tx.memo.pop(_warn_both, ()):
            _warn_rivals(tx, place)
        for place, metadata in shortened.items():
            _warn_shortened(tx, place, metadata)
        _warn_kept(tx, tx.memo.pop(FORMER_PERIODS, ()))


def warn_ended(tx: Transaction, id_: str, metadata: Mapping[str, Any] | None) -> None:
    """Warn if a link that has ended was written again without a time.

    `metadata` is the written metadata. Only links of functional predicates are checked.
    """
    if metadata and not metadata.keys().isdisjoint((VALID_FROM, VALID_UNTIL)):
        return
    predicate = id_.split(":", 2)[2]
    is_functional_by_predicate = tx.memo.setdefault(warn_ended, {})
    if predicate not in is_functional_by_predicate:
        is_functional_by_predicate[predicate] = bool(
            tx.guards.concerned(tx, predicate, link=True)
        ) and FunctionalGuard().concerns(tx, predicate, link=True)
    link = tx.get(id_) if is_functional_by_predicate[predicate] else None
    end = _dates(link).get(VALID_UNTIL) if isinstance(link, Proposition) else None
    if times.is_past(end, tx.time_us):
        tx.warnings.append(
            f"{id_} has ended at {end}, and writing it again does not"
            " make it hold: if it holds again, give it a later valid_from."
        )


def _dates(link: Proposition) -> Mapping[str, Any]:
    return dated(link.attributes, link.metadata)


def _new_periods(change: Change) -> list[Period]:
    """The periods that a change gives a link, and that are not corrections of what it had."""
    before, after = change.before, dated(change.attributes, change.metadata)
    if not isinstance(before, Proposition):
        return all_periods(after)
    old = all_periods(_dates(before))
    unchanged = set(old)  # Of hundreds of periods, most are as they were.
    present = present_period(after)
    periods = [
        period
        for period in former_periods(after)
        if period not in unchanged and not any(period.is_within(known) for known in old)
    ]
    if not present.is_empty and not any(map(present.overlaps, old)):
        periods.append(present)
    return periods


def _has_moved(change: Change) -> bool:
    """True if a link that existed before has other ends, or other periods."""
    before, after = change.before, dated(change.attributes, change.metadata)
    if not isinstance(before, Proposition):
        return False
    if (before.subject, before.object) != change.name_or_ends:
        return True
    return all_periods(_dates(before)) != all_periods(after)


def _is_shortened(change: Change, now_us: int) -> bool:
    """True if a link that has begun gets a later beginning within its period, which is lost."""
    before = change.before
    if change.kind != "update" or not isinstance(before, Proposition):
        return False
    old = present_period(_dates(before))
    new = present_period(dated(change.attributes, change.metadata))
    return (
        times.is_past(old.valid_from, now_us)
        and old.overlaps(new)
        and old.since_us < new.since_us
        and before.metadata.get(FORMER_PERIODS) == change.metadata.get(FORMER_PERIODS)
    )


def _warn_shortened(
    tx: Transaction, place: tuple[str, str, str], before: Mapping[str, Any]
) -> None:
    link = tx.get_edge(*place)
    if link is not None:
        tx.warnings.append(
            f"{link.id} held {present_period(before).words} before. The new time overlaps that, so"
            " it is taken for a correction, and FOR TIME does not find the link before it any"
            " more. If it held then, and again later, add the first time to former_periods."
        )


def _warn_kept(tx: Transaction, numbers: Iterable[int]) -> None:
    """Name the former periods of links that a write has moved to another time."""
    links = [link for number in numbers if (link := tx.reader.link(number)) is not None]
    for link in links[:NAMED_MAX]:
        if words := former_words(link.metadata):
            tx.warnings.append(
                f"{link.id} holds {present_period(link.metadata).words}; it {words}. FOR TIME"
                " finds each. If a former time is wrong, write former_periods without it."
            )
    if len(links) > NAMED_MAX:
        tx.warnings.append(f"So do {count(len(links) - NAMED_MAX, 'other link')}.")


class _Rival(NamedTuple):
    """Another value of the subject, with all of its periods."""

    link: Proposition
    periods: list[Period]


def _claim(tx: Transaction, place: tuple[str, str, str], claimed: Period) -> None:
    """Take a period of a link from the other values of its subject."""
    new = tx.get_edge(*place)
    if new is None:
        return
    rivals = _rivals(tx, new)
    begins_now = claimed.valid_from is None and tx.time_us < claimed.until_us
    begin = times.to_text(tx.time_us) if begins_now else claimed.valid_from
    effective = Period(begin, claimed.valid_until)
    since_us, until_us = effective.since_us, effective.until_us
    begins = {period.since_us: period.valid_from for rival in rivals for period in rival.periods}
    later_us = min((us for us in begins if since_us < us < until_us), default=None)
    if later_us is not None:
        effective = Period(begin, begins[later_us])
    has_own_end = effective.valid_until is not None and effective.until_us not in begins
    has_ended = [
        _give_way(tx, new, rival, effective, rivals, has_own_end=has_own_end) for rival in rivals
    ]
    changed = Period(begin if any(has_ended) else claimed.valid_from, effective.valid_until)
    if changed != claimed:
        present, former = present_period(_dates(new)), former_periods(new.metadata)
        if claimed == present:
            write_periods(tx, new, changed, former)
        else:
            remaining = [changed if period == claimed else period for period in former]
            write_periods(tx, new, present, remaining)


def _give_way(
    tx: Transaction,
    new: Proposition,
    rival: _Rival,
    effective: Period,
    rivals: list[_Rival],
    *,
    has_own_end: bool,
) -> bool:
    """End the periods of a rival in which `effective` begins. Returns True if there is one.

    With `has_own_end`, the rival holds again from the end of `effective` on.
    """
    other = rival.link
    since_us, until_us = effective.since_us, effective.until_us
    periods: list[Period] = []
    has_ended = False
    for period in rival.periods:
        begins_us, ends_us = period.since_us, period.until_us
        is_split = has_own_end and until_us < ends_us
        rest = [Period(effective.valid_until, period.valid_until)] if is_split else []
        if begins_us < since_us < ends_us:
            has_ended = True
            periods += [Period(period.valid_from, effective.valid_from), *rest]
        elif begins_us == since_us and (rest or _resumes(rival, since_us, rivals)):
            periods += rest
        else:
            periods.append(period)
            continue
        if rest:
            tx.warnings.append(
                f"{new.id} holds until {effective.valid_until}, within the time of {other.id}."
                f" That holds again from then on; if it has ended, give it a valid_until."
            )
    if periods != rival.periods:
        present = present_period(_dates(other))
        if present.is_empty:
            write_periods(tx, other, present, periods)
        else:
            write_periods(tx, other, periods[-1], periods[:-1])
    if any(period.overlaps(effective) for period in periods):
        _warn_both(tx, new, other, effective)
    return has_ended


def _resumes(rival: _Rival, since_us: int, rivals: list[_Rival]) -> bool:
    """True if a link holds from a time on because a stand-in for it ended then."""
    ends = {period.until_us for period in rival.periods}
    return any(
        period.until_us == since_us and period.since_us in ends
        for third in rivals
        if third is not rival
        for period in third.periods
    )


def _rivals(tx: Transaction, link: Proposition) -> list[_Rival]:
    """The other values of the subject."""
    return [
        _Rival(other, all_periods(_dates(other)))
        for other in tx.reader.touching_links(link.ends[0])
        if other.number != link.number
        and other.predicate == link.predicate
        and other.subject == link.subject
        and other.metadata.get(ARCHIVED_AT) is None
    ]


def _warn_rivals(tx: Transaction, place: tuple[str, str, str]) -> None:
    """Warn about values that overlap one which has moved, or whose dates were corrected."""
    link = tx.get_edge(*place)
    if link is None or link.metadata.get(ARCHIVED_AT) is not None:
        return
    overlaps = (
        (rival.link, period)
        for rival in _rivals(tx, link)
        for period in all_periods(_dates(link))
        if any(map(period.overlaps, rival.periods))
    )
    for other, period in islice(overlaps, NAMED_MAX):
        _warn_both(tx, link, other, period)


def _warn_both(tx: Transaction, one: Proposition, other: Proposition, period: Period) -> None:
    """Warn about two values of which none gives way, once for both."""
    links = sorted((one, other), key=lambda link: link.number)
    sentences = [f"{link_text(tx.reader, link)} ({link.id})" for link in links]
    warning = (
        f"{' and '.join(sentences)} both hold {period.words}, but {one.predicate} has one value"
        " at a time. End one with a valid_until; otherwise a cycle asks which one is right."
    )
    if warning not in tx.warnings:
        tx.warnings.append(warning)
