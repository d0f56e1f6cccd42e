"""Threads on one open graph: group commit, readers among writers, closing meanwhile."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import mycel
from mycel.errors import CommitUncertain, DatabaseBusy, DatabaseClosed, DiskFull, MycelError
from mycel.store.backend.sqlite import checkpoints
from mycel.testing import FaultVFS
from tests.unit.store.given import (
    FACT,
    Clock,
    DeliberateError,
    add_concepts,
    assert_sound,
    define,
    entries,
)

PATIENCE_S = 60
"""How long a test waits before it gives up: only a hang takes that long."""


@pytest.fixture(params=["file", "memory"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[mycel.Graph]:
    where = tmp_path / "graph.db" if request.param == "file" else ":memory:"
    with mycel.open(where, clock_us=Clock(), durability="off") as db:
        define(db, [FACT])
        yield db


def in_threads(count: int, work: Callable[[int], Any]) -> list[Any]:
    """What `work` returns for each number, all begun at the same moment."""
    gate = threading.Barrier(count)

    def one(n: int) -> Any:
        gate.wait(PATIENCE_S)
        return work(n)

    with ThreadPoolExecutor(count) as pool:
        futures = [pool.submit(one, n) for n in range(count)]
        return [future.result(PATIENCE_S) for future in futures]


class GatedClock(Clock):
    """A clock at which one thread can be made to stand still: in the middle of a write."""

    def __init__(self) -> None:
        super().__init__()
        self.stops: int | None = None
        self.stopped, self.go_on = threading.Event(), threading.Event()

    def __call__(self) -> int:
        if self.stops == threading.get_ident():
            self.stops = None
            self.stopped.set()
            assert self.go_on.wait(PATIENCE_S)
        return self.now_us

    def stop_here(self) -> None:
        """Let the calling thread stand still at its next look."""
        self.stops = threading.get_ident()


# ---------------------------------------------------------------------------------------------
# Writers


def test_eight_threads_write_at_once_and_all_of_it_is_there(db: mycel.Graph) -> None:
    before = entries(db)

    def work(n: int) -> list[str]:
        return [
            db.write(lambda tx, m=m: tx.put_concept(FACT, f"{n} {m}"), actor=f"thread {n}")
            for m in range(25)
        ]

    made = in_threads(8, work)
    assert len({each for ids in made for each in ids}) == 200
    for n, ids in enumerate(made):
        for m, ref in enumerate(ids):
            found = db.get(ref)
            assert isinstance(found, mycel.Concept)
            assert (found.name, found.created_by) == (f"{n} {m}", f"thread {n}")
    assert entries(db) == before + 400, "each is a transaction of its own"
    assert_sound(db)


def test_a_write_is_there_as_soon_as_it_is_acknowledged(db: mycel.Graph) -> None:
    def work(n: int) -> None:
        for m in range(15):
            made = db.write(lambda tx, m=m: tx.put_concept(FACT, f"{n} {m}"))
            assert db.get(made).id == made

    in_threads(6, work)


def test_one_that_fails_takes_nothing_of_the_others_with_it(db: mycel.Graph) -> None:
    def work(n: int) -> list[str]:
        kept = []
        for m in range(20):

            def change(tx: mycel.Transaction, name: str = f"{n} {m}", fails: bool = m % 3 == n % 3):
                made = tx.put_concept(FACT, name, {"text": name})
                tx.define_predicate(f"p_{name.replace(' ', '_')}")
                if fails:
                    raise DeliberateError
                return made

            try:
                kept.append(db.write(change))
            except DeliberateError:
                assert db.get_concept(FACT, f"{n} {m}") is None
        return kept

    made = in_threads(8, work)
    for ids in made:
        assert 12 < len(ids) < 15
        for ref in ids:
            assert db.get(ref).id == ref
    names = {f"{n} {m}" for n in range(8) for m in range(20) if m % 3 == n % 3}
    assert all(db.get_concept(FACT, name) is None for name in names)
    assert_sound(db)


def test_a_failing_member_in_the_middle_of_a_group_leaves_the_others_whole(
    tmp_path: Path,
) -> None:
    """The first stands still in its turn until others wait behind it, one of which fails."""
    clock = GatedClock()
    with mycel.open(tmp_path / "graph.db", clock_us=clock) as db:
        define(db, [FACT])

        def first() -> str:
            clock.stop_here()
            return db.write(lambda tx: tx.put_concept(FACT, "first"))

        def failing(tx: mycel.Transaction) -> None:
            tx.put_concept(FACT, "failing")
            tx.define_type("Failing")
            raise DeliberateError

        with ThreadPoolExecutor(8) as pool:
            one = pool.submit(first)
            assert clock.stopped.wait(PATIENCE_S)
            others: list[Future[Any]] = [
                pool.submit(db.write, lambda tx, n=n: tx.put_concept(FACT, f"other {n}"))
                for n in range(3)
            ]
            bad = pool.submit(db.write, failing)
            others.append(pool.submit(db.write, lambda tx: tx.put_concept(FACT, "last")))
            clock.go_on.set()
            for each in (one, *others):
                made = each.result(PATIENCE_S)
                assert db.get(made).id == made
            with pytest.raises(DeliberateError):
                bad.result(PATIENCE_S)
        assert db.get_concept(FACT, "failing") is None
        assert_sound(db)


@pytest.mark.parametrize("full", [True, False], ids=["full", "failing"])
def test_a_group_whose_commit_fails_is_told_so_all_of_it(tmp_path: Path, full: bool) -> None:
    """Nobody in it may be told that all is well, and the next write works."""
    clock = GatedClock()
    with FaultVFS() as vfs, mycel.open(tmp_path / "graph.db", clock_us=clock, vfs=vfs.name) as db:
        define(db, [FACT])

        def first() -> str:
            clock.stop_here()
            return db.write(lambda tx: tx.put_concept(FACT, "member 0"))

        with ThreadPoolExecutor(4) as pool:
            members = [pool.submit(first)]
            assert clock.stopped.wait(PATIENCE_S)
            with vfs.full_at(1) if full else vfs.fail_at(1, lasting=True):
                members += [
                    pool.submit(db.write, lambda tx, n=n: tx.put_concept(FACT, f"member {n}"))
                    for n in (1, 2, 3)
                ]
                clock.go_on.set()
                errors = [each.exception(PATIENCE_S) for each in members]
        assert vfs.fired
        assert {type(error) for error in errors} == {DiskFull if full else CommitUncertain}
        if full:
            assert all(db.get_concept(FACT, f"member {n}") is None for n in range(4))
        made = db.write(lambda tx: tx.put_concept(FACT, "afterwards"))
        assert db.get(made).id == made
        assert_sound(db)
    with mycel.open(tmp_path / "graph.db") as db:
        assert_sound(db)


def test_the_same_edge_added_by_many_at_once_is_one_record_and_one_entry(
    db: mycel.Graph,
) -> None:
    one, other = add_concepts(db, "one", "other")
    for predicate in ("references", "part_of", "related_to"):
        before = entries(db)
        made = in_threads(
            8,
            lambda n, predicate=predicate: db.add_edge(one, predicate, other, weight=n / 8),
        )
        assert len(set(made)) == 1
        assert entries(db) == before + 2
        assert len(db.history.versions(made[0])) == 1
    assert len(list(db.edges_out(one))) == 3
    assert_sound(db)


def test_the_same_edge_added_and_removed_by_many_at_once_stays_consistent(
    db: mycel.Graph,
) -> None:
    one, other = add_concepts(db, "one", "other")

    def work(n: int) -> None:
        for _ in range(15):
            if n % 2:
                db.add_edge(one, "references", other)
            else:
                db.remove_edge(one, "references", other)

    in_threads(6, work)
    edge = db.get_edge(one, "references", other)
    assert bool(list(db.edges_out(one))) is not edge.tombstoned
    kinds = [version.kind for version in db.history.versions(edge.id)]
    assert kinds == ["add_edge", "remove_edge"] * (len(kinds) // 2) + ["add_edge"] * (
        len(kinds) % 2
    )
    assert_sound(db)


def test_blocks_and_functions_take_turns(db: mycel.Graph) -> None:
    def work(n: int) -> None:
        for m in range(10):
            if (n + m) % 2:
                with db.transaction() as tx:
                    tx.put_concept(FACT, f"block {n} {m}")
            else:
                db.write(lambda tx, m=m: tx.put_concept(FACT, f"function {n} {m}"))

    in_threads(6, work)
    for n in range(6):
        for m in range(10):
            kind = "block" if (n + m) % 2 else "function"
            assert db.get_concept(FACT, f"{kind} {n} {m}") is not None
    assert_sound(db)


def test_a_short_write_waits_for_one_long_write_at_most(db: mycel.Graph) -> None:
    begun, go_on, order = threading.Event(), threading.Event(), list[str]()

    def first(tx: Any) -> None:
        begun.set()
        go_on.wait(PATIENCE_S)
        order.append(tx.put_concept(FACT, "long 0") and "long")

    def writing(name: str) -> Callable[[Any], None]:
        return lambda tx: order.append(tx.put_concept(FACT, name) and name.split(maxsplit=1)[0])

    def run(work: Callable[[Any], None], *, is_long: bool) -> None:
        db._store.run(work, actor="$self", message="", is_long=is_long)

    with ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(run, first, is_long=True)]
        assert begun.wait(PATIENCE_S)
        futures += [pool.submit(run, writing(f"long {n}"), is_long=True) for n in (1, 2, 3)]
        # The long ones wait for the first one before they wait for the turn.
        futures += [pool.submit(run, writing(f"short {n}"), is_long=False) for n in (1, 2, 3)]
        while db._store._writer._short_waiting < 3:
            threading.Event().wait(0.001)
        go_on.set()
        for future in futures:
            future.result(PATIENCE_S)
    assert order[0] == "long"
    assert order.index("short") == 1
    assert_sound(db)


def test_a_block_that_takes_its_time_keeps_nobodys_acknowledged_write_waiting(
    tmp_path: Path,
) -> None:
    """What was done before the block began is committed before the block's own code runs."""
    clock = GatedClock()
    with mycel.open(tmp_path / "graph.db", clock_us=clock) as db:
        define(db, [FACT])

        def first() -> str:
            clock.stop_here()
            return db.write(lambda tx: tx.put_concept(FACT, "first"))

        in_block, leave = threading.Event(), threading.Event()

        def block() -> None:
            with db.transaction() as tx:
                tx.put_concept(FACT, "in the block")
                in_block.set()
                assert leave.wait(PATIENCE_S)

        with ThreadPoolExecutor(3) as pool:
            one = pool.submit(first)
            assert clock.stopped.wait(PATIENCE_S)
            other = pool.submit(block)
            clock.go_on.set()
            assert in_block.wait(PATIENCE_S)
            made = one.result(PATIENCE_S)
            assert db.get(made).id == made
            leave.set()
            other.result(PATIENCE_S)
        assert db.get_concept(FACT, "in the block") is not None


