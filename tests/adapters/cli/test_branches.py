"""`mycel branch`, and `--branch` of every command."""

import sys
from pathlib import Path

import pytest

from tests.adapters.cli.conftest import Run


@pytest.fixture(autouse=True)
def graph(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A graph with one type."""
    path = tmp_path / "graph.db"
    monkeypatch.setenv("MYCEL_DB", str(path))
    for words in (["init", "--bare"], ["define", "type", "Drug"]):
        done = run(*words)
        assert done.status == 0, done.stderr
    return path


def drugs(run: Run, *options: str) -> list[str]:
    done = run("kip", 'FIND(?d.name) WHERE { ?d {type: "Drug"} }', "--json", *options)
    assert done.status == 0, done.stderr
    return done.object["result"]


def test_commands_use_the_branch_that_an_option_the_environment_or_switch_names(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("branch", "create", "draft").stdout.startswith("Created draft from main")
    run("--branch", "draft", "concept", "put", "Drug", "Aspirin")
    assert (drugs(run), drugs(run, "--branch", "draft")) == ([], ["Aspirin"])
    main, draft = run("branch", "list", "--json").objects
    assert (main["in_use"], draft["ahead"], draft["behind"]) == (True, 1, 0)
    assert draft["parted_at"] == main["commit"]
    assert run("branch", "switch", "draft").lines == ["Later commands use draft."]
    assert (drugs(run), drugs(run, "--branch", "main")) == (["Aspirin"], [])
    assert run("branch", "list").lines[2].startswith("*  draft")
    monkeypatch.setenv("MYCEL_BRANCH", "main")
    assert (drugs(run), drugs(run, "--branch", "draft")) == ([], ["Aspirin"])
    monkeypatch.delenv("MYCEL_BRANCH")
    (made,) = run("branch", "create", "next", "--switch", "--json").objects
    assert (made["ahead"], drugs(run)) == (1, ["Aspirin"])
    assert "graph.db@next.db" in run("doctor").stdout


def test_deleting_a_branch_with_commits_of_its_own_asks(run: Run, graph: Path) -> None:
    run("branch", "create", "draft")
    run("concept", "put", "Drug", "Aspirin", "--branch", "draft")
    refused = run("branch", "delete", "draft")
    assert (refused.status, "--yes" in refused.stderr) == (2, True)
    run("branch", "switch", "draft")
    assert "branch switch main" in run("branch", "delete", "draft", "--yes").stderr
    run("branch", "switch", "main")
    assert run("branch", "delete", "draft", "--yes").stdout.startswith("Deleted draft")
    run("branch", "create", "same")
    assert run("branch", "delete", "same").status == 0
    assert [each.name for each in graph.parent.glob("graph.db*")] == ["graph.db"]


def test_a_branch_that_is_not_there_is_named_with_those_like_it(run: Run, graph: Path) -> None:
    run("branch", "create", "draft")
    for words in (["log", "--branch", "drafft"], ["branch", "switch", "drafft"]):
        refused = run(*words)
        assert (refused.status, "Did you mean 'draft'?" in refused.stderr) == (1, True)
    assert run("mcp", "--branch", "nowhere").status == 1
    assert run("serve", "--port", "0", "--branch", "nowhere").status == 1
    assert run("log", "--branch", "../graph").status == 2
    run("branch", "switch", "draft")
    graph.with_name("graph.db@draft.db").unlink()
    assert "no branch 'draft'" in run("log").stderr
    assert run("branch", "switch", "main").status == 0
    assert run("log").status == 0


@pytest.mark.skipif(sys.platform == "win32", reason="a file is marked as the user's own")
def test_a_branch_has_the_permissions_of_the_graph(run: Run, graph: Path) -> None:
    graph.chmod(0o600)
    run("branch", "create", "draft")
    assert graph.with_name("graph.db@draft.db").stat().st_mode & 0o777 == 0o600


def test_a_command_that_creates_a_graph_refuses_a_branch_of_it(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = str(tmp_path / "new.db")
    for command in ("init", "demo"):
        refused = run(command, "--db", new, "--branch", "draft")
        assert (refused.status, "mycel branch create draft" in refused.stderr) == (2, True)
    monkeypatch.setenv("MYCEL_BRANCH", "draft")
    assert "MYCEL_BRANCH names the branch 'draft'" in run("init", "--db", new).stderr
    assert not Path(new).exists()
    monkeypatch.delenv("MYCEL_BRANCH")
    assert run("init", "--bare", "--db", new, "--branch", "main").status == 0
