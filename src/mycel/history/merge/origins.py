"""Finds the origins of the values that a merge takes over; its commit keeps them.

A value of the source keeps its origin. A value made from both sides, such as a text or a set, gets
the later of both origins. A value that a decision gave has no origin of its own: it counts as
written by the author of the merge commit.
"""

from __future__ import annotations

from collections.abc import Mapping

from mycel.history.merge.edits import EditSides
from mycel.history.merge.merge_plan import MergePlan
from mycel.history.merge.sides import BranchSides
from mycel.history.merge.values import equal_values
from mycel.history.merge.versions import Place, Values, values_of
from mycel.history.state_steps import Goal
from mycel.store.query.diff import ABSENT
from mycel.store.query.origins import EVERYWHERE, Origin

OriginsByPlace = Mapping[str, Origin]
_FIELDS = ("attributes", "metadata", "weight")


def merged_origins(sides: BranchSides | EditSides, plan: MergePlan) -> Mapping[int, OriginsByPlace]:
    """For each element, by its number in the plan: the origins of the values that it gets."""
    goals = {
        goal.then.number: goal
        for goal in plan.goals
        if goal.then is not None and plan.theirs_of(goal.then.number) is not None
    }
    sources = {number: plan.source_of(number) for number in goals}
    once = sides.written_once(sources.values())
    origins: dict[int, OriginsByPlace] = {}
    for number, goal in goals.items():
        origin = once.get(sources[number])
        places = _places(sides, plan, goal, number, origin)
        if places:
            origins[number] = places
    return origins


def _places(
    sides: BranchSides | EditSides, plan: MergePlan, goal: Goal, number: int, once: Origin | None
) -> OriginsByPlace:
    """The origins of the values that an element gets; one entry if all are the same."""
    theirs = plan.theirs_of(number)
    if goal.then is None or theirs is None:
        return {}
    source = plan.source_of(number)
    base = plan.bases.get(source)
    if base is None and goal.now is None and once is not None and not plan.given:
        return {EVERYWHERE: once}
    old = {} if goal.now is None else _contents(values_of(goal.now))
    new, others = _contents(values_of(goal.then)), _contents(values_of(theirs))
    before = {} if base is None else base.values
    changed = [
        place for place, value in new.items() if not equal_values(value, old.get(place, ABSENT))
    ]
    origins: dict[str, Origin] = {}
    for place in changed:
        their_value = others.get(place, ABSENT)
        is_theirs = equal_values(new[place], their_value)
        if not is_theirs and (number, place) in plan.given:
            continue
        is_changed = not equal_values(their_value, before.get(place, ABSENT))
        origin = once if once and is_changed else sides.origin("theirs", source, place)
        if not is_theirs:
            origin = max(origin, sides.origin("ours", number, place))
        origins[".".join(place)] = origin
    if len(origins) == len(changed) and len({*origins.values()}) == 1:
        return {EVERYWHERE: next(iter(origins.values()))}
    return origins


def _contents(values: Values) -> dict[Place, object]:
    return {place: value for place, value in values.items() if place[0] in _FIELDS}