def test_a_transaction_belongs_to_its_thread_and_others_wait(db: mycel.Graph) -> None:
    with ThreadPoolExecutor(1) as pool:
        with db.transaction() as tx:
            tx.put_concept(FACT, "first")
            waiting = pool.submit(db.write, lambda tx: tx.get_concept(FACT, "first"))
        found = waiting.result(PATIENCE_S)
    assert found is not None
    assert found.name == "first"


def test_a_writer_that_is_kept_waiting_for_too_long_is_told_so(tmp_path: Path) -> None:
    path = tmp_path / "graph.db"
    with (
        mycel.open(path, clock_us=Clock()) as db,
        mycel.open(path, clock_us=Clock(), busy_timeout_s=0.02) as hasty,
    ):
        define(db, [FACT])
        with db.transaction() as tx:
            tx.put_concept(FACT, "slow")
            for write in (
                lambda: hasty.write(lambda tx: tx.put_concept(FACT, "hasty")),
                lambda: hasty.transaction().__enter__(),
            ):
                with pytest.raises(DatabaseBusy) as caught:
                    write()
                assert caught.value.code == "KIP_4001"
            assert hasty.get_concept(FACT, "slow") is None, "reading does not wait"
        assert hasty.get_concept(FACT, "hasty") is None
        hasty.write(lambda tx: tx.put_concept(FACT, "hasty"))
        assert_sound(db)


