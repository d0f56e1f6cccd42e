import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

import mycel
from mycel.errors import (
    ConstraintViolation,
    DatabaseBusy,
    DatabaseCorrupt,
    DatabaseReadOnly,
    DuplicateExists,
    MycelError,
    NotADatabase,
)
from mycel.history import backups
from mycel.history.branches import opened
from mycel.store.check.changed import verify_changes
from tests.cases import each_case

pytestmark = pytest.mark.sqlite_file(
    "a backup is a copy of the file; workspaces are copied row by row"
)


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
    db = mycel.open(path, core_capsules=False)
    db.write(lambda tx: tx.define_type("City"))
    put(db, "Porto")
    return db


def test_a_backup_holds_every_commit_and_is_replaced_by_later_states_alone(
    db: mycel.Graph, path: Path, tmp_path: Path
) -> None:
    target = tmp_path / "copy.db"
    (first,) = db.backup(target)
    assert first.is_new
    assert first.commit == next(db.history.log()).commit
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
    with mycel.open(tmp_path / "other.db", core_capsules=False) as other:
        other.write(lambda tx: tx.define_type("Town"))
        with pytest.raises(ConstraintViolation, match="not an earlier state"):
            other.backup(target)
    assert db.backup(target, force=True)[0].is_new
    assert sorted(each.name for each in tmp_path.iterdir() if "copy" in each.name) == [
        "copy.db",
        "copy.db@verified.json",
    ]


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
    assert names == ["copy.db", "copy.db@verified.json", "restored.db"]


def test_a_folder_gets_all_branches(db: mycel.Graph, tmp_path: Path) -> None:
    db.branches.create("draft")
    with db.open_branch("draft") as draft:
        put(draft, "Braga")
    folder = tmp_path / "backups"
    # A slash says that it is a folder, which need not exist.
    assert [each.path.name for each in db.backup(f"{folder}/")] == ["graph.db", "graph.db@draft.db"]
    assert [each.is_new for each in db.backup(folder)] == [False, False]
    with pytest.raises(DatabaseReadOnly, match="cannot be made"):
        db.backup(f"{folder}/graph.db/")
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
    monkeypatch.setattr(
        "mycel.store.backend.sqlite.copy.LARGE_BYTES", 0
    )  # Both ways to copy, in turn.
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
        assert next(back.history.log()).commit == made.commit
        assert back.get_concept("City", "Braga") is None
    (aside,) = tmp_path.glob("graph.db.replaced-*")
    with mycel.open(aside) as before:
        assert before.get_concept("City", "Braga") is not None


def test_a_damaged_graph_is_replaced_and_kept(db: mycel.Graph, path: Path, tmp_path: Path) -> None:
    db.backup(tmp_path / "copy.db")
    db.close()
    whole = path.read_bytes()
    for number, damaged in enumerate((b"x" * len(whole), whole[:100] + b"x" * len(whole), b"")):
        path.write_bytes(damaged)
        mycel.restore(tmp_path / "copy.db", path, force=True)
        with mycel.open(path) as back:
            assert back.get_concept("City", "Porto") is not None
            assert back.verify().ok
        assert len(list(tmp_path.glob("graph.db.replaced-*"))) == number + 1


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
        lambda: mycel.open(core_capsules=False).backup(tmp_path / "memory.db"),
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
    monkeypatch.setattr(backups, "verify_changes", lambda *_: None)
    with pytest.raises(DatabaseCorrupt):
        db.backup(target)
    assert target.read_bytes() == before
    assert not list(tmp_path.glob("*making*"))


def _change_everything(db: mycel.Graph) -> None:
    """Entries of every kind that changes contents alone."""
    with db.transaction() as tx:
        tx.define_type("River")
        tx.define_predicate("near")
        douro = tx.put_concept("River", "Douro", {"length": 897})
        tx.put_concept("River", "Minho")
        link = tx.add_edge(tx.get_concept("City", "Porto").id, "near", douro)
    with db.transaction() as tx:
        tx.update(tx.get_concept("City", "Porto").id, attributes={"people": 1})
        tx.update(link, attributes={"since": 1})
        tx.retire(tx.get_concept("River", "Minho").id)
    db.history.tag("now")


def test_a_later_backup_is_verified_by_what_changed_unless_all_is_asked_for(
    db: mycel.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "copy.db"
    whole: list[str] = []
    verify = backups.verify

    def counted(store: Any) -> Any:
        whole.append(store.path)
        return verify(store)

    monkeypatch.setattr(backups, "verify", counted)
    db.backup(target)
    assert len(whole) == 1
    _change_everything(db)
    db.backup(target)
    assert len(whole) == 1
    with mycel.open(target) as copy:
        assert copy.verify(replay=True).ok
        assert copy.snapshot() == db.snapshot()
    put(db, "Braga")
    db.backup(target, full=True)
    assert len(whole) == 2
    put(db, "Faro")
    (tmp_path / "copy.db@verified.json").unlink()
    db.backup(target)
    assert len(whole) == 3
    put(db, "Évora")
    target.touch()  # As if somebody had written to it.
    db.backup(target)
    assert len(whole) == 4
    db.purge(("City", "Faro"), "asked to")  # Which changes old entries.
    db.backup(target)
    assert len(whole) == 5


DAMAGE = [
    "UPDATE concept SET attributes = '{\"people\":2}' WHERE name = 'Porto'",
    "UPDATE concept SET metadata = '{\"a\":1}' WHERE name = 'Lisboa'",
    "DELETE FROM concept WHERE name = 'Lisboa'",
    "UPDATE concept_past SET name = 'Oporto' WHERE name = 'Porto'",
    "UPDATE proposition SET weight = 0.5",
    "UPDATE proposition_past SET metadata = '{\"a\":1}'",
    "UPDATE journal SET element = element + 2 WHERE seq = (SELECT min(seq) FROM journal)",
    "UPDATE journal SET after = x'00' WHERE seq = (SELECT max(seq) FROM journal WHERE kind = 1)",
    "UPDATE tx SET message = 'another' WHERE seq = (SELECT min(seq) FROM tx)",
    "UPDATE tx SET message = 'another' WHERE seq = (SELECT max(seq) FROM tx)",
    "UPDATE tx SET concepts_root = edges_root WHERE seq = (SELECT max(seq) FROM tx)",
    "UPDATE concept_tree SET body = substr(body, 2)",
    "UPDATE actor SET name = 'nobody' WHERE id = (SELECT min(id) FROM actor)",
    "UPDATE log_node SET hash = zeroblob(32) WHERE level = (SELECT max(level) FROM log_node)",
    "UPDATE type SET name = 'Town' WHERE name = 'City'",
]


def test_damage_to_old_and_new_rows_is_found_by_what_changed(
    db: mycel.Graph, path: Path, tmp_path: Path
) -> None:
    put(db, "Lisboa")
    put(db, *(f"Town {number}" for number in range(300)))  # Enough for pages of the trees.
    target = tmp_path / "copy.db"
    db.backup(target)
    _change_everything(db)
    db.close()
    sound = path.read_bytes()
    with each_case() as case:
        for statement in [None, *DAMAGE]:
            with case(str(statement)):
                path.write_bytes(sound)
                for suffix in ("-wal", "-shm"):
                    Path(f"{path}{suffix}").unlink(missing_ok=True)
                if statement is not None:
                    with closing(apsw.Connection(str(path))) as damaged:
                        damaged.execute(statement)
                        assert damaged.total_changes()
                with closing(opened(path)) as made, closing(opened(target)) as older:
                    report = verify_changes(made, older)
                assert report is not None
                assert report.ok == (statement is None), report.problems
