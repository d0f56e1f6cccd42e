import contextlib
import itertools
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import apsw
import pytest

from mycel.testing.faults import (
    FaultPlan,
    FaultVFS,
    Operation,
    PowerLossVFS,
    Role,
    _Engine,
)
from tests.cases import cases

# Each row spans pages, so that a commit is several writes and can be there in part.
BODY = b"x" * 6_000
WAL = "PRAGMA journal_mode=WAL"
FULL = f"{WAL}; PRAGMA synchronous=FULL"


def connect(path: Path, vfs: str | None = None, *, settings: str = FULL) -> apsw.Connection:
    db = apsw.Connection(str(path), vfs=vfs)
    # An automatic checkpoint every few commits: that is where the database file is written.
    db.execute(
        f"PRAGMA wal_autocheckpoint=12; {settings}; BEGIN;"
        "CREATE TABLE IF NOT EXISTS row (n INTEGER PRIMARY KEY, body BLOB);"
        "CREATE TABLE IF NOT EXISTS twin (n INTEGER PRIMARY KEY); COMMIT"
    ).fetchall()
    return db


def insert(db: apsw.Connection, n: int) -> None:
    with db:
        db.execute("INSERT INTO row VALUES (?, ?)", (n, BODY))
        db.execute("INSERT INTO twin VALUES (?)", (n,))


@dataclass
class DamageError(Exception):
    found: str


def surviving(path: Path) -> list[int]:
    """The rows found by an ordinary connection; raises DamageError if they are not whole."""
    try:
        with contextlib.closing(apsw.Connection(str(path))) as db:
            if (report := db.execute("PRAGMA integrity_check").get) != "ok":
                raise DamageError(report)
            if not db.execute("SELECT count(*) FROM sqlite_schema").get:
                return []
            rows = db.execute("SELECT n, body FROM row ORDER BY n").fetchall()
            twins = [n for (n,) in db.execute("SELECT n FROM twin ORDER BY n")]
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise DamageError(str(error)) from error
    if any(body != BODY for _, body in rows) or [n for n, _ in rows] != twins:
        raise DamageError("a transaction is there in part")
    return twins


@pytest.fixture
def vfs() -> Iterator[FaultVFS]:
    with FaultVFS() as vfs:
        yield vfs


@pytest.fixture
def disk() -> Iterator[PowerLossVFS]:
    with PowerLossVFS() as disk:
        yield disk


# ---------------------------------------------------------------------------------------------
# Without faults


@pytest.mark.parametrize("make", [FaultVFS, PowerLossVFS])
def test_a_wal_database_works_from_two_connections(make: type[FaultVFS], tmp_path: Path) -> None:
    with make() as vfs:
        writer = connect(tmp_path / "a.db", vfs.name)
        reader = connect(tmp_path / "a.db", vfs.name)
        assert reader.pragma("journal_mode") == "wal"
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM row").get == 0
        for n in range(9):
            insert(writer, n)
        assert reader.execute("SELECT count(*) FROM row").get == 0
        reader.execute("COMMIT")
        assert reader.execute("SELECT count(*) FROM row").get == 9
        with writer:
            writer.execute("DELETE FROM row WHERE n = 100")
            with pytest.raises(apsw.BusyError):
                insert(reader, 9)
        writer.close()
        reader.close()
    assert surviving(tmp_path / "a.db") == list(range(9))


def test_operations_are_counted_by_kind_and_role(vfs: FaultVFS, tmp_path: Path) -> None:
    with vfs.watch(kind="create"):
        db = connect(tmp_path / "a.db", vfs.name, settings=f"{FULL}; PRAGMA wal_autocheckpoint=0")
    assert vfs.count == 3, "database, journal, WAL"
    with vfs.watch():
        insert(db, 1)
    everything = vfs.count
    with vfs.watch(kind="write", role="wal"):
        insert(db, 2)
    writes = vfs.count
    with vfs.watch(kind="sync"):
        insert(db, 3)
    assert vfs.count == 1
    assert everything == writes + 1
    assert not vfs.fired
    with vfs.watch(role="db"):
        insert(db, 4)
        assert vfs.count == 0
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        assert vfs.count > 0
    with vfs.watch(kind="delete", role="wal"):
        db.close()
    assert vfs.count == 1


