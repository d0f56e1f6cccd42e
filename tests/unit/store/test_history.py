"""The past: states as they were, versions of an element, the log of transactions."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise, product
from random import Random
from typing import Any

import pytest

import mycel
from mycel.errors import ConstraintViolation, InvalidValueType, MycelError, NotFound, TypeMismatch
from tests.unit.store.given import (
    EVENT,
    FACT,
    START_US,
    Clock,
    add_concepts,
    assert_sound,
    define,
    entries,
)

PREDICATES = ("references", "part_of", "likes")


def result_of(ask: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """What a question gives; that there is no such element is an answer too."""
    try:
        found = ask(*args, **options)
        return list(found) if isinstance(found, Iterator) else found
    except NotFound:
        return NotFound


def observe(view: mycel.GraphView, elements: list[str]) -> list[Any]:
    """Everything the edges API says about these elements."""
    seen: list[Any] = []
    for each in elements:
        seen.append(result_of(view.get, each))
        for dead in (False, True):
            follow = mycel.Follow(max_hops=3, direction="both", include_tombstoned=dead)
            seen += [
                result_of(view.edges_out, each, include_tombstoned=dead),
                result_of(view.edges_in, each, include_tombstoned=dead),
                result_of(view.edges_in, each, ["likes"], include_tombstoned=dead),
                result_of(view.find, each, follow, form="full"),
            ]
    concepts = [each for each in elements if each.startswith("C:")]
    seen += [result_of(view.get_edge, *edge) for edge in product(concepts, PREDICATES, concepts)]
    seen += [view.get_concept(FACT, f"n{n}") for n in range(8)]
    return seen


def random_steps(db: mycel.Graph, clock: Clock, steps: int, seed: int) -> list[Any]:
    """Random transactions; after each: its snapshot, the elements so far, and what was seen."""
    random = Random(seed)
    define(db, [FACT, EVENT], ["likes"])
    concepts = [db.write(lambda tx, n=n: tx.put_concept(FACT, f"n{n}")) for n in range(5)]
    links: list[str] = []
    moments = []

    def some(tx: mycel.Transaction) -> None:
        for _ in range(random.randint(1, 4)):
            src, dst = random.sample(concepts, 2)
            predicate = random.choice(PREDICATES)
            match random.randrange(7):
                case 0:
                    made = tx.put_concept(FACT, f"n{random.randrange(8)}", {"v": random.random()})
                    if made not in concepts:
                        concepts.append(made)
                case 1 | 2:
                    if tx.get_edge(src, predicate, dst) is None and _both_live(tx, src, dst):
                        links.append(
                            tx.add_edge(src, predicate, dst, weight=random.randrange(5) / 4)
                        )
                case 3:
                    tx.remove_edge(src, predicate, dst, reason="chance")
                case 4:
                    if links and _both_live(tx, src, about := random.choice(links)):
                        links.append(tx.add_edge(src, "likes", about))
                case 5:
                    if _both_live(tx, src, dst):
                        tx.put_proposition(src, predicate, dst, {"v": random.random()})
                case 6:
                    if random.random() < 0.3 and _both_live(tx, src, src):
                        tx.retire(src, reason="chance")

    for _ in range(steps):
        clock.tick()
        db.write(some)
        known = sorted({*concepts, *links})
        moments.append((db.snapshot(), known, observe(db, known)))
    return moments


def _both_live(tx: mycel.Transaction, *refs: str) -> bool:
    return all(result_of(tx.get, ref) is not NotFound for ref in refs)


@pytest.mark.parametrize("seed", [1, 2])
def test_every_past_state_is_read_as_it_was_seen_then(
    db: mycel.Graph, clock: Clock, seed: int
) -> None:
    moments = random_steps(db, clock, 40, seed)
    assert len({len(known) for _, known, _ in moments}) > 3, "the graph has grown"
    for snapshot, known, seen in moments:
        by_seq = db.as_of(snapshot.seq)
        assert by_seq.seq == snapshot.seq
        assert observe(by_seq, known) == seen
    for snapshot, known, seen in moments[::5]:
        moment = datetime.fromtimestamp(0, UTC) + timedelta(microseconds=snapshot.time_us)
        latest = max(each.seq for each, *_ in moments if each.time_us == snapshot.time_us)
        if latest == snapshot.seq:
            assert observe(db.as_of(moment), known) == seen
    assert_sound(db)


def test_elements_that_were_not_there_yet_are_not_found(db: mycel.Graph) -> None:
    define(db, [FACT])
    before = entries(db)
    one, other = add_concepts(db, "one", "other")
    link = db.add_edge(one, "references", other)
    past = db.as_of(before)
    assert past.get_concept(FACT, "one") is None
    for ask in (
        lambda: past.get(one),
        lambda: past.get(link),
        lambda: past.get_edge(one, "references", other),
        lambda: past.find(one),
        lambda: list(past.edges_out(one)),
        lambda: list(past.edges_in(other)),
    ):
        with pytest.raises(NotFound):
            ask()


def test_a_moment_inside_a_transaction_means_the_state_before_it(db: mycel.Graph) -> None:
    define(db, [FACT])
    first = entries(db)
    add_concepts(db, "one", "two", "three")
    last = entries(db)
    assert last == first + 4
    for seq in range(first, last):
        past = db.as_of(seq)
        assert past.seq == first
        assert past.get_concept(FACT, "one") is None
    assert db.as_of(last).get_concept(FACT, "one") is not None


def test_the_beginning_is_empty(db: mycel.Graph) -> None:
    (one,) = add_concepts(db, "one")
    for moment in (0, 1, "1970-01-01T00:00:00Z", datetime(1, 1, 1, tzinfo=UTC)):
        past = db.as_of(moment)
        assert past.seq == 0
        assert past.get_concept("$ConceptType", "$ConceptType") is None
        assert result_of(past.get, one) is NotFound


def test_a_time_means_the_last_transaction_at_or_before_it(db: mycel.Graph, clock: Clock) -> None:
    seqs = []
    for n in range(12):
        clock.tick(0 if n % 3 == 0 else 1_000_000)
        add_concepts(db, f"n{n}")
        seqs.append((db.snapshot().time_us, entries(db)))
    for time_us, _ in seqs:
        for shift in (-1, 0, 1, 999_999):
            moment = datetime.fromtimestamp(0, UTC) + timedelta(microseconds=time_us + shift)
            expected = max((seq for each, seq in seqs if each <= time_us + shift), default=None)
            if expected is not None:
                assert db.as_of(moment).seq == expected
                assert db.as_of(moment.isoformat()).seq == expected
                away = moment.astimezone(timezone(timedelta(hours=-7)))
                assert db.as_of(away).seq == expected
                assert db.as_of(moment.replace(tzinfo=None)).seq == expected


def test_the_far_future_is_the_present(db: mycel.Graph) -> None:
    add_concepts(db, "one")
    assert db.as_of("9999-12-31T23:59:59Z").seq == entries(db)


@pytest.mark.parametrize("moment", [-1, 10**6, 2**63, -(2**70)])
def test_a_seq_that_never_was_is_refused(db: mycel.Graph, moment: int) -> None:
    with pytest.raises(ConstraintViolation) as caught:
        db.as_of(moment)
    assert "a position of the log" in caught.value.hint


@pytest.mark.parametrize("moment", ["", "yesterday", "2026-13-01", "\ud800", "x" * 10**6])
def test_a_text_that_is_no_time_is_refused(db: mycel.Graph, moment: str) -> None:
    with pytest.raises(MycelError) as caught:
        db.as_of(moment)
    assert caught.value.code == "KIP_1001"
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("moment", [True, None, 1.5, b"2026-01-01", []])
def test_what_is_no_moment_is_refused(db: mycel.Graph, moment: Any) -> None:
    with pytest.raises(InvalidValueType):
        db.as_of(moment)


@pytest.mark.parametrize(
    "moment",
    [
        datetime.min.replace(tzinfo=timezone(timedelta(hours=14))),
        datetime.max.replace(tzinfo=timezone(timedelta(hours=-12))),
    ],
    ids=["before the year 1", "after the year 9999"],
)
def test_a_time_that_utc_cannot_name_is_refused(db: mycel.Graph, moment: datetime) -> None:
    with pytest.raises(MycelError):
        db.as_of(moment)


def test_a_past_view_stays_the_same_while_the_present_moves_on(db: mycel.Graph) -> None:
    one, other = add_concepts(db, "one", "other")
    define(db, predicates=["likes"])
    db.add_edge(one, "references", other)
    past = db.as_of(entries(db))
    before = observe(past, [one, other])
    db.write(lambda tx: tx.update(one, attributes={"a": 1}))
    db.write(lambda tx: tx.retire(other))
    define(db, [EVENT])
    assert observe(past, [one, other]) == before
    with pytest.raises(TypeMismatch):
        past.get_concept("Unknown", "one")


def test_a_past_view_refuses_to_write(db: mycel.Graph) -> None:
    past = db.as_of(entries(db))
    for name in ("add_edge", "remove_edge", "transaction", "write", "purge"):
        assert not hasattr(past, name)


# ---------------------------------------------------------------------------------------------
# Versions and the log


def test_history_tells_every_version_with_who_when_and_why(db: mycel.Graph, clock: Clock) -> None:
    define(db, [FACT])
    made = db.write(lambda tx: tx.put_concept(FACT, "one", {"v": 1}), actor="ann", message="first")
    clock.tick()
    db.write(lambda tx: tx.update(made, attributes={"v": 2}), actor="ben", message="second")
    clock.tick()
    db.write(lambda tx: tx.retire(made, reason="enough"), actor="cem", message="third")
    versions = db.history.versions(made)
    assert [(v.kind, v.transaction.actor, v.transaction.message, v.reason) for v in versions] == [
        ("put_concept", "ann", "first", ""),
        ("put_concept", "ben", "second", ""),
        ("retire_concept", "cem", "third", "enough"),
    ]
    assert [v.element.attributes for v in versions if v.element] == [{"v": 1}, {"v": 2}, {"v": 2}]
    assert [v.element.version for v in versions if v.element] == [1, 2, 2]
    assert [v.transaction.time_us - START_US for v in versions] == [0, 1_000, 2_000]
    assert [v.seq for v in versions] == sorted(v.seq for v in versions)
    wire = versions[-1].to_dict()
    assert (wire["kind"], wire["actor"], wire["reason"]) == ("retire_concept", "cem", "enough")
    assert wire["element"]["tombstone"]["by"] == "cem"


def test_each_version_is_what_the_past_shows_after_its_transaction(
    db: mycel.Graph, clock: Clock
) -> None:
    moments = random_steps(db, clock, 25, 9)
    for each in moments[-1][1]:
        for version in db.history.versions(each):
            past = db.as_of(version.transaction.seq)
            last = [
                other
                for other in db.history.versions(each)
                if other.transaction.seq == version.transaction.seq
            ][-1]
            assert last.element is not None
            expected = NotFound if last.element.tombstoned else last.element
            assert result_of(past.get, each) == expected


def test_history_of_what_never_was_is_not_found(db: mycel.Graph) -> None:
    for absent in ("C:999998", "P:999999:references"):
        with pytest.raises(NotFound):
            db.history.versions(absent)


def test_the_log_is_told_newest_first_and_in_pages(db: mycel.Graph, clock: Clock) -> None:
    for n in range(6):
        clock.tick()
        with db.transaction(actor=f"actor {n}", message=f"message {n}") as tx:
            tx.define_type(f"Type{n}")
    everything = list(db.history.log())
    assert [entry.actor for entry in everything][:6] == [f"actor {n}" for n in range(5, -1, -1)]
    assert everything[-1].message == "create the graph"
    assert everything[-1].first_seq == 1
    for newer, older in pairwise(everything):
        assert newer.first_seq == older.seq + 1
        assert newer.time_us >= older.time_us
    assert list(db.history.log(limit=2)) == everything[:2]
    assert list(db.history.log(limit=2, before=everything[1].seq)) == everything[2:4]
    assert list(db.history.log(before=1)) == list(db.history.log(limit=0)) == []
    assert everything[0].to_dict()["time"] == "2023-11-14T22:13:20.006000Z"


def test_the_roots_in_the_log_are_those_of_the_moment(db: mycel.Graph) -> None:
    snapshots = {}
    for n in range(5):
        add_concepts(db, f"n{n}")
        snapshots[entries(db)] = db.snapshot()
    for entry in db.history.log(limit=5):
        snapshot = snapshots[entry.seq]
        assert (entry.concepts_root, entry.edges_root) == (
            snapshot.concepts_root,
            snapshot.edges_root,
        )
