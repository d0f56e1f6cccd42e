"""Versions of one element in the three states of a merge, and the values in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from mycel.history.merge.values import UNKNOWN, equal_values
from mycel.model import ids
from mycel.model.elements import Concept, Element, Proposition
from mycel.model.values import object_text
from mycel.store.query.diff import ABSENT, identity_of

Place = tuple[str, str]
"""The field of a value, and its key in attributes or metadata."""
Values = dict[Place, Any]
"""All values of a version, by place. The ends of links are numbers."""

TYPE, NAME, PREDICATE = ("type", ""), ("name", ""), ("predicate", "")
SUBJECT, OBJECT, WEIGHT = ("subject", ""), ("object", ""), ("weight", "")


class Base:
    """An element in the base: one version, or the values on which several bases agree."""

    __slots__ = ("_values", "element")

    def __init__(self, element: Element | None, values: Values | None = None) -> None:
        self.element = element
        self._values = values

    @property
    def values(self) -> Values:
        """All values; a value on which bases disagree is `UNKNOWN`."""
        if self._values is None:
            self._values = {} if self.element is None else values_of(self.element)
        return self._values

    def is_content_of(self, element: Element) -> bool:
        """True if a version has the same content."""
        if self.element is not None:
            return content_of(self.element) == content_of(element)
        return equal(self.values, values_of(element))


class Versions(NamedTuple):
    """One element in the three states; None where it does not exist."""

    number: int
    base: Base | None
    ours: Element | None
    theirs: Element | None

    @property
    def element(self) -> Element:
        """The element in the target, or else in the source."""
        return cast("Element", self.theirs if self.ours is None else self.ours)


def content_of(element: Element | None) -> tuple[Any, ...] | None:
    """The content of a version for comparisons; numbers and times are left out."""
    if element is None:
        return None
    texts = element.attributes_json, element.metadata_json
    if isinstance(element, Concept):
        return element.type, element.name, *texts
    return *element.ends, element.predicate, element.weight, *texts


def values_of(element: Element) -> Values:
    """All values of a version."""
    values: Values
    if isinstance(element, Concept):
        values = {TYPE: element.type, NAME: element.name}
    else:
        subject, object_ = element.ends
        values = {SUBJECT: subject, PREDICATE: element.predicate, OBJECT: object_}
        values[WEIGHT] = element.weight
    values |= {("attributes", key): value for key, value in element.attributes.items()}
    return values | {("metadata", key): value for key, value in element.metadata.items()}


def equal(one: Mapping[Place, Any], other: Mapping[Place, Any]) -> bool:
    """True if two versions have the same values."""
    places = {*one, *other}
    return all(equal_values(one.get(place, ABSENT), other.get(place, ABSENT)) for place in places)


def keys_of(values: Mapping[Place, Any], field: str) -> set[str]:
    """The keys of a field in some values."""
    return {key for prefix, key in values if prefix == field}


def with_values(element: Element, values: Mapping[Place, Any], number: int) -> Element:
    """An element with other values; values that are ABSENT are left out."""
    texts = {
        field: object_text(
            {
                key: value
                for (prefix, key), value in values.items()
                if prefix == field and value is not ABSENT
            },
            field,
        )
        for field in ("attributes", "metadata")
    }
    if isinstance(element, Concept):
        return element._replace(
            number=number,
            type=values[TYPE],
            name=values[NAME],
            attributes_json=texts["attributes"],
            metadata_json=texts["metadata"],
        )
    subject, object_ = (
        _end(values[place], old)
        for place, old in ((SUBJECT, element.subject), (OBJECT, element.object))
    )
    return element._replace(
        number=number,
        subject=subject,
        predicate=values[PREDICATE],
        object=object_,
        weight=values[WEIGHT],
        attributes_json=texts["attributes"],
        metadata_json=texts["metadata"],
    )


def _end(number: int, old: str) -> str:
    """The id of an end.

    Only the number of a link counts, so the predicate in its id is arbitrary.
    """
    if ids.parse_id(old) == number:
        return old
    return ids.concept_id(number) if ids.is_concept(number) else ids.link_id(number, "link")


def version_json(element: Element | None, names: Mapping[int, Element]) -> Any:
    """A whole version as JSON; ABSENT if there is no version."""
    if element is None:
        return ABSENT
    payload = identity_of(element, names)
    if isinstance(element, Proposition):
        payload["weight"] = element.weight
    return {**payload, "attributes": element.attributes, "metadata": element.metadata}


def base_of(bases: Sequence[Element | None], shared: Element | None) -> Base | None:
    """One base from several; values on which they differ are unknown."""
    if len(bases) == 1:
        return None if bases[0] is None else Base(bases[0])
    present = [values_of(base) for base in bases if base is not None]
    if not present or (shared is not None and len(present) < len(bases)):
        return None  # One side removed the element after the shared state.
    before = {} if shared is None else values_of(shared)
    return Base(
        None,
        {
            place: _agreed(
                [version.get(place, ABSENT) for version in present], before.get(place, ABSENT)
            )
            for place in {place for version in present for place in version}
        },
    )


def _agreed(values: Sequence[Any], before: Any) -> Any:
    changed = [value for value in values if not equal_values(value, before)]
    if not changed:
        return before
    return changed[0] if all(equal_values(value, changed[0]) for value in changed) else UNKNOWN
