"""Weights from use: followed links become cheaper, and dearer again without use.

This is an option of the graph: the attribute `weights_from_use` of the Person `$system` is true.
Only a cycle changes weights. Each change is journaled with its reason, and weights stay between
`LEAST` and 1. The metadata `weight_from_use` of a link has the weight that upkeep gave it. If the
weight of a link differs, somebody has set it, and upkeep never changes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from mycel.model.elements import Proposition
from mycel.store.file.use_counts import Followed
from mycel.store.query import retention
from mycel.store.query.reader import Reader

OPTION: Final = "weights_from_use"
MARK: Final = "weight_from_use"
LEAST: Final = 0.5
FOLLOWED_MIN: Final = 3
"""The least number of uses between two cycles by which a link becomes cheaper."""
CHEAPER: Final = 0.1
DEARER: Final = 0.05
_DECIMALS: Final = 2


class WeightChange(NamedTuple):
    """The new weight of a link, and the reason."""

    number: int
    weight: float
    reason: str


def weight_changes(reader: Reader, followed: Mapping[Followed, int]) -> dict[int, WeightChange]:
    """The changes of weights due to the use of links since the last cycle, by link."""
    changes: dict[int, WeightChange] = {}
    used: set[int] = set()
    for (subject, predicate, object_), uses in sorted(followed.items()):
        link = reader.find_link(subject, predicate, object_)
        if link is None or uses < FOLLOWED_MIN or not is_own(link):
            continue
        used.add(link.number)
        weight = round(max(LEAST, link.weight - CHEAPER), _DECIMALS)
        if weight < link.weight:
            reason = f"followed {uses} times since the last cycle"
            changes[link.number] = WeightChange(link.number, weight, reason)
    for number in retention.links_marked(reader, MARK):
        link = reader.link(number)
        if link is None or number in used or not is_own(link) or link.weight >= 1:
            continue
        weight = round(min(1.0, link.weight + DEARER), _DECIMALS)
        changes[number] = WeightChange(number, weight, "not followed since the last cycle")
    return changes


def is_own(link: Proposition) -> bool:
    """True if nobody has set the weight of a link: it is the default, or upkeep set it."""
    mark = link.metadata.get(MARK)
    return link.weight == (1.0 if mark is None else mark)
