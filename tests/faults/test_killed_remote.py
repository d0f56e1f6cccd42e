"""A server or a clone that is killed in a submission, pull, push or merge loses nothing."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import mycel
from mycel.remote.copying import clone
from mycel.remote.sources import FileSource
from tests.adapters.warm import warm_command
from tests.faults.remote_killing import NAMES, STEPS, count, work
from tests.faults.workloads import spread

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="killing needs POSIX signals")

ATTEMPTS_MAX = 3
"""For each side in CI; `make soak` tries every N."""
PARTS = 12


def build(folder: Path) -> None:
    with mycel.open(folder / "there.db", durability="off", core_capsules=False) as db:
        with db.transaction() as tx:
            tx.define_type("Fact")
            tx.put_concept("Fact", "old", {"x": 0})
        clone(FileSource(db, "shop"), folder / "here.db")


def check(folder: Path, side: str) -> None:
    """Whatever was done before, the same work again ends it, with everything there once."""
    for name in NAMES:
        with mycel.open(folder / name, create=False) as db:
            assert not db.verify().problems
    reading, writing = os.pipe()
    work(folder, side, None, writing)
    os.close(reading)
    os.close(writing)
    for name in NAMES:
        with mycel.open(folder / name, create=False) as db:
            values = {key: db.get_concept("Fact", key) for key in ("old", "a", "b", "c", "d")}
            assert all(values.values()), (name, values)
            assert not db.verify(replay=True).problems
            messages = [entry.message for entry in db.history.log()]
            made = ("submission submission-a", "c") if name == "there.db" else ("c", "d")
            for message in made:
                assert messages.count(message) <= 1, messages
            assert not list(db.merges)
    with mycel.open(folder / "there.db") as db:
        assert [proposal.status for proposal in db.proposals.list("all")] == ["accepted"]


def kill_at_each(folder: Path, side: str, attempts_max: int | None, part: int = 0) -> None:
    build(folder)
    total = count(folder, side)
    numbers = list(spread(total, attempts_max or total))
    if attempts_max is None:
        numbers = numbers[part::PARTS]
    done = subprocess.run(
        [*warm_command("tests.faults.remote_killing"), folder, side, *map(str, numbers)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    outcomes: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    assert sum(outcome["killed"] for outcome in outcomes) > len(outcomes) // 2
    for outcome in outcomes:
        assert outcome["killed"] or outcome["ended_well"], (outcome, done.stderr)
        assert outcome["last"] < len(STEPS)
        check(folder / f"{side}-{outcome['n']}", side)


def test_a_side_that_is_killed_on_the_way_loses_nothing(tmp_path: Path) -> None:
    for side in NAMES:
        folder = tmp_path / side.removesuffix(".db")
        folder.mkdir()
        kill_at_each(folder, side, ATTEMPTS_MAX)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(PARTS))
def test_a_side_that_is_killed_at_every_operation_loses_nothing(tmp_path: Path, part: int) -> None:
    for side in NAMES:
        folder = tmp_path / side.removesuffix(".db")
        folder.mkdir()
        kill_at_each(folder, side, None, part)
