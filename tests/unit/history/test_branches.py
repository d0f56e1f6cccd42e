"""Branches: copies of a graph beside it, safe while others write, with a history of their own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mycel
from mycel.errors import (
    ConstraintViolation,
    DatabaseBusy,
    DiskFull,
    DuplicateExists,
    InvalidIdentifier,
    MycelError,
    NotADatabase,
    NotFound,
    ResourceExhausted,
)
from mycel.history import branches
from mycel.knowledge.bootstrap import bootstrap
from mycel.store.backend.sqlite import branches as file_branches
from mycel.store.backend.sqlite import copy

PROGRAM = [sys.executable, "-m", "tests.faults.branching"]

needs_posix = pytest.mark.skipif(sys.platform == "win32", reason="needs signals, fork and cp")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "graph.db"
    with mycel.open(path, durability="off", core_capsules=False) as db:
        db.write(lambda tx: tx.define_type("Shop"))
        put(db, "old")
    return path


def put(db: mycel.Graph, name: str) -> None:
    db.write(lambda tx: tx.put_concept("Shop", name, {"said": name}))


def shops(db: mycel.Graph) -> list[str]:
    return db.execute('FIND(?s.name) WHERE { ?s {type: "Shop"} } ORDER BY ?s.name ASC').value


def files(path: Path) -> set[str]:
    return {each.name for each in path.parent.iterdir()}


def check_proofs(db: mycel.Graph, name: str) -> None:
    """Both journals are proven to begin with those entries after which they part."""
    with mycel.open(db.path, branch=name) as branch:
        mine, theirs = db.branches.prove(name)
        root, entries = theirs.old_journal_root, theirs.old_entries
        assert mine.verify(root, branch.snapshot().overall_root, old_entries=entries)
        assert theirs.verify(mine.old_journal_root, db.snapshot().overall_root)
        assert entries == db.branches.get(name).parting.entries > 0


@pytest.mark.sqlite_file("opens a branch by the name of its file")
def test_a_branch_has_the_past_of_the_graph_and_a_future_of_its_own(path: Path) -> None:
    with mycel.open(path) as db:
        made = db.branches.create("draft")
        assert (made.parting.ahead, made.parting.behind) == (0, 0)
        shared = made.commit
        with mycel.open(path, branch="draft") as draft:
            assert (draft.branch, db.branch) == ("draft", "main")
            put(draft, "new")
            put(draft, "newer")
            put(db, "other")
            assert shops(draft) == ["new", "newer", "old"]
            assert shops(db) == ["old", "other"]
            main, found = db.branches
            assert main.name == "main"
            assert found == draft.branches.get("draft")
            assert found.parting == (found.parting.entries, shared, 2, 1)
            assert draft.as_of(shared).snapshot() == db.as_of(shared).snapshot()
            draft.branches.create("again")  # A branch of a branch is one of the same graph.
            assert db.branches.names() == ["main", "again", "draft"]
            for each in (db, draft):
                assert each.verify(replay=True).ok
        check_proofs(db, "draft")
        with mycel.open(path, branch="again", readonly=True) as again:
            assert shops(again) == ["new", "newer", "old"]
        with mycel.open(f"{path}@draft.db", branch="main") as same:
            assert shops(same) == ["old", "other"]


@pytest.mark.sqlite_file("the names are those of files")
def test_names_that_are_no_plain_names_of_files_or_are_taken_are_refused(path: Path) -> None:
    bad = ("", ".", "..", ".x", "a/b", "a\\b", "../x", "x.", "-x", "a b", "é", "a\n", "x" * 65)
    with mycel.open(path) as db:
        db.branches.create("Draft")
        before = files(path)
        for name in (*bad, "CON", "nul.txt", "a@b", "x\0", 7, None):
            with pytest.raises(InvalidIdentifier, match="cannot name a branch"):
                db.branches.create(name)  # type: ignore[arg-type]
        for name in ("main", "MAIN", "Draft", "draft"):
            with pytest.raises(DuplicateExists):
                db.branches.create(name)
        with pytest.raises(NotFound) as unknown:
            mycel.open(path, branch="draff")
        assert "Did you mean 'Draft'?" in str(unknown.value.hint)
        with db.transaction(), pytest.raises(ConstraintViolation, match="transaction"):
            db.branches.create("inside")
        assert files(path) == before
    with pytest.raises(NotADatabase):
        mycel.open(path.with_name("none.db"), branch="x")
    with mycel.open() as db, pytest.raises(ConstraintViolation, match="in memory"):
        db.branches.create("x")


@pytest.mark.sqlite_file("the branch in use is the content of a file")
def test_a_branch_is_deleted_unless_it_is_open_used_or_has_commits_of_its_own(path: Path) -> None:
    with mycel.open(path) as db:
        db.branches.create("draft")
        with mycel.open(path, branch="draft") as draft:
            with pytest.raises(DatabaseBusy, match="in use"):
                db.branches.delete("draft")
            put(draft, "new")
        with pytest.raises(ConstraintViolation, match="1 commit that main lacks"):
            db.branches.delete("draft")
        db.branches.switch("draft")
        assert db.branches.current == "draft"
        with pytest.raises(DatabaseBusy, match="Commands use"):
            db.branches.delete("draft", unmerged=True)
        db.branches.switch("main")
        assert not db.branches.delete("draft", unmerged=True).is_merged
        for name, error in (("draft", NotFound), ("main", ConstraintViolation)):
            with pytest.raises(error):
                db.branches.delete(name, unmerged=True)
        db.branches.create("draft")
        put(db, "later")
        db.branches.delete("draft")
        db.branches.create("draft")
        with mycel.open(path, branch="draft") as draft:
            assert shops(draft) == ["later", "old"]
        db.branches.delete("draft")
    assert files(path) == {"graph.db"}


@pytest.mark.sqlite_file("looks at the disk of the file")
@needs_posix
def test_branches_are_limited_in_number_and_leave_room_on_the_disk(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mycel.open(path) as db:
        db.branches.create("one")
        monkeypatch.setattr(branches, "BRANCHES_MAX", 2)
        with pytest.raises(ResourceExhausted, match="2 branches"):
            db.branches.create("two")
        monkeypatch.undo()
        free = shutil.disk_usage(path.parent).free
        monkeypatch.setattr(file_branches, "FREE_BYTES_MIN", free)
        with pytest.raises(DiskFull, match="would leave less"):
            db.branches.create("two")
        assert db.branches.names() == ["main", "one"]
        monkeypatch.undo()
        db.branches.create("two")


@pytest.mark.sqlite_file("the program writes a file")
def test_branches_made_while_another_process_writes_are_each_of_one_moment(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = subprocess.Popen(
        [*PROGRAM, "write", str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert writer.stdin is not None
    assert writer.stdout is not None
    with writer, mycel.open(path) as db:
        try:
            assert writer.stdout.readline() == b"writing\n"
            for number in range(4):
                monkeypatch.setattr(copy, "LARGE_BYTES", (1 << 40) * (number % 2))
                db.branches.create(f"b{number}")
        finally:
            writer.stdin.close()
        assert writer.wait() == 0
        for number in range(4):
            with mycel.open(path, branch=f"b{number}") as branch:
                assert branch.verify().ok
                assert db.branches.get(f"b{number}").is_merged  # It is a moment of the graph.
            check_proofs(db, f"b{number}")
        assert db.verify().ok


@pytest.mark.sqlite_file("the program is killed at each call of the file system")
@needs_posix
def test_a_process_that_is_killed_leaves_a_whole_branch_or_none(path: Path) -> None:
    done = subprocess.run([*PROGRAM, "kill", str(path), "1"], capture_output=True, check=True)
    last, status = map(int, done.stdout.split())
    assert (last > 3, status) == (True, 0)
    check_whole(path)


@pytest.mark.sqlite_file("the copy is one of a file")
@needs_posix
def test_a_process_that_is_killed_in_the_middle_of_a_copy_leaves_no_branch(
    path: Path, tmp_path: Path
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    cp = tools / "cp"
    cp.write_text('#!/bin/sh\nhead -c 20000 "$2" > "$3"\nkill -9 $PPID\n')
    cp.chmod(0o755)
    environment = os.environ | {"PATH": f"{tools}:{os.environ['PATH']}"}
    done = subprocess.run([*PROGRAM, "copy", str(path), "half"], env=environment, check=False)
    assert done.returncode == -9
    assert any(".making-" in each for each in files(path))
    with mycel.open(path) as db:
        assert db.branches.names() == ["main"]
    check_whole(path)


def check_whole(path: Path) -> None:
    """Every branch that has a name is complete, and the next creation removes what is left over."""
    with mycel.open(path) as db:
        db.branches.create("after")
        for each in db.branches:
            with mycel.open(path, branch=each.name) as branch:
                assert (branch.verify(replay=True).ok, shops(branch)) == (True, ["old"])
            assert each.is_merged
        assert not any(".making" in each for each in files(path))


@pytest.mark.sqlite_file("the copy is one of a file")
def test_a_copy_that_fails_leaves_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(copy, "_flush", fail)
    with mycel.open(path) as db:
        before = files(path)
        with pytest.raises(MycelError, match="No space left"):
            db.branches.create("x")
        assert files(path) == before


@pytest.mark.sqlite_file("looks at files beside the graph")
def test_branches_share_the_embedder_and_are_no_files_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# Notes\n")
    path = tmp_path / "graph.db"
    with mycel.open(path) as db:
        db.branches.create("draft")
        db.branches.create("other")
        db.branches.switch("draft")
        (tmp_path / "graph.db.embedder").write_text("onnx:nowhere\n")
        with mycel.open(path, branch="draft") as draft:
            assert draft.embeddings.status().embedder == "onnx:nowhere"
            (tmp_path / "graph.db.embedder").unlink()
            for each in (db, draft):
                brought = bootstrap(mycel.Knowledge(each, workspace="w", root=tmp_path), tmp_path)
                assert brought.added == 1, brought


def test_where_branches_part_is_found_wherever_it_is(path: Path) -> None:
    with mycel.open(path, durability="off") as db:
        for number in range(9):
            db.branches.create(f"b{number}")
            put(db, f"main {number}")
        for number in range(9):
            with mycel.open(path, branch=f"b{number}", durability="off") as branch:
                for each in range(number):
                    put(branch, f"own {each}")
                parting = branch.branches.get(f"b{number}").parting
                assert (parting.ahead, parting.behind) == (number, 9 - number)
                assert parting.commit is not None
                assert db.as_of(parting.commit).snapshot().entries == parting.entries


@pytest.mark.sqlite_file("the branch is a file that somebody put there")
def test_a_branch_that_shares_nothing_has_no_parting(path: Path) -> None:
    stranger = path.with_name("graph.db@stranger.db")
    mycel.open(stranger, core_capsules=False).close()
    with mycel.open(path) as db:
        assert db.branches.get("stranger").parting[:2] == (0, None)
