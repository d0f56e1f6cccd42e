"""A process that is killed while it writes a mirror: the next one goes on."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import mycel
from mycel.errors import MycelError
from tests.adapters.warm import warm_command
from tests.unit.mirror.conftest import Shop

EDITED = "One, by hand."

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="forks")


def _killed(folder: Path, points: Sequence[tuple[str, int]]) -> None:
    """Kill a process at each point; afterwards the mirror is what it would have been."""
    for work in {work for work, _ in points}:
        PREPARE[work](folder / work)
    command = [*warm_command("tests.faults.mirror_killing"), str(folder)]
    done = subprocess.run(
        [*command, *(str(each) for point in points for each in point)],
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
        _check(folder / each["folder"], is_edited=each["folder"].startswith("import"))


def _check(folder: Path, *, is_edited: bool) -> None:
    shop = Shop(folder)
    try:
        try:
            shop.mirror.import_edits()  # Nothing, unless there are edits.
            shop.mirror.push()
        except MycelError:  # It was killed before there was a mirror.
            mycel.Mirror.create(shop.db, shop.folder)
        shop.check()
        assert shop.mirror.push().commits == 0
        assert "refs/mycel/main-incoming" not in shop.git("for-each-ref")
        if is_edited:
            assert shop.knowledge.get("mine").content == f"{EDITED}\n\nTwo, by an agent."
            assert len(list(shop.db.history.log(text="By hand"))) == 1
    finally:
        shop.db.close()


def _prepared(folder: Path) -> None:
    folder.mkdir()
    shop = Shop(folder)
    shop.knowledge.add("auth/login", content="Users log in.")
    shop.knowledge.add("auth/session", content="Kept in Redis.")
    shop.db.close()


def _behind(folder: Path) -> None:
    """A graph whose mirror lacks some transactions."""
    _prepared(folder)
    shop = Shop(folder)
    shop.create()
    shop.knowledge.update("auth/login", content="Users log in with a passkey.")
    shop.knowledge.move("auth/session", "auth/token")
    shop.knowledge.add("auth/sso")
    shop.db.close()


def _edited(folder: Path) -> None:
    """A graph whose mirror has edits, uncommitted and committed, and that has gone on."""
    _prepared(folder)
    shop = Shop(folder)
    shop.knowledge.add("mine", content="One.\n\nTwo.")
    shop.create()
    shop.knowledge.update("mine", content="One.\n\nTwo, by an agent.")
    mine = shop.file("concepts/shop/mine.md")
    mine.write_text(shop.read("concepts/shop/mine.md").replace("One.", EDITED))
    shop.git("commit", "-qam", "By hand")
    mine.rename(shop.file("concepts/shop/theirs.md"))
    shop.db.close()


PREPARE = {"create": _prepared, "push": _behind, "import": _edited}


def test_a_killed_process_leaves_a_mirror_that_the_next_one_completes(tmp_path: Path) -> None:
    points = [("create", 15), ("push", 0), ("push", 24), ("import", 30), ("import", 37)]
    _killed(tmp_path, points)


@pytest.mark.soak
@pytest.mark.parametrize("work", PREPARE)
def test_a_mirror_survives_a_kill_at_every_call_of_git(tmp_path: Path, work: str) -> None:
    _killed(tmp_path, [(work, n) for n in range(52 if work == "import" else 32)])
