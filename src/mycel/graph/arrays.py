"""All links of one moment in memory, as arrays.

    starts      where the links of an element begin, by element
    others      the element at the other end
    predicates  numbers of predicates
    units       weights in the units of `costs`

The arrays take 10 bytes for each link and direction. The links of one element are adjacent,
cheapest first, then by predicate number and id. The reverse direction is built when it is first
needed. Reading a million links takes two seconds, so both directions are built in the background
(`adjacency`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mycel.graph.background import SLICE
from mycel.store.database import Store
from mycel.store.query.reader import Reader
from mycel.store.query.weighted_links import every_link, sizes_max

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROWS_AT_ONCE: Final = 1_024

LINKS_SIFTED: Final = 64
"""Up to this many links of an element are filtered by predicate in Python; more, in numpy."""

Link = tuple[int, int, int]
"""The units, predicate and other end of a link; links are sorted in this order."""

Links = tuple[bool, Iterator[Link]]
"""True if the links are followed against their direction; and the links."""

LookUp = tuple[
    bool, Callable[[int, frozenset[int] | None], Iterator[Link] | None], frozenset[int] | None
]
"""A look-up: true if it is against the links, the links of that direction, and the predicates."""

NONE: Final[frozenset[int]] = frozenset()


class Route(NamedTuple):
    """The predicates to follow, along the links and against them; None for all of them."""

    along: frozenset[int] | None
    against: frozenset[int] | None

    @classmethod
    def of(
        cls, direction: str, predicates: frozenset[int] | None, symmetric: frozenset[int]
    ) -> Route:
        """The route in a direction. Links of symmetric predicates are followed both ways."""
        both_ways = symmetric if predicates is None else symmetric & predicates
        match direction:
            case "out":
                return cls(predicates, both_ways)
            case "in":
                return cls(both_ways, predicates)
            case _:
                return cls(predicates, predicates)


class Side:
    """The links of one direction, as arrays; those of one element are adjacent, cheapest first.

    The place of a concept follows from its number. Links that are ends of other links are few:
    their numbers are sorted, and their places come after those of the concepts.
    """

    def __init__(
        self,
        nears: NDArray[Any],
        fars: NDArray[Any],
        predicates: NDArray[Any],
        units: NDArray[Any],
    ) -> None:
        import numpy as np  # noqa: PLC0415 - only those who need it wait for it

        odd = (nears & 1).astype(bool)
        self._propositions: Final = np.unique(nears[odd])
        self._concepts: Final = int(nears[~odd].max() >> 1) + 1 if not odd.all() else 0
        places = nears >> 1
        places[odd] = self._concepts + np.searchsorted(self._propositions, nears[odd])
        self._places: Final = self._concepts + len(self._propositions)
        order = np.lexsort((fars, predicates, units, places))
        counts = np.bincount(places, minlength=self._places)
        starts = np.zeros(self._places + 1, np.int32)
        np.cumsum(counts, out=starts[1:])
        # Single numbers are read faster from memory views than from numpy's arrays.
        self._starts: Final = starts.data
        self._units: Final = units[order].data
        self._predicates: Final = predicates[order].data
        self._others: Final = fars[order].data

    def of(self, number: int, predicates: frozenset[int] | None) -> Iterator[Link] | None:
        """The links at an element, or None if there are none."""
        place = number >> 1
        if number & 1:
            place = self._concepts + int(self._propositions.searchsorted(number))
            if place == self._places or self._propositions[place - self._concepts] != number:
                return None
        elif place >= self._concepts:
            return None
        first, last = self._starts[place], self._starts[place + 1]
        if first == last:
            return None
        here = slice(first, last)
        # Views yield their numbers one by one, so of ten thousand links only the needed ones are
        # read.
        columns = (self._units[here], self._predicates[here], self._others[here])
        if predicates is None:
            return zip(*columns, strict=True)
        if last - first > LINKS_SIFTED:
            return _picked(columns, predicates)
        return (link for link in zip(*columns, strict=True) if link[1] in predicates)

    def columns(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
        """The columns of these arrays in another order: near ends, far ends, predicates, units."""
        import numpy as np  # noqa: PLC0415 - as above

        concepts = np.arange(self._concepts, dtype=np.int32) << 1
        nears = np.concatenate((concepts, self._propositions.astype(np.int32)))
        counts = np.diff(np.asarray(self._starts))
        arrays = (self._others, self._predicates, self._units)
        fars, predicates, units = (np.asarray(array) for array in arrays)
        return np.repeat(nears, counts), fars, predicates, units


def _picked(columns: Sequence[memoryview], predicates: frozenset[int]) -> Iterator[Link]:
    """The links with one of these predicates, from columns of units, predicates and other ends."""
    import numpy as np  # noqa: PLC0415 - as above

    picked = np.flatnonzero(np.isin(columns[1], list(predicates)))
    return zip(*(np.asarray(column)[picked].data for column in columns), strict=True)


class Arrays:
    """All links of one moment; against their direction only once that is built."""

    def __init__(self, seq: int, along: Side, predicates: frozenset[int]) -> None:
        self.seq: Final = seq
        """The position of the journal that they show."""
        self._along: Final = along
        self._predicates: Final = predicates
        self._against: Side | None = None

    def look_ups(self, route: Route) -> list[LookUp] | None:
        """The look-ups of a route; None if the direction against the links is not built yet.

        Predicates without links are left out, so a direction may need no look-up.
        """
        along, against = (
            predicates if predicates is None else predicates & self._predicates
            for predicates in route
        )
        look_ups: list[LookUp] = []
        if along != NONE:
            look_ups.append((False, self._along.of, along))
        if against != NONE:
            if self._against is None:
                return None
            look_ups.append((True, self._against.of, against))
        return look_ups

    def turn(self) -> None:
        """Build the direction against the links."""
        if self._against is None:
            nears, fars, predicates, units = self._along.columns()
            self._against = Side(fars, nears, predicates, units)


def read_arrays(store: Store, check: Callable[[], None] = lambda: None) -> Arrays | None:
    """All links of this moment, or None if there are none; `check` may raise an error to stop."""
    with SLICE:
        import numpy as np  # noqa: PLC0415 - only those who need it wait for it
    with ExitStack() as opened:
        with SLICE:
            check()
            reader = opened.enter_context(store.reading_once())
            reader.reread()
            seq, links = reader.newest, sizes_max(reader)[1]
        try:
            nears, fars, predicates, units = _columns(reader, links, check)
        finally:
            with SLICE:
                opened.close()
    if not len(nears):
        return None
    check()
    narrow = predicates.astype(np.min_scalar_type(predicates.max()))
    predicates_in_use = frozenset(np.unique(narrow).tolist())
    return Arrays(seq, Side(nears, fars, narrow, units), predicates_in_use)


def _columns(reader: Reader, links: int, check: Callable[[], None]) -> NDArray[Any]:
    """Subjects, objects, predicates and weights of all links; there are at most `links`."""
    import numpy as np  # noqa: PLC0415 - as above

    columns = np.empty((4, links), np.int32)
    filled = 0
    rows = every_link(reader)
    while True:
        check()
        with SLICE:
            page = list(islice(rows, ROWS_AT_ONCE))
        if not page:
            return columns[:, :filled]
        read = np.fromiter(chain.from_iterable(page), np.int64, 4 * len(page))
        columns[:, filled : filled + len(page)] = read.reshape(-1, 4).T
        filled += len(page)
