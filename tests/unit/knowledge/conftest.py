from collections.abc import Iterator
from pathlib import Path

import pytest

import mycel
from tests.prepared import NEW


@pytest.fixture
def db(tmp_path: Path) -> Iterator[mycel.Graph]:
    path = tmp_path / "graph.db"
    NEW.put(path)
    with mycel.open(path, durability="off") as db:
        yield db


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    return root


@pytest.fixture
def shop(db: mycel.Graph, root: Path) -> mycel.Knowledge:
    """The knowledge of a workspace that is called `shop`."""
    return mycel.Knowledge(db, workspace="shop", root=root)
