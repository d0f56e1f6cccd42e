"""A model of the merge, written from the table in docs/history.md with plain dictionaries.

It knows nothing of numbers, journals or keys: every element has an identity of its own from the
moment at which it is made, and each branch is a dictionary from identities to elements. `Branch`
mirrors the writes of one graph. `predict` says what a merge of two branches of one base gives:

- the content of every element that nobody has to be asked about,
- the questions that have to be asked, each by its kind and element,
- the elements that the answers concern (`open`), about which the prediction says nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple

GONE: Any = object()
"""A value that is not there."""
Key = tuple[Any, ...]
POLICIES = {"best": "max", "least": "min", "hits": "counter", "tags": "set", "last": "newest"}
"""The attributes of the type Score that have a policy."""
UNITED = ("source", "sources", "evidence")
_identities = count(1)


@dataclass
class Element:
    """A concept or a link; the ends of a link are identities."""

    place: dict[str, Any]
    attributes: dict[str, Any]
    metadata: dict[str, Any]
    weight: float | None = None
    times: dict[str, int] = field(default_factory=dict)
    """The time of the write of each value."""

    @property
    def is_link(self) -> bool:
        return "predicate" in self.place

    @property
    def ends(self) -> tuple[int, ...]:
        return (self.place["subject"], self.place["object"]) if self.is_link else ()

    @property
    def kind(self) -> str:
        return str(self.place["predicate" if self.is_link else "type"])

    def content(self) -> tuple[Any, ...]:
        return self.place, self.attributes, self.weight


@dataclass
class Branch:
    """The elements of one branch, and records of removed ones."""

    elements: dict[int, Element] = field(default_factory=dict)
    tombstones: dict[Key, int] = field(default_factory=dict)
    keys_ever: dict[int, set[Key]] = field(default_factory=dict)
    ends_ever: dict[int, set[int]] = field(default_factory=dict)
    purged: dict[int, set[Key]] = field(default_factory=dict)
    """What was purged since the fork, with the keys that it ever had."""

    def fork(self) -> Branch:
        other = deepcopy(self)
        other.purged = {}
        # What both branches add again is one element as long as it has one key, as if it was new.
        other.tombstones = {}
        # A key from before the fork may be that of another element by now.
        for identity, element in other.elements.items():
            other.keys_ever[identity] = {other._local_key(element.place)}
        return other

    def key(self, identity: int) -> Key:
        place = self.elements[identity].place
        if "predicate" not in place:
            return place["type"], place["name"]
        return self.key(place["subject"]), place["predicate"], self.key(place["object"])

    def _local_key(self, place: dict[str, Any]) -> Key:
        """A key in which ends are identities, which do not change with names."""
        return tuple(sorted(place.items()))

    def _note(self, identity: int) -> None:
        element = self.elements[identity]
        self.keys_ever.setdefault(identity, set()).add(self._local_key(element.place))
        self.ends_ever.setdefault(identity, set()).update(element.ends)

    def put(self, element: Element) -> int:
        """Add an element. One that was removed comes back under its key."""
        identity = self.tombstones.pop(self._local_key(element.place), None) or next(_identities)
        self.elements[identity] = element
        self._note(identity)
        return identity

    def move(self, identity: int, **place: Any) -> None:
        element = self.elements[identity]
        before, after = element.place, element.place | place
        in_the_way = self.tombstones.pop(self._local_key(after), None)
        if in_the_way is not None and element.is_link:
            self.tombstones[self._local_key(before)] = in_the_way
        element.place = after
        self._note(identity)

    def on(self, identity: int) -> Iterator[int]:
        return (each for each, link in self.elements.items() if identity in link.ends)

    def about(self, identities: Iterable[int], *, ever: bool = False) -> set[int]:
        """Elements, and all links that refer to them, now or ever."""
        found = set(identities)
        waiting = list(found)
        while waiting:
            one = waiting.pop()
            then = [each for each, ends in self.ends_ever.items() if one in ends]
            for link in then if ever else list(self.on(one)):
                if link not in found:
                    found.add(link)
                    waiting.append(link)
        return found

    def remove(self, identity: int) -> None:
        for each in self.about([identity]):
            element = self.elements.pop(each)
            self.tombstones[self._local_key(element.place)] = each

    def purge(self, identity: int) -> None:
        for each in self.about([identity], ever=True):
            self.elements.pop(each, None)
            self.tombstones = {k: one for k, one in self.tombstones.items() if one != each}
            self.purged[each] = self.keys_ever.pop(each, set())
            self.ends_ever.pop(each, None)


class Prediction(NamedTuple):
    """The outcome of a merge."""

    branch: Branch
    questions: set[tuple[str, int]]
    """Kinds of conflicts, and elements that they are about."""
    open: set[int]
    """The elements that answers concern."""
    same: dict[int, int]
    """Elements of theirs that are elements of ours."""


def predict(base: Branch, ours: Branch, theirs: Branch) -> Prediction:
    """The merge of two branches of one base."""
    return _Merge(base, ours, deepcopy(theirs)).run()


class _Merge:
    def __init__(self, base: Branch, ours: Branch, theirs: Branch) -> None:
        self.base, self.ours, self.theirs = base, ours, theirs
        self.result = Branch()
        self.questions: set[tuple[str, int]] = set()
        self.open: set[int] = set()
        self.same: dict[int, int] = {}

    def run(self) -> Prediction:
        gone = self._purged()
        self._match_new()
        identities = {*self.ours.elements, *self.theirs.elements} - gone
        for identity in sorted(identities):
            self._merge(identity)
        self._keep_links(gone)
        self._ask_about_keys()
        self._ask_about_ends()
        self._ask_about_rules()
        self._spread()
        return Prediction(self.result, self.questions, self.open, self.same)

    # Purges.

    def _purged(self) -> set[int]:
        gone: set[int] = set()
        for one, other in ((self.ours, self.theirs), (self.theirs, self.ours)):
            keys = {key for some in one.purged.values() for key in some}
            keys -= {key for some in other.purged.values() for key in some}
            victims = {*one.purged}
            victims |= {
                each
                for each in other.elements
                if each not in self.base.elements
                and each not in one.elements
                and not keys.isdisjoint(other.keys_ever[each])
            }
            gone |= other.about(victims, ever=True)
        return gone | {*self.ours.purged, *self.theirs.purged}

    # The same element, made on both sides.

    def _match_new(self) -> None:
        mine = {
            self.ours._local_key(each.place): identity
            for identity, each in self.ours.elements.items()
            if identity not in self.base.elements and identity not in self.theirs.elements
        }
        for links in (False, True):
            for identity, each in list(self.theirs.elements.items()):
                if each.is_link != links or identity in self.base.elements:
                    continue
                place = self.theirs._local_key(each.place)
                if identity in self.ours.elements or place not in mine:
                    continue
                if self._is_purged(place):
                    continue
                self._rename(identity, mine[place])

    def _is_purged(self, key: Key) -> bool:
        one, other = (
            {key for some in side.purged.values() for key in some}
            for side in (self.ours, self.theirs)
        )
        return key in one ^ other

    def _rename(self, old: int, new: int) -> None:
        self.same[old] = new
        elements = self.theirs.elements
        elements[new] = elements.pop(old)
        self.theirs.ends_ever[new] = self.theirs.ends_ever.pop(old, set())
        for each in elements.values():
            for end in ("subject", "object"):
                if each.place.get(end) == old:
                    each.place[end] = new
        for ends in self.theirs.ends_ever.values():
            if old in ends:
                ends.add(new)

    # One element.

    def _merge(self, identity: int) -> None:
        sides = (self.base, self.ours, self.theirs)
        base, ours, theirs = (side.elements.get(identity) for side in sides)
        if ours is None or theirs is None:
            left = ours or theirs
            if left is None:
                return
            if base is None:
                self.result.elements[identity] = deepcopy(left)
            elif left.content() != base.content():
                self._ask("delete_modify", identity, left)
            return
        merged = deepcopy(ours)
        self.result.elements[identity] = merged
        place, attributes, metadata = {}, {}, {}
        for name in ours.place:
            values = _three(base and base.place, ours.place, theirs.place, name)
            place[name] = self._value(values, identity, "move_move")
        for name in {*ours.attributes, *theirs.attributes, *(base.attributes if base else ())}:
            values = _three(base and base.attributes, ours.attributes, theirs.attributes, name)
            attributes[name] = self._attribute(values, identity, ours, theirs, name)
        for name in {*ours.metadata, *theirs.metadata, *(base.metadata if base else ())}:
            values = _three(base and base.metadata, ours.metadata, theirs.metadata, name)
            if name in UNITED and not _is_settled(*values):
                metadata[name] = _united(*values) or GONE
            else:
                metadata[name] = self._value(values, identity, None)
        if ours.weight is not None:
            values = (base.weight if base else GONE), ours.weight, theirs.weight
            merged.weight = self._newest(values, ours, theirs, "weight")
        merged.place = place
        merged.attributes = {key: each for key, each in attributes.items() if each is not GONE}
        merged.metadata = {key: each for key, each in metadata.items() if each is not GONE}

    def _ask(self, kind: str, identity: int, element: Element) -> None:
        self.questions.add((kind, identity))
        self.open.add(identity)
        self.result.elements.setdefault(identity, deepcopy(element))

    def _value(self, values: tuple[Any, Any, Any], identity: int, kind: str | None) -> Any:
        base, ours, theirs = values
        if _is_settled(*values):
            return theirs if _same(base, ours) else ours
        if kind is not None:
            self.questions.add((kind, identity))
        self.open.add(identity)
        return ours

    def _attribute(
        self,
        values: tuple[Any, Any, Any],
        identity: int,
        mine: Element,
        others: Element,
        name: str,
    ) -> Any:
        base, ours, theirs = values
        policy = POLICIES.get(name) if mine.kind == "Score" else None
        is_changed = not _same(base, ours) and not _same(base, theirs)
        if policy == "counter" and is_changed and GONE not in (ours, theirs):
            return ours + theirs - (0 if base is GONE else base)
        if _is_settled(*values):
            return theirs if _same(base, ours) else ours
        if policy == "newest":
            return self._newest(values, mine, others, name)
        if GONE not in (ours, theirs):
            if policy in ("max", "min"):
                return (max if policy == "max" else min)(ours, theirs)
            if isinstance(ours, list) and isinstance(theirs, list):
                return _united(base if isinstance(base, list) else [], ours, theirs)
            if isinstance(ours, dict) and isinstance(theirs, dict):
                inner = {
                    key: self._value(_three(base, ours, theirs, key), identity, "value")
                    for key in {*ours, *theirs, *(base if isinstance(base, dict) else ())}
                }
                return {key: each for key, each in inner.items() if each is not GONE}
        return self._value(values, identity, "value")

    def _newest(
        self, values: tuple[Any, Any, Any], mine: Element, others: Element, name: str
    ) -> Any:
        base, ours, theirs = values
        if _is_settled(*values):
            return theirs if _same(base, ours) else ours
        return ours if mine.times[name] > others.times[name] else theirs

    # All of them.

    def _keep_links(self, gone: set[int]) -> None:
        """Links of an element that may stay are open as well."""
        for kind, identity in list(self.questions):
            if kind == "delete_modify":
                for side in (self.base, self.ours, self.theirs):
                    self.open |= side.about([identity]) - gone

    def _ask_about_keys(self) -> None:
        places: dict[Key, list[int]] = {}
        for identity, each in self.result.elements.items():
            places.setdefault(self.result._local_key(each.place), []).append(identity)
        for identities in places.values():
            if len(identities) == 1:
                continue
            if self.result.elements[identities[0]].is_link:
                # One link with the content of both.
                self.open |= {*identities}
                continue
            self.questions |= {("key_clash", each) for each in identities}
            self.open |= {*identities}

    def _ask_about_ends(self) -> None:
        there = self.result.elements
        for identity, each in list(there.items()):
            if not each.is_link:
                continue
            if each.ends[0] == each.ends[1] or self._leads_to_itself(identity):
                self.questions.add(("move_move", identity))
                self.open |= {identity, *each.ends}
            missing = [end for end in each.ends if end not in there]
            if missing:
                self.questions.add(("orphan_link", identity))
                self.open |= {identity, *self._below(missing)}

    def _below(self, identities: list[int]) -> set[int]:
        """Elements, and all that they refer to on either side: they come back together."""
        found: set[int] = set()
        waiting = list(identities)
        while waiting:
            one = waiting.pop()
            if one not in found:
                found.add(one)
                for side in (self.ours, self.theirs):
                    waiting += side.elements[one].ends if one in side.elements else ()
        return found

    def _leads_to_itself(self, identity: int) -> bool:
        seen: set[int] = set()
        waiting = list(self.result.elements[identity].ends)
        while waiting:
            one = waiting.pop()
            if one == identity:
                return True
            if one not in seen and one in self.result.elements:
                seen.add(one)
                waiting += self.result.elements[one].ends
        return False

    def _ask_about_rules(self) -> None:
        """`@unique(nick)` of Score, and `@card(0..1)` of follows."""
        nicks: dict[Any, set[int]] = {}
        followers: dict[int, set[int]] = {}
        for identity, each in self.result.elements.items():
            if each.kind == "Score" and each.attributes.get("nick") is not None:
                nicks.setdefault(each.attributes["nick"], set()).add(identity)
            if each.is_link and each.kind == "Follows":
                followers.setdefault(each.ends[0], set()).add(identity)
        for some in (*nicks.values(), *followers.values()):
            if len(some) > 1:
                self.questions.add(("constraint", min(some)))
                self.open |= some

    def _spread(self) -> None:
        """Add the elements that refer to an element whose outcome depends on answers."""
        for side in (self.base, self.ours, self.theirs, self.result):
            self.open |= side.about(self.open & side.elements.keys())


def _three(base: Any, ours: Any, theirs: Any, key: str) -> tuple[Any, Any, Any]:
    before = base.get(key, GONE) if isinstance(base, dict) else GONE
    return before, ours.get(key, GONE), theirs.get(key, GONE)


def _same(one: Any, other: Any) -> bool:
    return one is other or (type(one) is type(other) and bool(one == other))


def _is_settled(base: Any, ours: Any, theirs: Any) -> bool:
    return _same(ours, theirs) or _same(base, ours) or _same(base, theirs)


def _united(base: Any, ours: Any, theirs: Any) -> list[Any]:
    lists = [
        [] if each is GONE else each if isinstance(each, list) else [each]
        for each in (base, ours, theirs)
    ]
    old, mine, others = lists
    kept = [each for each in old if each in mine and each in others]
    found = [*kept, *(each for each in (*mine, *others) if each not in old)]
    return sorted(dict.fromkeys(found), key=repr)
