"""A process that is killed while it writes a mirror: the next one goes on."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import mycel
from mycel.errors import MycelError
from tests.unit.mirror.conftest import Shop

EDITED = "One, by hand."

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="forks")


def _killed(graph: Path, folder: Path, work: str, points: Sequence[int]) -> None:
    """Kill a process at each point; afterwards the mirror is what it would have been."""
    command = [sys.executable, "-m", "tests.faults.mirror_killing", str(graph), str(folder), work]
    done = subprocess.run(
        [*command, *map(str, points)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == len(points)
    assert any(each["killed"] for each in found)
    for each in found:
        assert each["killed"] or each["code"] == 0, (each, done.stderr)
        _check(folder / str(each["n"]) / graph.name, is_edited=work == "import")


def _check(path: Path, *, is_edited: bool) -> None:
    shop = Shop(path.parent)
    try:
        try:
            shop.mirror.import_edits()  # Nothing, unless there are edits.
            shop.mirror.push()
        except MycelError:  # It was killed before there was a mirror.
            mycel.Mirror.create(shop.db, shop.folder)
        shop.check()
        assert shop.mirror.push().commits == 0
        assert "refs/mycel/main-incoming" not in shop.git("for-each-ref")
        assert shop.db.verify().ok
        if is_edited:
            assert shop.knowledge.get("mine").content == f"{EDITED}\n\nTwo, by an agent."
            assert len(list(shop.db.log(text="mirror "))) == 1
    finally:
        shop.db.close()


def _prepared(folder: Path) -> Path:
    folder.mkdir()
    shop = Shop(folder)
    shop.knowledge.add("auth/login", content="Users log in.")
    shop.knowledge.add("auth/session", content="Kept in Redis.")
    shop.db.close()
    return folder / "shop.db"


def _behind(folder: Path) -> Path:
    """A graph whose mirror lacks some transactions."""
    graph = _prepared(folder)
    shop = Shop(folder)
    shop.create()
    shop.knowledge.update("auth/login", content="Users log in with a passkey.")
    shop.knowledge.move("auth/session", "auth/token")
    shop.knowledge.add("auth/sso")
    shop.db.close()
    return graph


def _edited(folder: Path) -> Path:
    """A graph whose mirror has edits, uncommitted and committed, and that has gone on."""
    graph = _prepared(folder)
    shop = Shop(folder)
    shop.knowledge.add("mine", content="One.\n\nTwo.")
    shop.create()
    shop.knowledge.update("mine", content="One.\n\nTwo, by an agent.")
    mine = shop.file("concepts/shop/mine.md")
    mine.write_text(shop.read("concepts/shop/mine.md").replace("One.", EDITED))
    shop.git("commit", "-qam", "By hand")
    mine.rename(shop.file("concepts/shop/theirs.md"))
    shop.db.close()
    return graph


def test_a_killed_import_is_in_the_graph_once_or_not_at_all(tmp_path: Path) -> None:
    _killed(_edited(tmp_path / "graph"), tmp_path, "import", (22, 30, 37))


def test_a_killed_catch_up_goes_on_where_it_was(tmp_path: Path) -> None:
    _killed(_behind(tmp_path / "graph"), tmp_path, "push", (0, 19, 24))


def test_a_mirror_whose_creation_was_killed_can_be_created(tmp_path: Path) -> None:
    _killed(_prepared(tmp_path / "graph"), tmp_path, "create", (0, 15))


@pytest.mark.soak
def test_an_import_survives_a_kill_at_every_call_of_git(tmp_path: Path) -> None:
    _killed(_edited(tmp_path / "graph"), tmp_path, "import", range(50))


@pytest.mark.soak
def test_a_catch_up_survives_a_kill_at_every_call_of_git(tmp_path: Path) -> None:
    _killed(_behind(tmp_path / "graph"), tmp_path, "push", range(32))


@pytest.mark.soak
def test_a_creation_survives_a_kill_at_every_call_of_git(tmp_path: Path) -> None:
    _killed(_prepared(tmp_path / "graph"), tmp_path, "create", range(24))
