"""Walks of many hops, as functions and a table of SQLite.

A walk of a length from `minimum` to `maximum` along one predicate is searched level by level. It
begins with the elements that walks of exactly `minimum` links reach. From there on, every element
is visited once: a longer walk to it leads to no other elements than the shorter one. So the number
of links of the predicate limits the work, whatever the maximum is.

    mycel_reach(start, …)         a table of levels: JSON arrays of the elements reached, each once
    mycel_reaches(start, end, …)  true if a walk joins the two; what is searched is remembered
    mycel_walks(start, …)         the elements reached, each with the last link of a shortest walk
    mycel_circles(predicate, …)   the elements from which some walk leads back to them
"""

from __future__ import annotations

import weakref
from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import apsw
import orjson

from mycel.model import allowance, ids
from mycel.sql.state_tables import StateTables
from mycel.sql.walks import ANY_TIME
from mycel.store.backend.sqlite.connection import SqliteConnection

FEW: Final = 8
"""The largest level whose elements are queried one by one; a larger one takes one query."""

REMEMBERED_ELEMENTS_MAX: Final = 1 << 20
"""The maximum number of elements that the searches of one statement remember, and of links of one
way."""

_LOOK_EVERY: Final = 1 << 14


class Links(NamedTuple):
    """The links of a predicate that count in a state; a moment of -1 is the present.

    Two kinds of links do not count: hidden ones if the state hides them, and those that do not hold
    at its time.
    """

    predicate: int
    moment: int
    hides: int
    valid_at: int

    @property
    def tables(self) -> list[tuple[str, str]]:
        """The tables with these links, named `q`, each with the condition on its rows."""
        moment = None if self.moment < 0 else str(self.moment)
        valid_at = None if self.valid_at == ANY_TIME else str(self.valid_at)
        return StateTables(moment, hides=bool(self.hides), valid_at=valid_at).link_halves()


class Way(NamedTuple):
    """The links that a walk may use, and their direction."""

    links: Links
    is_mirrored: bool
    is_forward: bool = True

    def steps(self, column: str, many: bool) -> Iterator[str]:
        """The queries for one step: from one element, or from a JSON array of elements (`?1`)."""
        out, back = ("subject", "object"), ("object", "subject")
        ends = (out, back) if self.is_mirrored else (out,) if self.is_forward else (back,)
        source, number = ("json_each(?1) e CROSS JOIN ", "e.value") if many else ("", "?1")
        for near, far in ends:
            for table, counts in self.links.tables:
                yield (
                    f"SELECT {column.format(far=f'q.{far}')} FROM {source}{table}"
                    f" WHERE q.{near} = {number} AND q.predicate = ?2{counts}"
                )


