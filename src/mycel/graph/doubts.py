"""Doubts about links of a traversal: those that are contested, rejected or insufficient.

Reading the evidence takes half as long as the traversal, so it is read only for links that are
shown.
"""

from __future__ import annotations

from typing import Final

from mycel.graph.traversal import Traversal
from mycel.model.evidence import doubt_of
from mycel.store.query.lookup import metadata_with_evidence
from mycel.store.query.reader import Reader

DOUBTS_MAX: Final = 100
"""The number of reached elements, nearest first, whose last link is checked for doubts."""


def with_doubts(reader: Reader, traversal: Traversal) -> Traversal:
    """A traversal whose steps say which links are contested, rejected or insufficient."""
    numbers = {reached.element.id: reached.element.number for reached in traversal.nodes}
    start = traversal.nodes[0].element.number
    places: dict[tuple[int, int, int], int] = {}
    for reached in traversal.nodes[:DOUBTS_MAX]:
        if not reached.path:
            continue
        *before, step = reached.path
        near, far = numbers[before[-1].node] if before else start, reached.element.number
        if (predicate := reader.find_predicate(step.relation)) is not None:
            subject, object_ = (near, far) if step.direction == "out" else (far, near)
            places[subject, predicate, object_] = far
    judged = metadata_with_evidence(reader, places) if places else {}
    doubts = {places[place]: doubt_of(metadata) for place, metadata in judged.items()}
    if not any(doubts.values()):
        return traversal
    ids = {
        reached.element.id: doubts.get(reached.element.number, "") for reached in traversal.nodes
    }
    nodes = (
        reached._replace(path=tuple(step._replace(doubt=ids[step.node]) for step in reached.path))
        for reached in traversal.nodes
    )
    return traversal._replace(nodes=tuple(nodes))