# ---------------------------------------------------------------------------------------------
# Readers


def while_writing(write: Callable[[int], object], read: Callable[[], object]) -> int:
    """Write sixty times in one thread while three others read; how often they did."""
    done, reads = threading.Event(), []

    def reader() -> None:
        count = 0
        while not done.is_set() or count < 5:
            read()
            count += 1
        reads.append(count)

    with ThreadPoolExecutor(3) as pool:
        readers = [pool.submit(reader) for _ in range(3)]
        try:
            for n in range(60):
                write(n)
        finally:
            done.set()
        for each in readers:
            each.result(PATIENCE_S)
    return sum(reads)


def test_readers_see_only_whole_transactions(db: mycel.Graph) -> None:
    (hub,) = add_concepts(db, "hub")

    def write(n: int) -> None:
        with db.transaction() as tx:
            for side in "ab":
                tx.add_edge(hub, "part_of", tx.put_concept(FACT, f"{side} {n}"))
                tx.add_edge(tx.put_concept(FACT, f"{side} {n}"), "references", hub)

    def read() -> None:
        assert len(list(db.edges_out(hub))) % 2 == 0
        assert len(list(db.edges_in(hub))) % 2 == 0
        result = db.find(hub, mycel.Follow(max_hops=2, direction="both"), limit=1_000)
        assert len(result.memories) % 2 == 0

    assert while_writing(write, read) >= 15
    assert len(list(db.edges_out(hub))) == 120


