"""Nodes by cost: the nodes near a node, and the cheapest path between two nodes.

Both use the search of `graph.traversal`, so a view reaches what `mycel traverse` reaches.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from mycel.explorer import limits, neighbours
from mycel.explorer.moments import Scene
from mycel.graph.traversal import Bounds, Reached
from mycel.knowledge.node_lookup import uri_at
from mycel.model import ids
from mycel.model.directions import Direction
from mycel.model.limits import TRAVERSE_COST_MAX, TRAVERSE_NODES_MAX
from mycel.model.values import JsonObject
from mycel.store.query.filters import visibility_of

COST_DIGITS: Final = 9
"""The decimals of a cost, which is a sum of whole billionths."""


def reach(
    scene: Scene,
    *,
    id_: str,
    max_cost: float,
    max_nodes: int,
    direction: Direction,
    relations: Sequence[str] | None,
    for_time: str | None,
) -> JsonObject:
    """The nodes within a cost, nearest first, with the links among them.

    `via` of a node is the last link on the way to it.
    """
    start = scene.number(id_)
    visibility = visibility_of({"for_time": for_time})
    bounds = Bounds(max_cost, max_nodes, None, direction, relations, visibility)
    traversal = scene.knowledge.db.traverse_in(scene.reader, scene.reader.outer_id(start), bounds)
    answer = _drawn(scene, traversal.nodes)
    answer["cut_off"] = None
    for cut in traversal.cut_off:
        nearest = uri_at(scene.reader, ids.parse_id(cut.nearest))
        cut_off = cut._replace(nearest=nearest, name=nearest)
        answer["cut_off"] = cut_off.to_dict()
    return scene.answer(**answer)


def path(
    scene: Scene,
    *,
    from_: str,
    to: str,
    direction: Direction,
    relations: Sequence[str] | None,
    for_time: str | None,
) -> JsonObject:
    """The cheapest path between two nodes, with all links among the nodes on it.

    Without a path, `found` is False and the nodes are the two ends. `complete` is False if the
    search ended after the nearest `searched` nodes.
    """
    start, goal = scene.number(from_), scene.number(to)
    visibility = visibility_of({"for_time": for_time})
    bounds = Bounds(TRAVERSE_COST_MAX, TRAVERSE_NODES_MAX, None, direction, relations, visibility)
    outer = scene.reader.outer_id
    cheapest_path = scene.knowledge.db.path_in(scene.reader, outer(start), outer(goal), bounds)
    if cheapest_path.nodes:
        answer = _drawn(scene, cheapest_path.nodes)
        answer["cost"] = _cost(cheapest_path.nodes[-1].cost)
    else:
        answer = {"nodes": scene.cards.all((start, goal)), "links": [], "cost": None}
    return scene.answer(
        found=bool(cheapest_path.nodes),
        searched=cheapest_path.searched,
        complete=cheapest_path.is_complete,
        **answer,
    )


def _drawn(scene: Scene, reached: Iterable[Reached]) -> JsonObject:
    """The cards of reached elements, each with its cost, and all links among them."""
    visits = list(reached)
    numbers = [visit.element.number for visit in visits]
    scene.cards.read(numbers)
    cards = dict(zip(numbers, scene.cards.all(numbers), strict=True))
    uris = {visit.element.id: cards[visit.element.number]["id"] for visit in visits}
    nodes = []
    for visit in visits:
        more: JsonObject = {"cost": _cost(visit.cost), "hops": visit.hops, "via": None}
        if visit.path:
            step = visit.path[-1]
            before = visit.path[-2].node if visit.hops > 1 else visits[0].element.id
            ends = [uris[before], uris[step.node]]
            source, target = ends if step.direction == "out" else reversed(ends)
            more["via"] = {
                "source": source,
                "target": target,
                "relation": step.relation,
                "weight": step.weight,
            }
        nodes.append(cards[visit.element.number] | more)
    rows = neighbours.links_among(scene, numbers)
    answer: JsonObject = {"nodes": nodes, "links": scene.cards.links(rows[: limits.LINKS_MAX])}
    return answer | ({"links_cut": True} if len(rows) > limits.LINKS_MAX else {})


def _cost(cost: float) -> float:
    return round(cost, COST_DIGITS)
