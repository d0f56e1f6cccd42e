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
it to `former_periods`. Other changes of `valid_from` and `valid_until` are corrections:

5. If another value ended where the period began, or begins where it ended, that time is corrected
   for both, and a warning says so. If the other value would hold at no time then, it stays.
6. A beginning that moves back over the beginning of another value is no correction. The link holds
   from its old beginning, and in a further period from the given time until that other value.

Nothing else moves other values: no written `former_periods`, no merge of two subjects, and no
archived link that is restored. If values then overlap, a warning names both, and a cycle asks about
them.

Each write sees the effects of those before it, also in one transaction: the periods of a subject
and predicate are settled before the next write to one of its links. States of the history (merges
of branches, reverts) are written together and settled at the commit, without the rules 5 and 6.

A graph has one link per predicate between two elements, so a former value returns as its old link:
a command gives that link a `valid_from` after its end. Without a later `valid_from` the link stays
ended, so a command may be repeated; a warning says that the link has ended (`warn_ended`).

This guard also gives the warnings about periods that a write kept, for links with any predicate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, NamedTuple

import orjson

from mycel.engine.due import link_text
from mycel.engine.periods import write_periods
from mycel.errors import ConstraintViolation
from mycel.model import times
from mycel.model.elements import Proposition
from mycel.model.names import count, name_few, shorten
from mycel.model.periods import (
    ALWAYS,
    FORMER_PERIODS,
    VALID_FROM,
    VALID_UNTIL,
    Period,
    all_periods,
    dated,
    former_periods,
    former_words,
    present_period,
    unite,
)
from mycel.model.values import JsonObject, parse_object
from mycel.store.file.layout import PROPOSITION_TYPE_NUMBER
from mycel.store.index.lifetimes import ARCHIVED_AT
from mycel.store.write.guards import Change
from mycel.store.write.transaction import Transaction

FUNCTIONAL: Final = "functional"
NAMED_MAX: Final = 3
"""The maximum number of links whose kept periods are named."""
LISTED_MAX: Final = 20
"""The maximum number of other links that one warning lists."""
REMOVALS_MAX: Final = 100
"""The maximum number of removed links in a transaction whose neighbours are looked up."""


def is_functional(attributes: JsonObject) -> bool:
    """True if the definition of a predicate allows one value for a subject at a time."""
    return attributes.get(FUNCTIONAL) is True


@dataclass(slots=True)
class _Writes:
    """Writes of a transaction to one link that are not settled yet."""

    new: list[Period] = field(default_factory=list)
    has_moved: bool = False
    """True if the link has other dates or another subject."""
    corrected: Period | None = None
    """The present period before a correction that may move other values."""
    shortened: Mapping[str, Any] | None = None
    """The metadata before the first part of the present period was lost."""


_Pending = dict[tuple[str, str], dict[str, _Writes]]
"""The writes to settle, by subject and predicate, and by object."""


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
        """Note the new periods of a link; the number of a new link is not known yet.

        Raises:
            ConstraintViolation: a new `valid_from` or `valid_until` is no time.
        """
        if isinstance(change.name_or_ends, str):
            return
        if change.kind == "retire" or _is_archived_by(change):
            _note_removal(tx, change)
            return
        if change.number is not None and tx.memo.get(write_periods) == change.number:
            return
        if not tx.restores:
            _check_times(change)
        subject, object_ = change.name_or_ends
        new, has_moved = _new_periods(change), _has_moved(change)
        is_shortened = _is_shortened(change, tx.time_us)
        if not (new or has_moved or is_shortened):
            return
        pending: _Pending = tx.memo.setdefault(FunctionalGuard, {})
        place = pending.setdefault((subject, change.type_or_predicate), {})
        writes = place.setdefault(object_, _Writes())
        writes.new += new
        writes.has_moved |= has_moved and not new
        if isinstance(change.before, Proposition):
            if not tx.restores and not new and _is_correction(change):
                writes.corrected = present_period(_dates(change.before))
            if is_shortened and writes.shortened is None:
                writes.shortened = _dates(change.before)

    def settle(self, tx: Transaction, predicate: str, subject: int) -> bool:
        """Settle earlier writes to links of a subject and predicate, unless it is done at once."""
        pending: _Pending | None = tx.memo.get(FunctionalGuard)
        if tx.restores or pending is None:
            return False
        place = tx.reader.outer_id(subject), predicate
        written_places: set[tuple[str, str]] = tx.memo.setdefault(_settle, set())
        if place in pending and _settle(tx, place, pending.pop(place)):
            written_places.add(place)
        return place in written_places

    def check_commit(self, tx: Transaction) -> None:
        """Take the time of new periods from other values, for one link after the other."""
        for place, links in tx.memo.pop(FunctionalGuard, {}).items():
            _settle(tx, place, links)
        tx.memo.pop(_settle, None)
        _warn_kept(tx, tx.memo.pop(FORMER_PERIODS, ()))
        _warn_removed(tx, tx.memo.pop(_warn_removed, ()))


