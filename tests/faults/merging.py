"""A program that is killed at the Nth operation on the target of a merge, again and again.

    python -m tests.faults.merging <folder> <n> <n> …

The folder has `graph.db` with the branch `draft`. For each N a child works on a copy of both: it
merges, decides, commits, tags and rolls back, and is killed on the way. Prints a JSON object for
each N: the last step that was acknowledged, and whether the child was killed.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from pathlib import Path

import mycel
from mycel.testing import FaultVFS
from tests.faults.killing import plan_for

STEPS = ("opened", "resolved", "committed", "tagged", "rolled back", "done")


def work(path: Path, vfs: FaultVFS, acknowledge: int) -> None:
    def step(name: str) -> None:
        os.write(acknowledge, bytes([STEPS.index(name)]))

    with mycel.open(path, vfs=vfs.name, create=False) as db:
        before = next(db.history.log(limit=1)).commit
        db.merge("draft")
        step("opened")
        db.merges.resolve("*", "theirs")
        step("resolved")
        db.merges.commit()
        step("committed")
        db.history.tag("merged")
        step("tagged")
        db.history.rollback(before)
        step("rolled back")
    step("done")


def run(folder: Path, n: int) -> dict[str, object]:
    target = folder / str(n)
    target.mkdir()
    for name in ("graph.db", "graph.db@draft.db"):
        shutil.copyfile(folder / name, target / name)
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.close(reading)
            with FaultVFS() as vfs, vfs.arm(plan_for(n)):
                work(target / "graph.db", vfs, writing)
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        acknowledged = pipe.read()
    _, status = os.waitpid(pid, 0)
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    ended_well = os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0
    last = acknowledged[-1] if acknowledged else -1
    return {"n": n, "killed": killed, "ended_well": ended_well, "last": last}


def count(folder: Path) -> int:
    """The number of operations of the whole work."""
    target = folder / "counted"
    target.mkdir()
    for name in ("graph.db", "graph.db@draft.db"):
        shutil.copyfile(folder / name, target / name)
    reading, writing = os.pipe()
    with FaultVFS() as vfs, vfs.watch():
        work(target / "graph.db", vfs, writing)
        total = vfs.count
    os.close(reading)
    os.close(writing)
    return total


if __name__ == "__main__":
    given, *numbers = sys.argv[1:]
    for number in map(int, numbers):
        print(json.dumps(run(Path(given), number)), flush=True)
