"""Writing: small durable transactions, alone and from many threads.

Both sides write to copies of the databases, so that the databases stay unchanged for the next
measure.

A durable write waits for the disk. The longer the disk takes, the closer the ratio is to 1,
whatever the two sides do: 5x became 1x within minutes when fsync had become twenty times slower. So
processor time, which does not include waiting, is measured too. If a write meets the bar in
wall-clock time but not in processor time, that is due to the disk, and its line says "masked"
instead of "ok". A bare write with fsync takes turns with both, to show the speed of the disk.
"""

from __future__ import annotations

import os
import random
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from time import perf_counter, thread_time_ns
from typing import Final

import mycel
from benchmarks import ours
from benchmarks.databases import Databases, Pair, say
from benchmarks.graphs import PREDICATES, Graph, Link, Node
from benchmarks.plain import Plain
from benchmarks.report import Bar, Measure, quantity
from benchmarks.timing import Block, Contender, Run, Summary, clock_ns, in_blocks, quiet, take_turns

TRANSACTIONS: Final = 400
LINKS: Final = 3
BAR: Final = Bar(4)

THREADS: Final = 8
ROUNDS: Final = 5
EDGES_PER_ROUND: Final = 400


def measure_durable(databases: Databases) -> Iterator[Measure]:
    """One concept and three links to others, in one transaction that is on disk when it returns."""
    for size in databases.sizes:
        with databases.copies(size) as pair, pair.opened() as (db, base):
            say(f"writing {size}")
            ends = _Ends(pair, db)
            ours_, theirs = _Ours(db, ends), _Base(base, ends)
            blocks = in_blocks(range(TRANSACTIONS), TRANSACTIONS)
            with _bare_fsync(databases.folder) as bare:
                runs = (ours_.run, theirs.run, bare)
                ours_wall, plain_wall, fsync = take_turns(
                    [Contender(run, blocks) for run in runs], passes=1
                )
        # The first half warms up.
        cpu = (Summary.of_ns(each.cpu_ns[TRANSACTIONS:]) for each in (ours_, theirs))
        working = Measure("durable write, processor time", size, "s", *cpu)
        yield Measure(
            "durable write, 1 concept + 3 links",
            size,
            "s",
            ours_wall,
            plain_wall,
            BAR,
            note=f"a bare fsync takes {quantity(fsync.p50, 's')}",
            masked=working.ratio > BAR.limit,
        )
        yield working


@contextmanager
def _bare_fsync(folder: Path) -> Iterator[Run]:
    """Append a page to a file and wait until it is on disk, the least cost of a durable write."""
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:

        def run(block: Block, took_ns: list[int]) -> None:
            for _ in block:
                start = clock_ns()
                file.write(bytes(4096))
                os.fsync(file.fileno())
                took_ns.append(clock_ns() - start)

        yield run


class _Ends:
    """Concepts to link to: their indexes in the sequence of nodes, and our ids."""

    def __init__(self, pair: Pair, db: mycel.Graph) -> None:
        rng = pair.rng("write")
        nodes = Graph(pair.node_count, 0).nodes()
        self.places = sorted(rng.sample(range(pair.node_count), 1000))
        wanted, ids = set(self.places), []
        for place, node in enumerate(nodes):
            if place in wanted:
                ids.append(ours.concept_id(db, node.type, node.name))
        self.ids = ids


def _new(seed: int) -> Iterator[tuple[Node, list[tuple[str, int, dict[str, object]]]]]:
    """Endless new concepts, each with links: predicate, index of the end, attributes."""
    rng = random.Random(seed)
    made = 0
    while True:
        made += 1
        node = Node(
            "Meeting",
            f"a new meeting {made}",
            {"description": "what happened when it was measured", "importance": rng.random()},
            {"source": "benchmark"},
        )
        ends = rng.sample(range(1000), LINKS)
        yield (
            node,
            [(rng.choice(PREDICATES), e, {"strength": rng.random(), "note": "x y"}) for e in ends],
        )


class _Ours:
    def __init__(self, db: mycel.Graph, ends: _Ends) -> None:
        self._db, self._ids, self._new = db, ends.ids, _new(1)
        self.cpu_ns: list[int] = []

    def run(self, block: Block, took_ns: list[int]) -> None:
        for node, links in islice(self._new, len(block)):
            cpu, start = thread_time_ns(), clock_ns()
            with self._db.transaction() as tx:
                concept = tx.put_concept(*node)
                for predicate, end, attributes in links:
                    tx.put_proposition(concept, predicate, self._ids[end], attributes)
            took_ns.append(clock_ns() - start)
            self.cpu_ns.append(thread_time_ns() - cpu)


class _Base:
    def __init__(self, base: Plain, ends: _Ends) -> None:
        self._base, self._places, self._new = base, ends.places, _new(1)
        self._next_place = base.count("concept")
        self.cpu_ns: list[int] = []

    def run(self, block: Block, took_ns: list[int]) -> None:
        for node, links in islice(self._new, len(block)):
            place, self._next_place = self._next_place, self._next_place + 1
            rows = [Link(place, p, self._places[end], attributes) for p, end, attributes in links]
            cpu, start = thread_time_ns(), clock_ns()
            self._base.put([node], rows)
            took_ns.append(clock_ns() - start)
            self.cpu_ns.append(thread_time_ns() - cpu)


def measure_group(databases: Databases) -> Iterator[Measure]:
    """`add_edge` from eight threads at once, which share commits, against one thread."""
    for size in databases.sizes:
        with databases.copies(size) as pair, pair.opened() as (db, _):
            say(f"group commit {size}")
            with db.transaction() as tx:
                tx.define_predicate("measured_with")
            edges = _new_edges(pair, db)
            _edges_per_s(db, list(islice(edges, THREADS * 4)), THREADS)
            rates: dict[int, list[float]] = {1: [], THREADS: []}
            with quiet():
                for _ in range(ROUNDS):
                    for threads, measured in rates.items():
                        some = list(islice(edges, EDGES_PER_ROUND))
                        measured.append(_edges_per_s(db, some, threads))
        yield Measure(
            f"group commit, {THREADS} threads",
            size,
            "1/s",
            Summary.of(rates[THREADS]),
            Summary.of(rates[1]),
            note="more is better; beside it ours with one thread",
        )


def _new_edges(pair: Pair, db: mycel.Graph) -> Iterator[tuple[str, str]]:
    """Distinct pairs of concepts."""
    ids = _Ends(pair, db).ids
    rng, seen = pair.rng("group"), set[tuple[str, str]]()
    while True:
        ends = rng.choice(ids), rng.choice(ids)
        if ends[0] != ends[1] and ends not in seen:
            seen.add(ends)
            yield ends


def _edges_per_s(db: mycel.Graph, edges: Sequence[tuple[str, str]], threads: int) -> float:
    ready = threading.Barrier(threads + 1)

    def work(share: Sequence[tuple[str, str]]) -> None:
        ready.wait()
        for src, dst in share:
            db.add_edge(src, "measured_with", dst)

    workers = [threading.Thread(target=work, args=(edges[at::threads],)) for at in range(threads)]
    for worker in workers:
        worker.start()
    ready.wait()
    start = perf_counter()
    for worker in workers:
        worker.join()
    return len(edges) / (perf_counter() - start)
