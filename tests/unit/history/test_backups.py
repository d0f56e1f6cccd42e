import subprocess
import sys
from pathlib import Path
from typing import Any

import apsw
import pytest

import mycel
from mycel.errors import (
    ConstraintViolation,
    DatabaseBusy,
    DatabaseCorrupt,
    DuplicateExists,
    MycelError,
    NotADatabase,
)
from mycel.history import backups


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "graph.db"


def put(db: mycel.Graph, *names: str) -> None:
    def work(tx: mycel.Transaction) -> None:
        for name in names:
            tx.put_concept("City", name)

    db.write(work)


@pytest.fixture
def db(path: Path) -> mycel.Graph:
    db = mycel.open(path, bootstrap=False)
    db.write(lambda tx: tx.define_type("City"))
    put(db, "Porto")
    return db


def test_a_backup_holds_every_commit_and_is_replaced_by_later_states_alone(
    db: mycel.Graph, path: Path, tmp_path: Path
) -> None:
    target = tmp_path / "copy.db"
    (first,) = db.backup(target)
    assert first.is_new
    assert first.commit == next(db.log()).commit
    (same,) = db.backup(target)
    assert same == first._replace(is_new=False)
    put(db, "Braga")
    (second,) = db.backup(target)
    assert second.is_new
    with mycel.open(target) as copy:
        assert copy.verify(replay=True).ok
        assert copy.snapshot() == db.snapshot()
        put(copy, "Faro")
    with pytest.raises(ConstraintViolation, match="1 other commit"):
        db.backup(target)
    with mycel.open(tmp_path / "other.db", bootstrap=False) as other:
        other.write(lambda tx: tx.define_type("Town"))
        with pytest.raises(ConstraintViolation, match="no earlier state"):
            other.backup(target)
    assert db.backup(target, force=True)[0].is_new
    assert sorted(each.name for each in tmp_path.iterdir() if "copy" in each.name) == ["copy.db"]


def test_what_a_killed_backup_left_is_removed_and_a_copy_can_be_written(
    db: mycel.Graph, tmp_path: Path
) -> None:
    target = tmp_path / "copy.db"
    for suffix in ("", "-wal", "-shm"):
        (tmp_path / f"copy.db.making-1-1.db{suffix}").write_bytes(b"torn")
    db.backup(target)
    target.chmod(0o444)
    mycel.restore(target, tmp_path / "restored.db")
    assert (tmp_path / "restored.db").stat().st_mode & 0o777 == 0o644
    names = sorted(each.name for each in tmp_path.iterdir() if "graph" not in each.name)
    assert names == ["copy.db", "restored.db"]


def test_a_folder_gets_all_branches(db: mycel.Graph, tmp_path: Path) -> None:
    db.branches.create("draft")
    with db.open_branch("draft") as draft:
        put(draft, "Braga")
    folder = tmp_path / "backups"
    folder.mkdir()
    assert [each.path.name for each in db.backup(folder)] == ["graph.db", "graph.db@draft.db"]
    with mycel.open(folder / "graph.db", branch="draft") as copy:
        assert copy.get_concept("City", "Braga") is not None


def test_a_backup_while_others_write_is_of_one_moment(
    db: mycel.Graph, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = (
        "import sys, mycel\n"
        "with mycel.open(sys.argv[1]) as db:\n"
        "    print('begun', flush=True)\n"
        "    n = 0\n"
        "    while True:\n"
        "        db.write(lambda tx: [tx.put_concept('City', f'{n}{s}') for s in 'ab'])\n"
        "        n += 1\n"
    )
    monkeypatch.setattr("mycel.store.file.copy.LARGE_BYTES", 0)  # Both ways to copy, in turn.
    process = subprocess.Popen(
        [sys.executable, "-c", writer, str(path)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        process.stdout.readline()
        for number in range(6):
            (made,) = db.backup(tmp_path / f"{number}.db")
            connection = apsw.Connection(str(made.path))
            ends = [name[-1] for (name,) in connection.execute("SELECT name FROM concept")]
            connection.close()
            assert ends.count("a") == ends.count("b")
            if number == 2:
                monkeypatch.undo()
    finally:
        process.kill()
        process.communicate()


def test_restoring_brings_back_the_state_and_keeps_what_was_there(
    db: mycel.Graph, path: Path, tmp_path: Path
) -> None:
    target = tmp_path / "copy.db"
    db.backup(target)
    put(db, "Braga")
    with pytest.raises(DuplicateExists, match="There is a graph"):
        mycel.restore(target, path)
    with pytest.raises(DatabaseBusy):
        mycel.restore(target, path, force=True)
    db.close()
    made = mycel.restore(target, path, force=True)
    with mycel.open(path) as back:
        assert next(back.log()).commit == made.commit
        assert back.get_concept("City", "Braga") is None
    (aside,) = tmp_path.glob("graph.db.replaced-*")
    with mycel.open(aside) as before:
        assert before.get_concept("City", "Braga") is not None


def test_what_is_no_sound_graph_is_neither_backup_nor_replaced(
    db: mycel.Graph, path: Path, tmp_path: Path
) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("mine")
    damaged = tmp_path / "damaged.db"
    db.backup(damaged)
    connection = apsw.Connection(str(damaged))
    connection.execute("UPDATE concept SET attributes = '{\"x\": 1}' WHERE name = 'Porto'")
    connection.close()
    for refused in (
        lambda: db.backup(text),
        lambda: db.backup(path),
        lambda: db.backup(tmp_path / "none" / "copy.db"),
        lambda: mycel.restore(text, tmp_path / "new.db"),
        lambda: mycel.restore(tmp_path / "none.db", tmp_path / "new.db"),
        lambda: mycel.restore(damaged, tmp_path / "new.db"),
        lambda: mycel.open(bootstrap=False).backup(tmp_path / "memory.db"),
    ):
        with pytest.raises(MycelError):
            refused()
    with pytest.raises(DatabaseCorrupt, match="does not verify"):
        db.backup(damaged)
    with pytest.raises(NotADatabase):
        mycel.restore(text, tmp_path / "new.db")
    with db.transaction(), pytest.raises(ConstraintViolation, match="transaction"):
        db.backup(tmp_path / "copy.db")
    assert text.read_text() == "mine"
    assert not (tmp_path / "new.db").exists()


def test_a_restored_graph_is_verified_once_and_before_anything_is_set_aside(
    db: mycel.Graph, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "copy.db"
    db.backup(source)
    db.close()
    verified = []

    def counted(store: Any) -> Any:
        verified.append(store.path)
        return verify(store)

    verify = backups.verify
    monkeypatch.setattr(backups, "verify", counted)
    mycel.restore(source, tmp_path / "again.db")
    assert len(verified) == 1
    connection = apsw.Connection(str(source))
    connection.execute("UPDATE concept SET attributes = '{\"x\": 1}' WHERE name = 'Porto'")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(DatabaseCorrupt, match=r"copy\.db' does not verify"):
        mycel.restore(source, path, force=True)
    assert path.read_bytes() == before
    assert not [each for each in tmp_path.iterdir() if "replaced" in each.name]


def test_a_copy_that_does_not_verify_leaves_the_older_backup(
    db: mycel.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "copy.db"
    db.backup(target)
    before = target.read_bytes()
    put(db, "Braga")

    def fail(_store: object, _name: str) -> None:
        raise DatabaseCorrupt("no")

    monkeypatch.setattr(backups, "_verify", fail)
    with pytest.raises(DatabaseCorrupt):
        db.backup(target)
    assert target.read_bytes() == before
    assert not list(tmp_path.glob("*making*"))
