"""Transactions: all or nothing, nothing for nothing, and the primitives in them."""

import gc
import threading
import weakref
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from random import Random
from typing import Any

import apsw
import pytest

import mycel
from mycel.errors import (
    ConstraintViolation,
    DatabaseClosed,
    DiskFull,
    InvalidIdentifier,
    InvalidValueType,
    MycelError,
    NotFound,
    SelfEdgeError,
    TypeMismatch,
    VersionConflict,
)
from tests.cases import cases
from tests.unit.store.given import (
    FACT,
    START_US,
    Clock,
    DeliberateError,
    add_concepts,
    assert_sound,
    define,
    dump,
    entries,
    fail_after,
)


def concept(db: mycel.Graph, name: str, type_name: str = FACT) -> mycel.Concept:
    found = db.get_concept(type_name, name)
    assert found is not None
    return found


# ---------------------------------------------------------------------------------------------
# All or nothing


def test_a_transaction_shows_nothing_before_its_end_and_everything_after(
    db: mycel.Graph,
) -> None:
    define(db, [FACT])
    with db.transaction() as tx:
        made = tx.put_concept(FACT, "one")
        assert db.get_concept(FACT, "one") is None
        assert tx.get(made).id == made
    assert db.get(made).id == made


def test_a_definition_is_not_known_outside_before_its_transaction_ends(db: mycel.Graph) -> None:
    one, other = add_concepts(db, "one", "other")
    with db.transaction() as tx:
        tx.define_type("New")
        tx.define_predicate("likes")
        tx.add_edge(tx.put_concept("New", "thing"), "likes", one)
        for ask in (
            lambda: db.get_concept("New", "thing"),
            lambda: db.get_edge(one, "likes", other),
            lambda: list(db.edges_out(one, ["likes"])),
        ):
            with pytest.raises(TypeMismatch):
                ask()
        assert list(db.edges_in(one)) == []
    assert db.get_concept("New", "thing") is not None


def test_a_block_that_raises_leaves_nothing(db: mycel.Graph, path: Path) -> None:
    (kept,) = add_concepts(db, "kept")
    before, rows = db.snapshot(), dump(path)

    def work(tx: mycel.Transaction) -> None:
        tx.define_type("Lost")
        tx.define_predicate("loses")
        one, other = tx.put_concept("Lost", "one"), tx.put_concept("Lost", "other")
        tx.add_edge(one, "loses", other)
        tx.update(kept, attributes={"changed": True})
        tx.retire(other)

    with pytest.raises(DeliberateError):
        fail_after(db, work)
    assert db.snapshot() == before
    assert dump(path) == rows
    assert_sound(db)
    with pytest.raises(TypeMismatch):
        db.get_concept("Lost", "one")


def test_the_next_transaction_after_a_failed_one_works_as_if_it_had_not_been(
    db: mycel.Graph, tmp_path: Path, clock: Clock
) -> None:
    with pytest.raises(DeliberateError):
        fail_after(db, lambda tx: tx.put_concept("$ConceptType", "Lost"))
    with mycel.open(
        tmp_path / "other.db", actor="tester", clock_us=clock, core_capsules=False
    ) as other:
        for each in (db, other):
            one, two = add_concepts(each, "one", "two")
            each.add_edge(one, "references", two)
        assert db.snapshot() == other.snapshot()
    assert_sound(db)


def test_a_transaction_that_changes_nothing_leaves_nothing(db: mycel.Graph, path: Path) -> None:
    rows = dump(path)
    with closing(apsw.Connection(str(path))) as other:
        version = other.pragma("data_version")
        with db.transaction(actor="visitor", message="just looking"):
            pass
        assert other.pragma("data_version") == version
    assert dump(path) == rows


def test_a_function_written_as_a_transaction_gives_back_what_it_returns(
    db: mycel.Graph,
) -> None:
    define(db, [FACT])
    made = db.write(lambda tx: (tx.put_concept(FACT, "one"), "more"), actor="a", message="m")
    assert made == (concept(db, "one").id, "more")
    (newest,) = db.history.log(limit=1)
    assert (newest.actor, newest.message) == ("a", "m")


def test_a_function_that_raises_leaves_nothing(db: mycel.Graph) -> None:
    define(db, [FACT])
    before = db.snapshot()

    def work(tx: mycel.Transaction) -> None:
        tx.put_concept(FACT, "one")
        raise DeliberateError

    with pytest.raises(DeliberateError):
        db.write(work)
    assert db.snapshot() == before


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_even_an_interruption_rolls_back_and_lets_others_write(
    db: mycel.Graph, error: type[BaseException]
) -> None:
    define(db, [FACT])
    before = db.snapshot()

    def interrupted() -> None:
        with db.transaction() as tx:
            tx.put_concept(FACT, "one")
            raise error

    def work(tx: mycel.Transaction) -> None:
        tx.put_concept(FACT, "two")
        raise error

    with pytest.raises(error):
        interrupted()
    with pytest.raises(error):
        db.write(work)
    assert db.snapshot() == before
    db.write(lambda tx: tx.put_concept(FACT, "three"))
    assert concept(db, "three").version == 1


