from collections.abc import Iterator
from pathlib import Path

import pytest

import mycel


@pytest.fixture
def db(tmp_path: Path) -> Iterator[mycel.Nexus]:
    with mycel.open(tmp_path / "graph.db", durability="off") as db:
        yield db


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    return root


@pytest.fixture
def shop(db: mycel.Nexus, root: Path) -> mycel.Knowledge:
    """The knowledge of a workspace that is called `shop`."""
    return mycel.Knowledge(db, workspace="shop", root=root)
