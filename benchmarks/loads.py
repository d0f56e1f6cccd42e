"""One bulk load in a process of its own, whose peak memory can be measured.

    python -m benchmarks.loads {ours,plain} SIZE PATH

prints one JSON object. The making of the rows is not measured: the clock stops while the generator
works. Encoding attributes as JSON is part of the load on both sides.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Final, TypeVar

import mycel
from benchmarks import ours, plain
from benchmarks.graphs import graph_of

ROOT: Final = Path(__file__).resolve().parent.parent
LOADERS: Final = {"ours": ours.load, "plain": plain.load}
_ROWS_MADE_AT_ONCE: Final = 1000

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Load:
    """The time and memory of one load, without the making of the rows."""

    commit_s: float
    """The time until the commit returned."""
    close_s: float
    """The time until the database was closed, with the log moved into the file."""
    cpu_s: float
    peak_bytes: int
    file_bytes: int


class Stopwatch:
    """A clock that can be stopped."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._started = now()
        self._left_out = 0.0

    def restart(self) -> None:
        self._started, self._left_out = self._now(), 0.0

    def left_out(self) -> Callable[[], None]:
        """Stop the clock; the returned function starts it again."""
        since = self._now()

        def until() -> None:
            self._left_out += self._now() - since

        return until

    @property
    def elapsed(self) -> float:
        return self._now() - self._started - self._left_out


def run_in_child(contender: str, size: str, path: Path) -> Load:
    """Load a graph into a new file at `path`."""
    command = (sys.executable, "-m", "benchmarks.loads", contender, size, str(path.absolute()))
    environment = os.environ | {"PYTHONPATH": package_folder()}
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True)
    return Load(**json.loads(done.stdout))


def package_folder() -> str:
    """The folder from which a child process imports the same Mycel."""
    return str(Path(mycel.__file__).resolve().parent.parent)


def load(contender: str, size: str, path: Path) -> Load:
    """Load a graph in this process."""
    graph = graph_of(size)
    wall, cpu = Stopwatch(time.perf_counter), Stopwatch(time.process_time)
    watches = (wall, cpu)
    steps = LOADERS[contender](
        path, without_making(graph.nodes(), watches), without_making(graph.links(), watches)
    )
    next(steps)
    for watch in watches:
        watch.restart()
    next(steps)
    commit_s = wall.elapsed
    next(steps, None)
    return Load(commit_s, wall.elapsed, cpu.elapsed, peak_bytes(), path.stat().st_size)


def without_making(rows: Iterable[Row], watches: Iterable[Stopwatch]) -> Iterator[Row]:
    """The rows, made in portions while the clocks are stopped."""
    source = iter(rows)
    while True:
        stopped = [watch.left_out() for watch in watches]
        batch = list(islice(source, _ROWS_MADE_AT_ONCE))
        for go_on in stopped:
            go_on()
        if not batch:
            return
        yield from batch


def peak_bytes() -> int:
    """The peak memory of this process.

    `ru_maxrss` begins with the memory of the parent process; Linux has a value without it.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


if __name__ == "__main__":
    print(json.dumps(asdict(load(sys.argv[1], sys.argv[2], Path(sys.argv[3])))))
