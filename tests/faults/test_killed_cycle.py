"""A sleep cycle that is killed anywhere is finished by the next one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.adapters.warm import warm_command
from tests.faults.sleeping import count_operations, prepare
from tests.faults.workloads import spread

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="killing needs POSIX signals")

ATTEMPTS_MAX = 9
"""In CI; `make soak` tries every N."""


def kill_at_each(folder: Path, attempts_max: int | None) -> None:
    source = folder / "prepared.db"
    prepare(source)
    total, expected = count_operations(source, folder / "counted.db")
    # How a cycle groups its work depends on the time that it takes: the last number is far beyond.
    numbers = [*spread(total, attempts_max or total), total * 9]
    done = subprocess.run(
        [*warm_command("tests.faults.sleeping"), folder, *map(str, numbers)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    outcomes = [json.loads(line) for line in done.stdout.splitlines()]
    assert sum(outcome["killed"] for outcome in outcomes) >= 3
    assert any(not outcome["killed"] for outcome in outcomes)
    for outcome in outcomes:
        assert outcome["complete"], outcome
        assert outcome["problems"] == [], outcome
        assert outcome["state"] == expected, outcome["n"]


def test_a_cycle_killed_at_any_operation_is_finished_by_the_next_one(tmp_path: Path) -> None:
    kill_at_each(tmp_path, ATTEMPTS_MAX)


@pytest.mark.soak
def test_a_cycle_killed_at_every_operation_is_finished_by_the_next_one(tmp_path: Path) -> None:
    kill_at_each(tmp_path, None)
