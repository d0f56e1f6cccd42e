"""`mycel workspace`, and how the workspace of a folder is found."""

import shutil
import subprocess
from pathlib import Path

import pytest

import mycel
from mycel.cli.commands.concepts import search
from mycel.store.file.workspace_databases import database_of
from tests.adapters.cli.conftest import Run

HOME = Path(".knowledge_engine")
GLOBAL_OPTIONS = {"db", "workspace", "branch", "actor", "message", "json"}


def used(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """The workspace that commands use in a folder."""
    monkeypatch.chdir(folder)
    done = run("status", "--json")
    return done.object["workspace"] if done.status == 0 else None


def test_workspaces_are_listed_renamed_moved_and_removed(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))  # Other tests have workspaces in theirs.
    shop, ops = tmp_path / "shop", tmp_path / "ops"
    for folder in (shop, ops):
        folder.mkdir()
        assert run("workspace", "add", folder).status == 0
    assert "already" in run("workspace", "add", shop).stderr
    assert run("init", "--global").status == 0
    monkeypatch.chdir(shop)
    assert run("note", "Cash only.", "--uri", "till").status == 0
    assert run("branch", "create", "draft").status == 0
    listed = {each["workspace"]: each for each in run("workspace", "list", "--json").objects}
    assert listed.keys() == {"shop", "ops", "global"}
    assert listed["shop"]["folder"] == str(shop)
    assert listed["shop"]["branches"] == 2
    assert listed["shop"]["nodes"] > listed["ops"]["nodes"]
    assert listed["global"]["folder"] is None
    assert "shop" in run("workspace", "list").stdout
    assert run("workspace", "show", "--json").object["workspace"] == "shop"
    # One name for the files and the URIs, on every branch, with its history.
    assert run("workspace", "rename", "shop", "ops").status == 1
    assert run("workspace", "rename", "shop", "store", "--json").object["moved"] == 2
    assert used(run, shop, monkeypatch) == "store"
    for branch in ("main", "draft"):
        with mycel.open(workspace="store", branch=branch) as db:
            knowledge = mycel.Knowledge(db, workspace="store")
            assert knowledge.get("/till").content == "Cash only."
            assert not knowledge.has("concept://shop/till")
            assert len(list(db.history.versions(("Note", "concept://store/till")))) > 1
    assert not list((Path.home() / HOME).glob("knowledge_shop*"))
    other = tmp_path / "other"
    other.mkdir()
    assert run("workspace", "move", "store", other).status == 0
    assert used(run, other, monkeypatch) == "store"
    assert used(run, shop, monkeypatch) is None
    # Nothing is removed without consent, or while it is in use.
    assert run("workspace", "remove", "store").status == 2
    with mycel.open(workspace="store") as db:
        db.write(lambda tx: tx.define_type("Open"))
        busy = run("workspace", "remove", "store", "--yes")
        assert busy.status == 1
        assert "in use" in busy.stderr
    assert run("workspace", "remove", "store", "--yes").status == 0
    assert not list((Path.home() / HOME).glob("knowledge_store*"))
    assert run("workspace", "show", "store").status == 1
    for name in ("../x", "a/b", "", "x y"):
        assert run("workspace", "rename", "ops", name).status == 2, name


