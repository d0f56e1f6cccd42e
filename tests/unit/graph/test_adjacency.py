"""Iterating over the edges of an element, in and out."""

from collections.abc import Iterator
from random import Random
from threading import Thread

import pytest

import mycel
from mycel.errors import DatabaseClosed, NotFound, TypeMismatch
from tests.unit.store.given import add_concepts, assert_sound, define, number_of

Ends = tuple[int, int]


def outward(edges: Iterator[mycel.Proposition]) -> list[Ends]:
    return [(edge.type, number_of(edge.dst)) for edge in edges]


def inward(edges: Iterator[mycel.Proposition]) -> list[Ends]:
    return [(edge.type, number_of(edge.src)) for edge in edges]


@pytest.fixture
def hub(db: mycel.Graph) -> str:
    """An element with edges of five predicates to and from nine others, added in no order.

    Among the others are edges themselves, whose numbers lie between those of the concepts.
    """
    hub, *others = add_concepts(db, "hub", *(f"spoke {n}" for n in range(6)))
    define(db, predicates=["likes", "knows"])
    others += [db.add_edge(others[n], "part_of", others[n + 1]) for n in range(3)]
    wanted = [
        (predicate, other)
        for predicate in ("knows", "likes", "derived_from", "related_to", "cited_in")
        for other in others
    ]
    Random(7).shuffle(wanted)
    with db.transaction() as tx:
        for predicate, other in wanted:
            tx.add_edge(hub, predicate, other)
        Random(8).shuffle(wanted)
        for predicate, other in wanted:
            tx.add_edge(other, predicate, hub)
    return hub


# ---------------------------------------------------------------------------------------------
# Order and filters


def test_edges_come_in_the_order_of_predicate_number_and_other_end(
    db: mycel.Graph, hub: str
) -> None:
    out, into = outward(db.edges_out(hub)), inward(db.edges_in(hub))
    assert len(out) == len(into) == 45
    assert out == sorted(out)
    assert into == sorted(into)
    assert {number for number, _ in out} == {0x01, 0x09, 0x0F, 0x40, 0x41}


def test_the_order_is_that_of_numbers_and_not_of_their_digits(db: mycel.Graph) -> None:
    hub, *others = add_concepts(db, "hub", *(f"spoke {n}" for n in range(60)))
    for other in reversed(others):
        db.add_edge(hub, "references", other)
    assert [edge.dst for edge in db.edges_out(hub)] == others
    assert number_of(others[0]) < 100 < number_of(others[-1])


@pytest.mark.parametrize("include_tombstoned", [False, True])
@pytest.mark.parametrize(
    "types",
    [
        ["likes"],
        ["likes", "cited_in"],
        ("cited_in", "likes", "cited_in"),
        {"knows", "derived_from", "related_to"},
        frozenset({"likes"}),
        ["supersedes"],
        [],
    ],
)
def test_a_set_of_types_is_a_filter_and_changes_no_order(
    db: mycel.Graph, hub: str, types: list[str], include_tombstoned: bool
) -> None:
    for edge in list(db.edges_out(hub))[::3] + list(db.edges_in(hub))[::3]:
        db.remove_edge(edge.src, edge.predicate, edge.dst)
    for edges in (db.edges_out, db.edges_in):
        everything = edges(hub, include_tombstoned=include_tombstoned)
        expected = [edge for edge in everything if edge.predicate in types]
        found = list(edges(hub, types, include_tombstoned=include_tombstoned))
        assert found == expected


def test_an_unknown_type_in_the_set_is_refused(db: mycel.Graph, hub: str) -> None:
    for edges in (db.edges_out, db.edges_in):
        with pytest.raises(TypeMismatch):
            list(edges(hub, ["likes", "unknown"]))


def test_tombstoned_edges_come_only_on_request_and_in_their_place(
    db: mycel.Graph, hub: str
) -> None:
    everything = [edge.id for edge in db.edges_out(hub)]
    removed = set()
    for edge in list(db.edges_out(hub))[1::2]:
        db.remove_edge(edge.src, edge.predicate, edge.dst, reason="odd")
        removed.add(edge.id)
    assert [edge.id for edge in db.edges_out(hub)] == [
        each for each in everything if each not in removed
    ]
    with_removed = list(db.edges_out(hub, include_tombstoned=True))
    assert [edge.id for edge in with_removed] == everything
    assert {edge.id for edge in with_removed if edge.tombstoned} == removed
    assert {edge.tombstoned_reason for edge in with_removed} == {None, "odd"}


def test_a_revived_edge_comes_once_even_with_tombstones(db: mycel.Graph) -> None:
    one, other = add_concepts(db, "one", "other")
    db.add_edge(one, "references", other)
    db.remove_edge(one, "references", other)
    db.add_edge(one, "references", other)
    for edges in (db.edges_out(one, include_tombstoned=True),
                  db.edges_in(other, include_tombstoned=True),
                  db.edges_in(other, ["references"], include_tombstoned=True)):  # fmt: skip
        assert [edge.tombstoned for edge in edges] == [False]


# ---------------------------------------------------------------------------------------------
# Elements without edges, removed elements, no elements


def test_an_element_without_edges_has_none(db: mycel.Graph) -> None:
    (alone,) = add_concepts(db, "alone")
    assert list(db.edges_out(alone)) == list(db.edges_in(alone)) == []


def test_edges_of_an_element_that_never_was_are_not_found(db: mycel.Graph) -> None:
    for edges in (db.edges_out, db.edges_in):
        for absent in ("C:999998", "P:999999:references"):
            with pytest.raises(NotFound):
                list(edges(absent))


