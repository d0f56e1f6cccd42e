"""Results of a traversal in terms of nodes: URIs instead of ids."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from mycel.graph import traversal as graph
from mycel.knowledge.node_caveats import with_caveats
from mycel.knowledge.node_conflicts import with_conflicts
from mycel.knowledge.node_lookup import as_node, as_relation, element_uri, uri_at
from mycel.knowledge.node_values import Node, Relation
from mycel.model import ids
from mycel.model.directions import Way
from mycel.model.elements import Concept
from mycel.model.values import JsonObject
from mycel.store.query.reader import Reader


@dataclass(frozen=True, slots=True)
class RelationStep:
    """One relation of a path: its type, weight and direction, and the URI that it leads to."""

    relation: str
    weight: float
    direction: Way
    uri: str

    def to_dict(self) -> JsonObject:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class ReachedNode:
    """A reached node, with the cost and the path from the start."""

    uri: str
    node: Node | Relation
    cost: float
    hops: int
    path: tuple[RelationStep, ...]
    """Empty for the start itself."""
    reason: str
    tokens: int
    score: float | None = None
    """The fit to a question; None if it was reached from another node."""

    def to_dict(self) -> JsonObject:
        scored: JsonObject = {} if self.score is None else {"score": round(self.score, 4)}
        return scored | {
            "node": self.node.to_dict(),
            "cost": self.cost,
            "hops": self.hops,
            "path": [step.to_dict() for step in self.path],
            "reason": self.reason,
            "tokens": self.tokens,
        }


@dataclass(frozen=True, slots=True)
class NodeTraversal:
    """The reached nodes, nearest first, and what the budgets cut off."""

    nodes: tuple[ReachedNode, ...]
    cut_off: tuple[graph.CutOff, ...] = ()
    """Each with the URI of the nearest node left out."""
    evicted: tuple[str, ...] = ()
    """URIs evicted from the active context to make room."""
    hint: str | None = None
    """A sentence with the URI of the start if it was asked for by another name."""

    def to_dict(self) -> JsonObject:
        return {
            "nodes": [node.to_dict() for node in self.nodes],
            "cut_off": [cut_off.to_dict() for cut_off in self.cut_off],
            "evicted": list(self.evicted),
        } | ({} if self.hint is None else {"hint": self.hint})


def with_uris(reader: Reader, found: graph.Traversal) -> NodeTraversal:
    """A traversal of the graph as one of nodes."""
    # Every element on a path was reached before.
    uris = {node.element.id: element_uri(node.element) for node in found.nodes}
    shown = [
        as_node(node.element)
        if isinstance(node.element, Concept)
        else as_relation(reader, node.element)
        for node in found.nodes
    ]
    nodes = []
    marked = with_caveats(reader, with_conflicts(reader, shown))
    for each, node in zip(found.nodes, marked, strict=True):
        path = tuple(
            RelationStep(s.relation, s.weight, s.direction, uris[s.node]) for s in each.path
        )
        uri = uris[each.element.id]
        nodes.append(ReachedNode(uri, node, each.cost, each.hops, path, each.reason, each.tokens))
    nearest = [uri_at(reader, ids.parse_id(cut.nearest)) for cut in found.cut_off]
    cut_off = [
        cut._replace(nearest=uri, name=uri) for cut, uri in zip(found.cut_off, nearest, strict=True)
    ]
    return NodeTraversal(tuple(nodes), tuple(cut_off))
