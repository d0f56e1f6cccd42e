"""Traversals of random weighted graphs against algorithms that are too plain to be wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

import mycel
from mycel.graph.adjacency import Adjacency
from mycel.graph.traversal import Bounds, Traversal, traverse
from tests.prepared import NEW
from tests.reference import ReferenceNexus

NODES = 9
PREDICATES = ("p", "q", "mutual")
"""In the order of their numbers; the last is symmetric."""

# Few different weights, so that there are ties, and one with all the places that a weight has.
weights = st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 0.33333334])
ends = st.integers(0, NODES - 1)


class Edge(NamedTuple):
    src: int
    predicate: str
    dst: int
    weight: float


edges = st.lists(
    st.builds(Edge, ends, st.sampled_from(PREDICATES), ends, weights).filter(
        lambda edge: edge.src != edge.dst
    ),
    max_size=30,
    unique_by=lambda edge: edge[:3],
)
routes = st.tuples(
    st.sampled_from(["out", "in", "both"]),
    st.none() | st.sets(st.sampled_from(PREDICATES)).map(lambda names: tuple(sorted(names))),
)


@contextmanager
def graph(found: list[Edge]) -> Iterator[tuple[mycel.Graph, list[str]]]:
    with mycel.open(core_capsules=False) as db:
        with db.transaction() as tx:
            tx.define_type("Node")
            for name in PREDICATES:
                tx.define_predicate(name, {"is_symmetric": name == "mutual"})
            made = [tx.put_concept("Node", f"n{at}") for at in range(NODES)]
            for src, predicate, dst, weight in found:
                tx.put_proposition(made[src], predicate, made[dst], weight=weight)
        yield db, made


def steps(
    found: list[Edge], direction: str, relation_types: tuple[str, ...] | None
) -> list[tuple[int, int, int, int]]:
    """Every step that may be taken: from, to, the predicate's place, and its cost in billionths."""
    taken = []
    for src, predicate, dst, weight in found:
        if relation_types is not None and predicate not in relation_types:
            continue
        cost, number = round(weight * 10**9), PREDICATES.index(predicate)
        if direction in ("out", "both") or predicate == "mutual":
            taken.append((src, dst, number, cost))
        if direction in ("in", "both") or predicate == "mutual":
            taken.append((dst, src, number, cost))
    return taken


def bellman_ford(
    taken: list[tuple[int, int, int, int]], start: int
) -> dict[int, tuple[int, int, int]]:
    """The least (cost, hops, last predicate) of each node, by trying every step until none helps.

    The last predicate is that of the last step of a least way by cost and hops.
    """
    best = {start: (0, 0, -1)}
    for _ in range(NODES + 1):
        for src, dst, number, cost in taken:
            if src in best:
                total, hops, _ = best[src]
                way = (total + cost, hops + 1, number)
                if dst != start and way < best.get(dst, (1 << 60, 0, 0)):
                    best[dst] = way
    return best


def expected(
    found: list[Edge],
    start: int,
    max_cost: float,
    route: tuple[str, tuple[str, ...] | None],
) -> list[tuple[int, float, int]]:
    best = bellman_ford(steps(found, *route), start)
    within = sorted((way, node) for node, way in best.items() if way[0] <= round(max_cost * 10**9))
    return [(node, way[0] / 10**9, way[1]) for way, node in within]


def told(result: Traversal, made: list[str]) -> list[tuple[int, float, int]]:
    return [(made.index(each.element.id), each.cost, each.hops) for each in result.nodes]


@given(edges, ends, st.sampled_from([0.0, 0.3, 0.6, 1.0, 2.5]), routes)
def test_the_order_is_that_of_plain_shortest_ways(
    found: list[Edge], start: int, max_cost: float, route: tuple[Any, Any]
) -> None:
    direction, relation_types = route
    with graph(found) as (db, made):
        bounds: dict[str, Any] = {
            "max_cost": max_cost,
            "direction": direction,
            "relation_types": relation_types,
        }
        result = db.traverse(made[start], **bounds)
        assert told(result, made) == expected(found, start, max_cost, route)
        assert result.cut_off == ()
        assert db.traverse(made[start], **bounds) == result
        assert db.as_of(db.snapshot().seq).traverse(made[start], **bounds) == result


@given(edges, ends, routes, st.integers(1, NODES))
def test_arrays_and_tables_say_the_same_whatever_changes(
    found: list[Edge], start: int, route: tuple[Any, Any], nodes: int
) -> None:
    direction, relation_types = route
    bounds = Bounds(1.0, nodes, None, direction, relation_types)
    half = len(found) // 2
    with graph(found[:half]) as (db, made):
        adjacency = Adjacency(db._store)
        adjacency.rent_min = 0
        number = db.get(made[start]).number
        for src, predicate, dst, weight in found[half:]:
            _both(db, adjacency, number, bounds)
            db.add_edge(made[src], predicate, made[dst], weight=weight)
        for src, predicate, dst, _ in found[::3]:
            db.remove_edge(made[src], predicate, made[dst])
            _both(db, adjacency, number, bounds)