class Steps:
    """Reads the elements one link away from others, during one run of a statement.

    Most searches meet an element only once. Levels overlap if walks begin at many elements or go in
    circles. Then the neighbours of elements are remembered.
    """

    def __init__(self, connection: SqliteConnection, way: Way) -> None:
        self._connection: Final = connection
        self._predicate: Final = way.links.predicate
        self._single: Final = " UNION ALL ".join(way.steps("{far}", many=False))
        self._many: Final = tuple(way.steps("json_group_array({far})", many=True))
        self._pairs: Final = tuple(way.steps("e.value, json_group_array({far})", many=True))
        self._links: Final = " UNION ALL ".join(way.steps("{far}, q.id", many=True))
        self._passed: set[int] = set()
        self._neighbours: dict[int, list[int]] = {}
        self._room = REMEMBERED_ELEMENTS_MAX

    def from_all(self, level: set[int]) -> set[int]:
        """The elements one link away from any element of a level."""
        if self._room <= 0:
            return self._read(level)
        absent = level - self._neighbours.keys()
        if 2 * len(absent - self._passed) > len(level):
            self._passed |= absent
            self._room -= len(absent)
            return self._read(level)
        if absent:
            self._remember(absent)
        if (are_over := self._connection.are_over) is not None and are_over():
            # `from_all` runs no statement here, so the limit is checked explicitly.
            raise apsw.InterruptError
        return set().union(*map(self._neighbours.__getitem__, level))

    def _remember(self, level: set[int]) -> None:
        self._neighbours.update((near, []) for near in level)
        for query in self._pairs:
            rows = self._connection.execute(
                f"{query} GROUP BY e.value", (_packed(level), self._predicate)
            )
            for near, packed in rows:
                ends = orjson.loads(packed)
                self._neighbours[near] += ends
                self._room -= len(ends)

    def _read(self, level: set[int]) -> set[int]:
        if len(level) <= FEW:
            query, execute, predicate = self._single, self._connection.execute, self._predicate
            return {far for near in level for (far,) in execute(query, (near, predicate))}
        reached: set[int] = set()
        for query in self._many:
            for (numbers,) in self._connection.execute(query, (_packed(level), self._predicate)):
                reached.update(orjson.loads(numbers))
        return reached

    def with_links(self, level: set[int]) -> dict[int, int]:
        """The elements one link away from a level, each with the lowest number of a link to it."""
        reached: dict[int, int] = {}
        for far, link in self._connection.execute(self._links, (_packed(level), self._predicate)):
            if link < reached.get(far, link + 1):
                reached[far] = link
        return reached

    def exactly(self, start: int, length: int) -> set[int]:
        """The elements that walks of exactly this length reach.

        Each level follows from the one before it, so from some length on they repeat in a cycle.
        When the cycle is found, the remaining length is computed modulo the cycle (Brent's
        algorithm).
        """
        level, mark, kept_at, power = {start}, {start}, 0, 1
        at = 0
        while at < length and level:
            before, level = level, self.from_all(level)
            at += 1
            if level == before:  # The usual end: the level no longer changes.
                break
            if level == mark:
                for _ in range((length - at) % (at - kept_at)):
                    level = self.from_all(level)
                break
            if at - kept_at == power:
                mark, kept_at, power = level, at, power * 2
        return level


class WalkSearch:
    """A lazy search for the elements that walks from one element reach."""

    def __init__(self, steps: Steps, start: int, minimum: int, maximum: int) -> None:
        """A maximum of -1 allows any number of hops."""
        self.found: Final[set[int]] = set()
        self._levels: Final = self._search(steps, start, minimum, maximum)

    def _search(self, steps: Steps, start: int, minimum: int, maximum: int) -> Iterator[set[int]]:
        # A walk without hops joins a concept with itself; a link has no such walk.
        if minimum == 0 and ids.is_concept(start):
            self.found.add(start)
            yield {start}
        length = max(minimum, 1) - 1
        level = steps.exactly(start, length)
        while level and (maximum < 0 or length < maximum):
            length += 1
            level = steps.from_all(level) - self.found
            self.found.update(level)
            if level:
                yield level

    def __iter__(self) -> Iterator[set[int]]:
        return self._levels

    def reaches(self, end: int) -> bool:
        """True if some walk leads to the element."""
        while end not in self.found:
            if next(self._levels, None) is None:
                return False
        return True


def register(connection: SqliteConnection) -> None:
    """Give a connection the functions and the table of walks.

    They refer to the connection weakly. SQLite owns them, so the garbage collector could not see
    the cycle, and a graph that nobody closed would keep its files open.
    """
    connection = weakref.proxy(connection)

    def walks(*arguments: Any) -> str:
        start, predicate, minimum, maximum, mirrored, *state = arguments
        steps = Steps(connection, Way(Links(predicate, *state), bool(mirrored)))
        return _last_links(steps, start, minimum, maximum)

    def circles(*arguments: int) -> str:
        return _circles(connection, Links(*arguments))

    functions: tuple[tuple[str, Callable[..., Any], int], ...] = (
        ("mycel_walks", walks, 8),
        ("mycel_reaches", _Memory(connection).reaches, 11),
        ("mycel_circles", circles, 4),
    )
    for name, function, arguments in functions:
        connection.create_scalar_function(name, function, arguments, deterministic=True)
    module: Any = _ReachModule(connection)  # apsw declares more methods than a table needs.
    connection.create_module("mycel_reach", module, eponymous_only=True, read_only=True)


