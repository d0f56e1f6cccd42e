"""Traversal by cost: order, ties, directions, budgets, paths, and what was cut off."""

from itertools import pairwise
from typing import Any

import pytest

import mycel
from mycel.errors import (
    ConstraintViolation,
    ExecutionTimeout,
    InvalidId,
    InvalidValueType,
    MycelError,
    NotFound,
    TypeMismatch,
)
from mycel.graph.traversal import Traversal
from tests.unit.store.given import FACT, add_concepts, define


def reached(result: Traversal) -> list[tuple[str, float]]:
    return [(each.element.id, each.cost) for each in result.nodes]


def names(result: Traversal) -> list[str]:
    return [each.element.name for each in result.nodes if isinstance(each.element, mycel.Concept)]


def star(db: mycel.Graph, **weights: float) -> str:
    """A hub with a link of each weight to a concept of that name."""
    hub, *others = add_concepts(db, "hub", *weights)
    for other, weight in zip(others, weights.values(), strict=True):
        db.add_edge(hub, "references", other, weight=weight)
    return hub


# ---------------------------------------------------------------------------------------------
# Order


def test_the_start_comes_first_and_costs_nothing(db: mycel.Graph) -> None:
    (alone,) = add_concepts(db, "alone")
    found = db.traverse(alone)
    assert reached(found) == [(alone, 0.0)]
    assert found.nodes[0].path == ()
    assert found.nodes[0].reason == "the start"
    assert found.cut_off == ()


def test_the_nearest_comes_first(db: mycel.Graph) -> None:
    hub = star(db, far=0.9, near=0.1, middle=0.5)
    assert names(db.traverse(hub)) == ["hub", "near", "middle", "far"]


def test_costs_add_up_along_a_way_and_a_detour_may_be_cheaper(db: mycel.Graph) -> None:
    a, b, c = add_concepts(db, "a", "b", "c")
    db.add_edge(a, "references", c, weight=0.9)
    db.add_edge(a, "references", b, weight=0.3)
    db.add_edge(b, "references", c, weight=0.3)
    found = db.traverse(a)
    assert reached(found) == [(a, 0.0), (b, 0.3), (c, 0.6)]
    assert [step.node for step in found.nodes[2].path] == [b, c]
    assert found.nodes[2].hops == 2


def test_decimals_add_up_as_people_expect(db: mycel.Graph) -> None:
    a, b, c = add_concepts(db, "a", "b", "c")
    db.add_edge(a, "references", b, weight=0.1)
    db.add_edge(b, "references", c, weight=0.2)
    assert reached(db.traverse(a, max_cost=0.3)) == [(a, 0.0), (b, 0.1), (c, 0.3)]


def test_what_costs_more_than_the_bound_is_not_reached(db: mycel.Graph) -> None:
    hub = star(db, within=0.5, beyond=0.51)
    assert names(db.traverse(hub, max_cost=0.5)) == ["hub", "within"]


def test_a_closure_of_weight_nothing_comes_with_its_anchor(db: mycel.Graph) -> None:
    made = add_concepts(db, "a", "b", "tied to b", "tied to that", "c")
    for (src, dst), weight in zip(pairwise(made[:4]), (0.4, 0.0, 0.0), strict=True):
        db.add_edge(src, "references", dst, weight=weight)
    db.add_edge(made[0], "references", made[4], weight=0.5)
    found = names(db.traverse(made[0]))
    assert found == ["a", "b", "tied to b", "tied to that", "c"]
    assert names(db.traverse(made[0], max_cost=0)) == ["a"]
    assert names(db.traverse(made[1], max_cost=0)) == ["b", "tied to b", "tied to that"]


def test_of_the_same_cost_fewer_hops_come_first(db: mycel.Graph) -> None:
    a, far, between, near = add_concepts(db, "a", "far", "between", "near")
    db.add_edge(a, "references", between, weight=0.25)
    db.add_edge(between, "references", far, weight=0.25)
    db.add_edge(a, "references", near, weight=0.5)
    assert names(db.traverse(a)) == ["a", "between", "near", "far"]


def test_of_the_same_hops_the_lesser_predicate_comes_first_and_then_the_older(
    db: mycel.Graph,
) -> None:
    define(db, predicates=["first_defined", "second_defined"])
    a, one, two, three = add_concepts(db, "a", "one", "two", "three")
    db.add_edge(a, "second_defined", one)
    db.add_edge(a, "first_defined", three)
    db.add_edge(a, "first_defined", two)
    assert names(db.traverse(a)) == ["a", "two", "three", "one"]


