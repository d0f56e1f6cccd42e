from pathlib import Path

import pytest

from tests.adapters.cli.conftest import Run


def test_a_backup_is_made_kept_current_and_restored(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MYCEL_DB", str(tmp_path / "graph.db"))
    run("init", "--bare")
    copy = tmp_path / "copy.db"
    made = run("backup", copy, "--json").object
    assert (made["path"], made["is_new"]) == (str(copy), True)
    assert run("backup", copy).stdout.startswith(f"Up to date: {copy} at ")
    run("define", "type", "Drug")
    refused = run("restore", copy)
    assert refused.status == 1
    assert "--force" in refused.stderr
    assert run("restore", copy, "--force").status == 0
    assert run("log", "--json").objects[0]["commit"] == made["commit"]
    assert run("--db", copy, "verify", "--replay").status == 0
    assert f"mycel verify --db {copy}" in run("verify", copy).stderr
    missing = run("restore", tmp_path / "none.db", "--force")
    assert (missing.status, "Traceback" in missing.stderr) == (1, False)
    assert run("--branch", "x", "restore", copy).status == 2
