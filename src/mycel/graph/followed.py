"""The links by which a traversal reached its elements, for the counts of use."""

from __future__ import annotations

from collections.abc import Sequence

from mycel.graph.traversal import Reached
from mycel.store.file.use_counts import Followed


def followed_links(start: int, nodes: Sequence[Reached]) -> set[Followed]:
    """The last link of the path to each reached element."""
    numbers = {node.element.id: node.element.number for node in nodes}
    links = set[Followed]()
    for node in nodes:
        if node.path:
            *before, step = node.path
            ends = (numbers[before[-1].node] if before else start, node.element.number)
            subject, object_ = ends if step.direction == "out" else ends[::-1]
            links.add((subject, step.relation, object_))
    return links
