"""`mycel merge`, `conflicts` and `resolve`: their output, their exit status, and the editor."""

import stat
from pathlib import Path
from typing import Any

import pytest

import mycel
from tests.adapters.cli.conftest import Run, needs_posix

LOGIN = "concept://shop/login"


@pytest.fixture(autouse=True)
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A graph whose branch draft has changed what main has changed too."""
    path = tmp_path / "graph.db"
    monkeypatch.setenv("MYCEL_DB", str(path))
    with mycel.open(path, durability="off", core_capsules=False, actor="ada") as db:
        shop = mycel.Knowledge(db, workspace="shop")
        shop.add(
            "login",
            content="With a password.\nFor a day.\nAsk ops.\n",
            properties={"rank": 1, "tags": ["a"]},
        )
        shop.add("old", content="x")
        db.branches.create("draft")
        shop.update(
            "login", content="With a passkey.\nFor a day.\nAsk ops.\n", properties={"rank": 2}
        )
        shop.delete("old")
        with db.open_branch("draft") as draft:
            there = mycel.Knowledge(draft, workspace="shop")
            there.update(
                "login",
                content="With a link.\nFor a day.\nAsk ops.\n",
                properties={"rank": 3, "tags": ["a", "b"]},
            )
            there.update("old", content="y")
    return path


def found(run: Run) -> dict[str, dict[str, Any]]:
    """The conflicts, by kind."""
    return {each["kind"]: each for each in run("conflicts", "--json").objects}


def test_a_merge_with_conflicts_is_shown_side_by_side_decided_and_committed(
    run: Run, graph: Path
) -> None:
    would = run("merge", "draft", "--dry-run")
    assert (would.status, would.lines[-1]) == (
        1,
        "Merging draft into main would leave 3 conflicts.",
    )
    assert '    + attributes.tags: ["a","b"]' in would.lines
    assert run("conflicts").status == 0
    left = run("merge", "draft")
    assert (left.status, "nothing is committed" in left.lines[-1]) == (1, True)
    shown = run("conflicts")
    assert shown.status == 1
    (versions,) = (line for line in shown.lines if "With a password." in line)
    assert versions.split("   ") == [" With a password.", "With a passkey.", "With a link."]
    assert any(
        line.split() == ["base", "ours", "(main)", "theirs", "(draft)"] for line in shown.lines
    )
    conflicts = found(run)
    assert conflicts.keys() == {"text", "value", "delete_modify"}
    rank = conflicts["value"]
    assert (rank["base"], rank["ours"], rank["theirs"]) == (1, 2, 3)
    assert run("resolve", rank["id"][:4], "theirs").stdout == "Resolved. 2 conflicts left.\n"
    early = run("merge", "--continue")
    assert (early.status, "2 conflicts to decide" in early.lines[-1]) == (1, True)
    both = '"With a passkey or a link.\\nFor a day.\\n"'
    assert run("resolve", conflicts["text"]["id"], "--value", both).status == 0
    assert "merge --continue" in run("resolve", "all", "ours").stdout
    done = run("merge", "--continue", "--message", "Bring it in", "--json")
    assert (done.status, done.object["status"]) == (0, "merged")
    assert "Bring it in" in run("log", "--limit", "1").stdout
    with mycel.open(graph) as db:
        node = mycel.Knowledge(db, workspace="shop").get("login")
    assert node.content == "With a passkey or a link.\nFor a day.\n"
    assert node.properties == {"rank": 3, "tags": ["a", "b"]}
    again = run("merge", "draft")
    assert (again.status, again.lines[-1]) == (0, "main already has all commits of draft.")


def test_lines_replace_what_is_contested_in_a_text(run: Run, graph: Path, tmp_path: Path) -> None:
    run("merge", "draft")
    text = found(run)["text"]["id"]
    both = tmp_path / "both.txt"
    both.write_text("With a passkey or a link.\n")
    for wrong in (("--lines", "a", "--lines", "b"), ("ours", "--lines", "a")):
        assert run("resolve", text, *wrong).status == 2
    assert run("resolve", found(run)["value"]["id"], "--lines", "a").status == 2
    assert run("resolve", text, "--lines", f"@{both}").status == 0
    run("resolve", "all", "ours")
    assert run("merge", "--continue").status == 0
    with mycel.open(graph) as db:
        node = mycel.Knowledge(db, workspace="shop").get("login")
    assert node.content == "With a passkey or a link.\nFor a day.\nAsk ops.\n"


def test_an_open_merge_is_given_up_and_policies_decide_without_questions(run: Run) -> None:
    run("merge", "draft")
    assert run("merge", "--abort").stdout.endswith("is given up; nothing changed.\n")
    assert run("conflicts", "--json").status == 0
    strict = run("merge", "draft", "--granularity", "element", "--dry-run", "--json").object
    assert {each["kind"] for each in strict["conflicts"]} == {"element", "delete_modify"}
    mixed = run(
        "merge", "draft", "--policy", "ours", "--policy", "Concept.rank=max", "--dry-run", "--json"
    )
    chosen = {".".join(each["path"]): each["value"] for each in mixed.object["choices"]}
    assert chosen["rank"] == 3
    into = run("merge", "main", "--into", "draft", "--policy", "theirs", "--dry-run", "--json")
    assert (into.object["source"], into.object["into"]) == ("main", "draft")
    for words in (
        ["merge"],
        ["merge", "draft", "--abort"],
        ["merge", "draft", "--policy", "random"],
        ["resolve", "ffff"],
        ["resolve", "ffff", "ours", "--edit"],
    ):
        assert run(*words).status == 2, words
    assert run("merge", "nowhere").status == 1
    assert run("merge", "--continue").status == 1


def test_choices_of_rules_are_told_listed_and_undone(run: Run, graph: Path) -> None:
    merged = run("merge", "draft", "--policy", "ours", "--policy", "Concept.rank=max")
    assert (merged.status, f"{LOGIN}, attributes.rank: " in merged.stderr) == (1, True)
    run("resolve", "all", "ours")
    assert run("merge", "--continue").status == 0
    listed = {".".join(each["path"]): each for each in run("choices", "--json").objects}
    assert (listed["rank"]["value"], listed["rank"]["rule"].startswith("policy")) == (3, True)
    assert listed["rank"]["reason"] in run("choices").stdout
    assert "Took the other value" in run("choices", "--undo", listed["rank"]["id"]).stdout
    with mycel.open(graph) as db:
        assert mycel.Knowledge(db, workspace="shop").get("login").properties["rank"] == 2
    assert run("choices", "--undo", "ffffffff").status == 1
    run("branch", "delete", "draft")
    assert not graph.with_name("graph.db@draft.db").exists()


def test_a_node_in_conflict_says_so_where_it_is_shown(run: Run) -> None:
    run("merge", "draft")
    text = found(run)["text"]["id"]
    for words in (
        ["concept", "get", LOGIN],
        ["search", "passkey"],
        ["traverse", LOGIN],
        ["concept", "put", "Concept", LOGIN, "--attributes", '{"seen": true}'],
    ):
        told = run(*words)
        assert (told.status, text in told.stderr) == (0, True), (words, told.stderr)
        assert "mycel conflicts" in told.stderr
    run("merge", "--abort")
    assert run("concept", "get", LOGIN).stderr == ""


@needs_posix
def test_a_conflict_is_edited_in_a_file_that_can_be_read(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = tmp_path / "seen"
    editor = tmp_path / "an editor"

    def edits(script: str) -> None:
        editor.write_text(f'#!/bin/sh\ncp "$1" {seen}\n{script}\n', encoding="utf-8")
        editor.chmod(editor.stat().st_mode | stat.S_IXUSR)

    monkeypatch.setenv("EDITOR", f"'{editor}'")
    monkeypatch.delenv("VISUAL", raising=False)
    run("merge", "draft")
    text, rank = found(run)["text"]["id"], found(run)["value"]["id"]
    edits(":")
    refused = run("resolve", text, "--edit")
    assert (refused.status, "marked lines" in refused.stderr) == (2, True)
    kept = Path(refused.stderr.split("kept in ")[1].strip().rstrip("."))
    assert kept.read_text(encoding="utf-8") == seen.read_text(encoding="utf-8")
    kept.unlink()
    head, _, body = seen.read_text(encoding="utf-8").partition(">8 ------------------------\n")
    assert f"Conflict {text}: {LOGIN}, attributes.content" in head
    assert body == (
        "<<<<<<< ours\nWith a passkey.\n||||||| base\nWith a password.\n=======\nWith a link.\n"
        ">>>>>>> theirs\nFor a day.\nAsk ops.\n\n"
    )
    edits("""sed -i '/^<<<<<<< /d; /^|||||||/,/^=======$/d; /^>>>>>>> /d' "$1" """)
    assert run("resolve", text, "--edit").status == 0
    assert found(run)["text"]["resolution"] == {
        "choice": "value",
        "value": "With a passkey.\nWith a link.\nFor a day.\nAsk ops.\n",
    }
    edits('sed -i "s/^[23]$/{/" "$1"')
    assert "not JSON" in run("resolve", rank, "--edit").stderr
    edits('sed -i "s/^[23]$/7/" "$1"')
    assert run("resolve", rank, "--edit").status == 0
    assert found(run)["value"]["resolution"] == {"choice": "value", "value": 7}
    edits(': > "$1"')
    assert "Nothing was resolved." in run("resolve", text, "--edit").stderr
    edits("exit 3")
    assert "status 3" in run("resolve", text, "--edit").stderr
    monkeypatch.delenv("EDITOR")
    assert "set EDITOR" in run("resolve", text, "--edit").stderr