def test_a_workspace_follows_its_folder_and_is_found_in_worktrees(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    (project / "src").mkdir(parents=True)
    git = ["git", "-C", str(project), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    linked = tmp_path / "elsewhere" / "linked"
    subprocess.run([*git, "worktree", "add", "-q", str(linked)], check=True)
    assert run("workspace", "add", project).status == 0
    (linked / "src").mkdir()
    for folder in (project, project / "src", linked, linked / "src"):
        assert used(run, folder, monkeypatch) == "project", folder
    moved = tmp_path / "renamed"
    monkeypatch.chdir(tmp_path)
    project.rename(moved)
    assert used(run, moved / "src", monkeypatch) == "project"
    assert run("workspace", "show", "project", "--json").object["folder"] == str(moved)
    # A copy is another folder, and takes nothing.
    copy = tmp_path / "copy"
    shutil.copytree(moved, copy)
    assert used(run, copy, monkeypatch) is None
    # A file that only looks like the mark of a worktree leads nowhere.
    for mark in ("gitdir: /nowhere/.git/worktrees/x", "gitdir:", "\0", "gitdir: ../../.."):
        fake = tmp_path / "fake"
        fake.mkdir(exist_ok=True)
        (fake / ".git").write_text(mark)
        assert used(run, fake, monkeypatch) is None, mark


def test_several_workspaces_are_searched_together(run: Run) -> None:
    for name, text in (("one", "Tea is steeped."), ("two", "Tea is boiled."), ("three", "Rust.")):
        assert run("init", "--workspace", name).status == 0
        uri = f"concept://{name}/drink"
        assert run("note", "--workspace", name, text, "--uri", uri).status == 0
    hits = run("search", "--workspace", "one,two", "tea", "--json").objects
    assert {hit["workspace"] for hit in hits} == {"one", "two"}
    assert [hit["score"] for hit in hits] == sorted((hit["score"] for hit in hits), reverse=True)
    assert {hit["workspace"] for hit in run("search", "--all", "drink", "--json").objects} == {
        *("one", "two", "three")
    }
    assert len(run("search", "--all", "drink", "--limit", "2", "--json").objects) == 2
    assert run("search", "--workspace", "one,four", "tea").status == 1
    with mycel.open(workspace="one") as one, mycel.open(workspace="two") as two:
        opened = {"one": one, "two": two}
        several = mycel.SeveralWorkspaces(
            {name: mycel.Knowledge(db, workspace=name) for name, db in opened.items()}
        )
        placed = several.get("concept://two/drink")
        assert [each.workspace for each in placed] == ["two"]
        with pytest.raises(mycel.errors.NotFound):
            several.get("concept://two/none")


def test_options_of_a_search_mean_the_same_for_several_workspaces(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert run("init", "--workspace", "one").status == 0
    with mycel.open(workspace="one", actor="ada") as db:
        one = mycel.Knowledge(db, workspace="one")
        db.write(lambda tx: tx.define_type("Recipe"))
        one.add("/tea/green", content="Tea is steeped.", type="Recipe")
        one.add("/tea/black", content="Tea is boiled.", metadata={"origin": "india"})
        one.add("/tea/old", content="Tea was tea.", metadata={"valid_until": "2020-01-01"})
        one.add("/salt", content="Tea with salt.", type="Event")
        one.add("concept://two/tea", content="Tea of a neighbour.")
        one.link("/tea/green", "served_with", "/salt", properties={"why": "Tea likes it."})
        one.add("/yesterday", content="Tea from yesterday.")
        one.archive(["/yesterday"])
    with mycel.open(workspace="one", actor="ben") as db:
        mycel.Knowledge(db, workspace="one").add("/two", content="Tea for two.", type="Note")
    assert run("init", "--workspace", "two").status == 0
    with mycel.open(workspace="one") as db:
        now = next(db.history.log(limit=1)).time.isoformat()
    examples: dict[str, tuple[str, ...]] = {
        "kind": ("notes", "code"),
        "elements": ("concept", "edge"),
        "mode": ("keyword",),
        "types": ("Recipe", "Note"),
        "without": ("Event",),
        "path": ("concept://one/tea",),
        "in_workspace": ("one", "two"),
        "by": ("ada", "ben"),
        "since": ("2020-01-01", "2999-01-01"),
        "until": ("2020-01-01", "2999-01-01"),
        "metadata": ('{"origin": "india"}',),
        "near": ("concept://one/salt",),
        "as_of": (now,),
        "for_time": ("2010-01-01", "2999-01-01"),
        "include_archived": ("",),
        "limit": ("1", "3"),
    }
    options = {option.name: option.opts[0] for option in search.params[1:]}
    assert examples.keys() == options.keys() - {"in_all", *GLOBAL_OPTIONS}, (
        "Give each option an example."
    )

    def hits(*words: str) -> list[str]:
        done = run("search", "tea", *words, "--json")
        assert done.status == 0, done.stderr
        return [hit["found"]["id"] if "found" in hit else hit["id"] for hit in done.objects]

    unfiltered = hits("--workspace", "one,", "--limit", "9")
    has_effect = set()
    for name, values in examples.items():
        for value in values:
            words = (options[name], *filter(None, (value,)))
            words += () if name == "limit" else ("--limit", "9")
            alone = words if name == "elements" else (*words, "--element", "concept")
            several = hits("--workspace", "one,", *words)
            assert several == hits("--workspace", "one", *alone), words
            assert sorted(several) == sorted(hits("--all", *words)), words
            if several != unfiltered:
                has_effect.add(name)
    assert has_effect >= examples.keys() - {"mode", "near", "as_of"}
    assert run("search", "tea", "--all", "--type", "Recipe").status == 0
    assert run("search", "tea", "--all", "--type", "Nothing").status == 2
    assert run("search", "tea", "--all", "--near", "concept://one/nothing").status == 1
    for words in (("--as-of", "1"), ("--branch", "draft"), ("--db", "one.db")):
        assert run("search", "tea", "--all", *words).status == 2, words


def test_several_workspaces_are_read_and_traversed_together(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("one", "two"):
        assert run("init", "--workspace", name).status == 0
    one, two = (("--workspace", name) for name in ("one", "two"))
    assert run(*one, "note", "It needs the pump.", "--uri", "concept://one/start").status == 0
    assert run(*two, "note", "It pumps.", "--uri", "concept://two/pump").status == 0
    assert run(*two, "note", "What one thinks of it.", "--uri", "concept://one/start").status == 0
    with mycel.open(database_of(Path.home(), "one")) as db:
        mycel.Knowledge(db, workspace="one").link(
            "start", "needs", "concept://two/pump", weight=0.3
        )
    both = ("--workspace", "one,two")
    shown = run(*both, "show", "concept://one/start", "--json")
    assert [item["workspace"] for item in shown.objects] == ["one", "two"]
    assert run(*both, "show", "concept://one/start").stdout.startswith("In one:")
    for words in (both, ("--all",)):
        near = run("traverse", *words, "concept://one/start", "--json").objects
        assert [(node["uri"], node["workspace"], node["state"]) for node in near] == [
            ("concept://one/start", "one", "here"),
            ("concept://two/pump", "two", "fetched"),
        ]
        assert (near[1]["cost"], near[1]["text"]) == (0.3, "It pumps.")
    # One workspace shows what it links to as well, in the place of what stands for it there.
    start, pump = run(*one, "traverse", "concept://one/start").lines[1:]
    assert "Missing" not in pump
    assert pump.split()[3:5] == ["Note", "concept://two/pump"]
    assert "reached over needs" in pump
    assert "fetched from" in pump
    assert "the start" in start
    assert run("traverse", "--all", "concept://one/start", "--as-of", "1").status == 2
    refusal = run("traverse", "--all", "concept://one/start", "--for-time", "2026-01-01")
    assert "--for-time" in refusal.stderr
    assert run("traverse", "--all", "concept://one/none").status == 1
