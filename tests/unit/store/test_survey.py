"""Surveys: exact where that is cheap, honest estimates where it is not."""

from collections.abc import Iterator
from itertools import pairwise

import pytest

import mycel
from mycel.store.database import Store
from mycel.store.query import summary
from mycel.store.query.reader import Reader
from tests.unit.store.given import define

LARGE, SMALL = 600, 7


@pytest.fixture
def db() -> Iterator[mycel.Graph]:
    """A graph that holds nothing yet, not even the core capsules."""
    with mycel.Graph(Store(":memory:")) as db:
        yield db


@pytest.fixture
def reader(db: mycel.Graph) -> Iterator[Reader]:
    """Six hundred beads on a string, seven of them with a knot."""
    define(db, ["Bead", "Knot"], ["next_to", "tied_to"])
    with db.transaction() as tx:
        beads = tx.put_concepts(mycel.ConceptRow("Bead", f"b{n}", {}, {}) for n in range(LARGE))
        knots = tx.put_concepts(mycel.ConceptRow("Knot", f"k{n}", {}, {}) for n in range(SMALL))
        for one, other in pairwise(beads):
            tx.put_proposition(one, "next_to", other)
        for bead, knot in zip(beads, knots, strict=False):
            link = tx.put_proposition(bead, "tied_to", knot)
        tx.put_proposition(knots[0], "tied_to", link)
    with db._store.reading() as reader:
        yield reader


@pytest.fixture
def small_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary, "COUNTED_ROWS_MAX", 150)
    monkeypatch.setattr(summary, "SAMPLE_ROWS", 200)


def number(reader: Reader, table: str, name: str) -> int:
    found = reader.execute(f"SELECT id FROM {table} WHERE name = ?", (name,)).get
    assert isinstance(found, int)
    return found


def test_small_tables_are_counted_exactly(reader: Reader) -> None:
    counts = {each.number: each for each in summary.concepts_by_type(reader)}
    assert counts[number(reader, "type", "Bead")][1:] == (LARGE, True)
    assert counts[number(reader, "type", "Knot")][1:] == (SMALL, True)
    ordered = [each.rows for each in summary.links_by_predicate(reader)]
    assert ordered == [LARGE - 1, SMALL + 1]


@pytest.mark.usefixtures("small_bounds")
def test_large_kinds_are_estimated_and_small_ones_among_them_still_counted(
    reader: Reader,
) -> None:
    counts = {each.number: each for each in summary.concepts_by_type(reader)}
    beads = counts[number(reader, "type", "Bead")]
    assert not beads.exact
    assert beads.rows == pytest.approx(LARGE, rel=0.1)
    assert counts[number(reader, "type", "Knot")][1:] == (SMALL, True)


@pytest.mark.usefixtures("small_bounds")
def test_a_sample_holds_no_row_twice_and_reaches_from_end_to_end(
    reader: Reader,
) -> None:
    seen = summary.instances(reader, number(reader, "type", "Bead"), 50)
    numbers = [each.number for each in seen]
    assert len(set(numbers)) == len(numbers) == 50
    assert max(numbers) - min(numbers) > LARGE


def test_all_instances_are_seen_when_there_are_no_more_than_asked_for(
    reader: Reader,
) -> None:
    seen = summary.instances(reader, number(reader, "type", "Knot"), SMALL)
    assert {each.name for each in seen} == {f"k{n}" for n in range(SMALL)}
    assert seen[0] == max(seen, key=lambda each: each.links)


def test_shapes_tell_what_is_joined_and_how_often(reader: Reader) -> None:
    bead, knot = (number(reader, "type", name) for name in ("Bead", "Knot"))
    beside, tied = (number(reader, "predicate", name) for name in ("next_to", "tied_to"))
    assert summary.shapes(reader) == [
        (beside, bead, bead, LARGE - 1),
        (tied, bead, knot, SMALL),
        (tied, knot, None, 1),
    ]


def test_links_of_a_small_predicate_are_each_seen_once(reader: Reader) -> None:
    seen = summary.links_of(reader, number(reader, "predicate", "tied_to"), 100)
    assert len(seen) == SMALL + 1
    assert len({each.number for each in seen}) == SMALL + 1


def test_relationships_look_at_so_many_links_of_one_element(reader: Reader) -> None:
    bead = number(reader, "concept", "b1")
    knot = number(reader, "type", "Knot")
    beside, tied = (number(reader, "predicate", name) for name in ("next_to", "tied_to"))
    found = summary.relationships(reader, [bead], 10)
    assert {(way, predicate) for way, predicate, _, _ in found} == {
        ("out", beside),
        ("in", beside),
        ("out", tied),
    }
    assert ("out", tied, knot, 1) in found
    assert sum(each[3] for each in summary.relationships(reader, [bead], 1)) == 2


def test_names_of_definitions_come_in_order_from_where_they_are_asked_for(
    reader: Reader,
) -> None:
    assert summary.definitions(reader, 1, after="$PropositionType") == ["Bead", "Knot"]
    assert summary.definitions(reader, 1, after="Bead", limit=1) == ["Knot"]
