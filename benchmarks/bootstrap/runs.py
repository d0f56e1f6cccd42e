"""The time of a bootstrap for each file: in a first run, and in a run without changes.

Both are processor time, Git included, which other programs on the machine disturb less than
wall-clock time. The wall-clock time is shown for information.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import mycel
from benchmarks.bootstrap.corpus import make
from benchmarks.databases import Databases, say
from benchmarks.report import Bar, Line, Measure, Skipped
from benchmarks.timing import Summary

FIRST_PER_S: Final = 200
AGAIN_PER_S: Final = 10_000
FIRST_RUNS: Final = 3
AGAIN_RUNS: Final = 15
EDITED: Final = "stdlib/string.py"


def measure(databases: Databases) -> Iterator[Line]:
    if sys.platform == "win32" or shutil.which("git") is None:
        yield Skipped("bootstrap", "Git and the times of processes are needed")
        return
    with tempfile.TemporaryDirectory(prefix="bootstrap-", dir=databases.folder) as folder:
        yield from _measure(Path(folder))


def _measure(folder: Path) -> Iterator[Line]:
    from mycel.knowledge.bootstrap import bootstrap

    say("bootstrap")
    corpus = make(folder / "project")
    first: list[tuple[float, float]] = []
    again: list[tuple[float, float]] = []
    edited: list[tuple[float, float]] = []
    told: Any = None
    for run in range(FIRST_RUNS):
        with mycel.open(folder / f"graph{run}.db") as db:
            knowledge = mycel.Knowledge(db, workspace="bench", root=corpus.root)
            if run == 0:
                _load_parsers(folder)
            work = partial(bootstrap, knowledge)
            seconds, told = _timed(work)
            first.append(seconds)
            again += [_timed(work)[0] for _ in range(AGAIN_RUNS)]
            with (corpus.root / EDITED).open("a") as file:
                file.write(f"\n# {run}\n")
            edited.append(_timed(work)[0])
    size = f"{corpus.files} files"
    note = (
        f"{corpus.bytes / corpus.files / 1e3:.1f} KB a file; {told.symbols:,} symbols,"
        f" {told.relations_added:,} relations"
    )
    per_file = 1 / corpus.files
    yield _line("bootstrap, first run, per file", size, first, per_file, FIRST_PER_S, note)
    yield _line("bootstrap, no change, per file", size, again, per_file, AGAIN_PER_S)
    yield _line("bootstrap, one file edited", size, edited, 1, None)


def _line(
    name: str,
    size: str,
    seconds: list[tuple[float, float]],
    per: float,
    per_s: int | None,
    note: str = "",
) -> Measure:
    processor = Summary.of([own * per for own, _ in seconds])
    clock = Summary.of([passed * per for _, passed in seconds])
    shown = f"{1 / processor.p50:,.0f}/s of the processor, {1 / clock.p50:,.0f}/s on the clock"
    bar = None if per_s is None else Bar(1 / per_s, "ours")
    told = f"{shown}; {note}".rstrip("; ") if per_s else f"{clock.p50 * 1e3:.0f} ms on the clock"
    return Measure(name, size, "s", processor, bar=bar, note=told)


def _timed(work: Callable[[], Any]) -> tuple[tuple[float, float], Any]:
    """The processor and wall-clock seconds of some work, and its result."""
    before, began = _processor_s(), perf_counter()
    result = work()
    return (_processor_s() - before, perf_counter() - began), result


def _processor_s() -> float:
    import resource

    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _load_parsers(folder: Path) -> None:
    """Load the grammars, whose loading time is not measured."""
    from mycel.knowledge.bootstrap import bootstrap

    small = folder / "small"
    small.mkdir()
    (small / "a.py").write_text("def f():\n    pass\n")
    with mycel.open(":memory:") as db:
        bootstrap(mycel.Knowledge(db, workspace="small", root=small))
