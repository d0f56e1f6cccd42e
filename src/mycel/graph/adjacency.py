"""Where a traversal finds the neighbours of an element: in the tables, or in memory.

Every answer is the links at one element, *cheapest first*, then by predicate number and id. A
traversal takes from each list only as much as it needs, so an element with ten thousand links costs
it no more than the few that are near.

`StoredNeighbours` asks the tables, one statement for an element, about the present or the past.
`Arrays` hold all links of one moment side by side in memory:

    starts      where the links of an element begin, by element
    others      the element at the other end
    predicates  numbers of predicates
    units       weights, as `costs` counts them

with 10 bytes for each link and direction; the direction against the links is added when somebody
asks for it. They are made by `Adjacency`, one for each open graph, and only when it pays: reading
through the tables is like paying rent, and arrays are bought once the rent for a graph has come to
what they cost. Whatever was written since they were made is not written into them: the elements at
whose links something changed are remembered, and asked about in the tables. Too many of these, or a
purge, and the arrays are dropped. So both sources always give the same answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import chain, islice
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import orjson

from mycel.graph.costs import WEIGHT_UNITS
from mycel.model import ids
from mycel.sql.sources import Sources
from mycel.store.database import Store
from mycel.store.journal import Kind
from mycel.store.layout import PROPOSITION_TYPE_NUMBER
from mycel.store.reader import Reader
from mycel.store.rows import every, only

if TYPE_CHECKING:
    from numpy.typing import NDArray

LINKS_MAX: Final = 2_000_000
"""How many links, and concepts, there may ever have been for arrays to be made. So many take 28 MB,
and 56 MB in both directions."""

CHANGED_MAX: Final = 20_000
"""With so many elements changed, or journal entries to look at in one go, arrays are dropped."""

RENT_PER_STATEMENT: Final = 8
"""Asking for the links at an element costs as much as so many rows of the answer."""

RENT_PER_LINK: Final = 0.5
"""How many such rows a link costs when arrays are made: 1.7 µs, and a row 3 µs."""

RENT_MIN: Final = 20_000
"""Small graphs never need arrays: below this, importing numpy alone would cost more."""

ROWS_AT_ONCE: Final = 8_192
CACHE_KIB: Final = 2_048
"""For the connection through which arrays are read; it reads everything once."""

LINKS_SIFTED: Final = 64
"""Up to so many links of an element are sifted by predicate one by one; of more, numpy picks."""

Link = tuple[int, int, int]
"""Units, predicate and the element at the other end: in this order links are sorted."""

Links = tuple[bool, Iterator[Link]]
"""Whether they are gone against their direction, and the links themselves."""

LinksAt = Callable[[int, frozenset[int] | None], Iterator[Link] | None]

_NONE: Final[frozenset[int]] = frozenset()


class Route(NamedTuple):
    """Which predicates are followed, along the links and against them; None for all of them."""

    along: frozenset[int] | None
    against: frozenset[int] | None

    @classmethod
    def of(
        cls, direction: str, predicates: frozenset[int] | None, symmetric: frozenset[int]
    ) -> Route:
        """The route in a direction. Links of symmetric predicates can be gone either way."""
        both_ways = symmetric if predicates is None else symmetric & predicates
        match direction:
            case "out":
                return cls(predicates, both_ways)
            case "in":
                return cls(both_ways, predicates)
            case _:
                return cls(predicates, predicates)


class Neighbours(Protocol):
    """A source of neighbours, for one traversal."""

    def of(self, number: int) -> Sequence[Links]:
        """The links at an element that the route follows, cheapest first."""


# In the tables.


class StoredNeighbours:
    """Neighbours from the tables, as a reader sees them."""

    def __init__(self, reader: Reader, route: Route) -> None:
        self._connection: Final = reader.connection
        self._statements: Final = [
            (against, _statement(reader, predicates, against=against))
            for against, predicates in ((False, route.along), (True, route.against))
            if predicates != _NONE
        ]
        self.read = 0
        """How much was read, in rows."""

    def of(self, number: int) -> Sequence[Links]:
        found: list[Links] = []
        for against, statement in self._statements:
            rows: list[Link] = every(self._connection, statement, (number,))
            self.read += len(rows) + RENT_PER_STATEMENT
            if rows:
                found.append((against, iter(rows)))
        return found


def _statement(reader: Reader, predicates: frozenset[int] | None, *, against: bool) -> str:
    near, far = ("object", "subject") if against else ("subject", "object")
    columns, where = f"{WEIGHT_UNITS}, predicate, {far}", f"{near} = ?1"
    if predicates is not None:
        where += f" AND predicate IN ({', '.join(map(str, sorted(predicates)))})"
    live = f"SELECT {columns} FROM proposition WHERE {where}"
    if reader.seq is not None:
        live += (
            f" AND seq <= {reader.seq} UNION ALL SELECT {columns} FROM proposition_past"
            f" WHERE {where} AND from_seq <= {reader.seq} AND to_seq > {reader.seq}"
            " AND tombstoned_at IS NULL"
        )
    return f"{live} ORDER BY 1, 2, 3"


def symmetric_predicates(reader: Reader) -> frozenset[int]:
    """The numbers of predicates whose links hold in both directions, then or now."""
    source = Sources(None if reader.seq is None else str(reader.seq)).concepts("c")
    rows = every(
        reader.connection,
        f"SELECT n.id FROM {source} JOIN predicate n ON n.name = c.name"
        f" WHERE c.type = {PROPOSITION_TYPE_NUMBER}"
        " AND json_type(c.attributes, '$.is_symmetric') = 'true'",
    )
    return frozenset(number for (number,) in rows)


# In memory.


class Side:
    """The links of one direction, as arrays; those of one element stand together, cheapest first.

    Concepts have a place by their number. Links that have links themselves are few: their numbers
    are sorted, and their places come after those of the concepts.
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
        # Single numbers come faster out of views of memory than out of numpy's arrays.
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
        # Views give their numbers one by one: of ten thousand links, only those that are needed.
        columns = (self._units[here], self._predicates[here], self._others[here])
        if predicates is None:
            return zip(*columns, strict=True)
        if last - first > LINKS_SIFTED:
            return _picked(columns, predicates)
        return (link for link in zip(*columns, strict=True) if link[1] in predicates)

    def columns(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Nears, fars, predicates and units, as this was made of them, in another order."""
        import numpy as np  # noqa: PLC0415 - as above

        concepts = np.arange(self._concepts, dtype=np.int32) << 1
        nears = np.concatenate((concepts, self._propositions.astype(np.int32)))
        counts = np.diff(np.asarray(self._starts))
        arrays = (self._others, self._predicates, self._units)
        fars, predicates, units = (np.asarray(each) for each in arrays)
        return np.repeat(nears, counts), fars, predicates, units


def _picked(columns: Sequence[memoryview], predicates: frozenset[int]) -> Iterator[Link]:
    """The links with one of some predicates, out of units, predicates and others."""
    import numpy as np  # noqa: PLC0415 - as above

    picked = np.flatnonzero(np.isin(columns[1], list(predicates)))
    return zip(*(np.asarray(each)[picked].data for each in columns), strict=True)


class Arrays:
    """All links of one moment, and against their direction once somebody asks."""

    def __init__(self, seq: int, along: Side, predicates: frozenset[int]) -> None:
        self.seq: Final = seq
        """The position of the journal that they show."""
        self._along: Final = along
        self._predicates: Final = predicates
        self._against: Side | None = None
        self._turning: Final = Lock()

    def sides(self, route: Route) -> list[tuple[bool, LinksAt, frozenset[int] | None]]:
        """Where a route finds its links: whether against them, the look-up, and the predicates.

        Without predicates that no link has, so that one direction may need no look at all.
        """
        along, against = (each if each is None else each & self._predicates for each in route)
        found: list[tuple[bool, LinksAt, frozenset[int] | None]] = []
        if along != _NONE:
            found.append((False, self._along.of, along))
        if against != _NONE:
            found.append((True, self._turned().of, against))
        return found

    def _turned(self) -> Side:
        if self._against is None:
            with self._turning:
                if self._against is None:
                    nears, fars, predicates, units = self._along.columns()
                    self._against = Side(fars, nears, predicates, units)
        return self._against


def read_arrays(store: Store) -> Arrays | None:
    """All links of this moment, or None if there are none.

    Through a connection of its own that maps nothing into memory: reading all of a large file would
    otherwise make the process as large as the file, for as long as it lives.
    """
    import numpy as np  # noqa: PLC0415 - as above

    with store.reading_afresh() as reader:
        reader.connection.execute("PRAGMA mmap_size = 0").fetchall()
        reader.connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}").fetchall()
        seq, links = only(
            reader.connection,
            "SELECT seq, next_proposition / 2 FROM head ORDER BY seq DESC LIMIT 1",
        )
        nears, fars, predicates, units = _columns(reader, links)
    if not len(nears):
        return None
    narrow = predicates.astype(np.min_scalar_type(predicates.max()))
    known = frozenset(np.unique(narrow).tolist())
    return Arrays(seq, Side(nears, fars, narrow, units), known)


def _columns(reader: Reader, links: int) -> NDArray[Any]:
    """Subjects, objects, predicates and weights of all links; there are at most so many."""
    import numpy as np  # noqa: PLC0415 - as above

    columns = np.empty((4, links), np.int32)
    filled = 0
    rows = reader.connection.execute(
        f"SELECT subject, object, predicate, {WEIGHT_UNITS} FROM proposition"
    )
    while page := list(islice(rows, ROWS_AT_ONCE)):
        read = np.fromiter(chain.from_iterable(page), np.int64, 4 * len(page))
        columns[:, filled : filled + len(page)] = read.reshape(-1, 4).T
        filled += len(page)
    return columns[:, :filled]


class _State(NamedTuple):
    """Arrays, and what is no longer as it stands in them."""

    arrays: Arrays
    changed: frozenset[int]
    """Elements with other links than then."""
    seq: int
    """Up to which entry of the journal all of these are known."""


class Adjacency:
    """The arrays of one open graph: made when it pays, kept in step with the journal."""

    def __init__(
        self,
        store: Store,
        *,
        links_max: int = LINKS_MAX,
        changed_max: int = CHANGED_MAX,
        rent_min: int = RENT_MIN,
    ) -> None:
        self._store: Final = store
        self._links_max: Final = links_max
        self._changed_max: Final = changed_max
        self._rent_min: Final = rent_min
        self._state: _State | None = None
        self._rent = 0
        self._symmetric: tuple[int, frozenset[int]] = (-1, _NONE)
        self._making: Final = Lock()

    @property
    def is_made(self) -> bool:
        """Whether there are arrays at the moment."""
        return self._state is not None

    def neighbours(
        self, reader: Reader, direction: str, predicates: frozenset[int] | None
    ) -> Neighbours:
        """The best source there is for a traversal of the present. The reader is on a snapshot."""
        seq, definitions = only(
            reader.connection, "SELECT seq, definitions FROM head ORDER BY seq DESC LIMIT 1"
        )
        if self._symmetric[0] != definitions:
            self._symmetric = (definitions, symmetric_predicates(reader))
        route = Route.of(direction, predicates, self._symmetric[1])
        return _LiveNeighbours(self, reader, route, self._state_at(reader, seq))

    def state(self, reader: Reader) -> _State | None:
        """The arrays as far as they are true for a reader; None if there are none for it."""
        (seq,) = only(reader.connection, "SELECT seq FROM head ORDER BY seq DESC LIMIT 1")
        return self._state_at(reader, seq)

    def _state_at(self, reader: Reader, seq: int) -> _State | None:
        known = self._state
        if known is None or seq < known.arrays.seq:
            return None  # There are none, or the reader's snapshot is older than they are.
        if seq <= known.seq:
            return known
        changed = self._changed(reader, known, seq)
        if changed is None:
            self._state = None
            return None
        self._state = known = _State(known.arrays, changed, seq)
        return known

    def _changed(self, reader: Reader, known: _State, seq: int) -> frozenset[int] | None:
        """The elements with other links than in the arrays; None if it is better to drop them."""
        if seq - known.seq > self._changed_max:
            return None
        entries = every(
            reader.connection,
            "SELECT kind, element FROM journal WHERE seq > ? AND seq <= ?",
            (known.seq, seq),
        )
        if any(kind == Kind.PURGE for kind, _ in entries):
            return None  # It leaves no trace of which links there were.
        links = {number for _, number in entries if not ids.is_concept(number)}
        if not links:
            return known.changed
        ends = every(reader.connection, _ENDS, (orjson.dumps(list(links)).decode(), known.seq))
        changed = known.changed.union(chain.from_iterable(ends))
        return changed if len(changed) <= self._changed_max else None

    def pay(self, reader: Reader, rows: int) -> _State | None:
        """Note what was read through the tables; make arrays if it has come to what they cost."""
        self._rent += rows
        if self._rent < self._rent_min or self._state is not None:
            return None
        concepts, links = only(
            reader.connection,
            "SELECT next_concept / 2, next_proposition / 2 FROM head ORDER BY seq DESC LIMIT 1",
        )
        if self._rent < links * RENT_PER_LINK or max(concepts, links) > self._links_max:
            return None
        if not self._making.acquire(blocking=False):
            return None  # Somebody else is at it; the tables will do meanwhile.
        try:
            arrays = read_arrays(self._store)
            self._rent = 0
            if arrays is not None:
                self._state = _State(arrays, _NONE, arrays.seq)
        finally:
            self._making.release()
        return self.state(reader)


_ENDS: Final = (
    "SELECT subject, object FROM json_each(?1) j CROSS JOIN proposition p ON p.id = j.value"
    " UNION SELECT subject, object FROM json_each(?1) j CROSS JOIN proposition_past q"
    " ON q.id = j.value WHERE q.to_seq > ?2"
)
"""Where links lead from and to, now and in every version that came to an end since."""


class _LiveNeighbours:
    """Neighbours in the present: from arrays where they hold good, from the tables elsewhere."""

    def __init__(
        self, adjacency: Adjacency, reader: Reader, route: Route, state: _State | None
    ) -> None:
        self._adjacency: Final = adjacency
        self._reader: Final = reader
        self._route: Final = route
        self._use(state)

    @cached_property
    def _stored(self) -> StoredNeighbours:
        return StoredNeighbours(self._reader, self._route)

    def of(self, number: int) -> Sequence[Links]:
        if self._sides is not None and number not in self._changed:
            found: list[Links] = []
            for against, links_at, predicates in self._sides:
                links = links_at(number, predicates)
                if links is not None:
                    found.append((against, links))
            return found
        stored = self._stored
        before = stored.read
        read = stored.of(number)
        if self._sides is None:
            self._use(self._adjacency.pay(self._reader, stored.read - before))
        return read

    def _use(self, state: _State | None) -> None:
        self._sides = None if state is None else state.arrays.sides(self._route)
        self._changed = _NONE if state is None else state.changed
