"""Bulk loads: the whole graph in one transaction, each in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from benchmarks.databases import CONTENDERS, Databases
from benchmarks.loads import Load
from benchmarks.report import Bar, Measure, Unit
from benchmarks.timing import Summary

ROUNDS: Final = {"10k": 3, "100k": 1, "1m": 1}

_MEASURES: Final[tuple[tuple[str, Unit, Callable[[Load], float], Bar | None], ...]] = (
    ("bulk load, until closed", "s", lambda done: done.close_s, Bar(4.5)),
    ("bulk load, until committed", "s", lambda done: done.commit_s, Bar(4.5)),
    ("bulk load, processor time", "s", lambda done: done.cpu_s, None),
    ("bulk load, peak memory", "B", lambda done: done.peak_bytes, Bar(1 << 30, "ours")),
)


def measure(databases: Databases) -> Iterator[Measure]:
    for size in databases.sizes:
        done: dict[str, list[Load]] = {contender: [] for contender in CONTENDERS}
        for turn in range(ROUNDS[size]):
            for contender in CONTENDERS if turn % 2 else reversed(CONTENDERS):
                done[contender].append(databases.load(contender, size))
        for name, unit, value, bar in _MEASURES:
            ours, plain = (Summary.of([value(load) for load in done[c]]) for c in CONTENDERS)
            yield Measure(name, size, unit, ours, plain, bar)