@pytest.mark.parametrize("in_cycle", [False, True])
def test_a_block_that_is_left_without_its_end_is_rolled_back_and_lets_others_write(
    db: mycel.Graph, in_cycle: bool
) -> None:
    """As an interrupt leaves it that comes when the end is called, but has not begun."""
    define(db, [FACT])
    before = db.snapshot()
    block = db.transaction()
    tx = block.__enter__()
    tx.put_concept(FACT, "one")
    if in_cycle:
        holding: list[object] = [block]
        holding.append(holding)
        del holding
    del block
    gc.collect()
    assert db.snapshot() == before
    with pytest.raises(ConstraintViolation, match="has ended"):
        tx.put_concept(FACT, "two")
    db.write(lambda tx: tx.put_concept(FACT, "three"))
    assert_sound(db)


def test_an_error_of_sqlite_inside_the_block_becomes_one_of_ours(db: mycel.Graph) -> None:
    define(db, [FACT])
    full = apsw.FullError("no room")

    def fill() -> None:
        with db.transaction() as tx:
            tx.put_concept(FACT, "one")
            raise full

    with pytest.raises(DiskFull) as caught:
        fill()
    assert caught.value.__cause__ is full
    assert db.get_concept(FACT, "one") is None


def test_what_a_block_wrote_is_forgotten_even_if_sqlite_has_rolled_it_back_itself(
    db: mycel.Graph,
) -> None:
    (one,) = add_concepts(db, "one")
    lost: list[str] = []

    def lose() -> None:
        with db.transaction() as tx:
            lost.append(tx.put_concept(FACT, "lost"))
            tx.ledger.connection.execute("ROLLBACK")
            raise DeliberateError

    with pytest.raises(DeliberateError):
        lose()
    with pytest.raises(NotFound):
        db.add_edge(one, "references", lost[0])
    assert_sound(db)


def test_a_block_that_is_over_holds_nothing_of_an_error(db: mycel.Graph) -> None:
    block = db.transaction()
    error: DeliberateError | None = DeliberateError()
    gone = weakref.ref(error)

    def fail() -> None:
        nonlocal error
        failing, error = error, None
        assert failing is not None
        with block:
            raise failing

    with suppress(DeliberateError):
        fail()
    gc.collect()
    assert gone() is None


def test_an_end_with_no_more_than_the_kind_of_an_error_rolls_back(db: mycel.Graph) -> None:
    define(db, [FACT])
    block = db.transaction()
    block.__enter__().put_concept(FACT, "one")
    block.__exit__(DeliberateError, None, None)
    assert db.get_concept(FACT, "one") is None


def test_a_block_can_be_entered_only_once(db: mycel.Graph) -> None:
    define(db, [FACT])
    block = db.transaction()
    with block as tx:
        tx.put_concept(FACT, "one")
    with pytest.raises(ConstraintViolation, match="only once") as caught, block as tx:
        tx.put_concept(FACT, "two")
    assert "db.transaction()" in caught.value.hint
    assert db.get_concept(FACT, "two") is None
    db.write(lambda tx: tx.put_concept(FACT, "three"))


def test_an_end_that_comes_too_often_or_too_soon_does_nothing(db: mycel.Graph) -> None:
    define(db, [FACT])
    over, never_begun = db.transaction(), db.transaction()
    with over as tx:
        tx.put_concept(FACT, "one")
    entered, leave = threading.Event(), threading.Event()

    def other() -> None:
        with db.transaction() as tx:
            tx.put_concept(FACT, "two")
            entered.set()
            leave.wait(60)
            tx.put_concept(FACT, "three")

    thread = threading.Thread(target=other)
    thread.start()
    assert entered.wait(60)
    for block in (over, never_begun):
        for error in (None, DeliberateError()):
            block.__exit__(None if error is None else type(error), error, None)
    leave.set()
    thread.join()
    assert [concept(db, name).version for name in ("one", "two", "three")] == [1, 1, 1]
    assert_sound(db)


def test_an_iterator_that_ends_inside_the_block_rolls_it_back(db: mycel.Graph) -> None:
    define(db, [FACT])
    before = db.snapshot()

    def run_dry() -> None:
        with db.transaction() as tx:
            tx.put_concept(FACT, "one")
            next(iter(()))

    with pytest.raises(StopIteration):
        run_dry()
    assert db.snapshot() == before


def test_an_error_caught_inside_the_block_does_not_spoil_the_rest(db: mycel.Graph) -> None:
    one, other = add_concepts(db, "one", "other")
    with db.transaction() as tx:
        for bad in (
            lambda: tx.put_concept("Unknown", "x"),
            lambda: tx.put_concept(FACT, "\ud800"),
            lambda: tx.put_concept(FACT, "x", {"a": float("nan")}),
            lambda: tx.define_type("no identifier"),
            lambda: tx.add_edge(one, "references", one),
            lambda: tx.add_edge(one, "unknown", other),
            lambda: tx.add_edge(one, "references", other, weight=2),
            lambda: tx.update(one, attributes={"a": object()}),
            lambda: tx.retire("C:999998"),
            lambda: tx.retire(one, reason="\ud800"),
            lambda: tx.put_concept(FACT, "one", {"b": 2}, expect_version=9),
        ):
            with pytest.raises(MycelError):
                bad()
        made = tx.put_concept(FACT, "good")
    assert db.get(made).version == 1
    assert db.history.log().__next__().changes == 1
    assert_sound(db)