def test_snapshots_and_proofs_are_of_one_moment_while_others_write(db: mycel.Graph) -> None:
    (hub,) = add_concepts(db, "hub")
    first = db.snapshot()
    seen: list[mycel.Snapshot] = []

    def write(n: int) -> None:
        with db.transaction() as tx:
            tx.add_edge(tx.put_concept(FACT, f"n{n}"), "part_of", hub)
            tx.update(hub, attributes={"n": n})

    def read() -> None:
        seen.append(db.snapshot())
        proof = db.prove(hub)
        assert proof.verify(proof.snapshot.overall_root)
        absent = db.prove((FACT, "never"))
        assert absent.verify(absent.snapshot.overall_root)
        consistency = db.prove_consistency(first.entries)
        assert consistency.verify(first.journal_root, consistency.snapshot.overall_root)
        entry = db.prove_entry(proof.snapshot.entries)
        assert entry.verify(entry.snapshot.overall_root)

    assert while_writing(write, read) >= 15
    log = {entry.seq: entry for entry in db.history.log()}
    for snapshot in seen:
        entry = log[snapshot.seq]
        assert (entry.concepts_root, entry.edges_root) == (
            snapshot.concepts_root,
            snapshot.edges_root,
        )
        assert entry.time_us == snapshot.time_us


def test_an_edge_that_others_remove_and_revive_is_never_said_not_to_have_been(
    db: mycel.Graph,
) -> None:
    one, other = add_concepts(db, "one", "other")
    db.add_edge(one, "references", other)

    def write(n: int) -> None:
        if n % 2:
            db.add_edge(one, "references", other)
        else:
            db.remove_edge(one, "references", other)

    def read() -> None:
        for _ in range(20):
            edge = db.get_edge(one, "references", other)
            assert (edge.src, edge.dst) == (one, other)
            found = list(db.edges_out(one, include_tombstoned=True))
            assert len(found) == 1

    assert while_writing(write, read) >= 15


def test_the_past_stays_the_same_while_others_write(db: mycel.Graph) -> None:
    one, other = add_concepts(db, "one", "other")
    db.add_edge(one, "references", other)
    past = db.as_of(entries(db))
    expected = (past.get(one), list(past.edges_out(one)))

    def write(n: int) -> None:
        with db.transaction() as tx:
            tx.update(one, attributes={"n": n})
            tx.put_proposition(one, "references", other, {"n": n})

    def read() -> None:
        assert (past.get(one), list(past.edges_out(one))) == expected

    assert while_writing(write, read) >= 15


def test_more_readers_at_once_than_are_kept_ready_all_get_their_answer(db: mycel.Graph) -> None:
    hub, *others = add_concepts(db, "hub", *(f"n{n}" for n in range(5)))
    for each in others:
        db.add_edge(hub, "references", each)
    iterators = [db.edges_out(hub) for _ in range(40)]
    firsts = [next(each) for each in iterators]
    db.add_edge(others[0], "references", hub)
    assert {edge.id for edge in firsts} == {firsts[0].id}
    assert all(len(list(each)) == 4 for each in iterators)


def test_verifying_while_others_write_finds_nothing_wrong(db: mycel.Graph) -> None:
    def write(n: int) -> None:
        db.write(lambda tx: tx.put_concept(FACT, f"n{n}", {"text": f"words {n}"}))
        if n % 20 == 7:
            db.search("words")

    def read() -> None:
        report = db.verify()
        assert report.ok, report.problems

    while_writing(write, read)
    assert_sound(db)


# ---------------------------------------------------------------------------------------------
# Closing meanwhile


