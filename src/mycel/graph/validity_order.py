"""Neighbours in an order that prefers links and elements that hold now.

Of several links of the same weight at an element, those come last that do not hold now, or that
lead to an element that does not. Their predicate number gets a mark, which a traversal compares and
then removes (`unmarked`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mycel.graph.adjacency import Neighbours
from mycel.graph.arrays import Link, Links
from mycel.store.query.reader import Reader
from mycel.store.query.weighted_links import OutdatedLinks

_OUTDATED: Final = 1 << 40
"""The mark of a predicate; numbers of predicates are far below it."""


class ValidFirst:
    """The neighbours of another source, those that hold now first."""

    def __init__(self, neighbours: Neighbours, reader: Reader) -> None:
        self._neighbours: Final = neighbours
        self._outdated: Final = OutdatedLinks(reader)

    def of(self, number: int) -> list[Links]:
        sides: list[Links] = []
        for against, links in self._neighbours.of(number):
            outdated = self._outdated.of(number, against=against)
            sides.append((against, _marked(links, outdated) if outdated else links))
        return sides


def _marked(links: Iterator[Link], outdated: set[tuple[int, int]]) -> Iterator[Link]:
    return iter(
        sorted(
            (units, predicate | _OUTDATED, other)
            if (predicate, other) in outdated
            else (units, predicate, other)
            for units, predicate, other in links
        )
    )


def unmarked(predicate: int) -> tuple[int, bool]:
    """The number of a predicate without its mark, and True if the link holds now."""
    return predicate & ~_OUTDATED, predicate < _OUTDATED
