"""The neighbours of a node, and the links among shown nodes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from heapq import nsmallest
from typing import Any

from mycel.explorer import limits
from mycel.explorer.moments import Scene
from mycel.model import times
from mycel.model.directions import Direction
from mycel.model.values import JsonObject
from mycel.store.query import neighbours, outline
from mycel.store.query.neighbours import WeightedLink


def near(
    scene: Scene,
    *,
    id_: str,
    limit: int,
    known: Sequence[str],
    types: Sequence[str] | None,
    relations: Sequence[str] | None,
    direction: Direction,
    for_time: str | None,
) -> JsonObject:
    """Neighbours of a node that the caller does not know yet, the most linked first.

    With `for_time`, only neighbours that hold at that time. Of neighbours with equally many links,
    the one with the cheapest link comes first. The links in the answer are those among the node,
    the new neighbours and the nodes that the caller knows.
    """
    center = scene.number(id_)
    known_numbers = set(scene.find_all(known).values())
    reader = scene.reader
    surroundings = neighbours.neighbours(
        reader,
        center,
        direction,
        predicates=None if relations is None else [reader.predicate_number(r) for r in relations],
        types=None if types is None else [reader.type_number(t) for t in types],
    )
    new_neighbours = [
        neighbour
        for neighbour in surroundings
        if neighbour.number not in known_numbers and neighbour.number != center
    ]
    if for_time is not None:
        holding = outline.holding(
            reader, {n.number for n in new_neighbours}, times.from_text(for_time)
        )
        new_neighbours = [neighbour for neighbour in new_neighbours if neighbour.number in holding]
    linked = scene.cards.degrees([neighbour.number for neighbour in new_neighbours])
    best = nsmallest(
        limit, new_neighbours, key=lambda n: (-linked.get(n.number, 0), n.weight, n.number)
    )
    new = [neighbour.number for neighbour in best]
    rows = _links(scene, [*new, center], known_numbers | {*new, center})
    cut = _cut(rows)
    answer: dict[str, Any] = {
        "center": scene.cards.get(center),
        "nodes": scene.cards.all(new),
        "links": scene.cards.links(rows[: limits.LINKS_MAX]),
        "total": len(surroundings),
        "left": len(new_neighbours) - len(new),
    }
    return scene.answer(**answer | cut)


def among(scene: Scene, ids: Sequence[str]) -> JsonObject:
    """The nodes shown by the caller that still exist, and all links among them."""
    by_id = scene.find_all(ids)
    missing = [element_id for element_id in dict.fromkeys(ids) if element_id not in by_id]
    numbers: dict[int, str] = {}
    for id_, number in by_id.items():
        numbers.setdefault(number, id_)
    cards = scene.cards.all(numbers)
    moved = {
        id_: card["id"]
        for id_, card in zip(numbers.values(), cards, strict=True)
        if card["id"] not in (id_, f"kip:{id_}")
    }
    rows = links_among(scene, numbers)
    links = scene.cards.links(rows[: limits.LINKS_MAX])
    return scene.answer(nodes=cards, links=links, gone=missing, moved=moved, **_cut(rows))


def not_holding(scene: Scene, *, ids: Sequence[str], time: str) -> JsonObject:
    """The nodes, and the links among them, that do not hold at a time."""
    places = scene.find_all(ids)
    rows = links_among(scene, places.values())
    numbers = {*places.values(), *(row.number for row in rows)}
    holding = outline.holding(scene.reader, numbers, times.from_text(time))
    scene.cards.read(places.values())
    links = scene.cards.links(row for row in rows[: limits.LINKS_MAX] if row.number not in holding)
    nodes = [id_ for id_, number in places.items() if number not in holding]
    return scene.answer(nodes=nodes, links=links)


def links_among(scene: Scene, numbers: Collection[int]) -> list[WeightedLink]:
    """Links among some elements; one more than the limit if there are too many."""
    return _links(scene, numbers, numbers)


def _links(scene: Scene, some: Collection[int], others: Collection[int]) -> list[WeightedLink]:
    return neighbours.links_between(scene.reader, some, others, limits.LINKS_MAX + 1)


def _cut(rows: Sequence[WeightedLink]) -> JsonObject:
    return {"links_cut": True} if len(rows) > limits.LINKS_MAX else {}
