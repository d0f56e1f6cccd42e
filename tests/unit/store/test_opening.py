"""Opening and creating: what is no graph is refused clearly and left as it is."""

import gc
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Any

import apsw
import pytest

import mycel
from mycel.errors import (
    CommitUncertain,
    DatabaseBusy,
    DatabaseError,
    DatabaseReadOnly,
    DiskFull,
    FormatTooNew,
    MycelError,
    NotADatabase,
    NotFound,
)
from mycel.store.file import locks
from mycel.store.file.layout import DEVELOPMENT_APPLICATION_ID, FORMAT
from mycel.store.file.locks import locked
from tests.stored_bytes import stored_bytes
from tests.unit.store import shapes
from tests.unit.store.given import FACT, Clock, add_concepts, assert_sound, dump, raw


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


# ---------------------------------------------------------------------------------------------
# Creating


def test_a_new_graph_begins_with_its_genesis(path: Path, clock: Clock) -> None:
    with mycel.open(path, clock_us=clock, core_capsules=False) as db:
        assert db.path == str(path)
        (genesis,) = db.history.log()
        assert (genesis.actor, genesis.message, genesis.first_seq) == (
            "$system",
            "create the graph",
            1,
        )
        assert genesis.time_us == clock.now_us
        for name in ("$ConceptType", "$PropositionType"):
            assert db.get_concept("$ConceptType", name) is not None
        assert db.get_concept("$PropositionType", "related_to") is not None
        assert_sound(db)


def test_two_new_graphs_are_equal_if_their_clocks_are(tmp_path: Path, clock: Clock) -> None:
    with (
        mycel.open(tmp_path / "one.db", clock_us=clock) as one,
        mycel.open(":memory:", clock_us=clock) as other,
    ):
        assert one.snapshot() == other.snapshot()


def test_graphs_in_memory_share_nothing(clock: Clock) -> None:
    with (
        mycel.open(":memory:", clock_us=clock, core_capsules=False) as one,
        mycel.open(clock_us=clock, core_capsules=False) as other,
    ):
        add_concepts(one, "one")
        assert other.history.log().__next__().message == "create the graph"


def test_a_graph_that_nobody_closed_closes_its_files_when_it_is_collected(path: Path) -> None:
    def open_and_forget() -> None:
        db = mycel.open(path)
        db.execute('UPSERT { CONCEPT { {type: "$PropositionType", name: "near"} } }')
        # Each kind of walk leaves something behind in its connection.
        db.execute('FIND(?a, ?b) WHERE { (?a, "near"{1,}, ?b) NOT { (?b, "near"{1,3}, ?a) } }')
        db.execute('FIND(?a) WHERE { (?a, "near"{1,}, ?a) }')

    open_and_forget()
    gc.collect()
    open_files = {os.path.realpath(link) for link in Path("/proc/self/fd").iterdir()}
    assert not {file for file in open_files if file.startswith(str(path))}


def test_a_graph_can_be_open_twice_in_one_process(path: Path, clock: Clock) -> None:
    with mycel.open(path, clock_us=clock) as one, mycel.open(path, clock_us=clock) as other:
        (made,) = add_concepts(one, "one")
        assert other.get(made).id == made
        other.write(lambda tx: tx.define_type("New"))
        one.write(lambda tx: tx.put_concept("New", "thing"))
        assert other.get_concept("New", "thing") is not None
        assert_sound(one)
    with mycel.open(path) as db:
        assert_sound(db)


def test_an_empty_file_becomes_a_graph_only_if_one_may_be_created(path: Path) -> None:
    path.touch()
    for options in ({"create": False}, {"readonly": True}):
        with pytest.raises(NotADatabase):
            mycel.open(path, **options)
        assert path.read_bytes() == b""
    with mycel.open(path) as db:
        assert_sound(db)


def test_a_path_may_be_a_string_or_a_path_and_hold_any_characters(tmp_path: Path) -> None:
    for name in (
        "plain.db",
        "with space.db",
        "naïve 猫 🦊.db",
        "a?b=c&d#e%20.db",
        "-dash",
        "'q\"'",
    ):
        for given in (str(tmp_path / name), tmp_path / name):
            with mycel.open(given) as db:
                assert_sound(db)
        assert (tmp_path / name).exists()