def _both(db: mycel.Graph, adjacency: Adjacency, number: int, bounds: Bounds) -> None:
    with db._store.reading() as reader:
        plain = traverse(reader, number, bounds)
        for _ in range(3):  # In the course of which arrays may be made.
            assert traverse(reader, number, bounds, adjacency) == plain
            adjacency.wait()


@given(edges, ends, routes, st.integers(1, NODES), st.integers(1, 120))
def test_a_budget_gives_the_beginning_of_what_there_is(
    found: list[Edge], start: int, route: tuple[Any, Any], nodes: int, tokens: int
) -> None:
    direction, relation_types = route
    with graph(found) as (db, made):
        way: dict[str, Any] = {"direction": direction, "relation_types": relation_types}
        whole = db.traverse(made[start], **way).nodes
        few = db.traverse(made[start], max_nodes=nodes, **way)
        assert few.nodes == whole[:nodes]
        _check_cut_off(few, whole)
        light = db.traverse(made[start], max_tokens=tokens, **way)
        assert light.nodes == whole[: len(light.nodes)]
        used = sum(each.tokens for each in light.nodes)
        assert used <= tokens or len(light.nodes) == 1
        if len(light.nodes) < len(whole):
            assert used + whole[len(light.nodes)].tokens > tokens
        _check_cut_off(light, whole)


def _check_cut_off(result: Traversal, whole: tuple[Any, ...]) -> None:
    left = whole[len(result.nodes) :]
    assert bool(result.cut_off) == bool(left)
    if left:
        (cut,) = result.cut_off
        assert (cut.nearest, cut.cost) == (left[0].element.id, left[0].cost)
        assert 1 <= cut.remaining <= len(left)


@given(edges, ends, routes)
def test_every_path_leads_from_the_start_to_its_node_at_its_cost(
    found: list[Edge], start: int, route: tuple[Any, Any]
) -> None:
    direction, relation_types = route
    there = {edge[:3]: edge.weight for edge in found}
    with graph(found) as (db, made):
        result = db.traverse(made[start], direction=direction, relation_types=relation_types)
        for reached in result.nodes:
            here, cost = start, 0
            for step in reached.path:
                to = made.index(step.node)
                ends_ = (here, to) if step.direction == "out" else (to, here)
                weight = there[(ends_[0], step.relation, ends_[1])]
                assert abs(weight - step.weight) < 1e-7
                here, cost = to, cost + round(step.weight * 10**9)
            assert made[here] == reached.element.id
            assert cost == round(reached.cost * 10**9)
            assert reached.hops == len(reached.path)


@settings(max_examples=settings.default.max_examples // 2)
@given(
    edges,
    ends,
    routes,
    st.integers(0, 4),
    st.integers(1, NODES),
)
def test_the_language_says_what_the_reference_says(
    found: list[Edge], start: int, route: tuple[Any, Any], max_cost: int, limit: int
) -> None:
    direction, relation_types = route
    capsule = _capsule(found)
    along = "".join(f' | "{name}"' for name in relation_types or ())[3:]
    command = (
        f'TRAVERSE FROM {{type: "Node", name: "n{start}"}} {f"ALONG {along}" if along else ""}'
        f' DIRECTION "{direction}" MAX_COST {max_cost} LIMIT {limit}'
    )
    reference = ReferenceNexus()
    reference.execute(capsule)
    with NEW.opened() as db:
        db.execute(capsule)
        ours, theirs = db.execute(command).to_dict(), reference.answer(command)
    assert len(ours.get("warnings", ())) == len(theirs.get("warnings", ()))
    assert [_plain(each) for each in ours["result"]] == [_plain(each) for each in theirs["result"]]


def _plain(answer: dict[str, Any]) -> Any:
    """An answer without the ids and times that two engines need not agree on."""
    path = [{key: step[key] for key in step if key != "node"} for step in answer["path"]]
    node = {key: answer["node"][key] for key in ("_type", "type", "name", "attributes")}
    return node, answer["cost"], answer["hops"], path, answer["reason"]


def _capsule(found: list[Edge]) -> str:
    blocks = ['CONCEPT { {type: "$ConceptType", name: "Node"} }']
    for name in PREDICATES:
        symmetric = "true" if name == "mutual" else "false"
        blocks.append(
            f'CONCEPT {{ {{type: "$PropositionType", name: "{name}"}}'
            f" SET ATTRIBUTES {{ is_symmetric: {symmetric} }} }}"
        )
    blocks += [f'CONCEPT ?n{at} {{ {{type: "Node", name: "n{at}"}} }}' for at in range(NODES)]
    blocks += [
        f'PROPOSITION {{ (?n{src}, "{predicate}", ?n{dst}) }}' for src, predicate, dst, _ in found
    ]
    return "UPSERT { " + " ".join(blocks) + " }"