def test_an_element_as_it_was_found_is_changed_and_removed_like_one_that_is_named(
    tmp_path: Path,
) -> None:
    snapshots = []
    for suffix in ("", "_found"):
        path = tmp_path / f"graph{suffix}.db"
        with mycel.open(
            path, clock_us=lambda: START_US, durability="off", core_capsules=False
        ) as db:
            one, two = add_concepts(db, "one", "two")
            edge = db.add_edge(one, "references", two)
            with db.transaction() as tx:
                update, retire = (getattr(tx, f"{verb}{suffix}") for verb in ("update", "retire"))
                assert update(tx.get(one), attributes={"a": 1}, metadata={"b": 2})
                assert update(tx.get(edge), attributes={"a": 1}, weight=0.5)
                assert update(tx.get(one), drop_attributes=("a",), drop_metadata="b")
                assert not update(tx.get(one), drop_attributes=("a",))
                assert retire(tx.get(two), reason="old").propositions == 1
            snapshots.append(db.snapshot())
            assert_sound(db)
    assert snapshots[0] == snapshots[1]


@pytest.mark.parametrize("change", ["update", "retire"])
@pytest.mark.parametrize("meanwhile", ["update", "retire"])
@pytest.mark.parametrize("kind", ["concept", "link"])
def test_an_element_that_has_changed_since_it_was_found_is_refused(
    db: mycel.Graph, kind: str, meanwhile: str, change: str
) -> None:
    one, other = add_concepts(db, "one", "other")
    ref = one if kind == "concept" else db.add_edge(one, "references", other)
    before = db.snapshot()

    def work(tx: mycel.Transaction) -> None:
        found = tx.get(ref)
        if meanwhile == "update":
            tx.update(ref, attributes={"a": 1})
        else:
            tx.retire(ref)
        if change == "update":
            tx.update_found(found, attributes={"b": 2})
        else:
            tx.retire_found(found)

    with pytest.raises(VersionConflict, match="since it was read"):
        db.write(work)
    assert db.snapshot() == before
    assert_sound(db)


def test_a_transaction_is_one_range_of_the_journal_with_actor_time_and_message(
    db: mycel.Graph, clock: Clock
) -> None:
    before, now = entries(db), clock.tick()
    with db.transaction(actor="andrew", message="a first look") as tx:
        tx.define_type(FACT)
        one, other = tx.put_concept(FACT, "one"), tx.put_concept(FACT, "other")
        tx.add_edge(one, "references", other)
    (newest,) = db.history.log(limit=1)
    assert (newest.first_seq, newest.seq, newest.changes) == (before + 1, before + 5, 4)
    assert (newest.actor, newest.message, newest.time_us) == ("andrew", "a first look", now)
    snapshot = db.snapshot()
    assert (snapshot.entries, snapshot.time_us) == (newest.seq, now)
    assert newest.concepts_root == snapshot.concepts_root
    assert newest.edges_root == snapshot.edges_root


def test_times_never_go_back_even_if_the_clock_does(db: mycel.Graph, clock: Clock) -> None:
    clock.tick(1_000_000)
    add_concepts(db, "one")
    clock.tick(-5_000_000)
    add_concepts(db, "two")
    times = [entry.time_us for entry in db.history.log()]
    assert times == sorted(times, reverse=True)
    assert concept(db, "two").created_us == START_US + 1_000_000
    assert_sound(db)


@pytest.mark.parametrize(
    "options",
    [
        {"actor": "x" * 256},
        {"actor": "\ud800"},
        {"actor": 5},
        {"actor": "a\0b"},
        {"message": "x" * 4097},
        {"message": "\ud800"},
        {"message": None},
    ],
)
def test_an_actor_or_message_that_cannot_be_stored_is_refused(
    db: mycel.Graph, options: dict[str, Any]
) -> None:
    before = db.snapshot()
    with pytest.raises(MycelError):
        db.write(lambda tx: tx.define_type(FACT), **options)
    with pytest.raises(MycelError), db.transaction(**options):
        pytest.fail("the block must not be entered")
    assert db.snapshot() == before
    define(db, [FACT])


# ---------------------------------------------------------------------------------------------
# One at a time, and after the end


