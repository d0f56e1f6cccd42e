"""Results of a traversal in terms of nodes: URIs instead of ids."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

from mycel.graph import traversal as graph
from mycel.knowledge.node_conflicts import with_conflicts
from mycel.knowledge.node_lookup import as_node, as_relation, element_uri, uri_at
from mycel.knowledge.node_values import Node, Relation
from mycel.model import ids
from mycel.model.elements import Concept
from mycel.model.values import JsonObject
from mycel.store.query.reader import Reader


@dataclass(frozen=True, slots=True)
class Step:
    """One relation of a path: its type, weight and direction, and the URI that it leads to."""

    relation: str
    weight: float
    direction: Literal["out", "in"]
    uri: str

    def to_dict(self) -> JsonObject:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Reached:
    """A reached node, with the cost and the path from the start."""

    uri: str
    node: Node | Relation
    cost: float
    hops: int
    path: tuple[Step, ...]
    """Empty for the start itself."""
    reason: str
    tokens: int

    def to_dict(self) -> JsonObject:
        return {
            "node": self.node.to_dict(),
            "cost": self.cost,
            "hops": self.hops,
            "path": [step.to_dict() for step in self.path],
            "reason": self.reason,
            "tokens": self.tokens,
        }


@dataclass(frozen=True, slots=True)
class CutOff:
    """A budget that was used up, and the nodes it left out."""

    budget: str
    limit: int
    remaining: int
    """The number of nodes left out that are known to be within `max_cost`."""
    more: bool
    """True if there are more than were counted."""
    nearest: str
    """The URI of the nearest node left out."""
    cost: float

    @property
    def sentence(self) -> str:
        """The cut in words."""
        count = f"more than {self.remaining}" if self.more else f"{self.remaining}"
        budget = self.budget.removesuffix("s") if self.limit == 1 else self.budget
        return (
            f"The budget of {self.limit} {budget} left out {count} within max_cost; the"
            f" nearest is {self.nearest} at a cost of {self.cost:g}."
        )

    def to_dict(self) -> JsonObject:
        return asdict(self) | {"sentence": self.sentence}


@dataclass(frozen=True, slots=True)
class Traversal:
    """The reached nodes, nearest first, and what the budgets cut off."""

    nodes: tuple[Reached, ...]
    cut_off: tuple[CutOff, ...] = ()
    evicted: tuple[str, ...] = ()
    """URIs evicted from the active context to make room."""

    def to_dict(self) -> JsonObject:
        return {
            "nodes": [each.to_dict() for each in self.nodes],
            "cut_off": [each.to_dict() for each in self.cut_off],
            "evicted": list(self.evicted),
        }


def with_uris(reader: Reader, found: graph.Traversal) -> Traversal:
    """A traversal of the graph as one of nodes."""
    # Every element on a path was reached before.
    uris = {each.element.id: element_uri(each.element) for each in found.nodes}
    shown = [
        as_node(each.element)
        if isinstance(each.element, Concept)
        else as_relation(reader, each.element)
        for each in found.nodes
    ]
    nodes = []
    for each, node in zip(found.nodes, with_conflicts(reader, shown), strict=True):
        path = tuple(Step(s.relation, s.weight, s.direction, uris[s.node]) for s in each.path)
        uri = uris[each.element.id]
        nodes.append(Reached(uri, node, each.cost, each.hops, path, each.reason, each.tokens))
    cut_off = (
        CutOff(
            c.budget, c.limit, c.remaining, c.more, uri_at(reader, ids.parse_id(c.nearest)), c.cost
        )
        for c in found.cut_off
    )
    return Traversal(tuple(nodes), tuple(cut_off))
