"""Commands for people: `mycel note`, `show`, `ls` and `status`, and who is said to have written."""

import subprocess
from pathlib import Path

import pytest

import mycel
from tests.adapters.cli.conftest import Run

TEXT = "Passkeys only. Passwords leak, and nobody changes them."


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> Path:
    """A project that was brought into its own graph."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    root = tmp_path / "shop"
    (root / "src").mkdir(parents=True)
    (root / "src" / "login.py").write_text("def login(): pass\n")
    monkeypatch.chdir(root)
    assert run("bootstrap").status == 0
    return root


def test_a_note_is_about_files_that_are_named_from_the_current_folder(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project / "src")
    made = run("note", TEXT, "--about", "login.py", "--type", "Decision")
    assert made.stdout == "Created concept://shop/notes/passkeys-only.\n"
    assert "workspace shop" in made.stderr
    node = run("show", "notes/passkeys-only", "--json").object
    assert (node["type"], node["name"], node["content"]) == ("Decision", "Passkeys only", TEXT)
    (relation,) = node["relations"]
    assert (relation["relation"], relation["target"]) == ("about", "file://shop/src/login.py")
    # The same again changes nothing; another text of that title gets a URI of its own.
    again = run("note", TEXT, "--about", "login.py", "--type", "Decision")
    assert again.stdout.startswith("Unchanged:")
    assert again.stderr == ""
    other = run("note", "Passkeys only. Says the board.")
    assert other.stdout == "Created concept://shop/notes/passkeys-only-2.\n"
    namesake = "concept://shop/notes/passkeys-only has this title and another text"
    assert namesake in other.stderr
    assert "--uri notes/passkeys-only" in other.stderr


def test_a_search_shows_the_title_of_a_note_with_the_part_that_fits(
    run: Run, project: Path
) -> None:
    run("note", TEXT, "--about", "src/login.py")
    shown = run("search", "who changes them", "--kind", "notes").stdout
    assert f"concept://shop/notes/passkeys-only — Passkeys only: {TEXT}" in shown
    assert "content:" not in shown
    run("note", "--name", "Long", "The lock rusts in winter. " * 40 + "Oil helps against rust.")
    shown = run("search", "oil", "--kind", "notes").stdout
    assert "concept://shop/notes/long — Long: " in shown
    assert "Oil helps" in shown


def test_a_search_shows_a_file_without_its_imports(run: Run, project: Path) -> None:
    modules = [f"module_of_the_shop_{number}" for number in range(60)]
    (project / "src" / "pay.py").write_text("".join(f"import {name}\n" for name in modules))
    run("bootstrap")
    (row,) = run("search", "pay.py", "--kind", "code", "--limit", "1").stdout.splitlines()[1:]
    assert row.endswith("file://shop/src/pay.py")


def test_a_note_about_nothing_that_exists_is_refused_and_nothing_is_written(
    run: Run, project: Path
) -> None:
    before = run("status", "--json").object["last_change"]
    refused = run("note", TEXT, "--about", "src/logon.py")
    assert refused.status == 1
    assert "src/logon.py" in refused.stderr
    assert run("note", "   ").status == 2
    assert run("status", "--json").object["last_change"] == before


def test_a_node_is_shown_by_path_uri_id_and_type_with_name(run: Run, project: Path) -> None:
    run("note", TEXT, "--about", "src/login.py", "--uri", "auth/choice")
    id_ = run("show", "auth/choice", "--json").object["id"]
    for named in ("concept://shop/auth/choice", id_, "auth/choice"):
        shown = run("show", named).stdout
        assert TEXT in shown
        assert "→ about file://shop/src/login.py" in shown
    shown = run("show", "src/login.py").stdout
    assert "→ defines concept://shop/src/login.py/login" in shown
    assert "← about concept://shop/auth/choice" in shown
    assert "Person" in run("show", "Person:$self").stdout


def test_what_is_below_a_path_is_listed_once_with_counts(run: Run, project: Path) -> None:
    run("note", TEXT)
    rows = {each["path"]: each for each in run("ls", "--json").objects}
    assert rows["notes"]["below"] == 1
    assert rows["src"]["below"] == 2
    (row,) = run("ls", "src", "--json").objects
    assert (row["path"], row["type"], row["below"]) == ("login.py", "Resource", 1)
    assert run("ls", "nowhere").stderr.startswith("Nothing is below nowhere")


def test_the_status_says_which_graph_it_is_and_who_writes(run: Run, project: Path) -> None:
    run("note", TEXT, "-m", "for later", "--actor", "ada")
    run("branch", "create", "draft")
    told = run("status", "--branch", "draft", "--json").object
    assert (told["workspace"], told["branch"]) == ("shop", "draft")
    assert (told["last_change"]["actor"], told["last_change"]["message"]) == ("ada", "for later")
    shown = run("status").stdout
    assert told["folder"] in shown
    assert "for later" in shown


def test_what_a_person_writes_is_by_their_name_in_git_or_on_the_system(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGNAME", "grace")
    run("note", "One.")
    subprocess.run(["git", "init", "-q"], check=True)
    subprocess.run(["git", "config", "user.name", "Grace Hopper"], check=True)
    run("note", "Two.")
    run("note", "Three.", "--actor", "ada")
    actors = [each["actor"] for each in run("log", "--limit", "3", "--json").objects]
    assert actors == ["ada", "Grace Hopper", "grace"]


def test_commands_that_write_say_where_and_those_that_read_do_not(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "graph.db"
    mycel.open(path).close()
    place = ("--db", path)
    assert f"Written to {path}" in run("define", "type", "Drug", *place).stderr
    assert f"Written to {path}" in run("concept", "put", "Drug", "aspirin", *place).stderr
    for words in (
        ("concept", "put", "Drug", "aspirin"),
        ("kip", "DESCRIBE PRIMER"),
        ("search", "aspirin"),
        ("log",),
        ("verify",),
    ):
        assert "Written to" not in run(*words, *place).stderr


def test_other_names_of_a_node_are_taken_and_two_notes_become_one(run: Run, project: Path) -> None:
    run("note", TEXT, "--uri", "notes/keys", "--about", "login")
    assert "about file://shop/src/login.py" not in run("show", "notes/keys").stdout
    assert "src/login.py/login" in run("show", "notes/keys").stdout  # The symbol of that name.
    run("note", "Passwords leak.", "--uri", "notes/leaks", "--type", "Risk")
    merged = run("concept", "merge", "notes/leaks", "notes/keys")
    assert merged.stdout == (
        "Merged concept://shop/notes/leaks into concept://shop/notes/keys; 0 edges moved.\n"
    )
    shown = run("show", "concept://shop/notes/leaks")
    assert TEXT in shown.stdout
    assert "Passwords leak." in shown.stdout
    assert shown.stdout.startswith("concept://shop/notes/keys")
    assert "was merged into concept://shop/notes/keys." in shown.stderr
    refused = run("note", "A note.", "--uri", "src")
    assert refused.status != 0
    assert "notes/a-note" in refused.stderr
    missing = run("show", "nothing-like-this")
    assert missing.status == 1
    assert "There is no node" in missing.stderr