def test_a_transaction_inside_a_transaction_is_refused_with_advice(db: mycel.Graph) -> None:
    one, other = add_concepts(db, "one", "other")
    with db.transaction() as tx:
        tx.put_concept(FACT, "outer")
        for nested in (
            lambda: db.transaction().__enter__(),
            lambda: db.write(lambda tx: tx.put_concept(FACT, "inner")),
            lambda: db.add_edge(one, "references", other),
            lambda: db.remove_edge(one, "references", other),
            lambda: db.purge(one, "why"),
        ):
            with pytest.raises(ConstraintViolation) as caught:
                nested()
            assert "tx" in caught.value.hint
    assert concept(db, "outer").version == 1
    assert db.get_concept(FACT, "inner") is None
    assert_sound(db)


def test_a_function_written_inside_a_function_is_refused_too(db: mycel.Graph) -> None:
    define(db, [FACT])
    before = db.snapshot()
    with pytest.raises(ConstraintViolation):
        db.write(lambda _: db.write(lambda tx: tx.put_concept(FACT, "inner")))
    assert db.snapshot() == before


def test_reading_the_graph_inside_a_transaction_is_possible_in_memory_too(clock: Clock) -> None:
    with mycel.open(":memory:", clock_us=clock, busy_timeout_s=0.2) as db:
        (one,) = add_concepts(db, "one")
        with db.transaction() as tx:
            tx.update(one, attributes={"a": 1})
            assert db.get(one).attributes == {}


def test_nothing_can_be_done_after_closing_but_closing(path: Path) -> None:
    db = mycel.open(path)
    one, other = add_concepts(db, "one", "other")
    db.close()
    db.close()
    for use in (
        lambda: db.transaction().__enter__(),
        lambda: db.write(lambda tx: tx.put_concept(FACT, "x")),
        lambda: db.add_edge(one, "references", other),
        lambda: db.remove_edge(one, "references", other),
        lambda: db.purge(one, "why"),
        lambda: db.get(one),
        lambda: db.get_concept(FACT, "one"),
        lambda: db.get_edge(one, "references", other),
        lambda: list(db.edges_out(one)),
        lambda: db.find(one),
        db.snapshot,
        lambda: db.history.versions(one),
        lambda: list(db.history.log()),
        lambda: db.as_of(0),
        lambda: db.prove(one),
        lambda: db.prove_entry(1),
        lambda: db.prove_consistency(1),
        lambda: db.search("one"),
        db.verify,
    ):
        with pytest.raises(DatabaseClosed):
            use()


def test_a_view_of_the_past_ends_with_its_graph(path: Path) -> None:
    with mycel.open(path) as db:
        (one,) = add_concepts(db, "one")
        past = db.as_of(entries(db))
        assert past.get(one).id == one
    with pytest.raises(DatabaseClosed):
        past.get(one)


def test_what_was_written_is_there_after_reopening(path: Path, clock: Clock) -> None:
    with mycel.open(path, clock_us=clock) as db:
        one, other = add_concepts(db, "one", "other")
        db.add_edge(one, "references", other, data={"a": [1]})
        before = (db.snapshot(), list(db.edges_out(one)), list(db.history.log()))
    with mycel.open(path) as db:
        assert (db.snapshot(), list(db.edges_out(one)), list(db.history.log())) == before
        assert_sound(db)


# ---------------------------------------------------------------------------------------------
# Two writers that take turns: each keeps things in memory that the other makes stale


@pytest.fixture
def pair(path: Path, clock: Clock) -> Iterator[tuple[mycel.Graph, mycel.Graph]]:
    with (
        mycel.open(path, clock_us=clock, durability="off") as one,
        mycel.open(path, clock_us=clock, durability="off") as other,
    ):
        yield one, other


def test_two_writers_that_take_turns_lead_to_the_state_of_one(
    pair: tuple[mycel.Graph, mycel.Graph], tmp_path: Path, clock: Clock
) -> None:
    random = Random(5)
    with mycel.open(tmp_path / "alone.db", clock_us=clock, durability="off") as alone:
        for n in range(250):
            writer, clear = random.choice(pair), random.random()

            def work(tx: mycel.Transaction, n: int = n) -> None:
                if n % 50 == 0:
                    tx.define_type(f"Type{n}")
                    tx.define_predicate(f"predicate{n}")
                made = tx.put_concept(f"Type{n // 50 * 50}", f"n{n}", {"text": f"words {n}"})
                if n % 3 == 1:
                    previous = tx.get_concept(f"Type{(n - 1) // 50 * 50}", f"n{n - 1}")
                    if previous is not None:
                        tx.add_edge(previous, f"predicate{n // 50 * 50}", made)
                if n % 11 == 10:
                    tx.retire(made)

            writer.write(work)
            alone.write(work)
            if clear < 0.05:
                writer.search("words")
            if clear > 0.97:
                with pytest.raises(DeliberateError):
                    fail_after(writer, lambda tx: tx.define_type("Lost"))
        assert pair[0].snapshot() == pair[1].snapshot() == alone.snapshot()
    assert_sound(pair[0])
    assert_sound(pair[1])


