"""The periods in which an element holds, by its metadata.

An element has a present period, from `valid_from` until `valid_until`, and may have former ones in
`former_periods`, a list of objects with these two keys, sorted by time:

    {valid_from: "2024-01-01",
     former_periods: [{valid_from: "2019-01-01", valid_until: "2021-03-01"}]}

It holds at a time that is in any of them. A beginning or end that is missing is open; a period
that ends before it begins is empty. The present period is the latest one.

`keep_former` is the rule for writes that merge keys into the metadata of a link:

1. A period that overlaps the present one corrects it.
2. A period that has nothing in common with it is another one. The link holds in both: the later
   one is its present period, the other one is kept among the former ones.
3. A `valid_from` alone that is after the end of the present period says that the link holds again,
   without an end.
4. A `valid_from` or `valid_until` alone that is within a former period repeats what is known, and
   changes nothing, so that commands may be repeated.
5. A write that gives or drops `former_periods` itself is taken as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from mycel.model import times
from mycel.model.limits import INTEGER_MAX
from mycel.model.values import JsonObject

VALID_FROM: Final = "valid_from"
VALID_UNTIL: Final = "valid_until"
FORMER_PERIODS: Final = "former_periods"
PERIOD_KEYS: Final = (VALID_FROM, VALID_UNTIL, FORMER_PERIODS)


class Period(NamedTuple):
    """A period, with its ends as they were written; None where it is open."""

    valid_from: str | None = None
    valid_until: str | None = None

    @property
    def since_us(self) -> int:
        return -INTEGER_MAX if self.valid_from is None else times.from_text(self.valid_from)

    @property
    def until_us(self) -> int:
        return INTEGER_MAX if self.valid_until is None else times.from_text(self.valid_until)

    @property
    def is_empty(self) -> bool:
        return self.until_us <= self.since_us

    @property
    def is_dated(self) -> bool:
        return self != ALWAYS

    @property
    def words(self) -> str:
        """The period in words.

        >>> Period("2019-01-01", "2021-03-01").words
        'from 2019-01-01 until 2021-03-01'
        """
        pairs = (("from", self.valid_from), ("until", self.valid_until))
        return " ".join(f"{word} {end}" for word, end in pairs if end) or "without dates"

    def holds_at(self, time_us: int) -> bool:
        return self.since_us <= time_us < self.until_us

    def overlaps(self, other: Period) -> bool:
        """True if the two have some time in common."""
        return max(self.since_us, other.since_us) < min(self.until_us, other.until_us)

    def is_within(self, other: Period) -> bool:
        return other.since_us <= self.since_us and self.until_us <= other.until_us

    def to_json(self) -> JsonObject:
        """The period as metadata, without the ends that are open."""
        pairs = ((VALID_FROM, self.valid_from), (VALID_UNTIL, self.valid_until))
        return {key: end for key, end in pairs if end is not None}


ALWAYS: Final = Period()


def present_period(metadata: Mapping[str, Any]) -> Period:
    """The present period; an end that is no time is open."""
    since, until = (metadata.get(key) for key in (VALID_FROM, VALID_UNTIL))
    return Period(since if times.is_time(since) else None, until if times.is_time(until) else None)


def former_periods(metadata: Mapping[str, Any]) -> list[Period]:
    """The former periods, sorted and united; entries that are no periods are left out."""
    return read_periods(metadata.get(FORMER_PERIODS))


def dated(attributes: Mapping[str, Any], metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """The metadata, with the ends that only the attributes have: `FOR TIME` reads both."""
    ends = {
        key: end
        for key in (VALID_FROM, VALID_UNTIL)
        if metadata.get(key) is None and (end := attributes.get(key)) is not None
    }
    return {**metadata, **ends} if ends else metadata


def read_periods(value: object) -> list[Period]:
    """The periods in a value of `former_periods`, sorted and united."""
    if not isinstance(value, list):
        return []
    return unite(present_period(entry) for entry in value if not entry_doubt(entry))


def all_periods(metadata: Mapping[str, Any]) -> list[Period]:
    """The former periods, and the present one last, unless it is empty."""
    present = present_period(metadata)
    return [*former_periods(metadata), *([] if present.is_empty else [present])]


def holds_at(metadata: Mapping[str, Any], time_us: int) -> bool:
    """True if an element with this metadata holds at a time."""
    return any(period.holds_at(time_us) for period in all_periods(metadata))


def former_words(metadata: Mapping[str, Any]) -> str:
    """The former periods in words; empty if there are none.

    >>> former_words({"former_periods": [{"valid_until": "2021-03-01"}, {"valid_from": "soon"}]})
    'also held until 2021-03-01'
    """
    if metadata.get(FORMER_PERIODS) is None:
        return ""
    periods = former_periods(metadata)
    return "also held " + ", and ".join(period.words for period in periods) if periods else ""


def unite(periods: Iterable[Period]) -> list[Period]:
    """Periods sorted by time; those that overlap or touch become one, and empty ones are dropped.

    >>> [
    ...     period.words
    ...     for period in unite([Period("2021-01-01"), Period("2019-01-01", "2021-01-01")])
    ... ]
    ['from 2019-01-01']
    """
    united: list[Period] = []
    for period in sorted(periods, key=lambda period: (period.since_us, period.until_us)):
        if period.is_empty:
            continue
        if united and period.since_us <= united[-1].until_us:
            last = max(united[-1], period, key=lambda period: period.until_us)
            united[-1] = Period(united[-1].valid_from, last.valid_until)
        else:
            united.append(period)
    return united


def without(periods: Iterable[Period], others: Collection[Period]) -> list[Period]:
    """The parts of periods that are in none of the others.

    >>> [part.words for part in without([Period("2020")], [Period("2021", "2022")])]
    ['from 2020 until 2021', 'from 2022']
    """
    parts = list(periods)
    for other in others:
        parts = [piece for part in parts for piece in _pieces(part, other)]
    return parts


def _pieces(part: Period, other: Period) -> Iterator[Period]:
    if not part.overlaps(other):
        yield part
        return
    if part.since_us < other.since_us:
        yield Period(part.valid_from, other.valid_from)
    if other.until_us < part.until_us:
        yield Period(other.valid_until, part.valid_until)


def with_periods(metadata: JsonObject, present: Period, former: Iterable[Period]) -> JsonObject:
    """Metadata with other periods. Keys that say nothing are left out."""
    changed = {key: value for key, value in metadata.items() if key not in PERIOD_KEYS}
    changed |= present.to_json()
    if entries := [period.to_json() for period in former]:
        changed[FORMER_PERIODS] = entries
    return changed


def keep_former(before: JsonObject, after: JsonObject, written_keys: Collection[str]) -> JsonObject:
    """The metadata of a link after a write of some keys, with the periods that it had."""
    if FORMER_PERIODS in written_keys or (
        VALID_FROM not in written_keys and VALID_UNTIL not in written_keys
    ):
        return after
    old, new, former = present_period(before), present_period(after), former_periods(before)
    if (old.since_us, old.until_us) == (new.since_us, new.until_us):
        return after
    begins_alone = VALID_UNTIL not in written_keys and new.valid_from is not None
    ends_alone = VALID_FROM not in written_keys and new.valid_until is not None
    if (begins_alone and any(period.holds_at(new.since_us) for period in former)) or (
        ends_alone
        and new.is_empty
        and any(period.since_us < new.until_us <= period.until_us for period in former)
    ):
        others = {
            key: value for key, value in after.items() if key not in (VALID_FROM, VALID_UNTIL)
        }
        return others | {key: before[key] for key in (VALID_FROM, VALID_UNTIL) if key in before}
    if begins_alone and new.is_empty and not old.is_empty:
        new = Period(new.valid_from)
    if old.is_empty or new.is_empty or old.overlaps(new):
        return after
    earlier, latest = sorted((old, new), key=lambda period: period.since_us)
    former = [one for one in unite([*former, earlier]) if not one.is_within(latest)]
    return with_periods(after, latest, former)


def period_doubts(value: object) -> Iterator[str]:
    """A sentence for each mistake in a value of `former_periods`."""
    if value is None:
        return
    if not isinstance(value, list):
        yield "is no list of periods"
        return
    for entry in value:
        if doubt := entry_doubt(entry):
            yield doubt


def entry_doubt(entry: object) -> str:
    """The mistake in one of the former periods; empty if there is none."""
    if not isinstance(entry, dict) or entry.keys() - {VALID_FROM, VALID_UNTIL}:
        return "has an entry that is no object with valid_from and valid_until alone"
    ends = [end for end in entry.values() if end is not None]
    if not ends or not all(map(times.is_time, ends)):
        return "has an entry with a time that is not ISO 8601, or without any"
    return "has an entry that ends before it begins" if present_period(entry).is_empty else ""
