"""Differences between two states of a graph, or of two copies of it, by element and by value.

The journal says which elements changed between two positions, so the cost depends on the number of
changes and not on the size of the graph. Each changed element is read in both states. Live elements
are identified by number: an element with another name, type, predicate or end has moved. An element
that was removed in between, and a new element with its identity, count as one element. The diff
compares content, not records: times and versions do not count, and a change that was undone is no
difference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from difflib import unified_diff
from enum import Enum
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

from mycel.errors import InternalError
from mycel.model import allowance
from mycel.model.elements import Concept, Element, Proposition
from mycel.model.names import META_TYPES
from mycel.model.state import LIVE, State
from mycel.store.log.journal import newest
from mycel.store.query.alignment import NEW, Alignment, Touched, touched
from mycel.store.query.lineage import lineage
from mycel.store.query.paths import PathSelection
from mycel.store.query.reader import Reader

LINES_MAX: Final = 5_000
"""Texts of up to this many lines get a diff of lines."""

DiffKind = Literal["added", "removed", "changed", "moved"]
Field = Literal[
    "type", "name", "subject", "predicate", "object", "weight", "attributes", "metadata"
]


SIGNS: Final = {"added": "+", "removed": "-", "changed": "~", "moved": ">"}
"""The sign of each kind of change, which stands before the label of the element."""


class Absent(Enum):
    """The type of `ABSENT`, the value of an absent key."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT


class ValueChange(NamedTuple):
    """A differing value of an element: a field, or a key of attributes or metadata."""

    field: Field
    key: str
    """The key in attributes or metadata; empty for other fields."""
    old: Any
    new: Any

    @property
    def where(self) -> str:
        return f"{self.field}.{self.key}" if self.key else self.field

    def lines(self) -> list[str]:
        """The lines that differ, as a unified diff; empty if no value has several lines."""
        texts = self.old, self.new
        if not all(isinstance(text, str) for text in texts) or not any("\n" in t for t in texts):
            return []
        old, new = (text.splitlines() for text in texts)
        if max(len(old), len(new)) > LINES_MAX:
            return []
        return list(unified_diff(old, new, lineterm=""))[2:]

    def to_dict(self) -> dict[str, Any]:
        payload: dict[str, Any] = {"field": self.field} | ({"key": self.key} if self.key else {})
        payload |= {} if self.old is ABSENT else {"old": self.old}
        payload |= {} if self.new is ABSENT else {"new": self.new}
        lines = self.lines()
        return payload | ({"lines": lines} if lines else {})


@dataclass(frozen=True, slots=True)
class ElementChange:
    """One element that differs. Its differing values are computed on demand."""

    kind: DiffKind
    before: Element | None
    after: Element | None
    _names: tuple[Mapping[int, Element], Mapping[int, Element]] = field(repr=False, compare=False)
    """The elements at the ends of links, for each of the two states."""
    _aligned: Element | None = field(default=None, repr=False, compare=False)
    """`after` with the numbers of the first copy, if the second copy has other numbers."""

    @property
    def element(self) -> Element:
        """The element after the change; a removed one before it."""
        return either(self.after, self.before)

    @property
    def versions(self) -> tuple[Element, ...]:
        """The versions before and after the change that exist: one or two."""
        return tuple(element for element in (self.before, self.after) if element is not None)

    @property
    def values(self) -> tuple[ValueChange, ...]:
        """The values that differ."""
        return tuple(_values(self.before, self._aligned or self.after, *self._names))

    @property
    def told_values(self) -> tuple[ValueChange, ...]:
        """The differing values, without the identity of a new or removed element."""
        if self.kind not in ("added", "removed"):
            return self.values
        return tuple(value for value in self.values if value.field in ("attributes", "metadata"))

    @property
    def identity(self) -> Mapping[str, Any]:
        """Type and name of a concept, or predicate and ends of a link."""
        after = self._aligned or self.after
        return identity_of(either(after, self.before), self._names[after is not None])

    @property
    def label(self) -> str:
        """The identity as text: `Person "Ada"`, a URI, or `subject -predicate-> object`."""
        return label_of(self.identity)

    def to_dict(self) -> dict[str, Any]:
        return {
            "change": self.kind,
            "id": self.element.id,
            **self.identity,
            "values": [value.to_dict() for value in self.values],
        }


class Diff(NamedTuple):
    """The elements that differ between two states: definitions, concepts, then links."""

    a: State
    b: State
    elements: tuple[ElementChange, ...]
    purged: int = 0
    """The number of elements that were purged between the states; nothing else is known of them."""
    twins: Mapping[int, int] = MappingProxyType({})
    """The number in `a` of each element that has another number in `b`."""

    def __bool__(self) -> bool:
        return bool(self.elements)

    @property
    def counts(self) -> dict[str, int]:
        """The number of elements of each kind of change."""
        counter = Counter(element.kind for element in self.elements)
        return {kind: counter[kind] for kind in ("added", "removed", "changed", "moved")}

    def to_dict(self) -> dict[str, Any]:
        return {
            "from": self.a.seq,
            "to": self.b.seq,
            **self.counts,
            "purged": self.purged,
            "elements": [element.to_dict() for element in self.elements],
        }


