"""Authors of files and folders, from the history of a real Git repository."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import mycel
from mycel.knowledge.bootstrap import bootstrap, git_authors
from tests.unit.knowledge.bootstrap.conftest import Write, git


def commit(folder: Path, author: str, day: int) -> None:
    git(folder, "add", ".")
    moment = f"2026-03-{day:02}T12:00:00Z"
    name = f"{author} <{author.lower().replace(' ', '.')}@shop.example>"
    git(folder, "commit", "-qm", "x", "--author", name, "--date", moment)


def authors(shop: mycel.Knowledge, uri: str) -> list[str]:
    listed: Any = shop.get(uri).properties.get("authors", [])
    return [f"{each['name']} {each['commits']} {each['last']}" for each in listed]


@pytest.fixture
def history(repository: Path, write: Write) -> Path:
    write("src/cart.py", "A = 1\n")
    write("src/till.py", "A = 1\n")
    commit(repository, "Ada", 1)
    write("src/cart.py", "A = 2\n")
    commit(repository, "Bob", 2)
    write("src/cart.py", "A = 3\n")
    write("guide.md", "# Guide\n\nAll of it.\n")
    commit(repository, "Ada", 3)
    return repository


def test_files_and_folders_have_their_authors(shop: mycel.Knowledge, history: Path) -> None:
    bootstrap(shop)
    assert authors(shop, "file://shop/src/cart.py") == ["Ada 2 2026-03-03", "Bob 1 2026-03-02"]
    assert authors(shop, "file://shop/src/till.py") == ["Ada 1 2026-03-01"]
    # A commit counts once for a folder.
    assert authors(shop, "src") == ["Ada 2 2026-03-03", "Bob 1 2026-03-02"]
    assert authors(shop, "concept://shop") == ["Ada 2 2026-03-03", "Bob 1 2026-03-02"]
    text = str([each.to_dict() for each in shop])
    assert "@shop.example" not in text, "addresses are personal"


def test_a_later_run_reads_new_commits_and_writes_what_differs(
    shop: mycel.Knowledge, history: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    bootstrap(shop)
    before = shop.db.snapshot()
    bootstrap(shop)
    assert shop.db.snapshot() == before
    till = shop.get("file://shop/src/till.py").version
    write("src/cart.py", "A = 4\n")
    bootstrap(shop)
    assert authors(shop, "file://shop/src/cart.py")[0] == "Ada 2 2026-03-03", "not committed yet"
    read = []
    count_commits = git_authors._count_commits
    monkeypatch.setattr(
        git_authors, "_count_commits",
        lambda lines, *rest: count_commits([read.append(each) or each for each in lines], *rest),
    )  # fmt: skip
    commit(history, "Bob", 4)
    bootstrap(shop)
    assert sum(line.startswith(b"\0") for line in read) == 1
    assert authors(shop, "file://shop/src/cart.py") == ["Bob 2 2026-03-04", "Ada 2 2026-03-03"]
    assert authors(shop, "src") == ["Bob 2 2026-03-04", "Ada 2 2026-03-03"]
    assert shop.get("file://shop/src/till.py").version == till
    # Another history is counted from its beginning.
    git(history, "reset", "-q", "--hard", "HEAD~2")
    bootstrap(shop)
    assert authors(shop, "file://shop/src/cart.py") == ["Bob 1 2026-03-02", "Ada 1 2026-03-01"]


def test_a_mailmap_joins_the_names_of_one_person(
    shop: mycel.Knowledge, history: Path, write: Write
) -> None:
    ada = "Ada Lovelace <ada@shop.example>"
    write(".mailmap", f"{ada}\n{ada} <bob@shop.example>\n")
    bootstrap(shop)
    assert authors(shop, "file://shop/src/cart.py") == ["Ada Lovelace 3 2026-03-03"]


def test_authors_can_be_left_out_and_are_then_removed(shop: mycel.Knowledge, history: Path) -> None:
    bootstrap(shop)
    bootstrap(shop, authors=False)
    for uri in ("file://shop/src/cart.py", "src", "concept://shop"):
        assert authors(shop, uri) == []
    before = shop.db.snapshot()
    bootstrap(shop, authors=False)
    assert shop.db.snapshot() == before
    bootstrap(shop)
    assert authors(shop, "src") == ["Ada 2 2026-03-03", "Bob 1 2026-03-02"]


def test_a_folder_of_a_repository_has_authors_too(shop: mycel.Knowledge, history: Path) -> None:
    bootstrap(shop, history / "src")
    assert authors(shop, "file://shop/src/cart.py") == ["Ada 2 2026-03-03", "Bob 1 2026-03-02"]
    assert authors(shop, "src") == ["Ada 2 2026-03-03", "Bob 1 2026-03-02"]
    assert authors(shop, "concept://shop") == []


def test_stored_authors_stay_when_git_cannot_tell(
    shop: mycel.Knowledge, history: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    bootstrap(shop)
    monkeypatch.setenv("PATH", os.devnull)
    write("src/cart.py", "A = 5\n")
    bootstrap(shop)
    assert authors(shop, "file://shop/src/cart.py") == ["Ada 2 2026-03-03", "Bob 1 2026-03-02"]
    assert authors(shop, "src") == ["Ada 2 2026-03-03", "Bob 1 2026-03-02"]


def test_odd_names_and_a_history_that_is_too_long_are_bounded(
    shop: mycel.Knowledge, history: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write('src/a"b.py', "A = 1\n")
    write("src/ä b.py", "A = 1\n")
    git(history, "add", ".")
    odd = "Eve\x1b[31m\x07 " + "x" * 200 + " <eve@shop.example>"
    git(history, "commit", "-qm", "x", "--author", odd)
    bootstrap(shop)
    (eve,) = authors(shop, "file://shop/src/ä b.py")
    assert eve.isprintable()
    assert eve.startswith("Eve[31m xx")
    assert len(eve) < git_authors.AUTHOR_CHARACTERS + 20
    monkeypatch.setattr(git_authors, "AUTHOR_SECONDS_MAX", -1.0)
    write("src/cart.py", "A = 6\n")
    commit(history, "Bob", 5)
    assert any("too long" in note for note in bootstrap(shop).notes)


def clone(history: Path, name: str, *options: str) -> mycel.Knowledge:
    """A graph for a clone of a repository."""
    git(history, "config", "uploadpack.allowFilter", "true")
    folder = history.parent / name
    git(history, "clone", "-q", *options, history.as_uri(), str(folder))
    return mycel.Knowledge(mycel.open(), workspace="shop", root=folder)


def test_a_shallow_clone_has_no_authors_until_it_has_its_history(history: Path) -> None:
    shop = clone(history, "shallow", "--depth", "1")
    for _ in range(2):
        assert any("shallow" in note for note in bootstrap(shop).notes)
        assert authors(shop, "file://shop/src/till.py") == []
        assert authors(shop, "src") == []
    assert shop.root is not None
    git(shop.root, "fetch", "-q", "--unshallow")
    assert not any("shallow" in note for note in bootstrap(shop).notes)
    assert authors(shop, "file://shop/src/till.py") == ["Ada 1 2026-03-01"]
    assert authors(shop, "src") == ["Ada 2 2026-03-03", "Bob 1 2026-03-02"]
    # Made shallow again, it loses them.
    git(shop.root, "fetch", "-q", "--depth", "1")
    assert any("shallow" in note for note in bootstrap(shop).notes)
    assert authors(shop, "src") == []


def test_a_history_that_git_cannot_read_is_read_by_a_later_run(history: Path) -> None:
    shop = clone(history, "partial", "--filter=tree:0")
    away = history.rename(history.parent / "away")  # What is missing cannot be fetched.
    assert any("cannot read the history" in note for note in bootstrap(shop).notes)
    assert authors(shop, "file://shop/src/till.py") == []
    away.rename(history)
    assert shop.root is not None
    git(shop.root, "fetch", "-q", "--refetch", "--no-filter")
    assert not any("history" in note for note in bootstrap(shop).notes)
    assert authors(shop, "file://shop/src/till.py") == ["Ada 1 2026-03-01"]
