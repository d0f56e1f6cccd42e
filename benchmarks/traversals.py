"""`traverse` beside Dijkstra's algorithm written by hand over the same arrays.

The baseline is the usual algorithm: a heap, a dictionary of costs, and all links of a reached
element read at once. It uses the arrays of Mycel, and does the same work: from the number of the
start to rows of the nearest concepts, each with its cost and its path, read from the same file in
one statement. The costs of both are compared before the timing.

Weights are random with three decimals, in a copy of the file that is otherwise unchanged.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from time import perf_counter
from typing import Any, Final, NamedTuple

import apsw
import orjson

import mycel
from benchmarks.databases import Databases, Pair, say
from benchmarks.graphs import SEED
from benchmarks.report import Bar, Line, Measure
from benchmarks.timing import Block, Contender, Run, Summary, clock_ns, in_blocks, take_turns
from mycel.graph.adjacency import Adjacency
from mycel.graph.arrays import Arrays, read_arrays
from mycel.graph.costs import UNITS_PER_COST

ANY: Final = 100
HUBS: Final = 20
BLOCKS: Final = 10
BUDGET_S: Final = 6.0
NODES: Final = (20, 100, 1000)
DEFAULT_NODES: Final = 100

BAR: Final = Bar(1.2)

_ROWS: Final = (
    "SELECT c.id, t.name, c.name, c.attributes, c.metadata, c.version, c.updated_at"
    " FROM json_each(?) j CROSS JOIN concept c ON c.id = j.value JOIN type t ON t.id = c.type"
)

Answer = list[tuple[Any, float, tuple[tuple[int, float, int], ...]]]
"""A row, its cost, and its path: predicate, weight and element of each step."""


class Columns(NamedTuple):
    """The arrays of the links, along their direction."""

    starts: memoryview
    units: memoryview
    predicates: memoryview
    others: memoryview

    @classmethod
    def of(cls, arrays: Arrays) -> Columns:
        side: Any = arrays._along
        return cls(side._starts, side._units, side._predicates, side._others)


class Handwritten:
    """The baseline, with a connection and the arrays."""

    def __init__(self, path: str, columns: Columns) -> None:
        self.connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
        self.connection.execute("PRAGMA mmap_size = 2147483648").fetchall()
        self.columns = columns

    def traverse(self, start: int, max_nodes: int, max_cost: int = UNITS_PER_COST) -> Answer:
        starts, units, predicates, others = self.columns
        best = {start: 0}
        came: dict[int, tuple[int, int, int]] = {}
        done: dict[int, int] = {}
        heap = [(0, start)]
        while heap and len(done) < max_nodes:
            cost, node = heappop(heap)
            if node in done:
                continue
            done[node] = cost
            place = node >> 1
            if place + 1 >= len(starts):
                continue
            first, last = starts[place], starts[place + 1]
            links = zip(
                units[first:last].tolist(),
                predicates[first:last].tolist(),
                others[first:last].tolist(),
                strict=True,
            )
            for weight, predicate, other in links:
                total = cost + weight
                if total <= max_cost and total < best.get(other, 1 << 62):
                    best[other] = total
                    came[other] = (node, predicate, weight)
                    heappush(heap, (total, other))
        return self._answer(done, came, start)

    def _answer(
        self, done: dict[int, int], came: dict[int, tuple[int, int, int]], start: int
    ) -> Answer:
        rows = {
            row[0]: row
            for row in self.connection.execute(_ROWS, (orjson.dumps(list(done)).decode(),))
        }
        paths: dict[int, tuple[tuple[int, float, int], ...]] = {start: ()}
        answer: Answer = []
        for node, cost in done.items():
            if node != start:
                source, predicate, weight = came[node]
                step = (predicate, weight / UNITS_PER_COST, node)
                paths[node] = (*paths[source], step)
            answer.append((rows[node], cost / UNITS_PER_COST, paths[node]))
        return answer

    def close(self) -> None:
        self.connection.close()


def measure(databases: Databases) -> Iterator[Line]:
    """Time all traversals, for every size."""
    for size in databases.sizes:
        with databases.copies(size) as pair:
            say(f"traverse: {size}")
            _weigh(pair)
            yield from _of(pair)


def _weigh(pair: Pair) -> None:
    """Give every link a random weight, by SQL without Mycel, in a temporary copy."""
    rng = random.Random(f"{SEED} weights")
    connection = apsw.Connection(str(pair.ours))
    connection.create_scalar_function("random_weight", lambda *_: round(rng.random(), 3), 0)
    connection.execute("UPDATE proposition SET weight = random_weight()")
    connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    connection.close()


def _of(pair: Pair) -> Iterator[Line]:
    with mycel.open(pair.ours, create=False) as db:
        took = perf_counter()
        arrays = read_arrays(db._store)
        made = perf_counter() - took
        if arrays is None:
            raise LookupError("The graph has no links: was it loaded completely?")
        columns = Columns.of(arrays)
        yield Measure("traverse: make arrays", pair.size, "s", Summary.of([made]))
        held = sum(each.nbytes for each in columns)
        yield Measure("traverse: arrays, one direction", pair.size, "B", Summary.of([held]))
        yield _meanwhile(pair, db, _any(pair, columns))
        base = Handwritten(str(pair.ours), columns)
        try:
            for kind, starts in (("any", _any(pair, columns)), ("hubs", _hubs(columns))):
                for nodes in NODES:
                    yield _beside(pair, db, base, kind, starts, nodes)
                yield _stored(pair, db, kind, starts)
                yield _as_command(pair, db, kind, starts)
        finally:
            base.close()


def _meanwhile(pair: Pair, db: mycel.Graph, starts: Sequence[int]) -> Measure:
    """Time calls while arrays are being made, which the first call starts."""
    db._adjacency = Adjacency(db._store)
    db._adjacency.rent_min = 0
    db._adjacency._rent = 1 << 40
    took: list[int] = []
    while not db._adjacency.is_made:
        _ours(db, DEFAULT_NODES)(starts, took)
    db.traverse("C:2", direction="both")
    db._adjacency.wait()
    note = f"slowest {max(took) / 1e6:.1f} ms of {len(took)}"
    name = f"traverse any, {DEFAULT_NODES} nodes, while arrays are made"
    return Measure(name, pair.size, "s", Summary.of_ns(took), note=note)


def _any(pair: Pair, columns: Columns) -> list[int]:
    """Random elements that have links."""
    rng = pair.rng("traverse")
    places = [
        at for at in range(len(columns.starts) - 1) if columns.starts[at] < columns.starts[at + 1]
    ]
    return [at << 1 for at in rng.sample(places, ANY)]


def _hubs(columns: Columns) -> list[int]:
    """The elements with the most links."""
    starts = columns.starts
    places = sorted(range(len(starts) - 1), key=lambda at: starts[at] - starts[at + 1])
    return [at << 1 for at in places[:HUBS]]


def _beside(
    pair: Pair, db: mycel.Graph, base: Handwritten, kind: str, starts: Sequence[int], nodes: int
) -> Measure:
    _check(db, base, starts, nodes)
    contenders = [
        Contender(_ours(db, nodes), in_blocks(starts, BLOCKS)),
        Contender(_theirs(base, nodes), in_blocks(starts, BLOCKS)),
    ]
    took = perf_counter()
    base.traverse(starts[0], nodes)
    once = max(perf_counter() - took, 1e-5) * len(starts) * 2
    passes = max(3, min(50, int(BUDGET_S / once)))
    ours, theirs = take_turns(contenders, passes=passes)
    return Measure(f"traverse {kind}, {nodes} nodes", pair.size, "s", ours, theirs, BAR)


def _check(db: mycel.Graph, base: Handwritten, starts: Sequence[int], nodes: int) -> None:
    for start in starts[:10]:
        ours = db.traverse(f"C:{start}", max_nodes=nodes).nodes
        theirs = base.traverse(start, nodes)
        if [each.cost for each in ours] != [cost for _, cost, _ in theirs]:
            raise AssertionError(f"Costs from C:{start} are not the same.")


def _stored(pair: Pair, db: mycel.Graph, kind: str, starts: Sequence[int]) -> Measure:
    """Time traversals over arrays, beside traversals over the tables."""
    arrays = db._adjacency
    few = starts[:20]

    def through_tables(block: Block, took: list[int]) -> None:
        db._adjacency = None  # type: ignore[assignment]
        try:
            _ours(db, DEFAULT_NODES)(block, took)
        finally:
            db._adjacency = arrays

    contenders = [
        Contender(_ours(db, DEFAULT_NODES), in_blocks(few, 5)),
        Contender(through_tables, in_blocks(few, 5)),
    ]
    ours, stored = take_turns(contenders, passes=5)
    name = f"traverse {kind}, {DEFAULT_NODES} nodes"
    return Measure(name, pair.size, "s", ours, stored, note="beside the tables alone")


def _as_command(pair: Pair, db: mycel.Graph, kind: str, starts: Sequence[int]) -> Measure:
    """Time TRAVERSE, which returns dictionaries, beside the method, which leaves JSON unparsed."""

    def commanded(block: Block, took: list[int]) -> None:
        for start in block:
            begin = clock_ns()
            db.execute("TRAVERSE FROM {id: :id}", id=f"C:{start}").value  # noqa: B018 - parsed here
            took.append(clock_ns() - begin)

    blocks = in_blocks(starts, 5)
    contenders = [Contender(commanded, blocks), Contender(_ours(db, DEFAULT_NODES), blocks)]
    ours, method = take_turns(contenders, passes=5)
    name = f"TRAVERSE {kind}, {DEFAULT_NODES} nodes"
    return Measure(name, pair.size, "s", ours, method, Bar(2), note="beside db.traverse")


def _ours(db: mycel.Graph, nodes: int) -> Run:
    def run(block: Block, took: list[int]) -> None:
        for start in block:
            begin = clock_ns()
            db.traverse(f"C:{start}", max_nodes=nodes)
            took.append(clock_ns() - begin)

    return run


def _theirs(base: Handwritten, nodes: int) -> Run:
    def run(block: Block, took: list[int]) -> None:
        for start in block:
            begin = clock_ns()
            base.traverse(start, nodes)
            took.append(clock_ns() - begin)

    return run