def test_a_definition_that_another_writer_removes_is_no_longer_in_force(
    pair: tuple[mycel.Graph, mycel.Graph],
) -> None:
    one, other = pair
    (made,) = add_concepts(one, "thing")
    define(one, predicates=["likes"])
    other.write(lambda tx: tx.put_concept(FACT, "another"))
    with pytest.raises(ConstraintViolation):
        other.write(lambda tx: tx.retire(tx.get_concept("$ConceptType", FACT)))
    for name in ("thing", "another"):
        other.write(lambda tx, name=name: tx.retire(tx.get_concept(FACT, name)))
    other.write(lambda tx: tx.retire(tx.get_concept("$ConceptType", FACT)))
    with pytest.raises(TypeMismatch):
        one.write(lambda tx: tx.put_concept(FACT, "thing"))
    define(other, [FACT])
    assert one.write(lambda tx: tx.put_concept(FACT, "thing")) == made
    other.purge(made, "on request")
    with pytest.raises(NotFound):
        one.write(lambda tx: tx.update(made, attributes={"a": 1}))
    assert_sound(one)


# ---------------------------------------------------------------------------------------------
# Putting


def test_putting_the_same_again_changes_and_journals_nothing(db: mycel.Graph, clock: Clock) -> None:
    attributes, metadata = {"a": 1, "b": [1, 2]}, {"source": "test"}

    def put(tx: mycel.Transaction) -> tuple[str, str, str]:
        tx.define_type(FACT, {"described": True})
        tx.define_predicate("likes", {"described": True})
        one = tx.put_concept(FACT, "one", attributes, metadata)
        other = tx.put_concept(FACT, "other")
        return one, other, tx.put_proposition(one, "likes", other, attributes, metadata, weight=0.5)

    made = db.write(put)
    before = db.snapshot()
    clock.tick()
    assert db.write(put, actor="another") == made
    assert db.write(lambda tx: tx.put_concept(FACT, "one")) == made[0]
    assert db.write(lambda tx: tx.put_concept(FACT, "one", {"a": 1})) == made[0]
    assert db.write(lambda tx: tx.put_concept(FACT, "one", {}, {})) == made[0]
    assert db.write(lambda tx: tx.put_proposition(made[0], "likes", made[1])) == made[2]
    assert not db.write(lambda tx: tx.update(made[0], attributes={"b": (1, 2)}))
    assert not db.write(lambda tx: tx.update(made[2], weight=0.5))
    assert not db.write(lambda tx: tx.update(made[0], drop_attributes=["not there"]))
    assert db.snapshot() == before


def test_keys_that_are_given_replace_and_others_stay(db: mycel.Graph, clock: Clock) -> None:
    define(db, [FACT])
    made = db.write(lambda tx: tx.put_concept(FACT, "one", {"a": 1, "b": {"x": 1}}, {"m": 1}))
    now = clock.tick()
    db.write(lambda tx: tx.put_concept(FACT, "one", {"b": {"y": 2}, "c": None}, {"n": 2}))
    changed = concept(db, "one")
    assert changed.id == made
    assert changed.attributes == {"a": 1, "b": {"y": 2}, "c": None}, "the merge is shallow"
    assert changed.metadata == {"m": 1, "n": 2}
    assert (changed.version, changed.created_us, changed.updated_us) == (2, START_US, now)


def test_a_link_is_merged_like_a_concept_and_its_weight_stays_unless_given(
    db: mycel.Graph,
) -> None:
    one, other = add_concepts(db, "one", "other")

    def put(*args: Any, **options: Any) -> mycel.Proposition:
        made = db.write(lambda tx: tx.put_proposition(one, "references", other, *args, **options))
        link = db.get(made)
        assert isinstance(link, mycel.Proposition)
        return link

    first = put({"a": 1}, {"m": 1}, weight=0.25)
    second = put({"b": 2}, {"n": 2})
    assert second.id == first.id
    assert (second.attributes, second.metadata) == ({"a": 1, "b": 2}, {"m": 1, "n": 2})
    assert (second.weight, second.version) == (0.25, 2)
    third = put(weight=0.75)
    assert (third.weight, third.version, third.attributes) == (0.75, 3, {"a": 1, "b": 2})
    assert [version.kind for version in db.history.versions(first.id)] == [
        "add_edge",
        "update_edge",
        "update_edge",
    ]
    assert_sound(db)


def test_keys_can_be_dropped(db: mycel.Graph) -> None:
    one, other = add_concepts(db, "one", "other")
    link = db.add_edge(one, "references", other)
    for ref in (one, link):
        with db.transaction() as tx:
            tx.update(ref, attributes={"a": 1, "b": 2}, metadata={"m": 1, "n": 2})
        with db.transaction() as tx:
            assert tx.update(
                ref,
                attributes={"c": 3},
                drop_attributes=["a", "not there"],
                drop_metadata=["m"],
            )
        element = db.get(ref)
        assert (element.attributes, element.metadata) == ({"b": 2, "c": 3}, {"n": 2})
        assert element.version == 3
    assert_sound(db)


def test_an_update_of_what_is_not_there_is_not_found(db: mycel.Graph) -> None:
    for absent in ("C:999998", "P:999999:references"):
        with pytest.raises(NotFound):
            db.write(lambda tx, ref=absent: tx.update(ref, attributes={"a": 1}))


