"""Putting many rows at once is the same as putting them one by one, down to the journal."""

import gc
import tracemalloc
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

import pytest

import mycel
from mycel.errors import ConstraintViolation, InvalidId, MycelError, NotFound, TypeMismatch
from mycel.store.index import properties, write_cache
from mycel.store.write import bulk
from tests.unit.store.given import (
    EVENT,
    FACT,
    Clock,
    DeliberateError,
    add_concepts,
    assert_sound,
    define,
    dump,
    entries,
    fail_after,
)

Row = mycel.ConceptRow | mycel.PropositionRow


def put_singly(tx: mycel.Transaction, rows: Iterable[Row]) -> list[str]:
    made = []
    for row in rows:
        if isinstance(row, mycel.ConceptRow):
            made.append(tx.put_concept(row.type, row.name, row.attributes, row.metadata))
        else:
            subject, predicate, object_, attributes, metadata, weight = row
            made.append(
                tx.put_proposition(subject, predicate, object_, attributes, metadata, weight=weight)
            )
    return made


def put_in_bulk(tx: mycel.Transaction, rows: Iterable[Row]) -> list[str]:
    rows = list(rows)
    concepts = [row for row in rows if isinstance(row, mycel.ConceptRow)]
    links = [row for row in rows if isinstance(row, mycel.PropositionRow)]
    assert not (concepts and links), "one kind at a time"
    if concepts:
        return tx.put_concepts(concepts)
    assert tx.put_propositions(links) == len(links)
    return [ids_of_live(tx, link) for link in links]


def ids_of_live(tx: mycel.Transaction, link: mycel.PropositionRow) -> str:
    found = tx.get_edge(link.subject, link.predicate, link.object)
    assert found is not None
    return found.id


def whole_journal(db: mycel.Graph) -> list[bytes]:
    """The bytes of every entry, as the log hashes them."""
    return [db.prove_entry(seq).entry for seq in range(1, entries(db) + 1)]


@pytest.fixture
def twins(tmp_path: Path, clock: Clock) -> Iterable[tuple[mycel.Graph, mycel.Graph]]:
    """Two graphs with the same beginning and the same clock."""
    with (
        mycel.open(tmp_path / "one.db", clock_us=clock, durability="off") as one,
        mycel.open(tmp_path / "other.db", clock_us=clock, durability="off") as other,
    ):
        for db in (one, other):
            define(db, [FACT, EVENT], ["likes"])
        yield one, other


def assert_same_after(twins: tuple[mycel.Graph, mycel.Graph], *steps: list[Row]) -> list[list[str]]:
    """Put each step into one graph singly and into the other in bulk; nothing may differ."""
    one, other = twins
    made = []
    for rows in steps:
        singly = one.write(lambda tx, rows=rows: put_singly(tx, rows))
        in_bulk = other.write(lambda tx, rows=rows: put_in_bulk(tx, rows))
        assert singly == in_bulk
        made.append(singly)
    assert one.snapshot() == other.snapshot()
    assert whole_journal(one) == whole_journal(other)
    assert_sound(one)
    assert_sound(other)
    return made


def concept_rows(count: int, *, start: int = 0) -> list[Row]:
    return [
        mycel.ConceptRow(
            FACT if n % 3 else EVENT,
            f"row {n}",
            {"n": n, "text": f"words of {n}", "tags": ["a", "b"]} if n % 2 else {},
            {"source": "bulk"} if n % 5 == 0 else {},
        )
        for n in range(start, start + count)
    ]


def link_rows(ends: list[str], count: int, seed: int = 5) -> list[Row]:
    random, rows, seen = Random(seed), list[Row](), set()
    while len(rows) < count:
        src, dst = random.sample(ends, 2)
        predicate = random.choice(["likes", "references"])
        if (src, predicate, dst) not in seen:
            seen.add((src, predicate, dst))
            data: dict[str, Any] = {"why": "said so"} if random.random() < 0.3 else {}
            weight = random.choice([None, 0.25, 0.9])
            rows.append(mycel.PropositionRow(src, predicate, dst, data, {}, weight))
    return rows


@pytest.mark.parametrize("count", [1, 10, 100])
def test_new_rows_in_bulk_are_the_same_as_one_by_one(
    twins: tuple[mycel.Graph, mycel.Graph], count: int
) -> None:
    rows = concept_rows(max(count, 2))
    (made,) = assert_same_after(twins, rows)
    assert len(set(made)) == len(rows)
    assert_same_after(twins, link_rows(made, count))


def test_more_rows_than_one_batch_are_the_same_too(
    twins: tuple[mycel.Graph, mycel.Graph], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "BATCH_ROWS", 300)
    one, other = twins
    rows = concept_rows(721)
    one.write(lambda tx: put_singly(tx, rows))
    other.write(lambda tx: put_in_bulk(tx, rows))
    assert one.snapshot() == other.snapshot()
    assert_sound(other)


