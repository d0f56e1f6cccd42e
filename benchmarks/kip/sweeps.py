"""UPDATE and DELETE of every link of the most frequent predicate, in one command.

    python -m benchmarks.kip.sweeps {update,delete} PATH

Each runs in a process of its own, which changes a copy and prints one JSON object. They have no
bar; the memory is shown for information.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Final, Self

import mycel
from benchmarks.databases import Databases, say
from benchmarks.kip.finds import PREDICATE
from benchmarks.loads import ROOT, package_folder, peak_bytes
from benchmarks.report import Measure
from benchmarks.timing import Summary

TIMEOUT_S: Final = 3600.0
WATCH_EVERY_S: Final = 0.02

_WHERE: Final = f'WHERE {{ ?l (?s, "{PREDICATE}", ?o) }}'
COMMANDS: Final = {
    "update": "UPDATE ?l SET ATTRIBUTES { strength: MUL(?l.attributes.strength, 0.9) } "
    f'SET METADATA {{ "reviewed": true }} {_WHERE}',
    "delete": f"DELETE PROPOSITIONS ?l {_WHERE}",
}


@dataclass(frozen=True, slots=True)
class Sweep:
    """The time and memory of one command."""

    rows: int
    run_s: float
    close_s: float
    """The time until the database was closed, with the log moved into the file."""
    before_bytes: int
    """The private memory when the graph was open and warm, without the mapped file."""
    peak_bytes: int


def measure(databases: Databases) -> Iterator[Measure]:
    for size in databases.sizes:
        for name in COMMANDS:
            with databases.copies(size) as pair:
                say(f"{name} of every {PREDICATE!r}: {size}")
                done = _in_child(name, pair.ours)
            note = f"{done.rows} links, {done.rows / done.run_s:.0f}/s"
            what = f"{name} of every link of a predicate"
            yield Measure(what, size, "s", Summary.of([done.run_s]), note=note)
            more = done.peak_bytes - done.before_bytes
            note = (
                f"{more / max(1, done.rows):.0f} B per link, beyond {done.before_bytes >> 20} MiB"
            )
            yield Measure(f"{what}, memory", size, "B", Summary.of([more]), note=note)


def _in_child(name: str, path: Path) -> Sweep:
    command = (sys.executable, "-m", "benchmarks.kip.sweeps", name, str(path.absolute()))
    environment = os.environ | {"PYTHONPATH": package_folder()}
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True)
    return Sweep(**json.loads(done.stdout))


def sweep(name: str, path: Path) -> Sweep:
    """Run one of the commands in this process."""
    command = COMMANDS[name]
    with mycel.open(path, create=False, timeout_s=TIMEOUT_S) as db:
        db.execute(f"{command} LIMIT 1" if name == "update" else f"EXPLAIN {command}")
        with _MemoryWatch() as watch:
            start = perf_counter()
            result = db.execute(command).value
            run_s = perf_counter() - start
    close_s = perf_counter() - start
    rows = result.get("matched", result.get("deleted_propositions"))
    return Sweep(rows, run_s, close_s, watch.before, watch.peak)


class _MemoryWatch:
    """Samples the memory of the process."""

    def __enter__(self) -> Self:
        self.before = self.peak = _own_bytes()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(WATCH_EVERY_S):
            self.peak = max(self.peak, _own_bytes())


def _own_bytes() -> int:
    """The memory without mapped files; the peak of all memory if the system does not tell."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024
    return peak_bytes()


if __name__ == "__main__":
    print(json.dumps(asdict(sweep(sys.argv[1], Path(sys.argv[2])))))