def test_a_concept_has_no_weight(db: mycel.Graph) -> None:
    (one,) = add_concepts(db, "one")
    with pytest.raises(ConstraintViolation):
        db.write(lambda tx: tx.update(one, weight=0.5))


def test_two_changes_of_one_element_in_one_transaction_both_count(db: mycel.Graph) -> None:
    (one,) = add_concepts(db, "one")
    with db.transaction() as tx:
        tx.update(one, attributes={"a": 1})
        tx.update(one, attributes={"b": 2})
        assert tx.get(one).version == 3
    assert db.get(one).attributes == {"a": 1, "b": 2}
    assert [version.seq for version in db.history.versions(one)][1:] == [
        entries(db) - 2,
        entries(db) - 1,
    ]
    assert_sound(db)


def test_many_changes_in_one_transaction_all_count_in_the_root(
    db: mycel.Graph, tmp_path: Path, clock: Clock
) -> None:
    names = [f"n{n}" for n in range(40)]
    add_concepts(db, *names)
    with mycel.open(
        tmp_path / "other.db", actor="tester", clock_us=clock, core_capsules=False
    ) as other:
        for name in names:
            add_concepts(other, name)
        assert other.snapshot().concepts_root == db.snapshot().concepts_root
        assert other.snapshot().journal_root != db.snapshot().journal_root


def test_names_are_compared_as_they_are(db: mycel.Graph) -> None:
    names = ["café", "cafe\u0301", "CAFÉ", " café", "café ", "猫", "x" * 4096, "https://a/b?c#d"]
    made = add_concepts(db, *names)
    assert len(set(made)) == len(names)
    assert [concept(db, name).name for name in names] == names


def test_a_concept_of_another_type_may_have_the_same_name(db: mycel.Graph) -> None:
    define(db, ["A", "B"])
    made = {db.write(lambda tx, t=t: tx.put_concept(t, "same")) for t in ("A", "B")}
    assert len(made) == 2


# ---------------------------------------------------------------------------------------------
# Expected versions


def test_an_element_that_is_expected_not_to_be_there_is_created_once(db: mycel.Graph) -> None:
    one, other = add_concepts(db, "one", "other")
    for put in (
        lambda tx: tx.put_concept(FACT, "new", expect_version=0),
        lambda tx: tx.put_proposition(one, "references", other, expect_version=0),
    ):
        made = db.write(put)
        before = db.snapshot()
        with pytest.raises(VersionConflict) as caught:
            db.write(put)
        assert caught.value.data == {"expected": 0, "actual": 1}
        assert db.snapshot() == before
        db.write(lambda tx, ref=made: tx.retire(ref))
        assert db.write(put) == made, "what was removed is not there"


def test_a_change_with_the_right_version_happens_and_with_a_wrong_one_does_not(
    db: mycel.Graph,
) -> None:
    one, other = add_concepts(db, "one", "other")
    link = db.add_edge(one, "references", other)
    changes = {
        one: lambda tx, n, v: tx.put_concept(FACT, "one", {"n": n}, expect_version=v),
        other: lambda tx, n, v: tx.update(other, attributes={"n": n}, expect_version=v),
        link: lambda tx, n, v: tx.put_proposition(
            one, "references", other, {"n": n}, expect_version=v
        ),
    }
    for ref, change in changes.items():
        db.write(lambda tx, change=change: change(tx, 1, 1))
        db.write(lambda tx, change=change: change(tx, 2, 2))
        before = db.snapshot()
        for wrong in (0, 1, 2, 4, -1):
            with pytest.raises(VersionConflict) as caught:
                db.write(lambda tx, change=change, wrong=wrong: change(tx, 9, wrong))
            assert caught.value.data == {"expected": wrong, "actual": 3}
        assert db.snapshot() == before
        assert db.get(ref).attributes == {"n": 2}


def test_a_version_is_expected_even_if_the_change_would_change_nothing(db: mycel.Graph) -> None:
    add_concepts(db, "one")
    with pytest.raises(VersionConflict):
        db.write(lambda tx: tx.put_concept(FACT, "one", expect_version=7))
    with pytest.raises(VersionConflict):
        db.write(lambda tx: tx.put_concept(FACT, "new", expect_version=1))


# ---------------------------------------------------------------------------------------------
# What cannot be stored


def nested(depth: int) -> dict[str, Any]:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value}
    return value


BAD_OBJECTS: list[tuple[Any, str]] = [
    ({"a": float("nan")}, "KIP_2003"),
    ({"a": float("inf")}, "KIP_2003"),
    ({"a": [1, {"b": float("-inf")}]}, "KIP_2003"),
    ({"a": "\ud800"}, "KIP_2003"),
    ({"\udfff": 1}, "KIP_2003"),
    ({"a": 2**64}, "KIP_2003"),
    ({"a": -(2**63) - 1}, "KIP_2003"),
    ({"a": b"bytes"}, "KIP_2003"),
    ({"a": object()}, "KIP_2003"),
    ({"a": {1, 2}}, "KIP_2003"),
    ({1: "a"}, "KIP_2003"),
    (["a"], "KIP_2003"),
    ("text", "KIP_2003"),
    (nested(65), "KIP_4002"),
    (nested(5_000), "KIP_4002"),
    ({"a": "x" * (1 << 20)}, "KIP_4002"),
    ({"x" * 1025: 1}, "KIP_4002"),
]