def _packed(level: set[int]) -> str:
    return orjson.dumps(sorted(level)).decode()


def _last_links(steps: Steps, start: int | None, minimum: int, maximum: int) -> str:
    """A JSON array of pairs: an element, and the last link to it; null if there were no hops."""
    if start is None:
        return "[]"
    links: dict[int, int | None] = {start: None} if minimum == 0 and ids.is_concept(start) else {}
    length = max(minimum, 1) - 1
    level = steps.exactly(start, length)
    while level and (maximum < 0 or length < maximum):
        length += 1
        reached = steps.with_links(level)
        level = reached.keys() - links.keys()
        links.update((number, reached[number]) for number in level)
    return orjson.dumps(list(links.items())).decode()


class _Memory:
    """The searches of one run of a statement, by their arguments."""

    def __init__(self, connection: SqliteConnection) -> None:
        self._connection: Final = connection
        self._run: int | None = None
        self._searches: dict[tuple[Any, ...], WalkSearch] = {}
        self._steps: dict[Way, Steps] = {}
        self._size = 0

    def reaches(self, *arguments: Any) -> bool:
        run, start, end, predicate, minimum, maximum, mirrored, *state, forward = arguments
        if start is None or end is None:
            return False
        if run != self._run:
            self._forget(run)
        key = (start, *arguments[3:])
        search = self._searches.get(key)
        if search is None:
            way = Way(Links(predicate, *state), bool(mirrored), is_forward=bool(forward))
            steps = self._steps.setdefault(way, Steps(self._connection, way))
            search = self._searches[key] = WalkSearch(steps, start, minimum, maximum)
        before = len(search.found)
        try:
            reached = search.reaches(end)
        except BaseException:  # An interrupted search cannot go on.
            self._forget(run)
            raise
        self._size += len(search.found) - before + 1
        if self._size > REMEMBERED_ELEMENTS_MAX:
            self._forget(run)
        return reached

    def _forget(self, run: int) -> None:
        self._run, self._searches, self._steps, self._size = run, {}, {}, 0


# Circles.


def _circles(connection: SqliteConnection, links: Links) -> str:
    """The elements that are on a cycle of links of a predicate."""
    places: dict[int, int] = {}
    numbers: list[int] = []
    ends = (array("q"), array("q"))
    for table, counts in links.tables:
        query = f"SELECT q.subject, q.object FROM {table} WHERE q.predicate = ?1{counts}"
        for link in connection.execute(query, (links.predicate,)):
            for number, column in zip(link, ends, strict=True):
                place = places.setdefault(number, len(numbers))
                if place == len(numbers):
                    numbers.append(number)
                column.append(place)
    in_circle = _on_circles(len(numbers), *ends)
    return orjson.dumps(sorted(numbers[place] for place in in_circle)).decode()


def _on_circles(count: int, subjects: Sequence[int], objects: Sequence[int]) -> Iterator[int]:
    """The elements on cycles, numbered from 0, by Tarjan's algorithm without recursion."""
    firsts, targets = _adjacency(count, subjects, objects)
    order, low = array("q", bytes(8 * count)), array("q", bytes(8 * count))
    is_open = bytearray(count)
    following = array("q", firsts[:count])
    path: list[int] = []
    stack: list[int] = []
    visited = 0
    for root in range(count):
        if order[root]:
            continue
        path.append(root)
        while path:
            at = path[-1]
            if not order[at]:
                visited += 1
                if visited % _LOOK_EVERY == 0:
                    allowance.check()
                order[at] = low[at] = visited
                stack.append(at)
                is_open[at] = 1
            if following[at] < firsts[at + 1]:
                target = targets[following[at]]
                following[at] += 1
                if not order[target]:
                    path.append(target)
                elif is_open[target]:
                    low[at] = min(low[at], order[target])
                continue
            path.pop()
            if path:
                low[path[-1]] = min(low[path[-1]], low[at])
            if low[at] == order[at]:
                first = len(stack) - 1
                while stack[first] != at:
                    first -= 1
                component = stack[first:]
                del stack[first:]
                for node in component:
                    is_open[node] = 0
                if len(component) > 1:
                    yield from component


