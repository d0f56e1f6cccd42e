"""The table of ends at which links stand: always complete, and plans go by it."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

import mycel
from mycel.store.file.layout import OBJECT_SIDE, SUBJECT_SIDE
from tests.unit.store.given import FACT, add_concepts, assert_sound, define, raw


def link_ends(path: Path) -> set[tuple[str, int]]:
    with raw(path) as connection:
        return set(
            connection.execute(
                "SELECT name, side FROM link_end JOIN predicate ON predicate.id = predicate"
            )
        )


def put_alone(tx: mycel.Transaction, *link: str) -> None:
    tx.put_proposition(*link)


def put_in_bulk(tx: mycel.Transaction, *link: str) -> None:
    tx.put_propositions([mycel.PropositionRow(*link)])


PUTS = [put_alone, put_in_bulk]


@pytest.fixture
def graph(path: Path) -> tuple[Path, str, str, str]:
    """A file with two concepts and a link between them."""
    with mycel.open(path, core_capsules=False) as db:
        define(db, [FACT], ["likes", "says"])
        one, two = add_concepts(db, "one", "two", type_name=FACT)
        return path, one, two, db.add_edge(one, "likes", two)


def test_links_between_concepts_leave_no_trace(graph: tuple[Path, str, str, str]) -> None:
    assert link_ends(graph[0]) == set()


@pytest.mark.parametrize("put", PUTS)
def test_a_link_at_an_end_is_noted_and_stays_noted(
    graph: tuple[Path, str, str, str], put: Callable[..., None]
) -> None:
    path, one, _, link = graph
    with mycel.open(path) as db:
        db.write(lambda tx: put(tx, one, "says", link))
        assert link_ends(path) == {("says", OBJECT_SIDE)}
        db.write(lambda tx: put(tx, link, "says", one))
        assert link_ends(path) == {("says", OBJECT_SIDE), ("says", SUBJECT_SIDE)}
        db.remove_edge(one, "says", link)
        assert link_ends(path) == {("says", OBJECT_SIDE), ("says", SUBJECT_SIDE)}
        assert_sound(db)


@pytest.mark.parametrize("put", PUTS)
def test_what_was_rolled_back_is_noted_the_next_time(
    graph: tuple[Path, str, str, str], put: Callable[..., None]
) -> None:
    path, one, _, link = graph
    with mycel.open(path) as db:
        with suppress(KeyError), db.transaction() as tx:
            put(tx, one, "says", link)
            raise KeyError
        assert link_ends(path) == set()
        db.write(lambda tx: put(tx, one, "says", link))
        assert link_ends(path) == {("says", OBJECT_SIDE)}
        assert_sound(db)


def test_a_link_that_is_pointed_at_a_link_or_gets_another_predicate_is_noted(
    graph: tuple[Path, str, str, str],
) -> None:
    path, one, two, link = graph
    with mycel.open(path) as db:
        other = db.add_edge(two, "says", one)
        db.write(lambda tx: tx.relink(other, object_=link))
        assert link_ends(path) == {("says", OBJECT_SIDE)}
        db.write(lambda tx: tx.move(other, predicate="likes"))
        assert link_ends(path) == {("says", OBJECT_SIDE), ("likes", OBJECT_SIDE)}
        assert_sound(db)


def test_two_processes_note_an_end_once(graph: tuple[Path, str, str, str]) -> None:
    path, one, two, link = graph
    with mycel.open(path) as first, mycel.open(path) as second:
        first.add_edge(one, "says", link)
        second.add_edge(two, "says", link)
        first.add_edge(link, "says", two)
        second.add_edge(link, "says", one)
        assert_sound(second)
    assert link_ends(path) == {("says", OBJECT_SIDE), ("says", SUBJECT_SIDE)}


def test_a_purged_link_leaves_its_row_and_the_file_is_sound(
    graph: tuple[Path, str, str, str],
) -> None:
    path, one, _, link = graph
    with mycel.open(path) as db:
        db.purge(db.add_edge(one, "says", link), "on request")
        assert link_ends(path) == {("says", OBJECT_SIDE)}
        assert_sound(db)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("DELETE FROM link_end", "is missing, although a link is at this end"),
        ("UPDATE link_end SET side = 0", "is missing, although a link is at this end"),
        ("INSERT INTO link_end VALUES (1, 0)", "although no link was ever at this end"),
    ],
)
def test_verify_finds_a_row_too_few_or_too_many(
    graph: tuple[Path, str, str, str], damage: str, said: str
) -> None:
    path, one, _, link = graph
    with mycel.open(path) as db:
        db.add_edge(one, "says", link)
    with raw(path) as connection:
        connection.execute(damage)
    with mycel.open(path, readonly=True) as db:
        assert any(said in problem.what for problem in db.verify().problems)


QUESTION = 'FIND(?b.name, ?b.attributes.n, ?b) WHERE { (?a, "says", ?b) }'


def test_a_plan_made_for_concepts_is_made_anew_when_a_link_comes(
    graph: tuple[Path, str, str, str],
) -> None:
    path, one, two, link = graph
    with mycel.open(path) as db, mycel.open(path) as other:
        db.add_edge(one, "says", two)
        assert len(db.execute(QUESTION)) == 1
        assert "& 1" not in db.explain(QUESTION)["sql"]
        other.add_edge(two, "says", link, data={"n": 1})
        db.write(lambda tx: tx.update(link, attributes={"n": 7}))
        rows = db.execute(QUESTION).rows
        assert {(name, n) for name, n, _ in rows} == {("two", None), (None, 7)}
        assert {each["id"] for *_, each in rows} == {two, link}
        assert "& 1" in db.explain(QUESTION)["sql"]


def test_a_write_sees_the_links_that_it_has_brought_itself(
    graph: tuple[Path, str, str, str],
) -> None:
    path, one, two, link = graph
    with mycel.open(path) as db:
        db.add_edge(one, "says", two)
        db.execute(QUESTION)
        made = db.request(
            {
                "commands": [
                    f'UPSERT {{ PROPOSITION ?p {{ ({{id: "{two}"}}, "says", (id: "{link}")) }} }}',
                    'UPDATE ?b SET ATTRIBUTES {seen: true} WHERE { (?a, "says", ?b) }',
                    QUESTION,
                ]
            }
        )
        assert "error" not in made, made
        assert db.get(link).attributes == {"seen": True}
        assert db.get(two).attributes == {"seen": True}
