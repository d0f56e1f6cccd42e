"""Rough counts: exact while they are small, near enough when they are not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import mycel
from mycel.store.query.statistics import SAMPLE, StoreStatistics
from mycel.store.query.vocabulary import Vocabulary

MANY = SAMPLE * 3


def stars_and_leaves(many: int) -> mycel.Graph:
    """A few stars, many leaves; every leaf hangs on one of ten stars, and some leaves touch."""
    db = mycel.open(":memory:", core_capsules=False)
    with db.transaction() as tx:
        for name in ("Star", "Leaf", "Void"):
            tx.define_type(name)
        for name in ("hangs_on", "touches", "never"):
            tx.define_predicate(name)
        stars = [tx.put_concept("Star", f"s{n}") for n in range(10)]
        leaves = [tx.put_concept("Leaf", f"l{n}") for n in range(many)]
        for n, leaf in enumerate(leaves):
            tx.add_edge(leaf, "hangs_on", stars[n % 10])
        for n in range(50):
            tx.add_edge(leaves[n], "touches", leaves[n + 1])
    return db


@pytest.fixture(scope="module")
def db() -> Iterator[mycel.Graph]:
    with stars_and_leaves(MANY) as db:
        yield db


@pytest.fixture
def known() -> dict[tuple[str, int], object]:
    return {}


@pytest.fixture
def statistics(
    db: mycel.Graph, known: dict[tuple[str, int], object]
) -> Iterator[tuple[StoreStatistics, Vocabulary]]:
    with db._store.reading() as reader:
        yield StoreStatistics(reader, known), Vocabulary(reader)


def test_few_are_counted_exactly(statistics: tuple[StoreStatistics, Vocabulary]) -> None:
    counts, words = statistics
    assert counts.concepts(words.types["Star"]) == 10
    assert counts.links(words.predicates["touches"].number).links == 50


def test_what_is_not_there_counts_as_one_so_that_nothing_is_divided_by_nothing(
    statistics: tuple[StoreStatistics, Vocabulary],
) -> None:
    counts, words = statistics
    assert counts.concepts(words.types["Void"]) == 1
    assert counts.links(words.predicates["never"].number) == (1, 1, 1)


def test_many_are_estimated_well_enough(statistics: tuple[StoreStatistics, Vocabulary]) -> None:
    counts, words = statistics
    assert MANY / 2 < counts.concepts(words.types["Leaf"]) < MANY * 2
    spread = counts.links(words.predicates["hangs_on"].number)
    assert MANY / 2 < spread.links < MANY * 2
    assert spread.subjects > MANY / 2
    assert spread.objects < 100
    assert counts.concepts(None) > MANY / 2
    assert counts.links(None).links > MANY / 2


def test_a_graph_with_nothing_in_it_has_counts() -> None:
    with mycel.open(":memory:", core_capsules=False) as db, db._store.reading() as reader:
        counts = StoreStatistics(reader, {})
        assert counts.concepts(None) >= 1
        assert min(counts.links(None)) >= 1


def test_an_answer_is_kept(
    statistics: tuple[StoreStatistics, Vocabulary],
    known: dict[tuple[str, int], object],
) -> None:
    counts, words = statistics
    number = words.types["Star"]
    counts.concepts(number)
    known["concepts", number] = 77.0
    assert counts.concepts(number) == 77


def looked_at(db: mycel.Graph) -> int:
    """How many instructions of SQLite it takes to count, in hundreds."""
    looked = 0

    def look() -> bool:
        nonlocal looked
        looked += 1
        return False

    with db._store.reading() as reader:
        counts, words = StoreStatistics(reader, {}), Vocabulary(reader)
        reader.connection.set_progress_handler(look, 100)
        counts.concepts(words.types["Leaf"])
        counts.links(words.predicates["hangs_on"].number)
        counts.links(None)
        reader.watch()
    return looked


def test_counting_a_larger_graph_takes_no_more_looks(db: mycel.Graph) -> None:
    with stars_and_leaves(MANY * 3) as larger:
        assert looked_at(larger) < looked_at(db) * 1.5
