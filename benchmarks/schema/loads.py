"""The same rows loaded into a graph with constraints, into one without, and into one without types.

    python -m benchmarks.schema.loads {constrained,bare,flexible} ROWS PATH

Each load runs in a process of its own, whose peak memory can be measured, and prints one JSON
object. Processor time is that of the whole process from the first row to the close.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Final

import mycel
from benchmarks.databases import Databases, remove, say
from benchmarks.graphs import NODES
from benchmarks.loads import ROOT, package_folder, peak_bytes
from benchmarks.report import Bar, Measure, Unit
from benchmarks.schema import people
from benchmarks.timing import Summary

CONTENDERS: Final = ("constrained", "bare", "flexible")
ROUNDS: Final = {"10k": 5, "100k": 3, "1m": 1}
BAR: Final = Bar(2)


@dataclass(frozen=True, slots=True)
class Load:
    """The time and memory of one load."""

    rows: int
    commit_s: float
    close_s: float
    """The time until the database was closed, with the log moved into the file."""
    cpu_s: float
    peak_bytes: int
    file_bytes: int


_MEASURES: Final[tuple[tuple[str, Unit, Callable[[Load], float], Bar | None], ...]] = (
    ("load rows, until closed", "s", lambda done: done.close_s, BAR),
    ("load rows, processor time", "s", lambda done: done.cpu_s, BAR),
    ("load rows, rows a second", "1/s", lambda done: done.rows / done.close_s, None),
    ("load rows, peak memory", "B", lambda done: done.peak_bytes, None),
    ("load rows, file", "B", lambda done: done.file_bytes, None),
)


def measure(databases: Databases) -> Iterator[Measure]:
    for size in databases.sizes:
        done = _loads(databases.folder, size)
        for name, unit, value, bar in _MEASURES:
            ours, bare, flexible = (
                Summary.of([value(load) for load in done[each]]) for each in CONTENDERS
            )
            yield Measure(name, size, unit, ours, bare, bar, "beside a schema without constraints")
            yield Measure(name, size, unit, ours, flexible, note="beside no schema")


def _loads(folder: Path, size: str) -> dict[str, list[Load]]:
    """Run all contenders in turns, in changing order."""
    files = {ids: folder / f"people-{size}-{ids}.jsonl" for ids in (False, True)}
    done: dict[str, list[Load]] = {contender: [] for contender in CONTENDERS}
    try:
        for ids, path in files.items():
            people.write_rows(path, NODES[size], ids=ids)
        for turn in range(ROUNDS[size]):
            for offset in range(len(CONTENDERS)):
                contender = CONTENDERS[(turn + offset) % len(CONTENDERS)]
                say(f"loading rows: {size}, {contender}")
                rows = files[contender != "constrained"]
                done[contender].append(_in_child(contender, rows, folder / "people.db"))
    finally:
        for path in files.values():
            path.unlink(missing_ok=True)
    return done


def _in_child(contender: str, rows: Path, path: Path) -> Load:
    command = (sys.executable, "-m", "benchmarks.schema.loads", contender, str(rows), str(path))
    environment = os.environ | {"PYTHONPATH": package_folder()}
    try:
        remove(path)
        done = subprocess.run(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True
        )
    finally:
        remove(path)
    return Load(**json.loads(done.stdout))


def load(contender: str, rows: Path, path: Path) -> Load:
    """Load a file of rows in this process."""
    with mycel.open(path) as db:
        define(db, contender)
        start, cpu = perf_counter(), process_time()
        loaded = db.load(rows, mode="append")
        commit_s = perf_counter() - start
    close_s, cpu_s = perf_counter() - start, process_time() - cpu
    if loaded.created != loaded.concepts + loaded.links:
        raise ValueError(f"Not everything was new: {loaded}")
    count, size = loaded.created, path.stat().st_size
    return Load(count, commit_s, close_s, cpu_s, peak_bytes(), size)


def define(db: mycel.Graph, contender: str) -> None:
    """Declare the types of the rows in one of three ways."""
    match contender:
        case "constrained":
            db.schema.apply(people.CONSTRAINED)
        case "bare":
            db.schema.apply(people.BARE)
        case _:
            with db.transaction() as tx:
                for name in people.NODES:
                    tx.define_type(name)
                for name, target in people.EDGES.items():
                    ends = {"subject_types": ["Person"], "object_types": [target]}
                    tx.define_predicate(name, ends)


if __name__ == "__main__":
    print(json.dumps(asdict(load(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])))))
