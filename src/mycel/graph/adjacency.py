"""Sources of neighbours for a traversal: the tables, or arrays in memory.

An answer lists the links at one element, *cheapest first*, then by predicate number and id. A
traversal takes from each list only as many links as it needs, so an element with ten thousand links
costs no more than the few near ones.

`StoredNeighbours` reads the tables, one statement for each element, at the present or a past state.
`Adjacency`, one for each open graph, builds arrays of all links (`arrays`) in the background once
reading the tables has cost as much as building them; until then the tables are read. The arrays
never change: elements whose links have changed since are remembered, and their links are read from
the tables. After too many changed elements, or after a purge, the arrays are dropped. Both sources
thus always give the same answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final, NamedTuple, Protocol

from mycel.graph.arrays import NONE, Arrays, Links, LookUp, Route, read_arrays
from mycel.graph.background import Background
from mycel.model.state import ORDINARY, Visibility
from mycel.store.database import Store
from mycel.store.query.reader import Reader
from mycel.store.query.weighted_links import (
    NearLinks,
    changed_ends,
    sizes_max,
    symmetric_predicates,
)

LINKS_MAX: Final = 2_000_000
"""Graphs that ever had more links or concepts get no arrays. Arrays of this size take 28 MB, both
directions 56 MB."""

CHANGED_MAX: Final = 20_000
"""The number of changed elements, or of unread journal entries, after which arrays are dropped."""

RENT_PER_STATEMENT: Final = 8
"""The fixed cost of one query for the links of an element, in rows of its answer."""

RENT_PER_LINK: Final = 0.5
"""The cost of a link when arrays are built, in the same unit: a link takes 1.7 µs, a row 3 µs."""

RENT_MIN: Final = 20_000
"""The amount, in rows, up to which no arrays are built: importing numpy alone would cost more."""


class Neighbours(Protocol):
    """A source of neighbours, for one traversal."""

    def of(self, number: int) -> Sequence[Links]:
        """The links at an element that the route follows, cheapest first."""


# Neighbours that are read from the tables.


class StoredNeighbours:
    """Neighbours from the tables, as a reader sees them."""

    def __init__(self, reader: Reader, route: Route, visibility: Visibility = ORDINARY) -> None:
        self._links: Final = [
            (against, NearLinks(reader, predicates, against=against, visibility=visibility))
            for against, predicates in ((False, route.along), (True, route.against))
            if predicates != NONE
        ]
        self.read = 0
        """The amount that was read, in rows."""

    def of(self, number: int) -> Sequence[Links]:
        sides: list[Links] = []
        for against, links in self._links:
            rows = links.of(number)
            self.read += len(rows) + RENT_PER_STATEMENT
            if rows:
                sides.append((against, iter(rows)))
        return sides


class _State(NamedTuple):
    """Arrays, and the elements whose links have changed since they were built."""

    arrays: Arrays
    changed: frozenset[int]
    """Elements whose links have changed since the arrays were built."""
    seq: int
    """The entry of the journal up to which the changed elements are known."""


class Adjacency:
    """The arrays of one open graph: made when it pays, kept in step with the journal."""

    links_max = LINKS_MAX
    changed_max = CHANGED_MAX
    rent_min = RENT_MIN

    def __init__(self, store: Store) -> None:
        self._store: Final = store
        self._state: _State | None = None
        self._rent = 0
        self._symmetric: tuple[int, frozenset[int]] = (-1, NONE)
        self._background: Final = Background()

    @property
    def is_made(self) -> bool:
        """True if there are arrays now."""
        return self._state is not None

    def wait(self) -> None:
        """Wait until arrays that are being built are complete."""
        self._background.wait()

    def stop(self) -> None:
        """Build no more arrays. Cancel and wait for a build that is under way."""
        self._background.stop()

    def neighbours(
        self, reader: Reader, direction: str, predicates: frozenset[int] | None
    ) -> Neighbours:
        """The best available source for a traversal of the present; the reader is on a snapshot.

        If the route needs the direction against the links and the arrays lack it, it is built in
        the background.
        """
        definitions = reader.reread()
        if self._symmetric[0] != definitions:
            self._symmetric = (definitions, symmetric_predicates(reader))
        route = Route.of(direction, predicates, self._symmetric[1])
        state = self.state(reader)
        look_ups = None if state is None else state.arrays.look_ups(route)
        if state is None or look_ups is None:
            if state is not None:
                self._background.begin(state.arrays.turn)
            return _RentedNeighbours(self, reader, route)
        return _LiveNeighbours(reader, route, look_ups, state.changed)

    def state(self, reader: Reader) -> _State | None:
        """The arrays and changed elements at the moment at which a reader was last refreshed.

        None if the reader has to use the tables.
        """
        state, seq = self._state, reader.newest
        if state is None or seq < state.arrays.seq:
            return None  # There are no arrays, or the reader's snapshot is older than the arrays.
        if seq <= state.seq:
            return state
        changed = self._changed(reader, state, seq)
        if changed is None:
            self._state = None
            return None
        self._state = state = _State(state.arrays, changed, seq)
        return state

    def _changed(self, reader: Reader, state: _State, seq: int) -> frozenset[int] | None:
        """The elements whose links differ from the arrays; None if the arrays are to be dropped."""
        if seq - state.seq > self.changed_max:
            return None
        ends = changed_ends(reader, state.seq, seq)
        if ends is None:
            return None
        changed = state.changed | ends
        return changed if len(changed) <= self.changed_max else None

    def pay(self, reader: Reader, rows: int) -> None:
        """Count rows read from the tables; build the arrays once the rows have cost as much."""
        self._rent += rows
        if self._rent < self.rent_min or self._state is not None:
            return
        concepts, links = sizes_max(reader)
        if self._rent >= links * RENT_PER_LINK and max(concepts, links) <= self.links_max:
            self._background.begin(self._make)

    def _make(self) -> None:
        self._rent = 0  # After a failure, the build is tried again after as many rows.
        arrays = read_arrays(self._store, self._background.check)
        if arrays is not None:
            self._state = _State(arrays, NONE, arrays.seq)


class _RentedNeighbours(StoredNeighbours):
    """Neighbours in the present from the tables; the rows that they cost are counted."""

    def __init__(self, adjacency: Adjacency, reader: Reader, route: Route) -> None:
        super().__init__(reader, route)
        self._adjacency: Final = adjacency
        self._reader: Final = reader

    def of(self, number: int) -> Sequence[Links]:
        before = self.read
        sides = super().of(number)
        self._adjacency.pay(self._reader, self.read - before)
        return sides


class _LiveNeighbours:
    """Neighbours in the present: from the tables for changed elements, from arrays for others."""

    def __init__(
        self, reader: Reader, route: Route, look_ups: Sequence[LookUp], changed: frozenset[int]
    ) -> None:
        self._reader: Final = reader
        self._route: Final = route
        self._look_ups: Final = look_ups
        self._changed: Final = changed

    @cached_property
    def _stored(self) -> StoredNeighbours:
        return StoredNeighbours(self._reader, self._route)

    def of(self, number: int) -> Sequence[Links]:
        if number in self._changed:
            return self._stored.of(number)
        sides: list[Links] = []
        for against, links_at, predicates in self._look_ups:
            links = links_at(number, predicates)
            if links is not None:
                sides.append((against, links))
        return sides
