"""Caveats of elements: their successors, and caveats from their values (`validity`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from mycel.model import ids, times
from mycel.model.elements import Concept, Element
from mycel.model.periods import VALID_UNTIL, former_periods
from mycel.search.validity import (
    ARCHIVED_AT,
    AT_ARCHIVED,
    STATUS,
    Caveat,
    superseded_by,
    value_caveats,
)
from mycel.store.query.history import time_of_state
from mycel.store.query.lookup import hidden_among
from mycel.store.query.reader import Reader
from mycel.store.query.successors import successors


class ElementValues(NamedTuple):
    """The values of an element that may give caveats."""

    metadata: Mapping[str, Any]
    attributes: Mapping[str, Any]
    type: str
    """The type of a concept; empty for a link."""

    @classmethod
    def of(cls, element: Element) -> ElementValues:
        """The values of an element of the engine."""
        type_name = element.type if isinstance(element, Concept) else ""
        return cls(element.metadata, element.attributes, type_name)


class Caveats(NamedTuple):
    """The caveats of elements by number, and the successors of those that are superseded."""

    caveats: dict[int, tuple[Caveat, ...]]
    successors: dict[int, list[int]]

    def factor(self, number: int) -> float:
        """The factor by which a search multiplies the score of an element."""
        caveats = self.caveats.get(number)
        return min(caveat.factor for caveat in caveats) if caveats else 1.0

    def texts(self, number: int) -> tuple[str, ...]:
        """The caveats of an element as texts, the gravest first."""
        return tuple(caveat.text for caveat in self.caveats.get(number, ()))


def find_caveats(
    reader: Reader,
    values: Mapping[int, ElementValues],
    name: Callable[[Concept], str],
    newer: dict[int, list[int]] | None = None,
    time_us: int | None = None,
) -> Caveats:
    """The caveats of elements by number; `name` returns the name of a successor.

    `newer` are the successors of the elements, if they are known. With `time_us`, they are the
    caveats at that time: an element that was superseded later has none for it.
    """
    if newer is None:
        newer = successors(reader, [number for number in values if ids.is_concept(number)])
    lasting: set[int] = set()
    if time_us is not None:
        lasting = {number for number, element in values.items() if _ends_after(element, time_us)}
        newer = {number: others for number, others in newer.items() if number not in lasting}
    others = {number for numbers in newer.values() for number in numbers}
    elements = reader.elements(others) if others else {}
    now_us = time_of_state(reader) if time_us is None else time_us
    hidden = hidden_among(reader, values.keys())
    by_element: dict[int, tuple[Caveat, ...]] = {}
    for number, element in values.items():
        metadata = element.metadata
        if number in lasting:
            metadata = {key: value for key, value in metadata.items() if key != STATUS}
        caveats = tuple(value_caveats(metadata, element.attributes, element.type, now_us))
        if number in hidden and element.metadata.get(ARCHIVED_AT) is None:
            caveats = (AT_ARCHIVED, *caveats)
        concepts = (elements.get(successor) for successor in newer.get(number, ()))
        if names := tuple(name(concept) for concept in concepts if isinstance(concept, Concept)):
            caveats = (superseded_by(names), *caveats)
        if caveats:
            by_element[number] = caveats
    return Caveats(by_element, newer)


def _ends_after(element: ElementValues, time_us: int) -> bool:
    ends = element.metadata.get(VALID_UNTIL)
    if times.is_time(ends) and not times.is_past(ends, time_us):
        return True
    return any(period.until_us > time_us for period in former_periods(element.metadata))