def test_a_removed_element_has_only_removed_edges(db: mycel.Graph, hub: str) -> None:
    db.write(lambda tx: tx.retire(hub, reason="gone"))
    assert list(db.edges_out(hub)) == list(db.edges_in(hub)) == []
    removed = list(db.edges_out(hub, include_tombstoned=True))
    assert len(removed) == 45
    assert all(edge.tombstoned for edge in removed)
    assert outward(iter(removed)) == sorted(outward(iter(removed)))


def test_forward_and_reverse_always_agree(db: mycel.Graph) -> None:
    random = Random(3)
    elements = add_concepts(db, *(f"n{n}" for n in range(8)))
    for _ in range(150):
        src, dst = random.sample(elements, 2)
        predicate = random.choice(["references", "part_of", "related_to"])
        if random.random() < 0.7:
            made = db.add_edge(src, predicate, dst)
            if random.random() < 0.1:
                elements.append(made)
        else:
            db.remove_edge(src, predicate, dst)
        elements = [each for each in elements if each.startswith("C:") or _is_live(db, each)]
    for dead in (False, True):
        out = {edge for each in elements for edge in db.edges_out(each, include_tombstoned=dead)}
        into = {edge for each in elements for edge in db.edges_in(each, include_tombstoned=dead)}
        assert {edge for edge in out if edge.dst in elements} == {
            edge for edge in into if edge.src in elements
        }
        assert len(out) > 10
    assert_sound(db)


def _is_live(db: mycel.Graph, element: str) -> bool:
    try:
        db.get(element)
    except NotFound:
        return False
    return True


# ---------------------------------------------------------------------------------------------
# Stopping early, and writing meanwhile


def test_iteration_can_stop_at_any_edge_and_leaves_nothing_behind(
    db: mycel.Graph, hub: str
) -> None:
    (fresh,) = add_concepts(db, "fresh")
    for stop in range(45):
        edges = db.edges_out(hub)
        for _ in range(stop):
            next(edges)
        edges.close()  # type: ignore[attr-defined]
    db.add_edge(hub, "consents_to", fresh)
    assert len(list(db.edges_out(hub))) == 46, "no reader is stuck in an old snapshot"


def test_an_iterator_that_is_never_started_does_no_harm(db: mycel.Graph, hub: str) -> None:
    for _ in range(50):
        db.edges_out(hub)
    (fresh,) = add_concepts(db, "fresh")
    db.add_edge(hub, "consents_to", fresh)
    assert len(list(db.edges_out(hub))) == 46


def test_an_error_in_the_loop_passes_through(db: mycel.Graph, hub: str) -> None:
    def loop() -> None:
        for edge in db.edges_out(hub):
            raise ZeroDivisionError(edge.id)

    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            loop()
    db.remove_edge(hub, "likes", next(db.edges_out(hub, ["likes"])).dst)
    assert len(list(db.edges_out(hub))) == 44


def test_what_is_written_meanwhile_does_not_show_in_an_iteration(db: mycel.Graph, hub: str) -> None:
    expected = list(db.edges_out(hub))
    edges = db.edges_out(hub)
    seen = [next(edges)]
    (fresh,) = add_concepts(db, "fresh")
    for predicate in ("derived_from", "knows"):
        db.add_edge(hub, predicate, fresh)
    for edge in expected[10:20]:
        db.remove_edge(edge.src, edge.predicate, edge.dst)
    seen.extend(edges)
    assert seen == expected
    assert len(list(db.edges_out(hub))) == 45 + 2 - 10


def test_edges_can_be_removed_and_added_while_they_are_iterated(db: mycel.Graph, hub: str) -> None:
    (fresh,) = add_concepts(db, "fresh")
    removed = 0
    for edge in db.edges_out(hub):
        assert db.remove_edge(edge.src, edge.predicate, edge.dst)
        db.add_edge(fresh, edge.predicate, hub)
        removed += 1
    assert removed == 45
    assert list(db.edges_out(hub)) == []
    assert len(list(db.edges_in(hub))) == 45 + 5
    assert_sound(db)


def test_iterations_can_be_nested(db: mycel.Graph, hub: str) -> None:
    pairs = sum(1 for _ in db.edges_out(hub) for _ in db.edges_in(hub))
    assert pairs == 45 * 45


def test_two_iterations_begun_at_different_times_each_see_their_own_moment(
    db: mycel.Graph, hub: str
) -> None:
    old = db.edges_out(hub)
    next(old)
    (fresh,) = add_concepts(db, "fresh")
    db.add_edge(hub, "consents_to", fresh)
    new = db.edges_out(hub)
    next(new)
    for edge in list(db.edges_out(hub))[:5]:
        db.remove_edge(edge.src, edge.predicate, edge.dst)
    assert 1 + len(list(old)) == 45
    assert 1 + len(list(new)) == 46
    assert len(list(db.edges_out(hub))) == 41


def test_an_iteration_can_go_on_in_another_thread(db: mycel.Graph, hub: str) -> None:
    edges = db.edges_out(hub)
    seen = [next(edges)]
    thread = Thread(target=lambda: seen.extend(edges))
    thread.start()
    thread.join()
    assert len(seen) == 45


def test_an_iteration_that_outlives_the_graph_ends_or_says_why(db: mycel.Graph, hub: str) -> None:
    edges = db.edges_out(hub)
    first = next(edges)
    db.close()
    try:
        rest = list(edges)
    except DatabaseClosed:
        return
    assert len([first, *rest]) == 45


def test_writing_while_the_log_is_read_is_possible(db: mycel.Graph, hub: str) -> None:
    (fresh,) = add_concepts(db, "fresh")
    before = len(list(db.history.log()))
    for entry in db.history.log():
        if entry.changes == 1:
            db.write(lambda tx, seq=entry.seq: tx.update(fresh, attributes={"seen": seq}))
    assert len(list(db.history.log())) > before
