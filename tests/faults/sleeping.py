"""Cycles of upkeep that are killed at the Nth operation on a file, and the result of the next one.

python -m tests.faults.sleeping <folder> <n> <n> …

Prints a JSON object for each N: if the child was killed, the problems that `verify` found after the
next cycle, and the state after it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import mycel
from mycel.testing import FaultPlan, FaultVFS
from tests.faults.workloads import copy_graph
from tests.unit.store.given import problems

LATER_US = 1_900_000_000_000_000


class Clock:
    """A clock that moves only by the least step with each call."""

    def __init__(self, now_us: int) -> None:
        self.now_us = now_us

    def __call__(self) -> int:
        self.now_us += 1
        return self.now_us


def open_graph(path: Path, *, now_us: int = LATER_US, vfs: str | None = None) -> mycel.Graph:
    return mycel.open(path, clock_us=Clock(now_us), vfs=vfs)


def prepare(path: Path) -> None:
    """Notes that are due in four ways, duplicates, and a contradiction."""
    with open_graph(path, now_us=1_700_000_000_000_000) as db, db.transaction() as tx:
        tx.define_type("Note", {"retention": {"after": "9d", "then": "archive"}})
        tx.define_type("Org")
        tx.define_predicate("works_at", {"functional": True})
        for n in range(12):
            end = ("archive", "delete", "purge", "ask")[n % 4]
            tx.put_concept("Note", f"{n}", None, {"retention": {"after": "9d", "then": end}})
        tx.put_concept("Note", "kept", None, {"pinned": True})
        for name in ("Acme", "ACME", "Big Blue Machines", "BBM"):
            tx.put_concept("Org", name, {"url": "acme.example"} if "c" in name.lower()[:2] else {})
            tx.put_proposition(("Note", "kept"), "works_at", ("Org", name))


def state(db: mycel.Graph) -> list[str]:
    """Everything that a cycle may change, except times and its own log."""
    command = "FIND(?c.type, ?c.name, ?c.metadata.memory_tier) {} WHERE {{ ?c {{type: :type}} }}"
    found = []
    for clause in ("", "INCLUDE ARCHIVED"):
        for type_name in ("Note", "Org", "SleepTask"):
            rows = db.execute(command.format(clause), {"type": type_name}).rows
            found += [f"{clause} {row}" for row in rows]
    links = 'FIND(?o.name) WHERE { (?n, "works_at", ?o) }'
    return sorted([*found, *(str(row) for row in db.execute(links).rows)])


def count_operations(source: Path, path: Path) -> tuple[int, list[str]]:
    """The number of operations of an undisturbed cycle, and the states after it and another one."""
    copy_graph(source, path)
    with FaultVFS() as vfs, vfs.watch():
        with open_graph(path, vfs=vfs.name) as db:
            db.sleep()
        count = vfs.count
    with open_graph(path) as db:
        db.sleep()
        return count, state(db)


def child(path: Path, n: int) -> None:
    kind = {0: FaultPlan(n, "kill", when="after"), 1: FaultPlan(n, "kill")}
    plan = kind.get(n % 3) or FaultPlan(n, "kill", "write", when="middle", seed=n)
    with FaultVFS() as vfs, vfs.arm(plan), open_graph(path, vfs=vfs.name) as db:
        db.sleep()


def run(source: Path, path: Path, n: int) -> dict[str, object]:
    copy_graph(source, path)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            child(path, n)
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    with open_graph(path) as db:
        report = db.sleep()
        db.sleep()
        return {
            "n": n,
            "killed": os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL,
            "complete": report.is_complete,
            "problems": problems(db.verify(replay=True)),
            "state": state(db),
        }


if __name__ == "__main__":
    folder, *numbers = sys.argv[1:]
    for number in map(int, numbers):
        outcome = run(Path(folder) / "prepared.db", Path(folder) / f"{number}.db", number)
        print(json.dumps(outcome), flush=True)
