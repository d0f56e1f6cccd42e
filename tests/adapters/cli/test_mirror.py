"""`mycel mirror`, and the mirror behind other commands."""

import subprocess
from pathlib import Path

import pytest

from tests.adapters.cli.conftest import Run


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MYCEL_DB", str(tmp_path / "graph.db"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / ".knowledge"


def log(folder: Path) -> list[str]:
    words = ["git", "log", "--format=%an: %s"]
    return subprocess.run(
        words, cwd=folder, capture_output=True, text=True, check=True
    ).stdout.splitlines()


def test_commands_that_write_keep_the_mirror_up_to_date(run: Run, folder: Path) -> None:
    done = run("init", "--bare", "--git")
    assert done.status == 0, done.stderr
    assert done.lines[1] == f"The mirror is in {folder}, on the branch main."
    run("define", "type", "Drug", "--actor", "bob")
    run("concept", "put", "Drug", "Aspirin", "--actor", "bob", "--message", "Pills")
    assert log(folder)[:2] == ["bob: Pills", "bob: Add kip/$ConceptType/1d/Drug~1d8a35.md"]
    assert run("mirror", "push", "--json").object["commits"] == 0
    assert run("mirror", "status", "--json").object["behind"] == 0


def test_edits_are_imported_all_or_none(run: Run, folder: Path) -> None:
    run("init", "--bare", "--git")
    run("define", "type", "Drug")
    run("concept", "put", "Drug", "Aspirin")
    (file,) = folder.glob("kip/Drug/*/*.md")
    assert run("mirror", "import").lines == ["No file was edited."]
    text = file.read_text()
    file.write_text(text.replace("---\n", "<<<<<<< HEAD\n"))
    refused = run("mirror", "import", "--json")
    assert (refused.status, refused.error["data"]["problems"][0]["line"]) == (2, 1)
    file.write_text(f"{text}A pill.\n")
    dry = run("mirror", "import", "--dry-run")
    assert (dry.status, dry.lines) == (0, ["1 file: 1 changed."])
    assert run("mirror", "import", "--message", "By hand").lines == ["1 file: 1 changed."]
    assert "A pill." in run("concept", "get", "Drug:Aspirin").stdout
    assert log(folder)[0].split(": ")[1] == "By hand"


def test_a_mirror_that_moves_says_that_the_old_folder_stays_behind(run: Run, folder: Path) -> None:
    run("init", "--bare", "--git")
    assert run("mirror", "init").stderr == ""
    moved = run("mirror", "init", "elsewhere")
    assert f"The mirror in {folder} is no longer kept up to date; its files stay." in moved.stderr


def test_a_purge_says_that_the_mirror_begins_anew(run: Run, folder: Path) -> None:
    run("init", "--bare", "--git")
    run("define", "type", "Drug")
    run("concept", "put", "Drug", "Aspirin")
    done = run("purge", "Drug:Aspirin", "--reason", "asked to", "--yes")
    assert done.status == 0, done.stderr
    assert "the history of the mirror starts again" in done.stderr
    assert "delete the branch there" in done.stderr
    assert not (folder / "kip/Drug").exists()


def test_a_problem_of_the_mirror_is_a_note_and_the_command_succeeds(run: Run, folder: Path) -> None:
    run("init", "--bare", "--git")
    (folder / ".git/HEAD").write_text("ref: refs/heads/other\n")
    done = run("define", "type", "Drug")
    assert done.status == 0
    assert "The Git mirror was not updated: " in done.stderr
    status = run("mirror", "status")
    assert (status.status, "git checkout main" in status.stdout) == (1, True)


def test_authors_and_folders_are_chosen_at_the_beginning(run: Run, tmp_path: Path) -> None:
    run("init", "--bare")
    assert run("mirror", "status").status == 1
    assert "mycel mirror init" in run("mirror", "push").stderr
    assert run("mirror", "init", "--author", "bob").status == 2
    assert "ada@example.org" in run("mirror", "init", "--author", "bob=Bob").stderr
    done = run(
        "mirror", "init", "notes", "--git-branch", "graph", "--author", "bob=Bob B <b@example.org>"
    )
    assert done.status == 0, done.stderr
    run("define", "type", "Drug", "--actor", "bob")
    assert log(tmp_path / "notes")[0].startswith("Bob B: ")
