"""A program that is killed at the Nth operation on its files, again and again.

    python -m tests.faults.killing <prepared graph> <folder> <workload> <n> <n> …

For each N it forks a child that opens a copy of the graph, does the work, and is killed meanwhile.
It is a program of its own because only a process with one thread can be forked safely. It prints a
JSON object for each N: if the child was killed, and if the work had been acknowledged before.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from mycel.testing import FaultPlan, FaultVFS
from tests.faults.workloads import WORKLOADS, Workload, copy_graph, open_graph

ACKNOWLEDGED = b"a"


def plan_for(n: int) -> FaultPlan:
    """The plan to kill before, after, or (for a write) in the middle of an operation."""
    match n % 3:
        case 0:
            return FaultPlan(n, "kill", when="after")
        case 1:
            return FaultPlan(n, "kill")
        case _:
            return FaultPlan(n, "kill", "write", when="middle", seed=n)


def child(workload: Workload, path: Path, n: int, acknowledge: int) -> None:
    with FaultVFS() as vfs, vfs.arm(plan_for(n)), open_graph(path, vfs=vfs.name) as db:
        workload.act(db)
        os.write(acknowledge, ACKNOWLEDGED)


def run(workload: Workload, path: Path, n: int) -> dict[str, object]:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.close(reading)
            child(workload, path, n, writing)
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        acknowledged = pipe.read() == ACKNOWLEDGED
    _, status = os.waitpid(pid, 0)
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    return {
        "n": n,
        "killed": killed,
        "acknowledged": acknowledged,
        "ended_well": os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0,
    }


def main(source: str, folder: str, name: str, *numbers: str) -> None:
    for n in map(int, numbers):
        path = Path(folder) / f"{n}.db"
        copy_graph(Path(source), path)
        print(json.dumps(run(WORKLOADS[name], path, n)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
