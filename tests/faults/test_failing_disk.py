"""A disk that fails, tears or fills up at the Nth operation, for every N.

After each: the error is one of Mycel's, the file opens, everything in it agrees, what was
acknowledged is there, and what failed is not (only where the commit itself failed may it be).
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import apsw
import pytest

from mycel.errors import CommitUncertain, DatabaseError, DiskFull, MycelError
from mycel.testing import FaultVFS
from tests.faults.workloads import WORKLOADS, Workload, copy_graph, open_graph, spread
from tests.unit.store.given import FACT

Plan = Callable[[FaultVFS, int], AbstractContextManager[FaultVFS]]

PLANS: dict[str, Plan] = {
    "fail": lambda vfs, n: vfs.fail_at(n),
    "dead": lambda vfs, n: vfs.fail_at(n, lasting=True),
    "torn": lambda vfs, n: vfs.torn_at(n, seed=n),
    "full": lambda vfs, n: vfs.full_at(n),
    "just full": lambda vfs, n: vfs.torn_at(n, code=apsw.SQLITE_FULL, seed=n),
}
WRITES_ONLY = {"torn", "full", "just full"}

ATTEMPTS_MAX = 9
"""In CI; `make soak` tries every N, and every plan."""
STEPS = [24, pytest.param(1, marks=pytest.mark.soak)]
"""In long loops every Nth operation fails in CI, and every one in `make soak`."""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Workload], Path]:
    folder = tmp_path_factory.mktemp("prepared")

    def find(workload: Workload) -> Path:
        path = folder / f"{workload.name}.db"
        if not path.exists():
            workload.build(path)
        return path

    return find


def run(workload: Workload, path: Path, vfs: FaultVFS) -> tuple[bool, MycelError | None]:
    """Open, work, close. Whether the work was acknowledged, and the first error.

    Any error but Mycel's own passes through and fails the test.
    """
    acknowledged, error = False, None
    try:
        db = open_graph(path, vfs=vfs.name)
    except MycelError as caught:
        return False, caught
    try:
        workload.act(db)
        acknowledged = True
    except MycelError as caught:
        error = caught
    try:
        db.close()
    except MycelError as caught:
        error = error or caught
    return acknowledged, error


def attempt(workload: Workload, source: Path, path: Path, n: int, plan: Plan) -> bool:
    """One run with one fault; whether the fault happened at all."""
    copy_graph(source, path)
    with FaultVFS() as vfs:
        with plan(vfs, n):
            acknowledged, error = run(workload, path, vfs)
        fired, fault = vfs.fired, vfs.fault
    where = f"n = {n}, {fault}, {error!r}"
    assert error is None or error.hint, where
    done = workload.is_done_in(path)
    if acknowledged:
        assert done, f"acknowledged, but gone: {where}"
    elif not isinstance(error, CommitUncertain) and workload.name not in ("create", "search"):
        assert not done, f"said to have failed, but there: {where}"
    if not fired:
        assert acknowledged, where
        assert error is None, where
    return fired


def count_operations(workload: Workload, source: Path, path: Path, plan: str) -> int:
    copy_graph(source, path)
    kind = "write" if plan in WRITES_ONLY else None
    with FaultVFS() as vfs:
        with vfs.watch(kind=kind):
            assert run(workload, path, vfs) == (True, None)
        return vfs.count


@pytest.mark.parametrize("plan", ["fail", "torn"])
@pytest.mark.parametrize("name", WORKLOADS)
def test_a_fault_at_any_operation_leaves_all_or_nothing(
    prepared: Callable[[Workload], Path], tmp_path: Path, name: str, plan: str
) -> None:
    workload, path = WORKLOADS[name], tmp_path / "graph.db"
    source = prepared(workload)
    total = count_operations(workload, source, path, plan)
    assert total > 3
    numbers = list(spread(total, ATTEMPTS_MAX))
    fired = [n for n in numbers if attempt(workload, source, path, n, PLANS[plan])]
    assert fired[:3] == [1, 2, 3]
    assert numbers[-1] not in fired, "the last attempt ran without a fault"


@pytest.mark.soak
@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("name", WORKLOADS)
def test_a_fault_at_every_operation_leaves_all_or_nothing(
    prepared: Callable[[Workload], Path], tmp_path: Path, name: str, plan: str
) -> None:
    workload = WORKLOADS[name]
    n = 1
    while attempt(workload, prepared(workload), tmp_path / "graph.db", n, PLANS[plan]):
        n += 1
    assert n > 3


# ---------------------------------------------------------------------------------------------
# Going on after a fault


@pytest.fixture
def vfs() -> Iterator[FaultVFS]:
    with FaultVFS() as vfs:
        yield vfs


@pytest.mark.parametrize("plan", ["fail", "torn", "full", "just full"])
def test_the_same_graph_works_on_once_the_disk_does(
    tmp_path: Path, vfs: FaultVFS, plan: str
) -> None:
    """The writer that saw the error is used again: nothing of the failed work is left in it."""
    path = tmp_path / "graph.db"
    with open_graph(path, vfs=vfs.name) as db:
        db.write(lambda tx: tx.define_type(FACT))
        uncertain = []
        for n in range(1, 40):
            before = db.snapshot()
            try:
                with PLANS[plan](vfs, n), db.transaction() as tx:
                    one = tx.put_concept(FACT, f"failed {n}")
                    tx.add_edge(one, "references", tx.put_concept(FACT, f"other {n}"))
                    tx.define_type(f"Failed{n}")
            except CommitUncertain:
                uncertain.append(n)
            except MycelError:
                assert db.snapshot() == before
                assert db.get_concept(FACT, f"failed {n}") is None
            else:
                assert not vfs.fired
                break
            db.write(lambda tx, n=n: tx.put_concept(FACT, f"good {n}"))
            assert db.get_concept(FACT, f"good {n}") is not None
        assert not vfs.fired, "the loop ended because nothing failed"
        assert n > 2
        assert db.verify(replay=True).ok
        for good in range(1, n):
            assert db.get_concept(FACT, f"good {good}") is not None
            if good not in uncertain:
                assert db.get_concept(FACT, f"failed {good}") is None
    with open_graph(path) as db:
        assert db.verify(replay=True).ok


def test_a_full_disk_is_called_so_and_a_failing_one_is_not(tmp_path: Path, vfs: FaultVFS) -> None:
    with open_graph(tmp_path / "graph.db", vfs=vfs.name) as db:
        with vfs.full_at(1), pytest.raises(DiskFull) as caught:
            db.write(lambda tx: tx.define_type(FACT))
        assert caught.value.code == "KIP_4002"
        with vfs.fail_at(1), pytest.raises((DatabaseError, CommitUncertain)) as failed:
            db.write(lambda tx: tx.define_type(FACT))
        assert failed.value.code == "KIP_4003"
        db.write(lambda tx: tx.define_type(FACT))
        assert db.verify(replay=True).ok


def test_a_commit_that_fails_at_its_last_step_is_said_to_be_uncertain(
    tmp_path: Path, vfs: FaultVFS
) -> None:
    path = tmp_path / "graph.db"
    with open_graph(path, vfs=vfs.name) as db:
        with vfs.fail_at(1, kind="sync", role="wal"), pytest.raises(CommitUncertain):
            db.write(lambda tx: tx.define_type(FACT))
        assert vfs.fired
        made = db.write(lambda tx: tx.define_type(FACT))
        assert db.get(made).version == 1, "trying again is safe"
        assert db.verify(replay=True).ok
    with open_graph(path) as db:
        assert db.get(made).version == 1
        assert db.verify(replay=True).ok


def test_reading_goes_on_while_nothing_can_be_written(tmp_path: Path, vfs: FaultVFS) -> None:
    with open_graph(tmp_path / "graph.db", vfs=vfs.name) as db:
        db.write(lambda tx: tx.define_type(FACT))
        one = db.write(lambda tx: tx.put_concept(FACT, "one"))
        with vfs.fail_at(1, lasting=True):
            for _ in range(3):
                with pytest.raises(MycelError):
                    db.write(lambda tx: tx.put_concept(FACT, "two"))
                assert db.get(one).id == one
                assert db.get_concept(FACT, "two") is None
                assert db.prove(one).verify(db.snapshot().overall_root)
        db.write(lambda tx: tx.put_concept(FACT, "two"))
        assert db.verify(replay=True).ok


@pytest.mark.parametrize("step", STEPS)
def test_a_graph_that_cannot_be_begun_is_closed_again(
    tmp_path: Path, vfs: FaultVFS, step: int
) -> None:
    """The file is made, but what every graph begins with cannot be written to it."""
    path = tmp_path / "graph.db"
    for n in (*range(1, 9), *range(9, 1_000, step)):
        copy_graph(tmp_path / "none", path)
        with vfs.fail_at(n, kind="write", role="wal"):
            try:
                open_graph(path, vfs=vfs.name).close()
            except MycelError:
                files = [each.name for each in tmp_path.iterdir()]
                assert files == ["graph.db"], "the last one to close it removes what lies beside it"
        if not vfs.fired:
            break
    assert 50 < n < 999


@pytest.mark.parametrize("step", STEPS)
def test_a_purge_that_cannot_scrub_the_file_says_so_and_can_be_finished_later(
    tmp_path: Path, vfs: FaultVFS, step: int
) -> None:
    """The purge itself is one transaction, of some 14 operations; then the file is written anew."""
    path, said = tmp_path / "graph.db", set()
    with open_graph(path, vfs=vfs.name) as db:
        db.write(lambda tx: tx.define_type(FACT))
        for n in (*range(1, 17), *range(17, 1_000, step)):
            name = f"private {n} qvwzk"
            made = db.write(lambda tx, name=name: tx.put_concept(FACT, name))
            error, purged = None, None
            try:
                with vfs.fail_at(n):
                    purged = db.purge(made, "why")
            except MycelError as caught:
                error = caught
            there = db.get_concept(FACT, name) is not None
            said.add(error.name if purged is None else f"scrubbed: {purged.scrubbed}")
            if purged is not None:
                assert not there
            elif not isinstance(error, CommitUncertain):
                assert there, f"n = {n}: {error!r}, but it is gone"
            if there:
                db.purge(made, "again")
            assert db.scrub().scrubbed
            assert name.encode() not in path.read_bytes()
            if not vfs.fired:
                break
        assert not vfs.fired
        assert db.verify(replay=True).ok
    assert said >= {"scrubbed: True", "scrubbed: False", "CommitUncertain"}
