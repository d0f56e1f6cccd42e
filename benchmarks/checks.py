"""Measures that run once: the sizes of the files, and the time to verify one."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter

from benchmarks.databases import Databases, say
from benchmarks.report import Measure
from benchmarks.timing import Summary


def measure_size(databases: Databases) -> Iterator[Measure]:
    for pair in databases.pairs():
        sizes = (Summary.of([path.stat().st_size]) for path in (pair.ours, pair.plain))
        yield Measure("file", pair.size, "B", *sizes)


def measure_verify(databases: Databases) -> Iterator[Measure]:
    """The time of `verify`, without and with a replay: a minute or more for larger graphs."""
    for pair in databases.pairs():
        with pair.opened() as (db, _):
            for replay in (False, True):
                name = "verify with replay" if replay else "verify"
                say(f"{name}: {pair.size}")
                start = perf_counter()
                report = db.verify(replay=replay)
                took = Summary.of([perf_counter() - start])
                note = "" if report.ok else "FOUND PROBLEMS"
                yield Measure(name, pair.size, "s", took, note=note)
