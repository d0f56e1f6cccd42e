"""`mycel submit` and `mycel proposal`."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.cli.conftest import Run


@pytest.fixture(autouse=True)
def graph(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "shop.db"
    monkeypatch.setenv("MYCEL_DB", str(path))
    assert run("init").status == 0
    assert (
        run(
            "note", "It checks passwords.", "--name", "Login", "--uri", "auth", "--type", "Concept"
        ).status
        == 0
    )
    return path


def changes(folder: Path, *items: Any) -> str:
    path = folder / "changes.json"
    path.write_text(json.dumps(items))
    return str(path)


def text(content: str) -> dict[str, Any]:
    return {"node": "auth", "attributes": {"content": content}}


def test_changes_are_committed_proposed_accepted_and_rejected(run: Run, tmp_path: Path) -> None:
    (log,) = run("log", "--limit", "1", "--json").objects
    base = log["commit"]
    done = run("submit", changes(tmp_path, text("two")), "--base", base, "--key", "my-key-1")
    assert (done.status, done.stdout.endswith("1 changed.\n")) == (0, True)
    again = run("submit", changes(tmp_path, text("two")), "--base", base, "--key", "my-key-1")
    assert again.stdout == done.stdout
    stale = run("submit", changes(tmp_path, text("three")), "--base", base)
    assert (stale.status, "not the head" in stale.stderr) == (1, True)
    clash = run(
        "submit", changes(tmp_path, text("three")), "--base", base, "--on-conflict", "merge"
    )
    assert (clash.status, "three" in clash.stdout) == (1, True)
    for content in ("four", "five"):
        made = run("submit", changes(tmp_path, text(content)), "--on-conflict", "propose")
        assert made.stdout.startswith("Proposed as ")
    second, first = run("proposal", "list", "--json").objects
    assert run("proposal", "comment", first["id"], "Looks right").status == 0
    shown = run("proposal", "show", first["id"][:6]).stdout
    assert "four" in shown
    assert "Looks right" in shown
    accepted = run("proposal", "accept", first["id"])
    assert accepted.status == 0, accepted.stderr
    assert "four" in run("show", "auth").stdout
    assert run("proposal", "accept", first["id"]).status == 2
    assert run("proposal", "accept", second["id"]).status == 1
    rejected = run("proposal", "reject", second["id"], "--reason", "too late")
    assert rejected.stdout == f"{second['id']} is rejected.\n"
    third = run("submit", changes(tmp_path, text("six")), "--on-conflict", "propose", "--json")
    assert run("proposal", "withdraw", third.object["proposal"]).status == 0
    assert run("proposal", "list").stdout == ""
    assert len(run("proposal", "list", "--status", "all", "--json").objects) == 3


def test_what_is_no_list_of_changes_is_refused(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    for content in ("{", "7", "{}", "[7]", '[{"node": "a", "actor": "root"}]', "[]"):
        path.write_text(content)
        done = run("submit", str(path))
        assert (done.status, done.stdout) == (2, ""), content
        assert done.stderr


def test_a_file_that_is_none_is_refused_and_not_waited_for(run: Run, tmp_path: Path) -> None:
    db = tmp_path / "x.db"
    run("--db", db, "init")
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero", tmp_path):
        done = run("--db", db, "submit", path)
        assert done.status == 2
        assert "Traceback" not in done.stderr
