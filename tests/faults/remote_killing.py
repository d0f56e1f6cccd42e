"""A program that is killed at the Nth operation on a workspace or on a clone of it.

    python -m tests.faults.remote_killing <folder> <side> <n> <n> …

The folder has the workspace `there.db` and its clone `here.db`. For each N a child works on copies
of both: submissions, proposals, pulls, pushes and a merge; the graph of one side is killed on the
way. Prints a JSON object for each N: the last step that was acknowledged, and if it was killed.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import mycel
from mycel.remote.copying import pull, push
from mycel.remote.sources import FileSource
from mycel.testing import FaultVFS
from tests.faults.killing import plan_for

STEPS = ("submitted", "proposed", "accepted", "pulled", "pushed", "merged", "done")
NAMES = ("there.db", "here.db")


def node(name: str) -> dict[str, Any]:
    return {
        "concept": {"type": "Fact", "name": name},
        "attributes": {"x": 1},
        "metadata": {},
    }


def work(folder: Path, side: str, vfs: FaultVFS | None, acknowledge: int) -> None:
    """All steps. After a kill they are repeated, and end as if nothing had happened."""

    def step(name: str) -> None:
        os.write(acknowledge, bytes([STEPS.index(name)]))

    def open_(name: str) -> mycel.Graph:
        how = {} if vfs is None or name != side else {"vfs": vfs.name}
        return mycel.open(folder / name, create=False, actor=name, **how)

    with ExitStack() as stack:
        there, here = (stack.enter_context(open_(name)) for name in NAMES)
        source = FileSource(there, "shop")
        there.submissions.submit([node("a")], key="submission-a", on_conflict="merge")
        step("submitted")
        made = there.submissions.submit([node("b")], key="submission-b", on_conflict="propose")
        step("proposed")
        if there.proposals.get(made.proposal).status == "open":
            there.proposals.accept(made.proposal)
        step("accepted")
        pull(here, source)
        step("pulled")
        for name in ("c", "d"):
            if here.get_concept("Fact", name) is None:
                here.write(
                    lambda tx, name=name: tx.put_concept("Fact", name, {"x": 1}), message=name
                )
        pull(here, source)
        push(here, source)
        step("pushed")
        pull(here, source)
        push(here, source)
        step("merged")
    step("done")


def run(folder: Path, side: str, n: int) -> dict[str, object]:
    target = folder / f"{side}-{n}"
    copy(folder, target)
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.close(reading)
            with FaultVFS() as vfs, vfs.arm(plan_for(n)):
                work(target, side, vfs, writing)
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


def copy(folder: Path, target: Path) -> None:
    target.mkdir()
    for name in NAMES:
        shutil.copyfile(folder / name, target / name)


def count(folder: Path, side: str) -> int:
    """The number of operations of the whole work on one side."""
    target = folder / f"counted-{side}"
    copy(folder, target)
    reading, writing = os.pipe()
    with FaultVFS() as vfs, vfs.watch():
        work(target, side, vfs, writing)
        total = vfs.count
    os.close(reading)
    os.close(writing)
    return total


if __name__ == "__main__":
    given, name_of_side, *numbers = sys.argv[1:]
    for number in map(int, numbers):
        print(json.dumps(run(Path(given), name_of_side, number)), flush=True)
