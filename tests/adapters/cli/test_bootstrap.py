"""`mycel bootstrap`."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import mycel
from mycel.cli.console import search_index
from mycel.embedding import sentence_model
from tests.adapters.cli.conftest import Run, Terminal, needs_posix
from tests.adapters.warm import warm_command

HERE = Path(__file__).resolve().parents[3]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small project, and the name of a database that is not there yet in MYCEL_DB."""
    root = tmp_path / "Shop 1"
    (root / "src").mkdir(parents=True)
    (root / "README.md").write_text("# Shop\n\nSells things.\n")
    (root / "src/cart.py").write_text(
        "def add(item):\n    return check(item)\n\n\ndef check(item): pass\n"
    )
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    monkeypatch.setenv("MYCEL_DB", str(tmp_path / "graph.db"))
    return root


def test_a_folder_becomes_part_of_a_graph_that_is_created_for_it(
    run: Run, project: Path, tmp_path: Path
) -> None:
    done = run("bootstrap", project)
    assert done.status == 0
    assert done.stdout.startswith(
        "2 files added, 0 changed, 0 removed, 0 unchanged; 2 symbols; 1 section; 8 relations added,"
    )
    with mycel.open(tmp_path / "graph.db", create=False) as db:
        knowledge = mycel.Knowledge(db, workspace="shop-1")
        assert knowledge.get("src/cart.py/add").properties["line"] == 1
        assert knowledge.get("concept://shop-1").content == "Sells things."
    again = run("bootstrap", project)
    assert again.stdout.startswith("0 files added, 0 changed, 0 removed, 2 unchanged (")
    assert run("verify").status == 0


def test_the_command_that_reads_sections_with_the_sentence_model_is_named(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sentence_model, "installed_model", lambda: None)
    assert "mycel embed rebuild" not in run("bootstrap", project).stderr
    monkeypatch.setattr(sentence_model, "installed_model", object)
    assert "mycel embed rebuild" not in run("bootstrap", project).stderr, "Nothing is new."
    (project / "README.md").write_text("# Shop\n\nSells many things.\n")
    assert "`mycel embed rebuild` reads them now." in run("bootstrap", project).stderr


def test_programs_are_told_one_object(run: Run, project: Path) -> None:
    (project / "link").symlink_to(project)
    told = run("bootstrap", project, "--json").object
    assert (told["files"], told["added"], told["symbols"]) == (2, 2, 2)
    assert told["skipped_files"] == [{"path": "link", "why": "a symbolic link"}]


def test_what_is_skipped_is_a_warning(run: Run, project: Path) -> None:
    for number in range(12):
        (project / f"link{number}").symlink_to(project)
    done = run("bootstrap", project)
    assert done.status == 0
    assert done.stderr.count("Skipped link") == 10
    assert "2 more files skipped" in done.stderr


@pytest.mark.parametrize("jobs", ["0", "65", "x"])
def test_a_number_of_jobs_that_is_none_is_a_usage_error(run: Run, project: Path, jobs: str) -> None:
    assert run("bootstrap", project, "--jobs", jobs).status == 2


def test_what_is_no_folder_is_an_error_and_creates_nothing(
    run: Run, project: Path, tmp_path: Path
) -> None:
    assert "There is no folder" in run("bootstrap", tmp_path / "absent").stderr
    done = run("bootstrap", project / "README.md", "--json")
    assert (done.status, done.error["code"]) == (2, "KIP_2002")
    assert not (tmp_path / "graph.db").exists()


def test_the_current_folder_is_meant_where_none_is_named(spawn: Run, project: Path) -> None:
    assert spawn("bootstrap", cwd=project).stdout.startswith("2 files added")


@needs_posix
def test_a_terminal_shows_progress_and_the_result(project: Path) -> None:
    shown = Terminal("bootstrap", str(project)).read_to_end()
    assert "2 files added" in shown