def test_a_relative_path_stays_what_it_was_when_the_graph_was_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    with mycel.open("graph.db") as db:
        monkeypatch.chdir(tmp_path / "elsewhere")
        (one,) = add_concepts(db, "one")
        assert [db.get(one).id for _ in range(3)] == [one] * 3
        assert_sound(db)
    assert not any((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize("options", [{"create": False}, {"readonly": True}])
def test_what_is_not_there_is_not_created_when_not_asked(
    path: Path, options: dict[str, Any]
) -> None:
    with pytest.raises(NotADatabase):
        mycel.open(path, **options)
    assert not path.exists()


def test_a_directory_that_is_not_there_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    with pytest.raises(DatabaseError) as caught:
        mycel.open(missing / "graph.db")
    assert str(missing) in caught.value.message
    assert not missing.exists()


@pytest.mark.parametrize(
    "bad", ["with\0nul.db", "lone\ud800surrogate.db"], ids=["NUL", "surrogate"]
)
def test_a_name_that_no_file_can_have_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bad: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MycelError):
        mycel.open(bad)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("durability", ["", "FULLL", "banana", None, 5, "full; DROP TABLE head"])
def test_a_durability_that_does_not_exist_is_refused(path: Path, durability: Any) -> None:
    """SQLite would take any other word for less than was asked."""
    with pytest.raises(MycelError):
        mycel.open(path, durability=durability)


@pytest.mark.parametrize("durability", ["full", "normal", "off"])
def test_every_durability_works(path: Path, durability: Any) -> None:
    with mycel.open(path, durability=durability) as db:
        add_concepts(db, "one")
    with mycel.open(path) as db:
        assert db.get_concept(FACT, "one") is not None
        assert_sound(db)


# ---------------------------------------------------------------------------------------------
# What is no graph


def make_text(path: Path) -> None:
    path.write_text("Dear diary,\n" * 1_000)


def make_short_text(path: Path) -> None:
    path.write_text("hello\n")


def make_noise(path: Path) -> None:
    path.write_bytes(Random(1).randbytes(10_000))


def make_noise_with_magic(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\0" + Random(2).randbytes(10_000))


def make_other_database(path: Path) -> None:
    with raw(path) as connection:
        connection.execute("CREATE TABLE note (id INTEGER PRIMARY KEY, text)")
        connection.execute("INSERT INTO note VALUES (1, 'precious')")


def make_other_wal_database(path: Path) -> None:
    with raw(path) as connection:
        connection.execute("PRAGMA journal_mode = wal").fetchall()
        connection.execute("CREATE TABLE head (id INTEGER PRIMARY KEY, seq)")
        connection.execute("INSERT INTO head VALUES (1, 2)")


def make_database_of_an_application(path: Path) -> None:
    with raw(path) as connection:
        connection.execute("PRAGMA application_id = 252006673")


def make_unknown_schema(path: Path) -> None:
    with raw(path) as connection:
        connection.execute("CREATE VIEW v AS SELECT 1")


NO_GRAPHS = [
    make_text,
    make_short_text,
    make_noise,
    make_noise_with_magic,
    make_other_database,
    make_other_wal_database,
    make_database_of_an_application,
    make_unknown_schema,
]


@pytest.mark.parametrize("make", NO_GRAPHS, ids=lambda make: make.__name__.removeprefix("make_"))
@pytest.mark.parametrize("options", [{}, {"create": False}, {"readonly": True}], ids=str)
def test_a_file_that_is_something_else_is_refused_and_left_alone(
    tmp_path: Path, make: Any, options: dict[str, Any]
) -> None:
    path = tmp_path / "precious"
    make(path)
    before = path.read_bytes()
    with pytest.raises(DatabaseError) as caught:
        mycel.open(path, **options)
    assert caught.value.name in ("NotADatabase", "DatabaseCorrupt")
    assert caught.value.hint
    assert path.read_bytes() == before


@pytest.mark.parametrize("options", [{}, {"create": False}, {"readonly": True}], ids=str)
def test_a_directory_is_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(NotADatabase) as caught:
        mycel.open(tmp_path, **options)
    assert "directory" in caught.value.message
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("device", ["/dev/null", "/dev/zero", "/proc/version", "/dev/full"])
def test_a_device_is_refused(device: str) -> None:
    if not Path(device).exists():
        pytest.skip(f"this system has no {device}")
    with pytest.raises(MycelError):
        mycel.open(device)


@pytest.mark.parametrize("options", [{}, {"readonly": True}], ids=str)
@pytest.mark.parametrize("version", [FORMAT + 1, 1_000, 2**31 - 1])
def test_a_newer_format_is_refused_and_left_alone(
    path: Path, version: int, options: dict[str, Any]
) -> None:
    shapes.build("pending", path)
    with raw(path) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    before = stored_bytes(path)
    with pytest.raises(FormatTooNew) as caught:
        mycel.open(path, **options)
    assert str(version) in caught.value.message
    assert "pgrade" in caught.value.hint
    assert stored_bytes(path) == before


def test_who_has_a_file_open_that_a_later_version_upgrades_writes_to_it_no_more(
    path: Path,
) -> None:
    with mycel.open(path, core_capsules=False) as db:
        db.write(lambda tx: tx.define_type(FACT))
        with raw(path) as connection:
            connection.execute(f"PRAGMA user_version = {FORMAT + 1}")
        before = dump(path)
        for _ in range(2):
            with pytest.raises(FormatTooNew):
                db.write(lambda tx: tx.put_concept(FACT, "late"))
            with pytest.raises(FormatTooNew), db.transaction() as tx:
                tx.put_concept(FACT, "late")
        assert dump(path) == before
        with raw(path) as connection:
            connection.execute(f"PRAGMA user_version = {FORMAT}")
        db.write(lambda tx: tx.put_concept(FACT, "in time"))
        assert_sound(db)


def test_a_file_from_before_the_first_release_is_refused_with_the_way_to_bring_its_data_over(
    path: Path,
) -> None:
    shapes.build("pending", path)
    for version in (1, 6):
        with raw(path) as connection:
            connection.execute(f"PRAGMA application_id = {DEVELOPMENT_APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {version}")
        before = stored_bytes(path)
        for readonly in (False, True):
            with pytest.raises(NotADatabase) as caught:
                mycel.open(path, readonly=readonly)
            assert f"format {version} of the time before the first release" in caught.value.message
            assert "mycel export" in caught.value.hint
            assert "mycel load" in caught.value.hint
        assert stored_bytes(path) == before


def test_a_file_that_is_gone_or_replaced_is_noticed_and_one_that_is_back_is_fine(
    path: Path, tmp_path: Path
) -> None:
    away, other = tmp_path / "away.db", tmp_path / "other.db"
    with mycel.open(path, core_capsules=False) as db:
        db.check_in_place()
        path.rename(away)
        with pytest.raises(DatabaseError, match="is gone"):
            db.check_in_place()
        other.touch()
        other.rename(path)
        with pytest.raises(DatabaseError, match="replaced"):
            db.check_in_place()
        away.replace(path)
        db.check_in_place()
        db.write(lambda tx: tx.define_type(FACT))
    with mycel.open(core_capsules=False) as db:
        db.check_in_place()


def test_a_log_that_was_deleted_or_replaced_is_noticed_before_anything_is_acknowledged(
    path: Path,
) -> None:
    with mycel.open(path, core_capsules=False) as db:
        db.write(lambda tx: tx.define_type(FACT))
    log, kept = Path(f"{path}-wal"), Path(f"{path}-kept")
    elsewhere = (
        "import sys, mycel\n"
        "with mycel.open(sys.argv[1]) as db:\n"
        f"    db.write(lambda tx: tx.put_concept({FACT!r}, sys.argv[2]))\n"
    )

    def forget_the_log(tx: mycel.Transaction) -> None:
        tx.put_concept(FACT, "two")
        log.unlink()
        Path(f"{path}-shm").unlink()

    with mycel.open(path) as db:
        db.write(lambda tx: tx.put_concept(FACT, "one"))
        log.rename(kept)
        for use in (db.check_in_place, lambda: db.write(lambda tx: tx.put_concept(FACT, "lost"))):
            with pytest.raises(DatabaseError, match=r"deleted or replaced.*nothing was written"):
                use()
        kept.rename(log)
        with pytest.raises(CommitUncertain, match="may be lost"):
            db.write(forget_the_log)
        # Another process begins a log of its own.
        subprocess.run([sys.executable, "-c", elsewhere, str(path), "here"], check=True)
        with pytest.raises(DatabaseError, match="deleted or replaced") as caught:
            db.write(lambda tx: tx.put_concept(FACT, "three"))
        assert "Stop every process" in caught.value.hint
    with mycel.open(path) as db:
        assert_sound(db)
        assert db.get_concept(FACT, "here") is not None
        assert db.get_concept(FACT, "three") is None


@pytest.mark.skipif(sys.platform == "win32", reason="open files cannot be deleted")
@pytest.mark.parametrize("suffix", ["-wal", "-shm"])
def test_a_file_beside_the_graph_that_goes_before_the_first_write_is_noticed(
    path: Path, suffix: str
) -> None:
    with mycel.open(path, core_capsules=False) as db:
        db.write(lambda tx: tx.define_type(FACT))
    with mycel.open(path) as db:
        Path(f"{path}{suffix}").unlink()
        # Another process that makes a new one has locks and frames that this one does not see.
        with mycel.open(path) as other:
            other.write(lambda tx: tx.put_concept(FACT, "there"))
        with pytest.raises(DatabaseError, match=rf"{suffix}' was deleted or replaced"):
            db.write(lambda tx: tx.put_concept(FACT, "lost"))
    with mycel.open(path) as db:
        assert_sound(db)
        assert db.get_concept(FACT, "there") is not None


# ---------------------------------------------------------------------------------------------
# Reading only


def test_a_graph_opened_for_reading_refuses_to_write_and_stays_as_it_is(path: Path) -> None:
    shapes.build("pending", path)
    before, rows = path.read_bytes(), dump(path)
    with mycel.open(path, readonly=True) as db:
        one = db.get_concept(FACT, "one")
        two = db.get_concept(FACT, "two")
        assert one is not None
        assert two is not None
        for write in (
            lambda: db.add_edge(one, "supersedes", two),
            lambda: db.remove_edge(two, "likes", one),
            lambda: db.write(lambda tx: tx.retire(one)),
            lambda: db.transaction().__enter__(),
            lambda: db.purge(one, "why"),
        ):
            with pytest.raises(DatabaseReadOnly):
                write()
        assert list(db.edges_in(one))
        assert db.prove(one).verify(db.snapshot().overall_root)
        assert db.history.versions(one)
        assert db.as_of(0).seq == 0
        db.search("words")
        assert db.verify(replay=True).ok
    assert path.read_bytes() == before
    assert dump(path) == rows


def test_a_graph_in_memory_that_may_only_be_read_refuses_to_write_or_to_open() -> None:
    try:
        db = mycel.open(":memory:", readonly=True)
    except MycelError:
        return
    with db, pytest.raises(DatabaseReadOnly):
        db.write(lambda tx: tx.define_type(FACT))


def test_a_reader_sees_what_another_process_writes(path: Path, clock: Clock) -> None:
    with mycel.open(path, clock_us=clock) as db, mycel.open(path, readonly=True) as reader:
        (one,) = add_concepts(db, "one")
        assert reader.get(one).id == one
        db.write(lambda tx: tx.retire(one))
        with pytest.raises(NotFound):
            reader.get(one)


# ---------------------------------------------------------------------------------------------
# Places that cannot be written. Root may write anywhere, so a child becomes somebody else.


@pytest.fixture
def shared_folder() -> Iterator[Path]:
    """A folder that anybody may enter: pytest's own are closed to others."""
    folder = Path(tempfile.mkdtemp(prefix="mycel-shared-"))
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


AS_SOMEBODY_ELSE = """
import os, sys
import mycel, mycel.errors
import mycel.store.check.verify
mycel.open  # Read while it may be read; what is imported late as well.
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
path = sys.argv[1]
def attempt(name, work):
    try:
        result = work()
    except mycel.errors.MycelError as error:
        print(name, error.name, "KIP" in str(error), sep="\\t")
    else:
        print(name, "fine", result, sep="\\t")
"""


def as_somebody_else(program: str, path: Path) -> list[list[str]]:
    """What a user without rights to `path` gets; lines of name, outcome, detail."""
    done = subprocess.run(
        [sys.executable, "-c", AS_SOMEBODY_ELSE + textwrap.dedent(program), str(path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    return [line.split("\t") for line in done.stdout.splitlines()]


def test_a_file_that_may_only_be_read_can_be_read_and_says_that_it_cannot_be_written(
    shared_folder: Path,
) -> None:
    path = shared_folder / "graph.db"
    shapes.build("pending", path)
    path.chmod(0o444)
    shared_folder.chmod(0o555)
    before = path.read_bytes()
    outcomes = as_somebody_else(
        """
        attempt("read", lambda: mycel.open(path, readonly=True).get_concept("Fact", "one").name)
        attempt("verify", lambda: mycel.open(path, readonly=True).verify().ok)
        attempt("write", lambda: mycel.open(path).write(lambda tx: tx.define_type("New")))
        """,
        path,
    )
    assert [line[0] for line in outcomes] == ["read", "verify", "write"]
    assert outcomes[2][1] == "DatabaseReadOnly"
    assert outcomes[0][1:] in (["fine", "one"], ["DatabaseReadOnly", "True"])
    assert outcomes[1][1:] in (["fine", "True"], ["DatabaseReadOnly", "True"])
    assert path.read_bytes() == before


def test_a_graph_cannot_be_created_where_nothing_may_be_written(shared_folder: Path) -> None:
    shared_folder.chmod(0o555)
    path = shared_folder / "graph.db"
    (outcome,) = as_somebody_else('attempt("create", lambda: mycel.open(path))', path)
    assert outcome == ["create", "DatabaseReadOnly", "True"]
    assert not path.exists()


def test_a_file_that_may_not_be_read_is_refused_clearly(shared_folder: Path) -> None:
    path = shared_folder / "graph.db"
    shapes.build("empty", path)
    path.chmod(0o000)
    outcomes = as_somebody_else(
        """
        attempt("read", lambda: mycel.open(path, readonly=True))
        attempt("write", lambda: mycel.open(path))
        """,
        path,
    )
    assert [line[1] for line in outcomes] == ["DatabaseReadOnly", "DatabaseReadOnly"]


def test_a_graph_cannot_be_created_in_a_place_that_holds_no_files() -> None:
    for folder in ("/proc", "/sys"):
        if Path(folder).is_dir():
            with pytest.raises(DatabaseError):
                mycel.open(f"{folder}/graph.db")


# ---------------------------------------------------------------------------------------------
# Files that go away, disks that fill up


def test_a_file_that_was_deleted_is_noticed_before_a_write_is_acknowledged(
    path: Path, clock: Clock
) -> None:
    with mycel.open(path, clock_us=clock) as db:
        one, other = add_concepts(db, "one", "other")
        path.unlink()
        with pytest.raises(DatabaseError):
            db.add_edge(one, "references", other)


def test_a_file_that_was_replaced_is_noticed_before_a_write_is_acknowledged(
    path: Path, tmp_path: Path, clock: Clock
) -> None:
    shapes.build("pending", tmp_path / "other.db")
    with mycel.open(path, clock_us=clock) as db:
        one, other = add_concepts(db, "one", "other")
        (tmp_path / "other.db").replace(path)
        with pytest.raises(DatabaseError):
            db.add_edge(one, "references", other)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte."""
    mount = shutil.which("mount")
    if os.geteuid() != 0 or mount is None:
        pytest.skip("only root can mount a small file system to fill up")
    folder = tmp_path / "disk"
    folder.mkdir()
    made = subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("this system does not let a small file system be mounted")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def test_a_disk_that_fills_up_refuses_what_does_not_fit_and_keeps_the_rest(
    small_disk: Path,
) -> None:
    path = small_disk / "graph.db"
    with mycel.open(path) as db:
        db.write(lambda tx: tx.define_type(FACT))
        written: list[str] = []

        def write_on() -> None:
            while True:
                name = f"n{len(written)}"
                db.write(lambda tx, name=name: tx.put_concept(FACT, name, {"text": "x" * 5_000}))
                written.append(name)

        with pytest.raises(DiskFull) as caught:
            write_on()
        assert "space" in caught.value.hint
        assert len(written) > 5
        assert all(db.get_concept(FACT, name) for name in written)
        assert db.get_concept(FACT, f"n{len(written)}") is None
    with mycel.open(path, readonly=True) as db:
        assert db.get_concept(FACT, written[-1]) is not None
        assert db.verify().ok


def test_a_graph_cannot_be_created_on_a_full_disk_and_can_once_there_is_room(
    small_disk: Path,
) -> None:
    ballast = small_disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while file.write(b"x" * 4096):
                pass
        except OSError:
            pass
    path = small_disk / "graph.db"
    with pytest.raises(MycelError):
        mycel.open(path)
    ballast.unlink()
    with mycel.open(path) as db:
        assert_sound(db)


def test_sqlite_is_the_one_that_apsw_brings() -> None:
    """The refusals above were seen with this version; an older one treats some files otherwise."""
    assert apsw.sqlite_lib_version() >= "3.50"


_ANOTHER = """
import sys, mycel
with mycel.open(sys.argv[1]) as db:
    db.write(lambda tx: tx.define_type("Fact"))
    db.write(lambda tx: tx.put_concept("Fact", "new"))
    print("written", flush=True)
    sys.stdin.readline()
    db.write(lambda tx: tx.put_concept("Fact", "newer"))
"""


def test_a_new_graph_in_the_place_of_a_deleted_one_is_none_of_the_old_ones_business(
    tmp_path: Path,
) -> None:
    path = tmp_path / "graph.db"
    old = mycel.open(path)
    old.write(lambda tx: tx.define_type(FACT))
    old.write(lambda tx: tx.put_concept(FACT, "old"))
    path.unlink()
    with subprocess.Popen(
        [sys.executable, "-c", _ANOTHER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as another:
        assert another.stdout is not None
        assert another.stdin is not None
        assert another.stdout.readline() == "written\n"
        old.close()
        another.stdin.write("\n")
    with mycel.open(path) as db:
        assert db.get_concept("Fact", "old") is None
        assert db.get_concept("Fact", "new") is not None
        assert db.get_concept("Fact", "newer") is not None
        assert db.verify(replay=True).ok
    assert [each.name for each in tmp_path.glob("*.orphaned-*")] != []


def test_a_graph_that_appears_at_the_last_moment_keeps_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "graph.db"
    with ExitStack() as faster:

        @contextmanager
        def beaten(place: Path) -> Iterator[None]:
            monkeypatch.undo()
            other = faster.enter_context(mycel.open(path))
            other.write(lambda tx: tx.define_type(FACT))
            with locked(place):
                yield

        monkeypatch.setattr(locks, "locked", beaten)
        with mycel.open(path) as db:
            db.write(lambda tx: tx.put_concept(FACT, "by the slower"))
    with mycel.open(path) as db:
        assert db.get_concept(FACT, "by the slower") is not None
        assert db.verify(replay=True).ok
    assert [each.name for each in tmp_path.iterdir()] == ["graph.db"]


def test_a_graph_that_somebody_makes_for_too_long_is_busy(tmp_path: Path) -> None:
    path = tmp_path / "graph.db"
    with locked(Path(f"{path}-making")), pytest.raises(DatabaseBusy, match="is making"):
        mycel.open(path, busy_timeout_s=0.01)
    mycel.open(path).close()


@pytest.mark.parametrize(("memory", "maps", "place"), [("ample", True, 2), ("modest", False, 1)])
def test_a_modest_process_maps_nothing_and_sorts_what_is_large_outside_of_its_memory(
    path: Path, memory: Any, maps: bool, place: int
) -> None:
    with mycel.open(path, memory=memory) as db, db.reading() as reader:
        assert (reader.connection.pragma("mmap_size") > 0) is maps
        assert reader.connection.pragma("temp_store") == place