def _adjacency(
    count: int, subjects: Sequence[int], objects: Sequence[int]
) -> tuple[array[int], array[int]]:
    """The links as two arrays: where each element's targets begin, and all targets in a row."""
    firsts = array("q", bytes(8 * (count + 1)))
    for subject in subjects:
        firsts[subject + 1] += 1
    for at in range(count):
        firsts[at + 1] += firsts[at]
    targets, filled = array("q", bytes(8 * len(objects))), array("q", firsts)
    for subject, object_ in zip(subjects, objects, strict=True):
        targets[filled[subject]] = object_
        filled[subject] += 1
    return firsts, targets


# The table of levels. In SQLite, arguments of a table are hidden columns.

_ARGUMENTS: Final = (
    "start", "predicate", "minimum", "maximum", "mirrored", "moment", "hides", "valid_at", "forward"
)  # fmt: skip


class _ReachModule:
    """The module of `mycel_reach`."""

    def __init__(self, connection: SqliteConnection) -> None:
        self._connection: Final = connection

    def Connect(self, *_: Any) -> tuple[str, _ReachTable]:  # noqa: N802 - apsw's name
        hidden = ", ".join(f"{name} HIDDEN" for name in _ARGUMENTS)
        return f"CREATE TABLE reach(elements, {hidden})", _ReachTable(self._connection)

    Create = Connect


class _ReachTable:
    def __init__(self, connection: SqliteConnection) -> None:
        self._connection: Final = connection

    def BestIndex(self, constraints: Sequence[tuple[int, int]], _: Any) -> Any:  # noqa: N802
        """Accept only a plan that uses all arguments."""
        used: list[tuple[int, bool] | None] = [None] * len(constraints)
        for at, (column, operator) in enumerate(constraints):
            if column and operator == apsw.SQLITE_INDEX_CONSTRAINT_EQ:
                used[at] = (column - 1, True)
        if len({place for place in used if place is not None}) < len(_ARGUMENTS):
            raise apsw.ConstraintError("mycel_reach needs all its arguments")
        return used, 0, None, False, 100.0

    def Open(self) -> _ReachCursor:  # noqa: N802
        return _ReachCursor(self._connection)

    def Disconnect(self) -> None:  # noqa: N802
        """Do nothing: the table holds no resources."""

    Destroy = Disconnect


class _ReachCursor:
    """A cursor over the levels of one search."""

    def __init__(self, connection: SqliteConnection) -> None:
        self._connection: Final = connection
        self._steps: dict[Way, Steps] = {}
        self._levels: Iterator[set[int]] = iter(())
        self._level: set[int] | None = None
        self._at = 0

    def Filter(self, _: int, __: str | None, arguments: Sequence[Any]) -> None:  # noqa: N802
        start, predicate, minimum, maximum, mirrored, *state, forward = arguments
        self._at = 0
        self._levels = iter(())
        if start is not None:
            way = Way(Links(predicate, *state), bool(mirrored), is_forward=bool(forward))
            steps = self._steps.setdefault(way, Steps(self._connection, way))
            self._levels = iter(WalkSearch(steps, start, minimum, maximum))
        self.Next()

    def Next(self) -> None:  # noqa: N802
        self._level = next(self._levels, None)
        self._at += 1

    def Eof(self) -> bool:  # noqa: N802
        return self._level is None

    def Column(self, _: int) -> str | None:  # noqa: N802
        return None if self._level is None else _packed(self._level)

    def Rowid(self) -> int:  # noqa: N802
        return self._at

    def Close(self) -> None:  # noqa: N802
        self._levels = iter(())