def test_of_parallel_links_the_cheapest_counts(db: mycel.Graph) -> None:
    a, b = add_concepts(db, "a", "b")
    db.add_edge(a, "references", b, weight=0.9)
    db.add_edge(a, "related_to", b, weight=0.2)
    (_, to_b) = db.traverse(a).nodes
    assert (to_b.cost, to_b.path[0].relation, to_b.path[0].weight) == (0.2, "related_to", 0.2)


def test_circles_end(db: mycel.Graph) -> None:
    made = add_concepts(db, "a", "b", "c")
    for src, dst in pairwise([*made, made[0]]):
        db.add_edge(src, "references", dst, weight=0.0)
    assert reached(db.traverse(made[1])) == [(made[1], 0.0), (made[2], 0.0), (made[0], 0.0)]


# ---------------------------------------------------------------------------------------------
# Which links


def test_direction_says_which_way_links_are_gone(db: mycel.Graph) -> None:
    before, here, after = add_concepts(db, "before", "here", "after")
    db.add_edge(before, "references", here, weight=0.4)
    db.add_edge(here, "references", after, weight=0.6)
    assert names(db.traverse(here)) == ["here", "after"]
    assert names(db.traverse(here, direction="in")) == ["here", "before"]
    both = db.traverse(here, direction="both")
    assert names(both) == ["here", "before", "after"]
    assert [each.path[0].direction for each in both.nodes[1:]] == ["in", "out"]
    assert both.nodes[1].reason == "reached back over references (0.4) from here"
    assert both.nodes[2].reason == "reached over references (0.6) from here"


def test_relation_types_say_which_links_are_gone(db: mycel.Graph) -> None:
    a, b, c = add_concepts(db, "a", "b", "c")
    db.add_edge(a, "references", b)
    db.add_edge(a, "part_of", c)
    assert names(db.traverse(a, relation_types=["part_of"])) == ["a", "c"]
    assert names(db.traverse(a, relation_types="references")) == ["a", "b"]
    assert names(db.traverse(a, relation_types=[])) == ["a"]


