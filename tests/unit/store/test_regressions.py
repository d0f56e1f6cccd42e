"""Defects that were found once and must not come back, each as small as it can be told."""

import gc
import itertools
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw
import pytest

import mycel
from mycel.errors import (
    CommitUncertain,
    DatabaseError,
    ImmutableTarget,
    NotFound,
    SelfEdgeError,
)
from mycel.store.backend.sqlite import checkpoints
from tests.unit.store.given import FACT, add_concepts, assert_sound, define, problems

needs_timer = pytest.mark.skipif(
    not hasattr(signal, "setitimer"), reason="there is no timer that interrupts"
)


class InterruptionError(Exception):
    """What a signal handler raises in the middle of anything."""


def put(db: mycel.Graph, name: str) -> None:
    db.write(lambda tx: tx.put_concept(FACT, name, {"text": "word"}))


def put_in_block(db: mycel.Graph, name: str) -> None:
    with db.transaction() as tx:
        tx.put_concept(FACT, name, {"text": "word"})


def test_a_head_that_another_handle_folded_is_read_again(path: Path) -> None:
    with mycel.open(path) as one, mycel.open(path) as folding, mycel.open(path) as other:
        define(one, [FACT])
        put(one, "1")
        put(other, "2")
        put(one, "3")
        put(one, "4")
        folding.search("word")  # Folds: the rows of 3 and 4 leave the head, its number stays.
        put(one, "5")
        put(other, "6")
        assert_sound(other)
        found = folding.get_concept(FACT, "3")
        assert found is not None
        assert folding.prove(found).verify(folding.snapshot().overall_root)


def test_an_id_that_names_another_predicate_names_nothing(db: mycel.Graph) -> None:
    one, other = add_concepts(db, "one", "other")
    db.add_edge(one, "related_to", other)
    with pytest.raises(NotFound):
        db.add_edge("P:1:related_to", "references", "P:1:other")
    with pytest.raises(NotFound):
        db.get("P:1:other")
    assert_sound(db)


def test_values_that_python_calls_equal_are_still_changes(db: mycel.Graph) -> None:
    define(db, [FACT])
    for value in (1, True, 1.0, 0.0, -0.0):
        db.write(lambda tx, value=value: tx.put_concept(FACT, "x", {"value": value}))
        assert problems(db.verify()) == []


def test_a_search_does_not_wait_for_whoever_is_writing(path: Path) -> None:
    with (
        mycel.open(path, core_capsules=False) as writer,
        mycel.open(path, busy_timeout_s=60, core_capsules=False) as reader,
    ):
        define(writer, [FACT])
        put(writer, "found")
        with writer.transaction() as tx:
            tx.put_concept(FACT, "unseen", {"text": "word"})
            assert [element.name for element, _ in reader.search("word")] == ["found"]


def test_a_transaction_may_end_in_another_thread(db: mycel.Graph) -> None:
    block = db.transaction()
    block.__enter__()
    ending = threading.Thread(target=block.__exit__, args=(None, None, None))
    ending.start()
    ending.join()
    define(db, [FACT])
    put(db, "after")
    assert_sound(db)


def test_guards_are_asked_about_a_purge(path: Path) -> None:
    class Keep:
        def concerns(self, tx: mycel.Transaction, type_or_predicate: str, *, link: bool) -> bool:
            return True

        def check(self, tx: mycel.Transaction, change: mycel.Change) -> None:
            if change.kind == "retire":
                raise ImmutableTarget("It stays.")

        def check_commit(self, tx: mycel.Transaction) -> None:
            pass

    with mycel.open(path, guards=[Keep()]) as db:
        (one,) = add_concepts(db, "one")
        with pytest.raises(ImmutableTarget):
            db.purge(one, "please")
        assert db.get(one)


@contextmanager
def interruptions() -> Iterator[Callable[[float], None]]:
    """Gives what sets a timer, which raises InterruptionError when it goes off.

    No garbage is collected meanwhile: libraries have callbacks there (Hypothesis has), and what is
    raised in one of them goes nowhere.
    """

    def interrupt(*_: object) -> None:
        raise InterruptionError

    before = signal.signal(signal.SIGALRM, interrupt)
    gc.disable()
    try:
        yield lambda after_s: signal.setitimer(signal.ITIMER_REAL, after_s)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        gc.enable()