def test_rows_that_repeat_one_another_are_merged(
    twins: tuple[mycel.Graph, mycel.Graph],
) -> None:
    rows = concept_rows(20)
    again: list[Row] = [
        mycel.ConceptRow(FACT, "row 1", {"n": 99}, {"more": 1}),
        mycel.ConceptRow(FACT, "row 1", {"m": 1}),
        mycel.ConceptRow(EVENT, "row 0"),
    ]
    (made,) = assert_same_after(twins, rows + again + concept_rows(5, start=30))
    assert made[20:23] == [made[1], made[1], made[0]]
    links = link_rows(made[:10], 10)
    first = links[0]
    assert isinstance(first, mycel.PropositionRow)
    assert_same_after(twins, [*links, first._replace(attributes={"x": 1}, weight=0.5), first])


def test_rows_that_are_there_already_are_merged(
    twins: tuple[mycel.Graph, mycel.Graph],
) -> None:
    made, again = assert_same_after(twins, concept_rows(20), concept_rows(25, start=10))
    assert again[:10] == made[10:]
    rows = link_rows(made, 20)
    assert_same_after(twins, rows[:10], rows)


def test_the_same_rows_again_change_and_journal_nothing(
    twins: tuple[mycel.Graph, mycel.Graph],
) -> None:
    (made,) = assert_same_after(twins, concept_rows(20))
    assert_same_after(twins, link_rows(made, 20))
    before = twins[1].snapshot()
    assert_same_after(twins, concept_rows(20), link_rows(made, 20))
    assert twins[1].snapshot() == before


def test_an_actor_whose_rows_change_nothing_leaves_no_trace(db: mycel.Graph, path: Path) -> None:
    define(db, [FACT, EVENT], ["likes"])
    made = db.write(lambda tx: tx.put_concepts(concept_rows(5)))  # type: ignore[arg-type]
    links = link_rows(made, 5)
    db.write(lambda tx: tx.put_propositions(links))  # type: ignore[arg-type]
    before = dump(path)
    for rows in (concept_rows(5), links):
        db.write(lambda tx, rows=rows: put_in_bulk(tx, rows), actor="visitor")
    assert dump(path) == before
    assert_sound(db)


def test_rows_that_were_removed_are_revived(twins: tuple[mycel.Graph, mycel.Graph]) -> None:
    (made,) = assert_same_after(twins, concept_rows(20))
    links = link_rows(made, 30)
    assert_same_after(twins, links)
    for db in twins:
        for ref in made[3:6]:
            db.write(lambda tx, ref=ref: tx.retire(ref, reason="out"))
    (again,) = assert_same_after(twins, concept_rows(22))
    assert again[:20] == made
    assert_same_after(twins, links)


def test_rows_can_define_types_and_predicates(twins: tuple[mycel.Graph, mycel.Graph]) -> None:
    assert_same_after(
        twins,
        [
            mycel.ConceptRow("$ConceptType", "Person"),
            mycel.ConceptRow("Person", "Ada"),
            mycel.ConceptRow("$PropositionType", "knows"),
            mycel.ConceptRow("Person", "Grace"),
        ],
    )


def test_links_may_be_about_links_of_the_same_transaction(
    twins: tuple[mycel.Graph, mycel.Graph],
) -> None:
    (made,) = assert_same_after(twins, concept_rows(6))
    (links,) = assert_same_after(twins, link_rows(made, 6))
    assert_same_after(twins, [mycel.PropositionRow(link, "references", made[0]) for link in links])


def test_bulk_and_single_puts_mix_in_one_transaction(db: mycel.Graph) -> None:
    define(db, [FACT, EVENT], ["likes"])
    with db.transaction() as tx:
        before = tx.put_concept(FACT, "before", {"text": "first words"})
        made = tx.put_concepts(concept_rows(300))  # type: ignore[arg-type]
        tx.update(made[1], attributes={"text": "other words"})
        tx.retire(made[2])
        after = tx.put_concept(FACT, "after")
        links = [mycel.PropositionRow(each, "likes", after) for each in made[3:]]
        assert tx.put_propositions(links) == 297
        fifth = tx.get_edge(made[8], "likes", after)
        assert fifth is not None
        tx.remove_edge(made[3], "likes", after)
        tx.add_edge(before, "likes", fifth)
    assert len(list(db.edges_in(after))) == 296
    assert_sound(db)
    assert db.search("other")[0][0].id == made[1]


def test_ids_come_in_the_order_of_the_rows(db: mycel.Graph) -> None:
    define(db, [FACT, EVENT])
    rows = [mycel.ConceptRow(FACT, name) for name in ("b", "a", "c", "a", "b")]
    with db.transaction() as tx:
        made = tx.put_concepts(rows)
    assert [db.get(each).name for each in made] == ["b", "a", "c", "a", "b"]  # type: ignore[union-attr]


