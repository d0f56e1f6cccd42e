"""Caveats of elements: what supersedes them, and what their values say (`validity`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from mycel.model import ids
from mycel.model.elements import Concept
from mycel.search.validity import ARCHIVED_AT, AT_ARCHIVED, Caveat, superseded_by, value_caveats
from mycel.store.query.history import time_of_state
from mycel.store.query.lookup import hidden_among
from mycel.store.query.reader import Reader
from mycel.store.query.successors import successors


class ElementValues(NamedTuple):
    """The values of an element that may give caveats."""

    metadata: Mapping[str, Any]
    attributes: Mapping[str, Any]


class Caveats(NamedTuple):
    """The caveats of elements by number, and the successors of those that are superseded."""

    caveats: dict[int, tuple[Caveat, ...]]
    successors: dict[int, list[int]]

    def factor(self, number: int) -> float:
        """The factor of the score of an element in a search."""
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
) -> Caveats:
    """The caveats of elements by number; `name` tells what a successor is called.

    `newer` are the successors of the elements, if they are known.
    """
    if newer is None:
        newer = successors(reader, [number for number in values if ids.is_concept(number)])
    others = {number for numbers in newer.values() for number in numbers}
    known = reader.elements(others) if others else {}
    now_us = time_of_state(reader)
    hidden = hidden_among(reader, values.keys())
    by_element: dict[int, tuple[Caveat, ...]] = {}
    for number, element in values.items():
        caveats = tuple(value_caveats(element.metadata, element.attributes, now_us))
        if number in hidden and element.metadata.get(ARCHIVED_AT) is None:
            caveats = (AT_ARCHIVED, *caveats)
        concepts = (known.get(successor) for successor in newer.get(number, ()))
        if names := tuple(name(concept) for concept in concepts if isinstance(concept, Concept)):
            caveats = (superseded_by(names), *caveats)
        if caveats:
            by_element[number] = caveats
    return Caveats(by_element, newer)