def diff(reader: Reader, a: State, b: State, paths: Sequence[object] = ()) -> Diff:
    """The elements that differ between two states of one graph: all, or those under paths."""
    (last,) = newest(reader.connection, "seq")
    first, second = (last if state.seq is None else state.seq for state in (a, b))
    touches = touched(reader, *sorted((first, second)))
    last = max(last, first, second)  # The open transaction has entries after the newest commit.
    sides = [reader.at(LIVE if seq == last else State(seq)) for seq in (first, second)]
    old, new = (side.elements(touches.numbers) for side in sides)
    named_elements = [
        with_ends(side.elements, stored) for side, stored in zip(sides, (old, new), strict=True)
    ]
    twins = _twins(old, new, named_elements, touches.ended)
    changes = _selected(_pairs(old, new, twins, touches.ended), named_elements, paths)
    return Diff(State(first), State(second), changes, len(touches.purged), twins)


def diff_copies(ours: Reader, theirs: Reader, paths: Sequence[object] = ()) -> Diff:
    """The elements that differ between two states, each read from a copy of the graph.

    The version after a change is the one of the second copy, with its number there.
    """
    related = lineage(ours, theirs)
    shared = related.shared
    (a, mine), (b, others) = (_since(reader, shared) for reader in (ours, theirs))
    if ours.position == shared:
        return diff(theirs, a, b, paths)
    if theirs.position == shared:
        return diff(ours, a, b, paths)
    alignment = Alignment(ours, theirs, related, others)
    alignment.match_again(mine)
    numbers = alignment.numbers(others.numbers) | mine.numbers
    old = ours.elements(number for number in numbers if number < NEW)
    new = alignment.elements(theirs, numbers)
    named_elements = [
        with_ends(ours.elements, old),
        with_ends(lambda among: alignment.elements(theirs, among), new),
    ]
    pairs = ((old.get(number), new.get(number)) for number in sorted(numbers))
    changes = _selected(pairs, named_elements, paths)
    stored = alignment.stored(theirs, (change.after.number for change in changes if change.after))
    return Diff(
        a,
        b,
        tuple(
            change
            if change.after is None
            else replace(change, after=stored[change.after.number], _aligned=change.after)
            for change in changes
        ),
        len(mine.purged) + len(others.purged),
    )


def _since(reader: Reader, seq: int) -> tuple[State, Touched]:
    """The state of a reader, and the elements with entries from after `seq` to that state."""
    end = reader.position
    return State(end), touched(reader, seq, end)


def _selected(
    pairs: Iterable[tuple[Element | None, Element | None]],
    named_elements: Sequence[Mapping[int, Element]],
    paths: Sequence[object],
) -> tuple[ElementChange, ...]:
    """The changes of the elements under some paths, or of all, in order.

    `named_elements` has the elements that labels may name, for each of the two states.
    """
    selection = PathSelection(paths)
    old_names, new_names = named_elements
    changes = []
    for before, after in pairs:
        allowance.check()
        change = change_of(before, after, old_names, new_names)
        # The path of a link is that of its subject, which may have moved.
        if change is not None and any(
            element is not None and selection.covers(element, names)
            for element in (before, after)
            for names in named_elements
        ):
            changes.append(change)
    return tuple(sorted(changes, key=place_of))


def _twins(
    old: Mapping[int, Element],
    new: Mapping[int, Element],
    named_elements: Sequence[Mapping[int, Element]],
    ended: AbstractSet[int],
) -> dict[int, int]:
    """The old number of each element that was removed and came back, perhaps under a new number."""
    by_key = {
        _key(identity_of(element, named_elements[0])): number
        for number, element in old.items()
        if number in ended or number not in new
    }
    if not by_key:
        return {}
    come = {
        number: by_key.get(_key(identity_of(element, named_elements[1])))
        for number, element in new.items()
        if number in ended or number not in old
    }
    return {number: other for number, other in come.items() if other is not None}


def _pairs(
    old: Mapping[int, Element],
    new: Mapping[int, Element],
    twins: Mapping[int, int],
    ended: AbstractSet[int],
) -> Iterator[tuple[Element | None, Element | None]]:
    """The versions of each element before and after; None where the element does not exist."""
    paired = set(twins.values())
    for number, after in new.items():
        other = twins.get(number, number)
        is_same = number in twins or (number not in ended and number not in paired)
        if is_same and other in old:
            paired.add(other)
            yield old[other], after
        else:
            yield None, after
    yield from ((before, None) for number, before in old.items() if number not in paired)


