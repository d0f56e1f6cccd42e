"""A process that is killed at the Nth operation leaves all or nothing, and nothing to clean up."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mycel.testing import FaultVFS
from tests.adapters.warm import warm_command
from tests.faults.workloads import WORKLOADS, Workload, copy_graph, integrity, open_graph, spread

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="killing needs POSIX signals")

ATTEMPTS_MAX = 5
"""In CI: the first, the last two and two between; `make soak` tries every N."""


def count_operations(workload: Workload, source: Path, path: Path) -> int:
    copy_graph(source, path)
    with FaultVFS() as vfs, vfs.watch():
        with open_graph(path, vfs=vfs.name) as db:
            workload.act(db)
        return vfs.count


def kill_at_each(name: str, folder: Path, attempts_max: int | None) -> None:
    workload, source = WORKLOADS[name], folder / "prepared.db"
    workload.build(source)
    total = count_operations(workload, source, folder / "counted.db")
    numbers = spread(total, attempts_max or total)
    done = subprocess.run(
        [*warm_command("tests.faults.killing"), source, folder, name, *map(str, numbers)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    outcomes: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    assert sum(outcome["killed"] for outcome in outcomes) >= 3
    assert any(not outcome["killed"] for outcome in outcomes)
    for outcome in outcomes:
        check(workload, folder / f"{outcome['n']}.db", outcome)


def check(workload: Workload, path: Path, outcome: dict[str, Any]) -> None:
    assert outcome["killed"] or outcome["ended_well"], outcome
    at_once = path.with_suffix(".written")
    for suffix in ("", "-wal"):
        if Path(f"{path}{suffix}").exists():
            shutil.copyfile(f"{path}{suffix}", f"{at_once}{suffix}")
    with open_graph(at_once, durability="off") as db:
        made = db.write(lambda tx: tx.define_type("Afterwards"))
        assert db.get(made).id == made, "it can be written to by who finds it like this"
    assert integrity(at_once) == []
    done = workload.is_done_in(path)
    if outcome["acknowledged"]:
        assert done, outcome


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_process_killed_at_any_operation_leaves_all_or_nothing(tmp_path: Path, name: str) -> None:
    kill_at_each(name, tmp_path, ATTEMPTS_MAX)


@pytest.mark.soak
@pytest.mark.parametrize("name", WORKLOADS)
def test_a_process_killed_at_every_operation_leaves_all_or_nothing(
    tmp_path: Path, name: str
) -> None:
    kill_at_each(name, tmp_path, None)
