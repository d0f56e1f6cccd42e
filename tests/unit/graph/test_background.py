"""Arrays are made beside what goes on: nobody waits, and close, forks and failures do no harm."""

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread

import pytest

import mycel
from mycel.errors import DatabaseBusy, DatabaseError
from mycel.graph import adjacency as adjacency_module
from mycel.graph import arrays as arrays_module
from mycel.graph.adjacency import Adjacency
from mycel.graph.arrays import Arrays, read_arrays
from mycel.graph.background import SLICE, Background
from mycel.graph.traversal import Bounds, Traversal, traverse
from mycel.store.database import Store
from tests.unit.store.given import add_concepts, define

LINKS = 60


@pytest.fixture
def db(tmp_path: Path) -> Iterator[mycel.Graph]:
    """A ring of links. Arrays are made as soon as something was read, a few links at a time."""
    with mycel.open(tmp_path / "graph.db", durability="off", core_capsules=False) as db:
        define(db, predicates=["p"])
        concepts = add_concepts(db, *(f"n{at}" for at in range(LINKS)))
        with db.transaction() as tx:
            for at, concept in enumerate(concepts):
                tx.add_edge(concept, "p", concepts[(at + 1) % LINKS], weight=0.1)
        db._adjacency = Adjacency(db._store)
        db._adjacency.rent_min = 0
        yield db


def answer(db: mycel.Graph, direction: str = "out") -> Traversal:
    """The answer with arrays, if there are some, which must be the one from the tables."""
    bounds = Bounds(direction=direction)  # type: ignore[arg-type]
    with db._store.reading() as reader:
        number = db.get(first_of(db)).number
        found = traverse(reader, number, bounds, db._adjacency)
        assert found == traverse(reader, number, bounds)
    return found


def first_of(db: mycel.Graph) -> str:
    found = db.get_concept("Fact", "n0")
    assert found is not None
    return found.id


def have_made(db: mycel.Graph) -> None:
    for _ in range(9):
        answer(db)
    db._adjacency.wait()
    assert db._adjacency.is_made


class Halt:
    """Stops whoever makes arrays after the first links, until it is released."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reached, self.released = Event(), Event()
        monkeypatch.setattr(arrays_module, "ROWS_AT_ONCE", 7)
        columns = arrays_module._columns

        def slow(reader: object, links: int, check: Callable[[], None]) -> object:
            looks = 0

            def look() -> None:
                nonlocal looks
                looks += 1
                if looks == 3:
                    self.reached.set()
                    assert self.released.wait(60)
                check()

            return columns(reader, links, look)  # type: ignore[arg-type]

        monkeypatch.setattr(arrays_module, "_columns", slow)


@pytest.fixture
def halt(monkeypatch: pytest.MonkeyPatch) -> Iterator[Halt]:
    halt = Halt(monkeypatch)
    yield halt
    halt.released.set()


def begin(db: mycel.Graph, halt: Halt) -> None:
    while not halt.reached.is_set():
        answer(db)
        if db._adjacency._background._busy.locked():
            assert halt.reached.wait(60)
    assert not db._adjacency.is_made


def test_the_tables_answer_while_arrays_are_made(db: mycel.Graph, halt: Halt) -> None:
    begin(db, halt)
    assert len(answer(db).nodes) == 11
    assert len(answer(db, "both").nodes) == 21
    halt.released.set()
    db._adjacency.wait()
    assert db._adjacency.is_made
    assert len(answer(db).nodes) == 11


def test_the_direction_against_the_links_is_added_in_the_background(db: mycel.Graph) -> None:
    have_made(db)
    with db._store.reading() as reader:
        reader.reread()
        state = db._adjacency.state(reader)
    assert state is not None
    route = arrays_module.Route(None, None)
    assert state.arrays.look_ups(route) is None
    answer(db, "both")
    db._adjacency.wait()
    assert len(state.arrays.look_ups(route) or ()) == 2
    assert len(answer(db, "both").nodes) == 21


def test_what_is_written_meanwhile_counts_by_this_process_and_by_others(
    db: mycel.Graph, halt: Halt
) -> None:
    begin(db, halt)
    start = first_of(db)
    program = """
        import sys, mycel
        with mycel.open(sys.argv[1]) as db:
            (new,) = db.write(lambda tx: [tx.put_concept("Fact", "from another process")])
            db.add_edge(sys.argv[2], "p", new, weight=0.05)
    """
    command = [sys.executable, "-c", textwrap.dedent(program), db.path, start]
    subprocess.run(command, check=True)
    (mine,) = add_concepts(db, "from this process")
    db.add_edge(start, "p", mine, weight=0.05)
    halt.released.set()
    db._adjacency.wait()
    assert db._adjacency.is_made
    assert len(answer(db).nodes) == 13


def test_closing_gives_up_what_is_being_made(tmp_path: Path, db: mycel.Graph, halt: Halt) -> None:
    begin(db, halt)
    closing = Thread(target=db.close)
    closing.start()
    while not db._adjacency._background._stopped:
        pass
    halt.released.set()
    closing.join(60)
    assert not closing.is_alive()
    assert not db._adjacency.is_made
    assert sorted(path.name for path in tmp_path.iterdir()) == ["graph.db"]  # All closed it.
    assert not db._adjacency._background.begin(lambda: None)


def test_a_program_that_ends_meanwhile_ends_well(db: mycel.Graph) -> None:
    program = """
        import sys, mycel
        from mycel.graph.adjacency import Adjacency
        db = mycel.open(sys.argv[1])
        db._adjacency = Adjacency(db._store)
        db._adjacency.rent_min = 0
        while not db._adjacency._background._busy.locked():
            db.traverse(("Fact", "n0"))
    """
    command = [sys.executable, "-c", textwrap.dedent(program), db.path]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="There are no forks here.")
def test_a_forked_child_begins_anew_and_leaves_the_parent_alone(
    db: mycel.Graph, halt: Halt
) -> None:
    begin(db, halt)
    child = os.fork()
    if not child:
        status = 1
        try:
            halt.released.set()
            db._adjacency.wait()  # For nobody: the thread is the parent's.
            have_made(db)
            db.close()
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    halt.released.set()
    db._adjacency.wait()
    assert db._adjacency.is_made
    assert len(answer(db).nodes) == 11


@pytest.mark.skipif(not hasattr(os, "fork"), reason="There are no forks here.")
def test_a_fork_waits_for_the_end_of_a_slice() -> None:
    entered, leave, left = Event(), Event(), []

    def work() -> None:
        with SLICE:
            entered.set()
            assert leave.wait(60)
            left.append(True)

    background = Background()
    assert background.begin(work)
    assert entered.wait(60)
    assert not background.begin(work)
    Thread(target=leave.set).start()
    child = os.fork()
    if not child:
        os._exit(0 if left == [True] and not SLICE.locked() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    background.wait()


def test_a_failure_leaves_the_tables_and_is_made_good_later(
    db: mycel.Graph, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    failures: list[Exception] = [
        DatabaseError("disk"),
        DatabaseBusy("busy"),
        RuntimeError("unforeseen"),
    ]
    expected = len(failures)

    def failing(store: Store, check: Callable[[], None]) -> Arrays | None:
        if failures:
            raise failures.pop(0)
        return read_arrays(store, check)

    monkeypatch.setattr(adjacency_module, "read_arrays", failing)
    for left in range(expected - 1, -1, -1):
        while len(failures) > left:
            answer(db)
            db._adjacency.wait()
        assert not db._adjacency.is_made
    assert [record.getMessage() for record in caplog.records] == ["Work in the background failed."]
    have_made(db)
