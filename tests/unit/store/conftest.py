from collections.abc import Iterator
from pathlib import Path

import pytest

import mycel
from tests.unit.store.given import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "graph.db"


@pytest.fixture
def db(path: Path, clock: Clock) -> Iterator[mycel.Graph]:
    with mycel.open(
        path, actor="tester", clock_us=clock, durability="off", core_capsules=False
    ) as db:
        yield db
