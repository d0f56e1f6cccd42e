"""Merges the periods in which an element holds, when both sides have changed them.

Periods are merged as sets of times: an element holds at a time if a side has made it so, and does
not if a side has ended that; where no side has changed anything, it is as in the base. A time has
no third answer, so this never is a conflict. Where an element has no former periods and the present
ones of both sides overlap, `valid_from` and `valid_until` are merged each for itself
(`rules.earliest`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from mycel.history.merge.values import UNKNOWN
from mycel.history.merge.versions import Values
from mycel.model.limits import INTEGER_MAX
from mycel.model.periods import (
    PERIOD_KEYS,
    Period,
    all_periods,
    former_periods,
    present_period,
    unite,
    with_periods,
)
from mycel.model.values import JsonObject
from mycel.store.query.diff import ABSENT


def merged_periods(base: Values, ours: Values, theirs: Values) -> JsonObject | None:
    """The metadata that says when the merged element holds; None to merge each key for itself.

    `base` is empty if both sides have made the element.
    """
    old, own, other = (_metadata(values) for values in (base, ours, theirs))
    if own == other or (base and old in (own, other)):
        return None
    has_former = any(former_periods(metadata) for metadata in (old, own, other))
    if not has_former and present_period(own).overlaps(present_period(other)):
        return None
    before, one, another = (all_periods(metadata) for metadata in (old, own, other))
    if not base or any(base.get(("metadata", key)) is UNKNOWN for key in PERIOD_KEYS):
        before = []  # Nothing counts as ended if it is not known what there was.
    periods = _merged(before, one, another)
    return with_periods({}, periods[-1], periods[:-1]) if periods else None


def _metadata(values: Values) -> Mapping[str, Any]:
    entries = {key: values.get(("metadata", key), ABSENT) for key in PERIOD_KEYS}
    return {key: value for key, value in entries.items() if value not in (ABSENT, UNKNOWN)}


def _merged(
    base: Sequence[Period], ours: Sequence[Period], theirs: Sequence[Period]
) -> list[Period]:
    ends: dict[int, str | None] = {-INTEGER_MAX: None, INTEGER_MAX: None}
    for period in (*base, *ours, *theirs):
        ends.setdefault(period.since_us, period.valid_from)
        ends.setdefault(period.until_us, period.valid_until)

    def holds(begin: int) -> bool:
        was, is_ours, is_theirs = (
            any(period.holds_at(begin) for period in periods) for periods in (base, ours, theirs)
        )
        return is_theirs if is_ours == was else is_ours

    return unite(
        Period(ends[begin], ends[end]) for begin, end in pairwise(sorted(ends)) if holds(begin)
    )