def test_temporary_files_and_files_that_are_not_there_are_not_counted(
    vfs: FaultVFS, tmp_path: Path
) -> None:
    with contextlib.closing(apsw.Connection(str(tmp_path / "a.db"), vfs=vfs.name)) as db:
        with vfs.watch():
            db.execute(
                "PRAGMA temp_store=FILE; PRAGMA temp.cache_size=1;"
                "CREATE TEMP TABLE t AS WITH RECURSIVE s (n) AS (VALUES (1) UNION ALL"
                " SELECT n + 1 FROM s LIMIT 50) SELECT randomblob(9000) FROM s;"
                "PRAGMA journal_mode=TRUNCATE; PRAGMA journal_mode=DELETE"
            ).fetchall()
        assert vfs.count == 0


def test_names_are_unique_and_withdrawn_on_closing(tmp_path: Path) -> None:
    with FaultVFS() as one, FaultVFS() as two:
        assert {one.name, two.name} <= set(apsw.vfs_names())
        assert one.name != two.name
    assert not {one.name, two.name} & set(apsw.vfs_names())
    with pytest.raises(apsw.SQLError, match="no such vfs"):
        apsw.Connection(str(tmp_path / "a.db"), vfs=one.name)


@pytest.mark.parametrize("make", [FaultVFS, PowerLossVFS])
def test_a_connection_left_open_outlives_its_vfs(make: type[FaultVFS], tmp_path: Path) -> None:
    with make() as vfs:
        db = connect(tmp_path / "a.db", vfs.name)
    insert(db, 1)
    db.close()
    assert surviving(tmp_path / "a.db") == [1]