def _key(identity: Mapping[str, Any]) -> tuple[Any, ...]:
    """The identity of an element as a tuple, which can be a key of a dictionary."""
    return tuple(_key(part) if isinstance(part, Mapping) else part for part in identity.values())


def with_ends(
    read: Callable[[Iterable[int]], Mapping[int, Element]], elements: Mapping[int, Element]
) -> dict[int, Element]:
    """The elements, and all elements at the ends of links among them, to any depth."""
    all_elements = dict(elements)
    while (
        missing := {end for element in all_elements.values() for end in element.ends}
        - all_elements.keys()
    ):
        more = read(missing)
        if not more:
            break
        all_elements |= more
    return all_elements


def either(one: Element | None, other: Element | None) -> Element:
    """The first of two versions that is not None."""
    element = other if one is None else one
    if element is None:
        raise InternalError("A change has an element on neither side.")
    return element


def change_of(
    before: Element | None,
    after: Element | None,
    old_names: Mapping[int, Element],
    new_names: Mapping[int, Element],
) -> ElementChange | None:
    """The change from one version of an element to another; None if their content is the same."""
    names = old_names, new_names
    if before is None or after is None:
        kind: DiffKind = "added" if before is None else "removed"
        return ElementChange(kind, before, after, names) if before is not after else None
    if _has_moved(before, after, *names):
        return ElementChange("moved", before, after, names)
    if _content(before) == _content(after):
        return None
    return ElementChange("changed", before, after, names)


def _has_moved(
    before: Element,
    after: Element,
    old_names: Mapping[int, Element],
    new_names: Mapping[int, Element],
) -> bool:
    """True if an element has another type, name, predicate or end."""
    if (
        isinstance(before, Proposition)
        and isinstance(after, Proposition)
        and before.ends == after.ends
    ):
        # A new name of an end is a change of the end alone.
        return before.predicate != after.predicate
    return identity_of(before, old_names) != identity_of(after, new_names)


def _content(element: Element) -> tuple[object, ...]:
    """The content of an element without its identity; equal contents compare as equal."""
    weight = element.weight if isinstance(element, Proposition) else None
    return element.attributes_json, element.metadata_json, weight


def values_of(
    element: Element, names: Mapping[int, Element] = MappingProxyType({})
) -> dict[tuple[Field, str], Any]:
    """The values of an element by field and key; ends are the identities of known elements."""
    identity = identity_of(element, names)
    values: dict[tuple[Field, str], Any] = {(key, ""): value for key, value in identity.items()}  # type: ignore[misc]
    if isinstance(element, Proposition):
        values["weight", ""] = element.weight
    values |= {("attributes", key): value for key, value in element.attributes.items()}
    return values | {("metadata", key): value for key, value in element.metadata.items()}


def _values(
    before: Element | None,
    after: Element | None,
    old_names: Mapping[int, Element],
    new_names: Mapping[int, Element],
) -> Iterator[ValueChange]:
    old = {} if before is None else values_of(before, old_names)
    new = {} if after is None else values_of(after, new_names)
    same_ends = before is not None and after is not None and before.ends == after.ends
    for place in sorted(old.keys() | new.keys()):
        if same_ends and place[0] in ("subject", "object"):
            continue  # A new name of an end is a change of the end alone.
        one, other = old.get(place, ABSENT), new.get(place, ABSENT)
        if not same_value(one, other):
            yield ValueChange(*place, one, other)


def same_value(one: Any, other: Any) -> bool:
    """True if two JSON values are equal. The values 1, 1.0 and true all differ."""
    if one.__class__ is not other.__class__:
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same_value(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same_value, one, other))
    return bool(one == other) and (one != 0 or str(one) == str(other))


def identity_of(element: Element, names: Mapping[int, Element]) -> dict[str, Any]:
    """Type and name of a concept; or predicate and ends of a link, with identities as its ends."""
    if isinstance(element, Concept):
        return {"type": element.type, "name": element.name}
    ends = [identity_of(names[end], names) if end in names else {"id": end} for end in element.ends]
    return {"subject": ends[0], "predicate": element.predicate, "object": ends[1]}


def label_of(identity: Mapping[str, Any]) -> str:
    """An identity as text."""
    if "predicate" in identity:
        subject, object_ = label_of(identity["subject"]), label_of(identity["object"])
        return f"{subject} -{identity['predicate']}-> {object_}"
    if "name" not in identity:
        return str(identity.get("id"))
    name = str(identity["name"])
    return name if "://" in name else f'{identity["type"]} "{name}"'


def place_of(change: ElementChange) -> tuple[int, str, int]:
    """The sort key of a change in a diff."""
    element = change.element
    if isinstance(element, Proposition):
        return 2, change.label, element.number
    return int(element.type not in META_TYPES), f"{element.type} {element.name}", element.number