@pytest.mark.parametrize("where", ["attributes", "metadata"])
@pytest.mark.parametrize("exists", [False, True], ids=["new", "there"])
def test_what_is_no_json_object_is_refused_for_attributes_and_metadata_alike(
    db: mycel.Graph, where: str, exists: bool
) -> None:
    one, other = add_concepts(db, "one", "other")
    name = "one" if exists else "new"
    if exists:
        db.add_edge(one, "references", other)
    before = db.snapshot()
    for bad, code in BAD_OBJECTS:
        options = {where: bad}
        puts = [
            lambda tx, options=options: tx.put_concept(FACT, name, **options),
            lambda tx, options=options: tx.put_proposition(one, "references", other, **options),
            lambda tx, options=options: tx.update(one, **options),
        ]
        for put in puts:
            with pytest.raises(MycelError) as caught:
                db.write(put)
            assert caught.value.code == code
            assert len(caught.value.message) < 500
    assert db.snapshot() == before
    assert_sound(db)


@cases("bad", [[], "", 0, False, ()])
@cases("where", ["attributes", "metadata"])
def test_even_what_is_empty_must_be_an_object(db: mycel.Graph, where: str, bad: Any) -> None:
    one, other = add_concepts(db, "one", "other")
    before = db.snapshot()
    for put in (
        lambda tx: tx.put_concept(FACT, "one", **{where: bad}),
        lambda tx: tx.put_concept(FACT, "new", **{where: bad}),
        lambda tx: tx.put_proposition(one, "references", other, **{where: bad}),
        lambda tx: tx.update(one, **{where: bad}),
        lambda tx: tx.put_concepts([mycel.ConceptRow(FACT, "new", **{where: bad})]),
    ):
        with pytest.raises(InvalidValueType):
            db.write(put)
    assert db.snapshot() == before


def test_what_json_can_carry_comes_back_unharmed(db: mycel.Graph) -> None:
    value = {
        "": "empty key",
        "text": "“naïve” 猫🦊 \u0000\u001f\u2028 \U0010ffff",
        "numbers": [0, -1, 2**63 - 1, 2**64 - 1, -(2**63), 0.1, -0.0, 1e308, 5e-324, 1e22, 1.0],
        "deep": nested(62),
        "null": None,
        "mixed": [True, False, None, [], {}, ""],
        "_underscore": "is fine in attributes",
        "x" * 1024: "a long key",
        "long": "x" * 100_000,
    }
    define(db, [FACT])
    one = db.write(lambda tx: tx.put_concept(FACT, "one", value, {"m": value}))
    other = db.write(lambda tx: tx.put_concept(FACT, "other"))
    link = db.add_edge(one, "references", other, data=value)
    stored = db.get(one)
    assert stored.attributes == value
    assert stored.metadata == {"m": value}
    assert repr(stored.attributes["numbers"]) == repr(value["numbers"]), "1.0 stays 1.0"
    assert db.get(link).attributes == value
    assert_sound(db)


@pytest.mark.parametrize("key", ["_version", "_updated_at", "_merged_from", "_score", "_", "_x"])
def test_metadata_keys_that_belong_to_the_engine_can_be_neither_written_nor_dropped(
    db: mycel.Graph, key: str
) -> None:
    one, other = add_concepts(db, "one", "other")
    link = db.add_edge(one, "references", other)
    before = db.snapshot()
    for use in (
        lambda tx: tx.put_concept(FACT, "new", metadata={key: 1}),
        lambda tx: tx.put_concept(FACT, "one", metadata={"fine": 1, key: 1}),
        lambda tx: tx.put_proposition(one, "references", other, metadata={key: 1}),
        lambda tx: tx.add_edge(other, "references", one, metadata={key: 1}),
        lambda tx: tx.update(one, metadata={key: 1}),
        lambda tx: tx.update(link, drop_metadata=[key]),
        lambda tx: tx.put_concepts([mycel.ConceptRow(FACT, "new", {}, {key: 1})]),
    ):
        with pytest.raises(ConstraintViolation):
            db.write(use)
    assert db.snapshot() == before
    shown = db.get(one).to_dict()["metadata"]
    assert shown == {"_version": 1, "_updated_at": "2023-11-14T22:13:20.000000Z"}


