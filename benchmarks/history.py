"""History: a branch beside a copy of the file, differences, and a merge beside its changes.

A merge of 1,000 changes is compared with the same changes in one transaction, in processor time,
because the time of the disk is the same for both.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Final

import mycel
from benchmarks.databases import Databases, Pair, say
from benchmarks.report import Bar, Line, Measure
from benchmarks.timing import Summary
from mycel.model import ids

BRANCHES: Final = 5
SMALL: Final = 1_000
SMALL_BRANCH_S_MAX: Final = 0.05
DIFFERENCES: Final = 100
DIFF_S_MAX: Final = 0.005
BRANCH_DIFF_S_MAX: Final = 0.03
MERGED: Final = 1_000
PASSES: Final = 5


def measure(databases: Databases) -> Iterator[Line]:
    with TemporaryDirectory(prefix="mycel-bench-", dir=databases.folder) as folder:
        yield _small(Path(folder))
    for pair in databases.pairs():
        say(f"history: {pair.size}")
        with TemporaryDirectory(prefix="mycel-bench-", dir=databases.folder) as folder:
            yield from _measure(pair, Path(folder))


def _small(folder: Path) -> Measure:
    with mycel.open(folder / "small.db") as db:
        with db.transaction() as tx:
            tx.define_type("Fact")
            for number in range(SMALL):
                tx.put_concept("Fact", f"fact {number}", {"number": number})
        took = []
        for number in range(BRANCHES):
            start = perf_counter()
            db.branches.create(f"b{number}")
            took.append(perf_counter() - start)
    bar = Bar(SMALL_BRANCH_S_MAX, "ours")
    return Measure("branch of 1,000 concepts", "small", "s", Summary.of(took), bar=bar)


def _measure(pair: Pair, folder: Path) -> Iterator[Line]:
    graph = folder / "graph.db"
    shutil.copyfile(pair.ours, graph)
    with mycel.open(graph, create=False) as db:
        yield _branch(db, pair, folder)
        db.branches.create("draft")
        with db.open_branch("draft") as draft:
            yield from _differences(db, draft, pair)
            yield _merge(db, draft, pair)


def _branch(db: mycel.Graph, pair: Pair, folder: Path) -> Measure:
    times: dict[str, list[float]] = {"ours": [], "plain": []}
    for number in range(BRANCHES):
        start = perf_counter()
        db.branches.create(f"b{number}")
        times["ours"].append(perf_counter() - start)
        db.branches.delete(f"b{number}")
        copied = folder / "copied.db"
        start = perf_counter()
        shutil.copyfile(pair.ours, copied)
        descriptor = os.open(copied, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)
        times["plain"].append(perf_counter() - start)
        copied.unlink()
    ours, plain = (Summary.of(times[key]) for key in ("ours", "plain"))
    return Measure("branch, to a copy of the file", pair.size, "s", ours, plain, Bar(2))


def _change(db: mycel.Graph, numbers: list[int], value: object) -> None:
    with db.transaction(message="changes") as tx:
        for number in numbers:
            tx.update(ids.concept_id(number), attributes={"changed": value})


def _numbers(db: mycel.Graph, pair: Pair, purpose: str, count: int) -> list[int]:
    with db.reading() as reader:
        newest = reader.head().next_concept
        numbers = range(newest // 4 * 2, newest - 2, 2)
        found = sorted(pair.rng(purpose).sample(numbers, min(count * 2, len(numbers))))
        live = reader.elements(found)
    return [number for number in found if number in live][:count]


def _differences(db: mycel.Graph, draft: mycel.Graph, pair: Pair) -> Iterator[Measure]:
    numbers = _numbers(db, pair, "diff", DIFFERENCES)
    before = db.snapshot().entries
    _change(db, numbers, "here")
    took = []
    for _ in range(PASSES * 4):
        start = process_time()
        assert len(db.history.diff(before).elements) == DIFFERENCES
        took.append(process_time() - start)
    bar = Bar(DIFF_S_MAX, "ours")
    yield Measure("diff of 100 changes", pair.size, "s", Summary.of(took), bar=bar)
    _change(draft, numbers, "there")
    took = []
    for _ in range(PASSES * 4):
        start = process_time()
        assert len(db.history.diff("main", "draft").elements) == DIFFERENCES
        took.append(process_time() - start)
    bar = Bar(BRANCH_DIFF_S_MAX, "ours")
    yield Measure("diff of 100 changes, branches", pair.size, "s", Summary.of(took), bar=bar)
    _change(db, numbers, "there")
    db.merge("draft")


def _merge(db: mycel.Graph, draft: mycel.Graph, pair: Pair) -> Measure:
    numbers = _numbers(db, pair, "merge", MERGED)
    times: dict[str, list[float]] = {"ours": [], "plain": []}
    for number in range(PASSES):
        _change(draft, numbers, number)
        start = process_time()
        done = db.merge("draft")
        times["ours"].append(process_time() - start)
        assert (done.status, done.diff.counts["changed"]) == ("merged", len(numbers))
        start = process_time()
        _change(db, numbers, f"{number} again")
        times["plain"].append(process_time() - start)
        _change(db, numbers, number)
    ours, plain = (Summary.of(times[key]) for key in ("ours", "plain"))
    return Measure("merge of 1,000 changes", pair.size, "s", ours, plain, Bar(2))