def test_a_connection_left_open_does_not_disturb_the_exit_of_the_interpreter(
    tmp_path: Path,
) -> None:
    code = """
import sys, apsw
from mycel.testing.faults import PowerLossVFS
vfs = PowerLossVFS()
db = apsw.Connection(sys.argv[1], vfs=vfs.name)
db.execute("PRAGMA journal_mode=WAL; CREATE TABLE t (n); INSERT INTO t VALUES (1)")
"""
    command = [sys.executable, "-X", "dev", "-c", code, str(tmp_path / "a.db")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_path_through_a_symbolic_link_opens(vfs: FaultVFS, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with contextlib.closing(connect(tmp_path / "link" / "a.db", vfs.name)) as db:
        insert(db, 1)
    assert surviving(tmp_path / "real" / "a.db") == [1]


# ---------------------------------------------------------------------------------------------
# Failing operations


@pytest.mark.parametrize("lasting", [False, True])
@pytest.mark.parametrize("settings", [FULL, f"{FULL}; PRAGMA mmap_size=1000000"])
def test_whatever_fails_a_commit_is_there_whole_or_not_at_all(
    settings: str, lasting: bool, vfs: FaultVFS, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    codes: set[int] = set()
    recovered = 0
    for n in itertools.count(1):
        path = tmp_path / str(n) / "a.db"
        path.parent.mkdir()
        db = connect(path, vfs.name, settings=settings)
        insert(db, 0)
        committed, attempted = {0}, {0}
        with vfs.fail_at(n, lasting=lasting):
            for row in range(1, 6):
                attempted.add(row)
                try:
                    insert(db, row)
                except apsw.IOError as error:
                    codes.add(error.extendedresult)
                else:
                    committed.add(row)
                    recovered += vfs.fired
            db.close()
        assert committed <= set(surviving(path)) <= attempted, vfs.fault
        if not vfs.fired:
            break
    assert n > 30
    assert codes == {apsw.SQLITE_IOERR_WRITE, apsw.SQLITE_IOERR_FSYNC}
    assert recovered
    assert capfd.readouterr() == ("", "")


def test_a_failed_commit_leaves_the_connection_usable(vfs: FaultVFS, tmp_path: Path) -> None:
    with contextlib.closing(connect(tmp_path / "a.db", vfs.name)) as db:
        for n in itertools.count(1):
            with vfs.fail_at(n), contextlib.suppress(apsw.IOError):
                insert(db, n)
            if not vfs.fired:
                break
            insert(db, 1_000 + n)
    assert [row for row in surviving(tmp_path / "a.db") if row > 1_000] == [
        1_000 + m for m in range(1, n)
    ]


@pytest.mark.parametrize(
    ("kind", "code"),
    [("write", apsw.SQLITE_IOERR_WRITE), ("sync", apsw.SQLITE_IOERR_FSYNC)],
)
def test_a_failing_write_or_sync_of_the_wal_fails_the_commit(
    kind: str, code: int, vfs: FaultVFS, tmp_path: Path
) -> None:
    with contextlib.closing(connect(tmp_path / "a.db", vfs.name)) as db:
        with (
            vfs.arm(FaultPlan(1, kind=kind, role="wal")),  # type: ignore[arg-type]
            pytest.raises(apsw.IOError, match="disk I/O error") as caught,
        ):
            insert(db, 1)
        assert caught.value.extendedresult == code
        assert vfs.fault is not None
        assert (vfs.fault.kind, vfs.fault.path) == (kind, str(tmp_path / "a.db-wal"))
        assert not db.in_transaction
        insert(db, 2)
    assert 2 in surviving(tmp_path / "a.db")


def test_a_checkpoint_that_fails_inside_a_commit_does_not_fail_the_commit(
    vfs: FaultVFS, tmp_path: Path
) -> None:
    db = connect(tmp_path / "a.db", vfs.name, settings=f"{FULL}; PRAGMA wal_autocheckpoint=1")
    with vfs.fail_at(1, role="db", lasting=True):
        insert(db, 1)
        assert vfs.fired
        with pytest.raises(apsw.IOError):
            db.execute("PRAGMA wal_checkpoint(FULL)").fetchall()
        db.close()
    assert (tmp_path / "a.db-wal").exists()
    assert surviving(tmp_path / "a.db") == [1]


def test_a_wal_that_cannot_be_deleted_does_no_harm(vfs: FaultVFS, tmp_path: Path) -> None:
    db = connect(tmp_path / "a.db", vfs.name)
    insert(db, 1)
    with vfs.fail_at(1, kind="delete"):
        db.close()
    assert vfs.fired
    assert (tmp_path / "a.db-wal").exists()
    assert surviving(tmp_path / "a.db") == [1]


@pytest.mark.parametrize("role", ["db", "journal", "wal"])
def test_a_file_that_cannot_be_created_is_reported_as_such(
    role: Role, vfs: FaultVFS, tmp_path: Path
) -> None:
    with (
        vfs.fail_at(1, kind="create", role=role),
        pytest.raises(apsw.CantOpenError),
    ):
        connect(tmp_path / "a.db", vfs.name)
    connect(tmp_path / "a.db", vfs.name).close()
    assert surviving(tmp_path / "a.db") == []


@pytest.mark.parametrize("code", [None, apsw.SQLITE_FULL])
def test_a_torn_write_to_the_wal_is_recovered_from(
    code: int | None, vfs: FaultVFS, tmp_path: Path
) -> None:
    for n in itertools.count(1):
        path = tmp_path / str(n) / "a.db"
        path.parent.mkdir()
        db = connect(path, vfs.name)
        insert(db, 1)
        before = (path.parent / "a.db-wal").stat().st_size
        expected = apsw.FullError if code else apsw.IOError
        with vfs.torn_at(n, role="wal", code=code, seed=n), contextlib.suppress(expected):
            insert(db, 2)
        if not vfs.fired:
            break
        assert (path.parent / "a.db-wal").stat().st_size > before, "some of it was written"
        # Another connection recovers from the files alone, as after a crash.
        copy = tmp_path / f"{n}-copy" / "a.db"
        copy.parent.mkdir()
        for suffix in ("", "-wal"):
            source = path.with_name(path.name + suffix)
            copy.with_name(copy.name + suffix).write_bytes(source.read_bytes())
        assert surviving(copy) == [1]
        insert(db, 3)
        db.close()
        assert surviving(path) == [1, 3]
    assert n > 5
    db.close()


def test_a_full_disk_says_so_and_works_again_when_there_is_room(
    vfs: FaultVFS, tmp_path: Path
) -> None:
    writer = connect(tmp_path / "a.db", vfs.name)
    reader = connect(tmp_path / "a.db", vfs.name)
    insert(writer, 1)
    with vfs.full_at():
        for n in (2, 3):
            with pytest.raises(apsw.FullError, match="database or disk is full"):
                insert(writer, n)
        assert reader.execute("SELECT n FROM row").fetchall() == [(1,)]
    insert(writer, 4)
    assert reader.execute("SELECT n FROM row").fetchall() == [(1,), (4,)]
    writer.close()
    reader.close()
    assert surviving(tmp_path / "a.db") == [1, 4]


# ---------------------------------------------------------------------------------------------
# Plans


def test_a_callback_runs_before_the_operation_and_may_use_another_connection(
    vfs: FaultVFS, tmp_path: Path
) -> None:
    writer = connect(tmp_path / "a.db", vfs.name)
    reader = connect(tmp_path / "a.db", vfs.name)
    seen: list[tuple[Operation, int]] = []

    def look(operation: Operation) -> None:
        seen.append((operation, reader.execute("SELECT count(*) FROM row").get))

    with vfs.call_at(1, look, kind="sync"):
        insert(writer, 1)
    assert seen == [(Operation("sync", "wal", str(tmp_path / "a.db-wal")), 0)]
    assert reader.execute("SELECT count(*) FROM row").get == 1
    writer.close()
    reader.close()


def test_what_a_callback_raises_is_raised_when_the_plan_ends(
    vfs: FaultVFS, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def refuse(_: Operation) -> None:
        raise LookupError("from the callback")

    with contextlib.closing(connect(tmp_path / "a.db", vfs.name)) as db:
        plan = vfs.call_at(1, refuse)
        plan.__enter__()
        with pytest.raises(apsw.IOError):
            insert(db, 1)
        insert(db, 2)
        with pytest.raises(LookupError, match="from the callback"):
            plan.__exit__(None, None, None)
        insert(db, 3)
    assert surviving(tmp_path / "a.db") == [2, 3]
    assert capfd.readouterr() == ("", "")


def test_an_interruption_outside_a_plan_is_raised_when_the_vfs_closes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vfs = FaultVFS()
    with contextlib.closing(connect(tmp_path / "a.db", vfs.name)) as db:

        def interrupt(*_: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(_Engine, "_due", interrupt)
            with pytest.raises(apsw.IOError):
                insert(db, 1)
    with pytest.raises(KeyboardInterrupt):
        vfs.close()


def test_one_plan_is_armed_at_a_time(vfs: FaultVFS) -> None:
    with vfs.fail_at(1):
        with pytest.raises(RuntimeError, match="armed already"), vfs.fail_at(2):
            pass
        assert not vfs.fired
    with vfs.fail_at(2):
        pass


@cases(
    ("arguments", "message"),
    [
        ({"at": 0}, "counted from 1"),
        ({"at": 1, "action": "torn"}, "only a write"),
        ({"at": 1, "action": "kill", "when": "middle", "kind": "sync"}, "only a write"),
        ({"at": 1, "action": "call"}, "callback"),
        ({"at": 1, "callback": print}, "callback"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FaultPlan(**arguments)  # type: ignore[arg-type]


# ---------------------------------------------------------------------------------------------
# Killed processes

CHILD = """
import sys, apsw
from mycel.testing.faults import FaultVFS
path, n, when = sys.argv[1], int(sys.argv[2]), sys.argv[3]
kind = "write" if when == "middle" else None
with FaultVFS() as vfs, vfs.kill_at(n, kind=kind, when=when, seed=n):
    db = apsw.Connection(path, vfs=vfs.name)
    db.execute("PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=4")
    for row in (1, 2):
        with db:
            db.execute("INSERT INTO row VALUES (?, ?)", (row, b"x" * 6_000))
            db.execute("INSERT INTO twin VALUES (?)", (row,))
        print(row, flush=True)
    db.close()
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
@pytest.mark.parametrize("when", ["before", "middle", "after"])
def test_what_a_killed_process_had_reported_as_committed_is_there(
    when: str, tmp_path: Path
) -> None:
    def run(n: int) -> bool:
        """Whether the child was killed."""
        path = tmp_path / str(n) / "a.db"
        path.parent.mkdir()
        connect(path).close()
        command = [sys.executable, "-c", CHILD, str(path), str(n), when]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.stderr == ""
        assert done.returncode in {0, -signal.SIGKILL}
        reported = {int(line) for line in done.stdout.split()}
        found = set(surviving(path))
        assert reported <= found <= {1, 2}
        assert len(found - reported) <= 1
        return done.returncode != 0

    # Two at a time; every third operation, a different third in each of the three ways.
    first = 1 + ["before", "middle", "after"].index(when)
    with ThreadPoolExecutor(max_workers=2) as pool:
        for batch in itertools.count():
            numbers = range(first + 6 * batch, first + 6 * batch + 6, 3)
            if not all(pool.map(run, numbers)):
                break
    assert batch > 1


# ---------------------------------------------------------------------------------------------
# Power loss


@dataclass
class Outcome:
    images: int = 0
    lost: int = 0
    damaged: int = 0


def cut_power_at_every_operation(tmp_path: Path, settings: str, seed: int) -> Outcome:
    """What became of a session in which the power fails before each operation in turn."""
    acknowledged: set[int] = set()
    images: list[tuple[set[int], Path]] = []

    def cut(_: Operation) -> None:
        name = f"{seed}-{len(images)}"
        image = disk.power_loss(seed * 10_000 + len(images), tmp_path / name)
        images.append((set(acknowledged), image))

    path = tmp_path / f"{seed}-live" / "a.db"
    path.parent.mkdir()
    with PowerLossVFS() as disk, disk.call_at(1, cut, lasting=True):
        # Closed in between, so that a WAL is deleted and created again.
        for rows in (range(4), range(4, 7)):
            with contextlib.closing(connect(path, disk.name, settings=settings)) as db:
                for row in rows:
                    insert(db, row)
                    acknowledged.add(row)
    assert surviving(path) == list(range(7))
    outcome = Outcome(images=len(images))
    for before, image in images:
        try:
            outcome.lost += not before <= set(surviving(image))
        except DamageError:
            outcome.damaged += 1
    return outcome


@pytest.mark.parametrize(
    "settings",
    [
        FULL,
        f"{FULL}; PRAGMA mmap_size=1000000",
        f"{FULL}; PRAGMA journal_size_limit=0",
        "PRAGMA journal_mode=DELETE; PRAGMA synchronous=EXTRA",
        "PRAGMA journal_mode=TRUNCATE; PRAGMA synchronous=FULL",
        "PRAGMA journal_mode=PERSIST; PRAGMA synchronous=FULL",
    ],
)
def test_every_acknowledged_commit_survives_a_power_cut_at_any_time(
    settings: str, tmp_path: Path, seed: int
) -> None:
    for n in range(2):
        outcome = cut_power_at_every_operation(tmp_path, settings, seed + n)
        assert outcome.images > 40
        assert (outcome.lost, outcome.damaged) == (0, 0)


@pytest.mark.parametrize(
    "settings",
    [
        f"{WAL}; PRAGMA synchronous=NORMAL",
        # The deletion of the journal is the commit, and only EXTRA syncs the directory after it.
        "PRAGMA journal_mode=DELETE; PRAGMA synchronous=FULL",
    ],
)
def test_weaker_settings_may_lose_the_last_commits_but_do_no_damage(
    settings: str, tmp_path: Path
) -> None:
    outcome = cut_power_at_every_operation(tmp_path, settings, seed=1)
    assert outcome.lost > 0
    assert outcome.damaged == 0


def test_without_syncs_a_power_cut_loses_commits_and_damages_the_file(tmp_path: Path) -> None:
    outcome = cut_power_at_every_operation(tmp_path, f"{WAL}; PRAGMA synchronous=OFF", seed=1)
    assert outcome.lost > 0
    assert outcome.damaged > 0


def test_an_image_can_be_taken_while_another_thread_commits(
    disk: PowerLossVFS, tmp_path: Path
) -> None:
    acknowledged: list[int] = []

    def work() -> None:
        with contextlib.closing(connect(tmp_path / "a.db", disk.name)) as db:
            for n in range(60):
                insert(db, n)
                acknowledged.append(n)

    connect(tmp_path / "a.db", disk.name).close()
    worker = threading.Thread(target=work)
    worker.start()
    for n in itertools.count():
        running = worker.is_alive()
        before = set(acknowledged)
        image = disk.power_loss(n, tmp_path / f"image-{n}")
        assert before <= set(surviving(image))
        if not running:
            break
    worker.join()
    assert len(acknowledged) == 60


def test_one_seed_gives_one_image(disk: PowerLossVFS, tmp_path: Path) -> None:
    def images(seed: int, name: str) -> dict[str, bytes]:
        directory = disk.power_loss(seed, tmp_path / name).parent
        return {path.name: path.read_bytes() for path in directory.iterdir()}

    with contextlib.closing(
        connect(tmp_path / "a.db", disk.name, settings=f"{WAL}; PRAGMA synchronous=OFF")
    ) as db:
        insert(db, 1)
        assert images(1, "one") == images(1, "again")
        assert len({str(images(seed, f"seed-{seed}")) for seed in range(9)}) > 1


def test_an_image_needs_an_open_database_and_an_empty_directory(
    disk: PowerLossVFS, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="no database was opened"):
        disk.power_loss(1, tmp_path / "image")
    with contextlib.closing(connect(tmp_path / "a.db", disk.name)):
        with pytest.raises(ValueError, match="has files in it"):
            disk.power_loss(1, tmp_path)
        assert disk.power_loss(1, tmp_path / "image") == tmp_path / "image" / "a.db"


def test_a_file_written_by_others_counts_as_synced(disk: PowerLossVFS, tmp_path: Path) -> None:
    for n in range(3):
        with contextlib.closing(connect(tmp_path / "a.db", None if n == 1 else disk.name)) as db:
            insert(db, n)
    for n in range(9):
        assert surviving(disk.power_loss(n, tmp_path / str(n))) == [0, 1, 2]


def test_a_stale_wal_of_a_lost_database_does_no_harm_if_its_deletion_is_lost(
    disk: PowerLossVFS, tmp_path: Path
) -> None:
    (tmp_path / "a.db-wal").write_bytes(b"stale" * 1_000)
    with contextlib.closing(apsw.Connection(str(tmp_path / "a.db"), vfs=disk.name)) as db:
        db.pragma("user_version")
        assert not (tmp_path / "a.db-wal").exists()
        images = [disk.power_loss(n, tmp_path / str(n)) for n in range(9)]
    assert {image.with_name("a.db-wal").exists() for image in images} == {True, False}
    assert [surviving(image) for image in images] == [[]] * 9
