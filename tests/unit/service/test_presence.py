"""A file that is gone or replaced is noticed; one that is back is fine again."""

from pathlib import Path

import pytest

from mycel.errors import DatabaseError
from mycel.service.file_presence import Presence


def test_a_file_in_its_place_is_fine(tmp_path: Path) -> None:
    path = tmp_path / "graph.db"
    path.touch()
    Presence(path).check()


def test_a_file_that_is_gone_is_noticed_and_one_that_is_back_is_fine(tmp_path: Path) -> None:
    path = tmp_path / "graph.db"
    path.touch()
    presence = Presence(path)
    path.rename(tmp_path / "away.db")
    with pytest.raises(DatabaseError, match="is gone"):
        presence.check()
    (tmp_path / "away.db").rename(path)
    presence.check()


def test_another_file_in_its_place_is_noticed(tmp_path: Path) -> None:
    path, other = tmp_path / "graph.db", tmp_path / "other.db"
    path.touch()
    presence = Presence(path)
    other.touch()
    other.replace(path)
    with pytest.raises(DatabaseError, match="replaced"):
        presence.check()


def test_a_graph_in_memory_is_always_there() -> None:
    Presence(":memory:").check()
