"""A process killed in a merge leaves all or nothing of each step, and the merge goes on."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import mycel
from tests.adapters.warm import warm_command
from tests.faults.merging import STEPS, count
from tests.faults.workloads import spread

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="killing needs POSIX signals")

ATTEMPTS_MAX = 6
"""In CI; `make soak` tries every N."""
PARTS = 12
OPENED, RESOLVED, COMMITTED, TAGGED, ROLLED_BACK = range(5)


def build(folder: Path) -> None:
    with mycel.open(folder / "graph.db", durability="off", core_capsules=False) as db:
        with db.transaction() as tx:
            tx.define_type("Fact")
            for name in "abc":
                tx.put_concept("Fact", name, {"x": 0})
        db.branches.create("draft")
        with db.open_branch("draft") as draft, draft.transaction() as tx:
            tx.put_concept("Fact", "a", {"x": 1})
            tx.put_concept("Fact", "new", {"x": 1})
            tx.retire(("Fact", "c"))
        db.write(lambda tx: tx.put_concept("Fact", "a", {"x": 2}))


def check(path: Path, last: int) -> None:
    with mycel.open(path, create=False) as db:
        log = [each.message for each in db.history.log(limit=3)]
        is_merged = any(message.startswith("merge draft") for message in log)
        is_back = log[0].startswith("rollback")
        values = {
            name: None if found is None else found.attributes["x"]
            for name in ("a", "c", "new")
            if (found := db.get_concept("Fact", name)) or True
        }
        before, after = {"a": 2, "c": 0, "new": None}, {"a": 1, "c": None, "new": 1}
        assert values == (after if is_merged and not is_back else before)
        assert is_merged or last < COMMITTED
        assert is_back or last < ROLLED_BACK
        assert ("merged" in db.history.tags()) or last < TAGGED
        assert not db.verify(replay=True).problems
        open_ = list(db.merges)
        assert bool(open_) == (not is_merged and (last >= OPENED or bool(open_)))
        if open_ and last >= RESOLVED:
            assert not open_[0].unresolved
        if not is_merged:  # It goes on, or begins again.
            found = db.merge("draft")
            if found.is_open:
                db.merges.resolve("*", "theirs")
                found = db.merges.commit()
            wanted = {"added": 1, "removed": 1, "changed": 1, "moved": 0}
            assert found.diff.counts == wanted
    with mycel.open(path, branch="draft") as draft:
        assert not draft.verify(replay=True).problems


def kill_at_each(folder: Path, attempts_max: int | None, part: int = 0) -> None:
    build(folder)
    total = count(folder)
    numbers = list(spread(total, attempts_max or total))
    if attempts_max is None:
        numbers = numbers[part::PARTS]
    done = subprocess.run(
        [*warm_command("tests.faults.merging"), folder, *map(str, numbers)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    outcomes: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    assert sum(outcome["killed"] for outcome in outcomes) > len(outcomes) // 2
    if attempts_max is not None:
        assert any(outcome["last"] == len(STEPS) - 1 for outcome in outcomes)
    for outcome in outcomes:
        assert outcome["killed"] or outcome["ended_well"], outcome
        check(folder / str(outcome["n"]) / "graph.db", outcome["last"])


def test_a_process_killed_in_a_merge_leaves_it_to_go_on_or_gone(tmp_path: Path) -> None:
    kill_at_each(tmp_path, ATTEMPTS_MAX)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(PARTS))
def test_a_process_killed_at_every_operation_of_a_merge_leaves_it_to_go_on_or_gone(
    tmp_path: Path, part: int
) -> None:
    kill_at_each(tmp_path, None, part)