def _settle(tx: Transaction, place: tuple[str, str], links: Mapping[str, _Writes]) -> bool:
    """Take times from other values, and correct them. Returns True if anything was written."""
    position = tx.position
    subject, predicate = place
    places = {object_: (subject, predicate, object_) for object_ in links}
    for object_, writes in links.items():
        link = _live_link(tx, places[object_])
        if link is None:
            continue
        if writes.corrected is not None:
            _correct(tx, link, writes)
            link = tx.get_edge(*places[object_]) or link
        for claimed in all_periods(_dates(link)):
            if any(period.overlaps(claimed) for period in writes.new):
                _claim(tx, places[object_], claimed)
    for object_, writes in links.items():
        if writes.has_moved:
            _warn_rivals(tx, places[object_])
        if writes.shortened is not None:
            _warn_shortened(tx, places[object_], writes.shortened)
    return tx.position != position


def _live_link(tx: Transaction, place: tuple[str, str, str]) -> Proposition | None:
    """The link at a place, unless it is archived."""
    link = tx.get_edge(*place)
    return None if link is None or link.metadata.get(ARCHIVED_AT) is not None else link


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
    if before.metadata.get(ARCHIVED_AT) is not None and after.get(ARCHIVED_AT) is None:
        return True
    return all_periods(_dates(before)) != all_periods(after)


def _check_times(change: Change) -> None:
    """Refuse a new `valid_from` or `valid_until` that is no time: it would count as open."""
    before = {} if change.before is None else change.before.metadata
    for key in (VALID_FROM, VALID_UNTIL):
        value = change.metadata.get(key)
        if value is not None and value != before.get(key) and not times.is_time(value):
            raise ConstraintViolation(
                f"The {key} {shorten(orjson.dumps(value).decode())} is not a time, and"
                f" {change.type_or_predicate} has one value at a time, so it would end another.",
                hint='Write an ISO 8601 date or time, such as "2023-07-31", "2023-07" or "2023".',
            )


def _is_correction(change: Change) -> bool:
    """True if a write corrects the present period, and says nothing about former ones."""
    before, after = change.before, dated(change.attributes, change.metadata)
    if not isinstance(before, Proposition) or change.kind != "update":
        return False
    return (
        (before.subject, before.object) == change.name_or_ends
        and before.metadata.get(FORMER_PERIODS) == after.get(FORMER_PERIODS)
        and present_period(_dates(before)).overlaps(present_period(after))
    )


def _correct(tx: Transaction, link: Proposition, writes: _Writes) -> None:
    """Move the times that other values share with a corrected period (rules 5 and 6)."""
    old, new = writes.corrected or ALWAYS, present_period(_dates(link))
    rivals = _rivals(tx, link)
    begins = {
        period.since_us: period.valid_from
        for rival in rivals
        for period in rival.periods
        if new.since_us < period.since_us < old.since_us
    }
    if begins and new.valid_from is not None:
        further = Period(new.valid_from, begins[min(begins)])
        new = Period(old.valid_from, new.valid_until)
        former = unite([*former_periods(link.metadata), further])
        write_periods(tx, link, new, former)
        tx.memo.setdefault(FORMER_PERIODS, {})[link.number] = None
        writes.new.append(further)
    for rival in rivals:
        others = [period for third in rivals if third is not rival for period in third.periods]
        periods = [_shared(period, old, new, others) for period in rival.periods]
        if periods == rival.periods:
            continue
        for before, after in zip(rival.periods, periods, strict=True):
            if before.valid_until != after.valid_until:
                tx.warnings.append(
                    f"{link_text(tx.reader, rival.link)} ({rival.link.id}) ended where {link.id}"
                    f" began, so it holds until {after.valid_until} now, not until"
                    f" {before.valid_until}."
                )
                writes.shortened = None
            if before.valid_from != after.valid_from:
                tx.warnings.append(
                    f"{link_text(tx.reader, rival.link)} ({rival.link.id}) began where {link.id}"
                    f" ended, so it holds from {after.valid_from} now, not from"
                    f" {before.valid_from}."
                )
        _write_all(tx, rival.link, periods)