@pytest.mark.parametrize("round_", range(8))
def test_closing_while_others_write_keeps_what_was_acknowledged_and_refuses_the_rest(
    tmp_path: Path, round_: int
) -> None:
    path = tmp_path / "graph.db"
    db = mycel.open(path, clock_us=Clock(), durability="off")
    define(db, [FACT])
    enough = threading.Semaphore(0)
    surprises: list[BaseException] = []

    def write(n: int) -> list[str]:
        acknowledged: list[str] = []
        while True:
            name = f"{n} {len(acknowledged)}"
            try:
                db.write(lambda tx, name=name: tx.put_concept(FACT, name))
            except DatabaseClosed:
                return acknowledged
            except MycelError as error:
                surprises.append(error)
                return acknowledged
            acknowledged.append(name)
            enough.release()

    with ThreadPoolExecutor(4) as pool:
        writers = [pool.submit(write, n) for n in range(4)]
        for _ in range(20 + round_):
            assert enough.acquire(timeout=PATIENCE_S)
        db.close()
        acknowledged = [name for each in writers for name in each.result(PATIENCE_S)]
    assert surprises == []
    with mycel.open(path) as db:
        assert_sound(db)
        assert [name for name in acknowledged if db.get_concept(FACT, name) is None] == []


def test_closing_waits_for_the_transaction_that_is_open(tmp_path: Path) -> None:
    path = tmp_path / "graph.db"
    db = mycel.open(path, clock_us=Clock())
    define(db, [FACT])
    inside, leave = threading.Event(), threading.Event()

    def block() -> None:
        with db.transaction() as tx:
            tx.put_concept(FACT, "in the block")
            inside.set()
            assert leave.wait(PATIENCE_S)

    with ThreadPoolExecutor(2) as pool:
        writing = pool.submit(block)
        assert inside.wait(PATIENCE_S)
        closing = pool.submit(db.close)
        leave.set()
        writing.result(PATIENCE_S)
        closing.result(PATIENCE_S)
    with mycel.open(path) as db:
        assert db.get_concept(FACT, "in the block") is not None
        assert_sound(db)


def test_a_group_that_is_about_to_commit_is_not_lost_when_the_graph_is_closed(
    tmp_path: Path,
) -> None:
    """A first writer leaves its commit to the others who wait; then the graph is closed."""
    for round_ in range(12):
        path = tmp_path / f"graph {round_}.db"
        clock = GatedClock()
        db = mycel.open(path, clock_us=clock, durability="off")
        define(db, [FACT])

        def first(clock: GatedClock = clock, db: mycel.Graph = db) -> str:
            clock.stop_here()
            return db.write(lambda tx: tx.put_concept(FACT, "first"))

        with ThreadPoolExecutor(4) as pool:
            one = pool.submit(first)
            assert clock.stopped.wait(PATIENCE_S)
            others = [
                pool.submit(db.write, lambda tx, n=n: tx.put_concept(FACT, f"other {n}"))
                for n in range(2)
            ]
            closing = pool.submit(db.close)
            clock.go_on.set()
            made = one.result(PATIENCE_S)
            outcomes = [each.exception(PATIENCE_S) for each in others]
            closing.result(PATIENCE_S)
        assert all(each is None or isinstance(each, DatabaseClosed) for each in outcomes)
        with mycel.open(path) as db:
            assert db.get(made).id == made
            for n, outcome in enumerate(outcomes):
                assert (db.get_concept(FACT, f"other {n}") is None) == (outcome is not None)


def test_reading_while_the_graph_is_closed_ends_with_an_answer_or_a_clear_error(
    tmp_path: Path,
) -> None:
    for round_ in range(10):
        db = mycel.open(tmp_path / f"graph {round_}.db", clock_us=Clock(), durability="off")
        hub, *others = add_concepts(db, "hub", *(f"n{n}" for n in range(5)))
        with db.transaction() as tx:
            for each in others:
                tx.add_edge(hub, "references", each)
        started = threading.Semaphore(0)

        def read(
            db: mycel.Graph = db, hub: str = hub, started: threading.Semaphore = started
        ) -> int:
            count = 0
            while True:
                try:
                    assert len(list(db.edges_out(hub))) == 5
                    assert len(db.find(hub).memories) == 5
                    db.get(hub)
                    db.snapshot()
                except DatabaseClosed:
                    return count
                count += 1
                started.release()

        with ThreadPoolExecutor(3) as pool:
            readers = [pool.submit(read) for _ in range(3)]
            for _ in range(9):
                assert started.acquire(timeout=PATIENCE_S)
            db.close()
            assert all(each.result(PATIENCE_S) >= 0 for each in readers)
        with pytest.raises(DatabaseClosed):
            db.get(hub)


def test_closing_ends_the_thread_that_moves_the_log_wherever_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "CHECKPOINT_PAGES", 1)
    for n in range(60):
        db = mycel.open(tmp_path / "graph.db", durability="off")
        for each in range(n % 4):
            add_concepts(db, f"{n} {each}")
        closing = threading.Thread(target=db.close, daemon=True)
        closing.start()
        closing.join(PATIENCE_S)
        assert not closing.is_alive()