@needs_posix
def test_watching_follows_changes_until_ctrl_c(project: Path) -> None:
    terminal = Terminal("bootstrap", str(project), "--watch")
    terminal.read_until("Watching")
    (project / "src/more.py").write_text("def more(): pass\n")
    terminal.read_until("1 file added, 0 changed, 0 removed, 2 unchanged; 1 symbol;")
    terminal.process.send_signal(signal.SIGINT)
    assert "Stopped watching" in terminal.read_to_end()
    assert terminal.process.returncode == 0


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such a name")
def test_watching_warns_once_of_a_name_that_is_not_utf8_and_goes_on(project: Path) -> None:
    terminal = Terminal("bootstrap", str(project), "--watch")
    terminal.read_until("Watching")
    (project / "src/more.py").write_text("def more(): pass\n")
    terminal.read_until("1 file added")  # Now it certainly watches.
    Path(os.fsdecode(os.fsencode(project) + b"/bad\xff.py")).write_text("hi\n")
    terminal.read_until("Skipped bad\N{REPLACEMENT CHARACTER}.py: its name is not UTF-8.")
    (project / "src/last.py").write_text("def last(): pass\n")
    assert "Skipped" not in terminal.read_until("1 file added, 0 changed, 0 removed, 3 unchanged")
    terminal.process.send_signal(signal.SIGINT)
    said = terminal.read_to_end()
    assert "Stopped watching" in said
    assert "Skipped" not in said
    assert terminal.process.returncode == 0


def test_folders_that_are_left_out_are_counted_and_named(run: Run, project: Path) -> None:
    for folder in ("venv/lib", "web/node_modules/a", "web/node_modules/b"):
        (project / folder).mkdir(parents=True)
        (project / folder / "x.py").write_text("x = 1\n")
    in_git = run("bootstrap", project)
    assert in_git.stdout.startswith("2 files added")
    assert "; 2 folders left out: node_modules, venv (" in in_git.stdout
    shutil.rmtree(project / ".git")
    (project / ".gitignore").write_text("drafts/\n")
    (project / "drafts").mkdir()
    told = run("bootstrap", project, "--json").object
    assert (told["added"], told["folders_left_out"]) == (1, 3)
    assert told["left_out"] == ["drafts", "venv", "web/node_modules"]


