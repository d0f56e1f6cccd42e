from collections.abc import Iterator
from pathlib import Path

import pytest

import mycel
from tests.unit.store.given import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["file", "memory"])
def db(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[mycel.Graph]:
    """An empty graph, in a file and in memory: the edges API is the same for both."""
    where = tmp_path / "graph.db" if request.param == "file" else ":memory:"
    with mycel.open(
        where,
        actor="tester",
        clock_us=clock,
        durability="off",
        busy_timeout_s=1,
        core_capsules=False,
    ) as db:
        yield db
