"""The Git mirror: the first export, small catch-ups and imports, and writes beside a follower.

The export runs in a process of its own, so that its peak memory can be measured. At its end `git
reset` writes the files to the disk. That time is shown separately, because it depends on the file
system.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, perf_counter_ns
from typing import Final

import mycel
from benchmarks.databases import Databases, Pair, say
from benchmarks.report import Bar, Line, Measure
from benchmarks.timing import Summary
from mycel.mirror.follower import Follower

SECONDS_PER_FILE_MAX: Final = 1 / 4_000
MEMORY_BYTES_MAX: Final = 300 << 20
CATCH_UPS: Final = 9
BLOCKS: Final = 8
WRITES: Final = 60
"""The number of writes in a block; blocks with and without a follower take turns."""

_EXPORT: Final = """
import json, os, resource, sys, time, mycel
from mycel.mirror.repository import Repository

run, on_disk = Repository.run, [0.0]

def timed(self, *words, **how):
    start = time.perf_counter()
    done = run(self, *words, **how)
    on_disk[0] += (time.perf_counter() - start) * (words[0] == "reset")
    return done

Repository.run = timed
with mycel.open(sys.argv[1], create=False, memory="modest") as db:
    start = time.perf_counter()
    mirror = mycel.Mirror.create(db, sys.argv[2])
    took = time.perf_counter() - start - on_disk[0]
times = os.times()
files = sum(1 for path in mirror.folder.rglob("*.*") if ".git" not in path.parts)
try:  # The peak of `getrusage` is not below that of the process that started this one.
    (line,) = (line for line in open("/proc/self/status") if line.startswith("VmHWM:"))
    peak = int(line.split()[1]) * 1024
except FileNotFoundError:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
own, git = times.user + times.system, times.children_user + times.children_system
print(json.dumps([took, on_disk[0], own, git, files, peak]))
"""


def measure(databases: Databases) -> Iterator[Line]:
    for pair in databases.pairs():
        say(f"Git mirror: {pair.size}")
        with TemporaryDirectory(prefix="mycel-bench-", dir=databases.folder) as folder:
            yield from _measure(pair, Path(folder))


def _measure(pair: Pair, folder: Path) -> Iterator[Line]:
    graph = folder / "graph.db"
    shutil.copyfile(pair.ours, graph)
    command = [sys.executable, "-c", _EXPORT, str(graph), str(folder / "mirror")]
    done = subprocess.run(command, capture_output=True, check=True)
    took, on_disk, own, git, files, peak = json.loads(done.stdout)
    note = f"{files} files, {files / took:.0f}/s; processor: {own:.0f} s, git {git:.0f} s"
    bar = Bar(SECONDS_PER_FILE_MAX, "ours")
    export = Summary.of([took / files])
    yield Measure("first export to Git, a file", pair.size, "s", export, bar=bar, note=note)
    disk = Summary.of([on_disk / files])
    yield Measure("its file on the disk", pair.size, "s", disk)
    memory = Bar(MEMORY_BYTES_MAX, "ours")
    yield Measure("first export, memory", pair.size, "B", Summary.of([peak]), bar=memory)
    with mycel.open(graph, create=False) as db:
        yield _catch_up(db, pair)
        yield from _edited(db, pair)
        yield _beside(db, pair)


def _catch_up(db: mycel.Graph, pair: Pair) -> Measure:
    mirror = mycel.Mirror(db)
    notes = mycel.Knowledge(db, workspace="bench")
    took = []
    for number in range(CATCH_UPS):
        notes.add(f"note/{number}", content="A note.")
        start = perf_counter()
        mirror.push()
        took.append(perf_counter() - start)
    return Measure("catch-up of one small commit", pair.size, "s", Summary.of(took))


def _edited(db: mycel.Graph, pair: Pair) -> Iterator[Measure]:
    """The times of status and import with one edited file."""
    mirror = mycel.Mirror(db)
    file = mirror.folder / "concepts/bench/note/0.md"
    told, taken = [], []
    for number in range(CATCH_UPS):
        file.write_text(file.read_text().replace("A note", f"A note, {number}", 1))
        start = perf_counter()
        edited = mirror.status().edited
        told.append(perf_counter() - start)
        start = perf_counter()
        files = mirror.import_edits().files
        taken.append(perf_counter() - start)
        if not len(edited) == len(files) == 1:
            raise RuntimeError(f"{edited} and {files} are not the file that was edited")
    yield Measure("status, one file edited", pair.size, "s", Summary.of(told))
    yield Measure("import of one edited file", pair.size, "s", Summary.of(taken))


def _beside(db: mycel.Graph, pair: Pair) -> Measure:
    """A durable write with a follower in the process, beside one without."""
    notes = mycel.Knowledge(db, workspace="bench")
    times: dict[bool, list[int]] = {True: [], False: []}
    for block in range(BLOCKS):
        is_followed = block % 2 == 0
        follower = Follower(db) if is_followed else None
        for number in range(WRITES):
            start = perf_counter_ns()
            notes.add(f"beside/{block}/{number}", content="A note.")
            times[is_followed].append(perf_counter_ns() - start)
        if follower is not None:
            follower.close()
    ours, plain = (Summary.of_ns(times[key]) for key in (True, False))
    return Measure("write, followed by a mirror", pair.size, "s", ours, plain, Bar(1.1))
