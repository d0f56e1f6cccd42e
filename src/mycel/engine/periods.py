"""Writes the periods of elements that a guard or a merge has computed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mycel.model.elements import Element
from mycel.model.periods import FORMER_PERIODS, Period, former_periods, present_period
from mycel.model.values import JsonObject
from mycel.store.write.transaction import Transaction


def write_periods(
    tx: Transaction,
    element: Element,
    present: Period,
    former: Sequence[Period],
    *,
    attributes: JsonObject | None = None,
    metadata: JsonObject | None = None,
    drop: Iterable[str] = (),
) -> None:
    """Give an element these periods, in place of those that it has.

    `attributes`, `metadata` and `drop` are other changes in the same write. Meanwhile the number of
    the element is in `memo`: these periods take no time from other values.
    """
    own = element.metadata
    old, new = present_period(own).to_json(), present.to_json()
    changes = {**(metadata or {})}
    changes |= {key: end for key, end in new.items() if old.get(key) != end}
    dropped = [*drop, *(old.keys() - new.keys())]
    # The key is always written, so that the write is taken as it is (`model.periods`).
    if FORMER_PERIODS in own and list(former) == former_periods(own):
        changes[FORMER_PERIODS] = own[FORMER_PERIODS]
    elif former:
        changes[FORMER_PERIODS] = [period.to_json() for period in former]
    else:
        dropped.append(FORMER_PERIODS)
    tx.memo[write_periods] = element.number
    try:
        tx.update_found(element, attributes=attributes, metadata=changes, drop_metadata=dropped)
    finally:
        del tx.memo[write_periods]
