"""Merges one element: identity, attributes, metadata and weight, each by its own rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from mycel.history.merge.outcome import Choice, Conflict, ConflictKind, Resolution, conflict_id
from mycel.history.merge.periods import merged_periods
from mycel.history.merge.rules import Evidence, Rules, Side, Verdict, by_policy, earliest, newest
from mycel.history.merge.sequences import Region
from mycel.history.merge.values import (
    UNKNOWN,
    Contest,
    combine,
    equal_values,
    merge_sets,
    settle,
    with_lines,
)
from mycel.history.merge.versions import (
    WEIGHT,
    Base,
    Place,
    Values,
    Versions,
    content_of,
    equal,
    keys_of,
    values_of,
    version_json,
    with_values,
)
from mycel.model.elements import Concept, Element
from mycel.model.names import SYSTEM_ACTOR
from mycel.model.periods import PERIOD_KEYS, VALID_FROM, VALID_UNTIL
from mycel.store.query.diff import ABSENT, identity_of
from mycel.store.query.origins import Origin
from mycel.store.query.retention import CYCLE_STATE

SOURCES: Final = ("source", "sources", "evidence")
"""The metadata keys whose values are united."""

_OF_CYCLES: Final = {"last_sleep_cycle": "max", "maintenance_log": "set"}
"""The policies for the attributes of `$system` that each cycle writes."""

_REASONS: Final[dict[str, str]] = {
    "value": "Both sides gave it different values.",
    "text": "Both sides changed the same lines.",
    "array": "Both sides changed the same place of the list.",
    "move_move": "Both sides moved it, to different places.",
    "element": "Both sides changed it, and elements are merged as a whole.",
}


class MergeContext(NamedTuple):
    """The rules, decisions and look-ups that the merges of all elements share."""

    rules: Rules
    resolutions: Mapping[str, Resolution]
    names: Mapping[int, Element]
    """Elements by number, for the names at the ends of links."""
    declared: Callable[[str], Mapping[str, str]]
    """The merge policies in the definition of a type or predicate, by attribute."""
    origin: Callable[[str, int, Place], Origin]
    """The origin of a value, by side, element and place."""
    commits: tuple[str, str]
    """The commits that are merged: ours and theirs."""
    by_element: bool
    """True if an element is merged as a whole instead of value by value."""


class ElementMerge:
    """The merge of one element. It gathers conflicts and choices on the way."""

    def __init__(self, context: MergeContext, versions: Versions) -> None:
        self.conflicts: Final[list[Conflict]] = []
        self.choices: Final[list[Choice]] = []
        self.given: Final[set[Place]] = set()
        """The places whose values decisions gave."""
        self._context: Final = context
        self._versions: Final = versions
        self._identity: Final = identity_of(versions.element, context.names)
        element = versions.element
        self._kind: Final = element.type if isinstance(element, Concept) else element.predicate
        """The type of a concept, or the predicate of a link."""
        self._is_system: Final = isinstance(element, Concept) and element.name == SYSTEM_ACTOR
        self._decided: Final[set[Side]] = set()
        """The sides whose values were chosen so far."""

    def run(self) -> Element | None:
        """The merged element; None if the merge removes it."""
        merged, ours = self._run(), self._versions.ours
        if not self._is_system or merged is None or ours is None:
            return merged
        # The state of cycles has numbers of elements, which differ between branches.
        state = {("metadata", CYCLE_STATE): ours.metadata.get(CYCLE_STATE, ABSENT)}
        return with_values(merged, values_of(merged) | state, merged.number)

    def _run(self) -> Element | None:
        base, ours, theirs = self._versions[1:]
        if ours is None or theirs is None:
            return self._with_removal(base, ours, theirs)
        if content_of(ours) == content_of(theirs) and not self._counts():
            return ours
        if base is None and self._context.by_element:
            return self.choose_element("element", _REASONS["element"])
        if base is not None:
            if base.is_content_of(theirs):
                return ours
            if base.is_content_of(ours):
                return theirs._replace(number=ours.number)
            if self._context.by_element:
                return self.choose_element("element", _REASONS["element"])
        old = {} if base is None else base.values
        return with_values(ours, self._merged(old, values_of(ours), values_of(theirs)), ours.number)

    def _counts(self) -> bool:
        """True if an attribute is a counter, for which two equal changes count twice."""
        return "counter" in self._context.declared(self._kind).values()

    def choose_element(
        self, kind: ConflictKind, reason: str, suggestion: str | None = None
    ) -> Element | None:
        """Make a conflict about the whole element. Returns the chosen version; ours at first."""
        _, ours, theirs = self._versions[1:]
        base = self.base_element()
        names = self._context.names
        versions = [version_json(element, names) for element in (base, ours, theirs)]
        conflict = self._conflict(kind, "", (), *versions, reason=reason)
        self.conflicts.append(conflict._replace(suggestion=suggestion))
        resolution = conflict.resolution
        if resolution is not None and resolution.choice == "value" and resolution.value:
            for field in ("attributes", "metadata"):
                self.given.update((field, key) for key in resolution.value.get(field, {}))
            self.given.add(WEIGHT)
        return chosen_element(conflict.resolution, base, ours, theirs, self._versions.number)

    # Elements that one side has removed.

    def _with_removal(
        self, base: Base | None, ours: Element | None, theirs: Element | None
    ) -> Element | None:
        left = theirs if ours is None else ours
        if base is None or left is None:
            return left
        if base.is_content_of(left) or equal(
            _without_metadata(values_of(left)), _without_metadata(base.values)
        ):
            return None  # A removal wins over a change of metadata only.
        sides = ("ours", "theirs") if ours is None else ("theirs", "ours")
        return self.choose_element(
            "delete_modify",
            f"One side ({sides[0]}) removed it, the other ({sides[1]}) changed it.",
            suggestion=sides[1],
        )

    def base_element(self) -> Element | None:
        """The element in the base; unknown values are taken from the present version."""
        base = self._versions.base
        if base is None:
            return None
        element = self._versions.element
        present_values = values_of(element) if UNKNOWN in base.values.values() else {}
        values = {
            place: present_values.get(place, ABSENT) if value is UNKNOWN else value
            for place, value in base.values.items()
        }
        return with_values(element, values, self._versions.number)

    # Elements that both sides have.

    def _merged(self, base: Values, ours: Values, theirs: Values) -> Values:
        merged: Values = {}
        type_ = self._kind
        declared = self._context.declared(type_)
        for field in ("type", "name", "subject", "predicate", "object"):
            place = (field, "")
            if place in ours:
                sides = base.get(place, UNKNOWN), ours[place], theirs[place]
                ask = partial(self._ask, "move_move", field, Contest("value", (), *sides))
                merged[place] = settle(*sides, ask)
        for key in sorted(keys_of(base | ours | theirs, "attributes")):
            place = ("attributes", key)
            sides = tuple(side.get(place, ABSENT) for side in (base, ours, theirs))
            word = self._context.rules.word(type_, key)
            own = declared.get(key) or (_OF_CYCLES.get(key) if self._is_system else None)
            merged[place] = self._attribute(key, *sides, word or own, word is None)
        if WEIGHT in ours:
            sides = base.get(WEIGHT, ABSENT), ours[WEIGHT], theirs[WEIGHT]
            merged[WEIGHT] = settle(*sides, partial(self._weight, Contest("value", (), *sides)))
        periods = merged_periods(base, ours, theirs)
        for key in sorted({*keys_of(base | ours | theirs, "metadata"), *(periods or ())}):
            place = ("metadata", key)
            if periods is not None and key in PERIOD_KEYS:
                merged[place] = periods.get(key, ABSENT)
                continue
            sides = tuple(side.get(place, ABSENT) for side in (base, ours, theirs))
            contest = Contest("value", (key,), *sides)
            merged[place] = settle(*sides, partial(self._metadata, key, contest))
        return merged

    def _attribute(
        self, key: str, base: Any, ours: Any, theirs: Any, word: str | None, is_declared: bool
    ) -> Any:
        contest = Contest("value", (key,), base, ours, theirs)
        if equal_values(base, theirs):
            return ours
        if equal_values(base, ours):
            return theirs
        if word == "counter":  # Two equal changes of a counter count twice.
            verdict = by_policy(contest, word, _rule(word, is_declared), self._evidence(key))
            if verdict is not None:
                return self._choose("attributes", contest, verdict)
        if equal_values(ours, theirs):
            return ours
        if word == "ask":
            return self._ask("value", "attributes", contest)
        if word is not None:
            verdict = by_policy(contest, word, _rule(word, is_declared), self._evidence(key))
            if verdict is not None:
                return self._choose("attributes", contest, verdict)
        return combine((key,), base, ours, theirs, self._judge)

    def _judge(self, contest: Contest) -> Any:
        verdict = self._context.rules.verdict(contest, self._evidence(contest.path[0]))
        if verdict is not None:
            return self._choose("attributes", contest, verdict)
        return self._ask(contest.kind, "attributes", contest)

    def _weight(self, contest: Contest) -> Any:
        verdict = newest(contest, "newest", self._evidence("", "weight"))
        return self._choose("weight", contest, verdict)

    def _metadata(self, key: str, contest: Contest) -> Any:
        base, ours, theirs = contest[2:5]
        if key in SOURCES:
            return _united(base, ours, theirs)
        if key in (VALID_FROM, VALID_UNTIL) and (verdict := earliest(contest)) is not None:
            return self._choose("metadata", contest, verdict, decides=False)
        if len(self._decided) == 1 and "both" not in self._decided:
            (side,) = self._decided
            value = ours if side == "ours" else theirs
            verdict = Verdict(value, side, "follows", "It follows the value that was chosen.")
        else:
            verdict = newest(contest, "newest", self._evidence(key, "metadata"))
            if any(conflict.resolution is None for conflict in self.conflicts):
                return verdict.value  # Metadata is set later, by the choice.
        return self._choose("metadata", contest, verdict, decides=False)

    # Decisions.

    def _evidence(self, key: str, field: str = "attributes") -> tuple[Evidence, Evidence]:
        number, base, ours, theirs = self._versions
        place = field, key

        def evidence(side: str, element: Element | None, commit: str) -> Evidence:
            metadata = {} if element is None else element.metadata
            before = {} if base is None else base.values
            news = frozenset(
                name
                for name, value in metadata.items()
                if not equal_values(before.get(("metadata", name), ABSENT), value)
            )
            origin = partial(self._context.origin, side, number, place)
            return Evidence(metadata, news, commit, origin)

        commits = self._context.commits
        return evidence("ours", ours, commits[0]), evidence("theirs", theirs, commits[1])

    def _choose(
        self, field: str, contest: Contest, verdict: Verdict, *, decides: bool = True
    ) -> Any:
        """The value that a rule chooses, unless a decision overrules it."""
        kind, path, base, ours, theirs, _ = contest
        conflict = self._conflict(kind, field, path, base, ours, theirs)
        if conflict.resolution is not None:
            self.conflicts.append(conflict)
            return self._chosen(conflict.resolution, contest, field)
        if decides:
            self._decided.add(verdict.side)
        value, side, rule, reason = verdict
        self.choices.append(
            Choice(
                *(conflict.id, kind, self._identity, field, path, base, ours, theirs),
                *(value, side, rule, reason, conflict.element),
            )
        )
        return value

    def _ask(self, kind: ConflictKind, field: str, contest: Contest) -> Any:
        """Make a conflict about a value. Returns the chosen value; ours at first."""
        sides = contest[2:5]
        if field in ("subject", "object"):
            sides = tuple(self._end(side) for side in sides)
        conflict = self._conflict(kind, field, contest.path, *sides, regions=contest.regions)
        if field == "attributes" and ABSENT not in sides[1:]:
            last = newest(contest, "newest", self._evidence(contest.path[0]))
            conflict = conflict._replace(suggestion=_way_to_unite(contest) or last.side)
        self.conflicts.append(conflict)
        if conflict.resolution is None:
            return contest.ours
        return self._chosen(conflict.resolution, contest, field)

    def _end(self, number: Any) -> Any:
        """The identity of the element at an end of a link."""
        names = self._context.names
        return identity_of(names[number], names) if number in names else number

    def _chosen(self, resolution: Resolution, contest: Contest, field: str) -> Any:
        choice, value = resolution
        if choice not in ("ours", "theirs"):
            self.given.add((field, contest.path[0] if contest.path else ""))
        if choice in ("ours", "theirs"):
            self._decided.add("ours" if choice == "ours" else "theirs")
        if choice == "value":
            return value
        if choice == "lines":
            return with_lines(contest, [value] if isinstance(value, str) else value)
        return {"ours": contest.ours, "theirs": contest.theirs, "base": contest.base}[choice]

    def _conflict(
        self,
        kind: ConflictKind,
        field: str,
        path: tuple[str, ...],
        base: Any,
        ours: Any,
        theirs: Any,
        *,
        reason: str = "",
        regions: tuple[Region, ...] = (),
    ) -> Conflict:
        id_ = conflict_id(kind, self._identity, field, path, base, ours, theirs)
        in_target = self._versions.ours
        return Conflict(
            *(id_, kind, self._identity, field, path, base, ours, theirs),
            reason or _REASONS[kind],
            None if in_target is None else in_target.id,
            regions,
            resolution=self._context.resolutions.get(id_),
        )


def _way_to_unite(contest: Contest) -> str | None:
    """The choice that keeps what both sides add, if neither changes or removes anything."""
    contested = [region for region in contest.regions if region.merged is None]
    if contested:
        return None if any(region.base for region in contested) else "lines"
    base, ours, theirs = contest[2:5]
    if all(isinstance(side, list) for side in (base, ours, theirs)) and all(
        item in side for side in (ours, theirs) for item in base
    ):
        return "value"
    return None


def chosen_element(
    resolution: Resolution | None,
    base: Element | None,
    ours: Element | None,
    theirs: Element | None,
    number: int,
) -> Element | None:
    """The version of an element that a resolution chooses; ours if there is no resolution."""
    if resolution is None:
        return ours
    if resolution.choice != "value":
        chosen = {"ours": ours, "theirs": theirs, "base": base}[resolution.choice]
        return None if chosen is None else chosen._replace(number=number)
    if resolution.value is None:
        return None
    like = ours or theirs or base
    return None if like is None else edited(like, resolution.value, number)


def edited(element: Element, value: Mapping[str, Any], number: int) -> Element:
    """An element with the parts that a value gives: attributes, metadata, weight, type or name."""
    values = values_of(element)
    for field in ("attributes", "metadata"):
        if field in value:
            values = {place: content for place, content in values.items() if place[0] != field}
            values |= {(field, key): content for key, content in value[field].items()}
    for field in ("type", "name", "predicate", "weight"):
        if field in value and (field, "") in values:
            values[field, ""] = value[field]
    return with_values(element, values, number)


def _without_metadata(values: Mapping[Place, Any]) -> Values:
    return {place: value for place, value in values.items() if place[0] != "metadata"}


def _united(base: Any, ours: Any, theirs: Any) -> Any:
    """The items of both sides, without items that either side removed.

    A single item stays a scalar.
    """
    united = merge_sets(*(_value_list(side) for side in (base, ours, theirs)))
    if not united and ABSENT in (ours, theirs):
        return ABSENT
    has_list = any(isinstance(side, list) for side in (ours, theirs))
    return united if has_list or len(united) > 1 else united[0]


def _value_list(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    return [] if value is ABSENT or value is UNKNOWN else [value]


def _rule(word: str, is_declared: bool) -> str:
    return f"@merge({word})" if is_declared else f"policy {word}"