def _shared(period: Period, old: Period, new: Period, others: list[Period]) -> Period:
    """A period of another value, with the times that it shares with a corrected one."""
    moved = period
    if period.until_us == old.since_us != new.since_us and new.valid_from is not None:
        moved = moved._replace(valid_until=new.valid_from)
    if period.since_us == old.until_us != new.until_us and new.valid_until is not None:
        moved = moved._replace(valid_from=new.valid_until)
    is_taken = any(moved.overlaps(other) and not period.overlaps(other) for other in others)
    return period if moved.is_empty or is_taken else moved


def _write_all(tx: Transaction, link: Proposition, periods: list[Period]) -> None:
    """Give a link these periods, of which the last one is the present one unless that is empty."""
    present = present_period(_dates(link))
    if present.is_empty:
        write_periods(tx, link, present, periods)
    else:
        write_periods(tx, link, periods[-1], periods[:-1])


def _is_archived_by(change: Change) -> bool:
    return (
        change.metadata.get(ARCHIVED_AT) is not None
        and change.before is not None
        and change.before.metadata.get(ARCHIVED_AT) is None
    )


def _note_removal(tx: Transaction, change: Change) -> None:
    noted = tx.memo.setdefault(_warn_removed, [])
    if isinstance(change.before, Proposition) and not tx.restores and len(noted) < REMOVALS_MAX:
        noted.append(change.before)


def _warn_removed(tx: Transaction, removed: Iterable[Proposition]) -> None:
    """Name the values that ended where a removed value began, and stay ended without it."""
    warned = 0
    for link in removed:
        if not tx.is_live(link.ends[0]):
            continue
        rivals = _rivals(tx, link)
        begins = {period.since_us for rival in rivals for period in rival.periods}
        times_ = {period.since_us: period for period in all_periods(_dates(link))}
        for rival in rivals:
            last = rival.periods[-1] if rival.periods else ALWAYS
            if last.until_us not in times_ or last.until_us in begins or warned >= NAMED_MAX:
                continue
            warned += 1
            until = times_[last.until_us].valid_until
            tx.warnings.append(
                f"{link_text(tx.reader, rival.link)} ({rival.link.id}) ended at {last.valid_until},"
                f" where {link.id} began, and stays ended without it. If it still held then, write"
                f" its metadata valid_until: {orjson.dumps(until).decode()}. If {link.id} was never"
                " true, reverting the commit that wrote it does both."
            )


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
    if others := [link.id for link in links[NAMED_MAX:]]:
        verb = "So does" if len(others) == 1 else "So do"
        tx.warnings.append(
            f"{verb} {count(len(others), 'other link')}: {name_few(others, LISTED_MAX)}."
        )


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
        if claimed.valid_until is not None:
            _warn_bounded(tx, new, rivals, claimed, later_us)
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


def _warn_bounded(
    tx: Transaction, new: Proposition, rivals: list[_Rival], claimed: Period, later_us: int
) -> None:
    """Warn that a stated end gives way to a value that begins before it."""
    for rival in rivals:
        for period in rival.periods:
            if period.since_us == later_us:
                tx.warnings.append(
                    f"{link_text(tx.reader, new)} ({new.id}) holds until {period.valid_from}, not"
                    f" until {claimed.valid_until} as written, because"
                    f" {link_text(tx.reader, rival.link)} ({rival.link.id}) begins then. If that"
                    " begins later, correct its valid_from."
                )


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
        _write_all(tx, other, periods)
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