def test_rows_are_taken_from_any_iterable(db: mycel.Graph) -> None:
    define(db, [FACT, EVENT])
    with db.transaction() as tx:
        made = tx.put_concepts(row for row in concept_rows(7))  # type: ignore[arg-type]
        assert tx.put_concepts([]) == []
        assert tx.put_propositions([]) == 0
    assert len(made) == 7


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (mycel.ConceptRow("Unknown", "x"), TypeMismatch),
        (mycel.ConceptRow(FACT, ""), ConstraintViolation),
        (mycel.ConceptRow(FACT, "x", {"a": float("nan")}), MycelError),
        (mycel.ConceptRow(FACT, "x", {}, {"_version": 3}), ConstraintViolation),
        (mycel.PropositionRow("C:999998", "likes", "C:2"), NotFound),
        (mycel.PropositionRow("C:2", "likes", "C:2"), ConstraintViolation),
        (mycel.PropositionRow("C:2", "unknown", "C:4"), TypeMismatch),
        (mycel.PropositionRow("C:3", "likes", "C:4"), NotFound),
        (mycel.PropositionRow("C-2", "likes", "C:4"), InvalidId),
        (mycel.PropositionRow("C:2", "likes", "C:4", {}, {}, 7.0), ConstraintViolation),
    ],
)
@pytest.mark.parametrize("place", [0, 3_000])
def test_one_bad_row_refuses_the_whole_transaction(
    db: mycel.Graph, bad: Row, error: type[MycelError], place: int
) -> None:
    define(db, [FACT, EVENT], ["likes"])
    ends = add_concepts(db, *(f"end {n}" for n in range(100)))
    before = db.snapshot()
    good: list[Row]
    if isinstance(bad, mycel.ConceptRow):
        good = [mycel.ConceptRow(FACT, f"row {n}") for n in range(place)]
    else:
        good = link_rows(ends, place)
    with pytest.raises(error):
        db.write(lambda tx: put_in_bulk(tx, [*good, bad]))
    assert db.snapshot() == before


def _put_rows_and_go_on_after_a_bad_one(db: mycel.Graph, good: int) -> None:
    with db.transaction() as tx:
        rows = [*concept_rows(good), mycel.ConceptRow("Unknown", "x")]
        with pytest.raises(TypeMismatch):
            tx.put_concepts(rows)  # type: ignore[arg-type]
        tx.put_concept(FACT, "after")


def test_a_bad_row_that_is_caught_halfway_spoils_the_transaction(db: mycel.Graph) -> None:
    define(db, [FACT, EVENT])
    before = db.snapshot()
    with pytest.raises(ConstraintViolation, match="failed halfway"):
        _put_rows_and_go_on_after_a_bad_one(db, 2_500)
    assert db.snapshot() == before
    assert_sound(db)


def test_a_bad_row_that_is_caught_before_any_is_written_spoils_nothing(db: mycel.Graph) -> None:
    define(db, [FACT, EVENT])
    before = entries(db)
    _put_rows_and_go_on_after_a_bad_one(db, 20)
    assert db.get_concept(FACT, "after") is not None
    assert entries(db) == before + 2  # That one concept, and its transaction.
    assert_sound(db)


def test_a_bulk_put_that_is_rolled_back_leaves_nothing(db: mycel.Graph, clock: Clock) -> None:
    define(db, [FACT, EVENT])
    before = db.snapshot()
    with pytest.raises(DeliberateError):
        fail_after(db, lambda tx: put_in_bulk(tx, concept_rows(2_100)))
    assert db.snapshot() == before
    assert_sound(db)
    assert db.search("row") == []
    db.write(lambda tx: put_in_bulk(tx, concept_rows(2_100)))
    assert_sound(db)


def test_a_load_in_chunks_needs_no_more_memory_than_the_keys_and_hashes_of_its_rows(
    db: mycel.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name, value in (
        (write_cache, "TRANSACTION_SAVED_ELEMENTS_MAX", 500),
        (properties, "HELD_MAX", 1_000),
        (properties, "PROBED_MAX", 250),
    ):
        monkeypatch.setattr(module, name, value)
    define(db, [FACT])

    def put(tx: mycel.Transaction, first: int, last: int) -> int:
        """Put rows, and say how much memory is in use afterwards."""
        for start in range(first, last, 1_000):
            tx.put_concepts(
                mycel.ConceptRow(FACT, f"row {n}", {"n": n, "text": f"words of {n}"})
                for n in range(start, start + 1_000)
            )
        gc.collect()  # The rows of the last chunk may be in a cycle that is not collected yet.
        return tracemalloc.get_traced_memory()[0]

    with db.transaction() as tx:
        number = tx.reader.type_number(FACT)
        wanted = [(("n",), True), (("text",), False)]
        tx.define_indexes(number, link=False, indexes=wanted)
        tracemalloc.start()
        try:
            before = put(tx, 0, 2_000)
            after = put(tx, 2_000, 6_000)
        finally:
            tracemalloc.stop()
    assert (after - before) / 4_000 < 100, "bytes for each row"
    assert_sound(db)
