"""The links by which a traversal reached its elements, for the counts of use."""

from __future__ import annotations

from collections.abc import Sequence

from mycel.graph.traversal import Reached
from mycel.model.ids import parse_id
from mycel.store.file.use_counts import Followed


def followed_links(start: int, nodes: Sequence[Reached]) -> list[Followed]:
    """The last link of the path to each reached element."""
    links: list[Followed] = []
    numbers: dict[str, int] = {}  # A path leads over elements that were reached before.
    for element, _, _, path in nodes:
        if path:
            step, before = path[-1], start
            end = numbers[step.node] = element.number
            if len(path) > 1:
                node = path[-2].node
                before = numbers[node] if node in numbers else parse_id(node)
            subject, object_ = (before, end) if step.direction == "out" else (end, before)
            links.append((subject, step.relation, object_))
    return links