@needs_posix
def test_watching_as_json_ends_at_ctrl_c_with_json_and_nothing_else(project: Path) -> None:
    process = subprocess.Popen(
        [*warm_command("mycel"), "bootstrap", str(project), "--watch", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["added"] == 2
    (project / "src/more.py").write_text("def more(): pass\n")
    assert json.loads(process.stdout.readline())["event"] == "changed"
    process.send_signal(signal.SIGINT)
    told, notes = process.communicate(timeout=60)
    assert (process.returncode, told) == (0, "")
    assert [list(json.loads(line)) for line in notes.splitlines()] == [["note"]] * 3


@needs_posix
def test_a_run_that_is_interrupted_leaves_a_graph_that_the_next_one_completes(
    run: Run, project: Path
) -> None:
    assert run("bootstrap", project).status == 0
    for number in range(40):
        text = "\n".join(f"def f{at}():\n    return f{at + 1}()\n" for at in range(25))
        (project / f"f{number}.py").write_text(text)
    process = subprocess.Popen(
        [*warm_command("mycel"), "bootstrap", str(project)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    opened = Path(f"{project.parent}/graph.db-wal")
    while not opened.exists() and process.poll() is None:
        pass
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    told = run("bootstrap", project, "--json").object
    assert told["files"] == 42
    assert run("bootstrap", project, "--json").object["unchanged"] == 42
    assert run("verify").status == 0


def test_the_sources_of_this_project_can_be_brought_in(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "mycel"
    shutil.copytree(
        HERE / "src/mycel/knowledge",
        root / "src/mycel/knowledge",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    monkeypatch.setenv("MYCEL_DB", str(tmp_path / "graph.db"))
    told = run("bootstrap", root, "--json").object
    assert told["symbols"] > 100
    with mycel.open(tmp_path / "graph.db") as db:
        knowledge = mycel.Knowledge(db, workspace="mycel")
        uris = knowledge.uri("src/mycel/knowledge/uris.py", kind="file").text
        users = {each.source for each in knowledge.relations(uris, direction="in", limit=1000)}
        assert "file://mycel/src/mycel/knowledge/knowledge.py" in users
        assert db.verify().ok


def test_a_node_is_named_by_its_uri_on_the_command_line(run: Run, tmp_path: Path) -> None:
    db = ("--db", str(tmp_path / "named.db"))
    assert run("init", *db).status == 0
    assert run("define", "type", "Resource", *db).status == 0
    assert run("concept", "put", "Resource", "file://ws/a.py", *db).status == 0
    shown = run("traverse", "file://ws/a.py", "--json", *db)
    assert shown.status == 0
    missing = run("traverse", "concept://ws/nothing", *db)
    assert missing.status == 1
    assert "There is no node" in missing.stderr


def test_each_folder_has_a_graph_of_its_own(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("MYCEL_DB", raising=False)
    for name in ("shop", "memo"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.py").write_text("def f(): pass\n")
    monkeypatch.chdir(tmp_path / "shop")
    assert run("bootstrap", "--json").object["removed"] == 0
    assert run("bootstrap", "../memo", "--json").object["removed"] == 0
    again = run("bootstrap", "--json").object
    assert (again["added"], again["removed"]) == (0, 0)


@pytest.fixture
def projects(project: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> Path:
    """A folder of projects with a graph of its own, which is above a repository."""
    monkeypatch.delenv("MYCEL_DB")
    monkeypatch.chdir(project.parent)
    run("init")
    return project.parent


def workspace_paths() -> set[str]:
    return {path.name for path in (Path.home() / ".knowledge_engine").glob("*.db")}


def test_a_repository_below_another_graph_is_brought_in_only_where_it_was_said(
    run: Run, projects: Path, project: Path
) -> None:
    before = workspace_paths()
    refused = run("bootstrap", project)
    assert refused.status == 2
    for words in (str(projects), "--here", "--into"):
        assert words in refused.stderr
    assert run("search", "cart", "--json").objects == []
    assert workspace_paths() == before

    shared = run("bootstrap", project, "--into", projects, "--json")
    assert (shared.status, shared.object["added"]) == (0, 2)
    assert f"of {projects}" in shared.stderr
    assert workspace_paths() == before

    own = run("bootstrap", project, "--here", "--json")
    assert (own.status, own.object["added"]) == (0, 2)
    assert workspace_paths() == {*before, "knowledge_shop-1.db"}
    # From now on the folder has a graph of its own, and nothing is asked.
    assert run("bootstrap", project, "--json").object["unchanged"] == 2
    assert run("bootstrap", project / "src", "--json").object["unchanged"] == 1


def test_a_plain_folder_below_another_graph_is_part_of_it(
    run: Run, projects: Path, project: Path
) -> None:
    shutil.rmtree(project / ".git")
    done = run("bootstrap", project)
    assert done.status == 0
    assert f"of {projects}" in done.stderr


def test_options_that_name_two_graphs_are_refused(run: Run, projects: Path, project: Path) -> None:
    for words in (
        ("--here", "--into", projects),
        ("--here", "--workspace", "other"),
        ("--into", projects, "--db", "x.db"),
    ):
        assert run("bootstrap", project, *words).status == 2
    # A graph that was named needs no question.
    assert run("bootstrap", project, "--workspace", "other", "--json").object["added"] == 2


@needs_posix
def test_a_person_is_asked_for_the_graph_of_a_repository(projects: Path, project: Path) -> None:
    terminal = Terminal("bootstrap", str(project))
    terminal.read_until("Make a graph of its own?")
    os.write(terminal.master, b"y\n")
    assert "2 files added" in terminal.read_to_end()
    assert "knowledge_shop-1.db" in workspace_paths()


def test_a_server_does_not_bring_a_repository_into_the_graph_of_a_folder_above(
    run: Run, projects: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    refused = run("serve", "--port", "0", "--bootstrap", ".")
    assert refused.status == 2
    assert "mycel init" in refused.stderr


def test_vectors_are_made_with_the_nodes_and_not_by_the_first_search(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pending() -> int:
        return int(run("--db", "indexed.db", "embed", "status", "--json").object["pending"])

    monkeypatch.chdir(project)
    assert run("--db", "indexed.db", "bootstrap", ".").status == 0
    assert pending() > 0  # So few that the first search makes them.
    monkeypatch.setattr(search_index, "INDEXED_MIN", 1)
    told = run("--db", "indexed.db", "search", "anything")
    assert "Indexing" in told.stderr
    (project / "new.py").write_text("def added(): pass\n")
    assert run("--db", "indexed.db", "bootstrap", ".").status == 0
    assert pending() == 0
    assert "Indexing" not in run("--db", "indexed.db", "search", "anything").stderr