@needs_timer
@pytest.mark.parametrize("way", [put, put_in_block])
@pytest.mark.parametrize("pages", [2, checkpoints.CHECKPOINT_PAGES])
def test_an_interruption_anywhere_in_a_write_leaves_the_graph_usable(
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    pages: int,
    way: Callable[[mycel.Graph, str], None],
) -> None:
    """A timer interrupts writes at some hundred different places; none may wedge the writer."""
    monkeypatch.setattr(checkpoints, "CHECKPOINT_PAGES", pages)
    with mycel.open(path, durability="off") as db:
        define(db, [FACT])
        interrupted = 0
        with interruptions() as set_timer:
            for n in range(400):
                try:
                    set_timer(0.00005 * (1 + n % 40))
                    for each in range(20):
                        way(db, f"{n} {each}")
                    set_timer(0)
                except InterruptionError:
                    interrupted += 1
        assert interrupted > 100
        put(db, "after all")
        assert_sound(db)


def test_a_write_waits_for_others_although_a_statement_was_left_open(path: Path) -> None:
    """As an interrupt leaves one. SQLite asks nobody to be patient while a connection reads."""
    with mycel.open(path, durability="off") as db:
        define(db, [FACT])
        add_concepts(db, "one", "two")
        with db.transaction() as tx:
            left_open = iter(tx.ledger.connection.execute("SELECT id FROM concept"))
            next(left_open)
        other = apsw.Connection(str(path))
        other.execute("BEGIN IMMEDIATE")
        letting_go = threading.Timer(0.2, other.execute, ("COMMIT",))
        letting_go.start()
        put(db, "three")
        letting_go.join()
        other.close()
        assert db.get_concept(FACT, "three") is not None
        assert_sound(db)


@needs_timer
def test_interrupted_writes_among_those_of_other_threads_are_whole_or_not_there(path: Path) -> None:
    """Some of the interrupted ones fail by themselves, so that they are being undone just then."""
    told: list[str] = []
    stop = threading.Event()

    def others(me: int) -> None:
        for n in itertools.count():
            if stop.is_set():
                return
            with suppress(CommitUncertain, DatabaseError):  # Their commit was interrupted.
                put(db, f"{me} {n}")
                told.append(f"{me} {n}")

    def half(tx: mycel.Transaction) -> None:
        tx.put_concept(FACT, "half")
        raise ImmutableTarget("It fails.")

    with mycel.open(path, durability="off") as db:
        define(db, [FACT])
        threads = [threading.Thread(target=others, args=(me,), daemon=True) for me in range(2)]
        for thread in threads:
            thread.start()
        try:
            with interruptions() as set_timer:
                for n in range(400):
                    with suppress(InterruptionError, CommitUncertain, DatabaseError):
                        try:
                            set_timer(0.00005 * (1 + n % 40))
                            for _ in range(20):
                                with suppress(ImmutableTarget):
                                    db.write(half)
                        finally:
                            set_timer(0)
        finally:
            stop.set()
            for thread in threads:
                thread.join(60)
        assert not any(thread.is_alive() for thread in threads)
        put(db, "after all")
        assert db.get_concept(FACT, "half") is None
        assert [name for name in told if db.get_concept(FACT, name) is None] == []
        assert_sound(db)


def test_an_element_that_is_linked_to_itself_is_named_by_its_id(db: mycel.Graph) -> None:
    """The message once held all of it, attributes and metadata included."""
    (one,) = add_concepts(db, "one")
    element = db.get(one)
    for subject, object_ in ((element, element), (element, one), (one, element), (one, one)):
        with db.transaction() as tx, pytest.raises(SelfEdgeError) as caught:
            tx.put_proposition(subject, "references", object_)
        assert caught.value.message == f"{one!r} cannot be linked to itself."