def test_links_of_a_symmetric_predicate_are_gone_either_way(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        tx.define_predicate("married_to", {"is_symmetric": True})
    a, b = add_concepts(db, "a", "b")
    db.add_edge(a, "married_to", b, weight=0.5)
    for direction in ("out", "in", "both"):
        assert names(db.traverse(b, direction=direction)) == ["b", "a"]  # type: ignore[arg-type]
        assert names(db.traverse(a, direction=direction)) == ["a", "b"]  # type: ignore[arg-type]


def test_a_doubted_link_of_a_symmetric_predicate_is_marked_from_both_ends(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        tx.define_predicate("married_to", {"is_symmetric": True})
    a, b = add_concepts(db, "a", "b")
    link = db.add_edge(a, "married_to", b)
    db.execute('CHALLENGE ?l WITH {by: "ana"} WHERE { ?l (id: :id) }', id=link)
    for start in (a, b):
        for direction in ("out", "in", "both"):
            found = db.traverse(start, direction=direction, doubts=True)  # type: ignore[arg-type]
            assert found.nodes[1].path[0].doubt.startswith("contested")


def test_a_predicate_that_becomes_symmetric_is_noticed(db: mycel.Graph) -> None:
    define(db, predicates=["knows"])
    a, b = add_concepts(db, "a", "b")
    db.add_edge(a, "knows", b)
    assert names(db.traverse(b)) == ["b"]
    with db.transaction() as tx:
        tx.put_concept("$PropositionType", "knows", {"is_symmetric": True})
    assert names(db.traverse(b)) == ["b", "a"]


def test_a_link_is_reached_when_a_link_leads_to_it(db: mycel.Graph) -> None:
    a, b, witness, doubt = add_concepts(db, "a", "b", "witness", "doubt")
    claim = db.add_edge(a, "references", b)
    about = db.add_edge(witness, "corroborates", claim, weight=0.5)
    db.add_edge(claim, "contradicts", doubt, weight=0.25)
    found = db.traverse(witness)
    assert reached(found) == [(witness, 0.0), (claim, 0.5), (doubt, 0.75)]
    assert found.nodes[1].reason == "reached over corroborates (0.5) from witness"
    assert found.nodes[2].reason == f"reached over contradicts (0.25) from {claim}"
    assert reached(db.traverse(claim)) == [(claim, 0.0), (doubt, 0.25)]
    assert reached(db.traverse(doubt, direction="in", max_cost=2))[-1] == (witness, 0.75)
    assert db.get(about).id == about


def test_the_past_is_traversed_as_it_was(db: mycel.Graph) -> None:
    a, b, c = add_concepts(db, "a", "b", "c")
    db.add_edge(a, "references", b, weight=0.5)
    then = db.as_of(db.snapshot().seq)
    db.remove_edge(a, "references", b)
    db.add_edge(a, "references", c, weight=0.1)
    assert reached(then.traverse(a)) == [(a, 0.0), (b, 0.5)]
    assert reached(db.traverse(a)) == [(a, 0.0), (c, 0.1)]
    assert names(then.traverse((FACT, "b"), direction="in")) == ["b", "a"]


# ---------------------------------------------------------------------------------------------
# Budgets


def test_the_budget_of_nodes_is_hard_and_says_what_it_cut_off(db: mycel.Graph) -> None:
    hub = star(db, one=0.1, two=0.2, three=0.3, beyond=1.0)
    found = db.traverse(hub, max_nodes=2, max_cost=0.5)
    assert names(found) == ["hub", "one"]
    (cut,) = found.cut_off
    assert (cut.budget, cut.limit, cut.remaining, cut.more) == ("nodes", 2, 2, False)
    assert (cut.name, cut.cost) == ("two", 0.2)
    assert cut.sentence == (
        "The budget of 2 nodes is used up: 2 elements are left out that lie within max_cost, the"
        f" nearest 'two' ({cut.nearest}) at a cost of 0.2."
    )


def test_nothing_is_cut_off_when_everything_fits_exactly(db: mycel.Graph) -> None:
    hub = star(db, one=0.1, two=0.2)
    assert db.traverse(hub, max_nodes=3).cut_off == ()
    assert db.traverse(hub, max_nodes=3, max_tokens=10_000).cut_off == ()


def test_even_a_closure_of_weight_nothing_ends_at_the_budget(db: mycel.Graph) -> None:
    hub = star(db, one=0.0, two=0.0, three=0.0)
    found = db.traverse(hub, max_nodes=3, max_cost=0)
    assert names(found) == ["hub", "one", "two"]
    assert (found.cut_off[0].remaining, found.cut_off[0].cost) == (1, 0.0)


def test_what_was_cut_off_is_counted_once_and_up_to_a_bound(
    db: mycel.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b, *others = add_concepts(db, "a", "b", *(f"c{n}" for n in range(8)))
    db.add_edge(a, "references", b, weight=0.1)
    for other in others:
        db.add_edge(a, "references", other, weight=0.5)
        db.add_edge(b, "references", other, weight=0.5)
    assert db.traverse(a, max_nodes=2).cut_off[0].remaining == 8
    monkeypatch.setattr("mycel.graph.traversal.LEFT_OUT_COUNTED", 5)
    cut = db.traverse(a, max_nodes=2).cut_off[0]
    assert (cut.remaining, cut.more) == (5, True)
    assert "more than 5 elements are left out" in cut.sentence


def test_the_budget_of_tokens_counts_all_that_is_given(db: mycel.Graph) -> None:
    with db.transaction() as tx:
        tx.define_type(FACT)
        hub = tx.put_concept(FACT, "hub")
        small = tx.put_concept(FACT, "small", {"text": "x" * 100})
        large = tx.put_concept(FACT, "large", {"text": "x" * 10_000})
        for other, weight in ((small, 0.1), (large, 0.2)):
            tx.add_edge(hub, "references", other, weight=weight)
    everything = db.traverse(hub)
    used = [each.tokens for each in everything.nodes]
    assert 25 < used[1] < 40
    assert 2_500 < used[2] < 2_520
    assert len(db.traverse(hub, max_tokens=sum(used)).nodes) == 3
    found = db.traverse(hub, max_tokens=sum(used) - 1)
    assert names(found) == ["hub", "small"]
    (cut,) = found.cut_off
    assert (cut.budget, cut.remaining, cut.name) == ("tokens", 1, "large")
    assert "The budget of" in cut.sentence
    assert "1 element is left out" in cut.sentence


def test_the_start_is_given_whatever_the_budget_of_tokens(db: mycel.Graph) -> None:
    hub = star(db, one=0.1)
    found = db.traverse(hub, max_tokens=1)
    assert names(found) == ["hub"]
    assert found.cut_off[0].budget == "tokens"


def test_a_traversal_ends_at_its_deadline(tmp_path: Any) -> None:
    with mycel.open(tmp_path / "graph.db", timeout_s=-1) as db:
        hub = star(db, one=0.1)
        with pytest.raises(ExecutionTimeout):
            db.traverse(hub)
        with pytest.raises(ExecutionTimeout):
            db.as_of(db.snapshot().seq).traverse(hub)
    with mycel.open(tmp_path / "graph.db") as db:
        assert len(db.traverse(hub).nodes) == 2


def test_a_look_at_the_past_leaves_deadlines_in_force(tmp_path: Any) -> None:
    with mycel.open(tmp_path / "graph.db", timeout_s=-1) as db:
        then = db.as_of(db.snapshot().seq)
        for _ in range(3):
            assert then.get_concept("Person", "$self") is not None
        with pytest.raises(ExecutionTimeout):
            db.execute("FIND(COUNT(?l)) WHERE { ?l (?a, ?p, ?b) ?m (?c, ?q, ?d) }")


# ---------------------------------------------------------------------------------------------
# What is asked, and what comes back


def test_the_start_may_be_an_id_an_element_or_a_type_and_a_name(db: mycel.Graph) -> None:
    hub = star(db, one=0.1)
    expected = db.traverse(hub)
    assert db.traverse((FACT, "hub")) == expected
    assert db.traverse(db.get(hub)) == expected


@pytest.mark.parametrize(
    ("bounds", "error"),
    [
        ({"max_cost": -0.1}, ConstraintViolation),
        ({"max_cost": float("nan")}, ConstraintViolation),
        ({"max_cost": float("inf")}, ConstraintViolation),
        ({"max_cost": "1"}, InvalidValueType),
        ({"max_cost": True}, InvalidValueType),
        ({"max_nodes": 0}, ConstraintViolation),
        ({"max_nodes": 10**9}, ConstraintViolation),
        ({"max_nodes": 1.5}, InvalidValueType),
        ({"max_tokens": 0}, ConstraintViolation),
        ({"max_tokens": "many"}, InvalidValueType),
        ({"direction": "up"}, ConstraintViolation),
        ({"relation_types": ["nonsense"]}, TypeMismatch),
        ({"relation_types": [1]}, TypeMismatch),
        ({"relation_types": 1}, InvalidValueType),
    ],
)
def test_bounds_that_are_none_are_refused(
    db: mycel.Graph, bounds: dict[str, Any], error: type[MycelError]
) -> None:
    hub = star(db, one=0.1)
    with pytest.raises(error) as refused:
        db.traverse(hub, **bounds)
    assert refused.value.message


@pytest.mark.parametrize(
    ("start", "error"),
    [
        ("C:4000", NotFound),
        ("P:4001:references", NotFound),
        ((FACT, "nobody"), NotFound),
        (("Nothing", "hub"), TypeMismatch),
        (("no", "such", "predicate"), TypeMismatch),
        (("four", "are", "too", "many"), InvalidId),
        ("hub", InvalidId),
        (None, InvalidId),
    ],
)
def test_a_start_that_is_not_there_is_refused(
    db: mycel.Graph, start: Any, error: type[MycelError]
) -> None:
    star(db, one=0.1)
    with pytest.raises(error) as refused:
        db.traverse(start)
    assert refused.value.hint


def test_a_result_can_be_told_as_json(db: mycel.Graph) -> None:
    hub = star(db, one=0.1, two=0.2)
    told = db.traverse(hub, max_nodes=2).to_dict()
    one = db.traverse(hub).nodes[1].element
    assert told["nodes"][1] == {
        "node": one.to_dict(),
        "cost": 0.1,
        "hops": 1,
        "path": [
            {
                "relation": "references",
                "weight": 0.1,
                "direction": "out",
                "node": one.id,
                "name": "one",
            }
        ],
        "reason": "reached over references (0.1) from hub",
        "tokens": db.traverse(hub).nodes[1].tokens,
    }
    assert told["cut_off"][0]["budget"] == "nodes"
    assert told["cut_off"][0]["sentence"].startswith("The budget of 2 nodes")
