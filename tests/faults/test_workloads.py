"""The pieces of work do what the faults are to meet them at."""

from pathlib import Path

import pytest

from mycel.store.log.trees import FOLD_CHANGES_MAX
from tests.faults.workloads import WORKLOADS, folding, open_graph


@pytest.mark.parametrize("name", ["change many", "purge", "move", "search"])
def test_the_trees_are_written_in_the_middle_of_the_work(tmp_path: Path, name: str) -> None:
    workload, path = WORKLOADS[name], tmp_path / "graph.db"
    workload.build(path)
    with open_graph(path, durability="off") as db:
        before, pending = folding(db)
        assert before == 0
        assert pending >= FOLD_CHANGES_MAX - 1
        workload.act(db)
    assert workload.is_done_in(path)
    with open_graph(path, durability="off") as db:
        after, _ = folding(db)
        assert after > 0