@cases(
    ("name", "error"),
    [
        ("", ConstraintViolation),
        ("x" * 4097, ConstraintViolation),
        ("猫" * 1366, ConstraintViolation),
        ("x" * (1 << 20), ConstraintViolation),
        ("\ud800", InvalidValueType),
        ("a\0b", InvalidValueType),
        (5, InvalidValueType),
        (None, InvalidValueType),
        (b"bytes", InvalidValueType),
    ],
    ids=["empty", "4097", "4098", "megabyte", "surrogate", "NUL", "int", "None", "bytes"],
)
def test_a_name_that_cannot_be_stored_is_refused(
    db: mycel.Graph, name: Any, error: type[MycelError]
) -> None:
    define(db, [FACT])
    before = db.snapshot()
    with pytest.raises(error) as caught:
        db.write(lambda tx: tx.put_concept(FACT, name))
    assert len(str(caught.value)) < 500
    with pytest.raises(error):
        db.write(lambda tx: tx.put_concepts([mycel.ConceptRow(FACT, name)]))
    assert db.snapshot() == before


@cases(
    ("name", "error"),
    [
        ("", MycelError),
        ("two words", InvalidIdentifier),
        ("1st", InvalidIdentifier),
        ("naïve", InvalidIdentifier),
        ("a-b", InvalidIdentifier),
        ("x" * 256, InvalidIdentifier),
        ("x" * (1 << 20), MycelError),
        (None, InvalidValueType),
        (5, InvalidValueType),
    ],
)
def test_a_type_or_predicate_needs_an_identifier(
    db: mycel.Graph, name: Any, error: type[MycelError]
) -> None:
    before = db.snapshot()
    for definition in ("define_type", "define_predicate"):
        with pytest.raises(error) as caught:
            db.write(lambda tx, define=definition: getattr(tx, define)(name))
        assert len(str(caught.value)) < 500
    assert db.snapshot() == before


def test_an_unknown_type_is_refused_with_the_nearest_known_one(db: mycel.Graph) -> None:
    define(db, ["Drug"])
    before = db.snapshot()
    with pytest.raises(TypeMismatch) as caught:
        db.write(lambda tx: tx.put_concept("drug", "aspirin"))
    assert "Drug" in caught.value.hint
    for bad in ("", "Unknown", None, 5, ["Drug"], "\ud800"):
        with pytest.raises(TypeMismatch):
            db.write(lambda tx, bad=bad: tx.put_concept(bad, "aspirin"))
    assert db.snapshot() == before


def test_a_message_does_not_repeat_a_megabyte(db: mycel.Graph) -> None:
    one, other = add_concepts(db, "one", "other")
    long = "x" * (1 << 20)
    for use in (
        lambda tx: tx.put_concept(long, "aspirin"),
        lambda tx: tx.add_edge(one, long, other),
        lambda tx: tx.get_concept(long, "aspirin"),
    ):
        with pytest.raises(TypeMismatch) as caught:
            db.write(use)
        assert len(str(caught.value)) < 1_000


def test_a_link_to_itself_or_to_nothing_is_refused_on_every_door(db: mycel.Graph) -> None:
    one, other = add_concepts(db, "one", "other")
    before = db.snapshot()

    def doors(src: Any, predicate: Any, dst: Any) -> list[Any]:
        return [
            lambda tx: tx.add_edge(src, predicate, dst),
            lambda tx: tx.put_proposition(src, predicate, dst),
            lambda tx: tx.put_propositions([mycel.PropositionRow(src, predicate, dst)]),
        ]

    for src, predicate, dst, error in (
        (one, "references", one, SelfEdgeError),
        (one, "unknown", other, TypeMismatch),
        (one, None, other, TypeMismatch),
        (one, "references", "C:999998", NotFound),
        ("P:999999:references", "references", other, NotFound),
        (one, "references", "C:3", NotFound),
    ):
        for use in doors(src, predicate, dst):
            with pytest.raises(error):
                db.write(use)
    assert db.snapshot() == before


# ---------------------------------------------------------------------------------------------
# Links of elements that the transaction has made


def test_a_link_on_a_new_concept_is_found_again_in_its_transaction(db: mycel.Graph) -> None:
    define(db, [FACT])
    old, other = add_concepts(db, "old", "other")
    with db.transaction() as tx:
        new = tx.put_concept(FACT, "new")
        link = tx.put_proposition(new, "part_of", old)
        assert tx.put_proposition(new, "part_of", old, {"a": 1}) == link
        about = tx.put_proposition(link, "part_of", new)
        assert tx.put_proposition(link, "part_of", new) == about
        tx.remove_edge(new, "part_of", old)
        assert tx.put_proposition(new, "part_of", old) == link
        newer = tx.put_concept(FACT, "newer")
        moved = tx.put_proposition(old, "part_of", other)
        tx.relink(moved, object_=newer)
        assert tx.put_proposition(old, "part_of", newer) == moved
        rows = [
            mycel.PropositionRow(newer, "part_of", old),
            mycel.PropositionRow(other, "part_of", newer),
        ]
        tx.put_propositions(rows)
        before = entries(db)
        assert tx.put_propositions(rows) == 2
        edge = tx.get_edge(newer, "part_of", old)
        assert edge is not None
        assert tx.put_proposition(newer, "part_of", old) == edge.id
    assert entries(db) > before
    assert_sound(db)
