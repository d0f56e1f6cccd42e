"""Turns results of a traversal into nodes: URIs instead of ids."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass
from typing import Final

from mycel.graph import traversal as graph
from mycel.graph.doubts import with_doubts
from mycel.knowledge.node_lookup import as_node, as_relation, element_uri, uri_at
from mycel.knowledge.node_values import DistantNode, Node, Relation
from mycel.knowledge.stale_notes import with_marks
from mycel.knowledge.uris import parse
from mycel.model import ids
from mycel.model.directions import Way
from mycel.model.elements import Concept
from mycel.model.values import JsonObject
from mycel.search.notes_about import ABOUT
from mycel.store.query import lookup
from mycel.store.query.bulk import prefixes
from mycel.store.query.reader import Reader

SYMBOL: Final = "Symbol"
INSIDE_MAX: Final = 1_000
"""The maximum number of members of a class for which notes are looked up."""
NOTES_INSIDE_MAX: Final = 10
"""The maximum number of notes that are shown about symbols and sections inside a node."""


@dataclass(frozen=True, slots=True)
class RelationStep:
    """One relation of a path: its type, weight and direction, and the URI at its other end."""

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
    """The relations from the start; empty for the start itself."""
    reason: str
    tokens: int
    score: float | None = None
    """The score of a node that fits a question; None if it was reached from another node."""

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
    """The reached nodes, nearest first, and the nodes that the budgets cut off."""

    nodes: tuple[ReachedNode, ...]
    cut_off: tuple[graph.CutOff, ...] = ()
    """The budgets that were exhausted, each with the URI of the nearest node left out."""
    evicted: tuple[str, ...] = ()
    """URIs that the active context evicted to make room."""
    notes_inside: tuple[tuple[Node, str], ...] = ()
    """Notes about symbols or members inside the start, each with the URI of its subject."""
    hint: str | None = None
    """A sentence with the URI of the start, if the caller named it in another way."""
    distant: tuple[DistantNode, ...] = ()
    """Nodes of other workspaces that links from here lead to."""

    def to_dict(self) -> JsonObject:
        return {
            "nodes": [node.to_dict() for node in self.nodes],
            "cut_off": [cut_off.to_dict() for cut_off in self.cut_off],
            "evicted": list(self.evicted),
            **({} if self.hint is None else {"hint": self.hint}),
            **({"distant": [node.to_dict() for node in self.distant]} if self.distant else {}),
        }


def find_notes_inside(
    reader: Reader, start: Concept, without: Collection[str]
) -> tuple[tuple[Node, str], ...]:
    """Notes about symbols and sections of a file, or about members of a class.

    The notes in `without` are left out.
    """
    about = reader.find_predicate(ABOUT)
    if about is None:
        return ()
    if start.name.startswith("file://"):
        path = start.name.replace("file://", "concept://", 1)
        inside = [number for _, number in prefixes.numbers_below(reader, [path])]
    elif start.type == SYMBOL:
        inside = lookup.named_from(reader, f"{start.name}.", INSIDE_MAX)
    else:
        return ()
    links = prefixes.links_at(reader, "object", inside, [about])
    elements = reader.elements({end for link in links for end in (link.subject, link.object)})
    notes: dict[str, tuple[Node, str]] = {}
    for link in links:
        note, target = elements.get(link.subject), elements.get(link.object)
        if isinstance(note, Concept) and target is not None:
            uri = element_uri(note)
            if uri not in without:
                notes.setdefault(uri, (as_node(note), element_uri(target)))
    few = list(notes.values())[:NOTES_INSIDE_MAX]
    marked = with_marks(reader, [node for node, _ in few])
    return tuple((node, target) for node, (_, target) in zip(marked, few, strict=True))


def with_uris(
    reader: Reader, traversal: graph.Traversal, time_us: int | None = None
) -> NodeTraversal:
    """A traversal of the graph with URIs; caveats are those of a time, or of now."""
    traversal = with_doubts(reader, traversal)
    # Every element on a path was reached earlier.
    uris = {node.element.id: element_uri(node.element) for node in traversal.nodes}
    elements = [
        as_node(node.element)
        if isinstance(node.element, Concept)
        else as_relation(reader, node.element)
        for node in traversal.nodes
    ]
    nodes = []
    marked = with_marks(reader, elements, time_us)
    for reached, node in zip(traversal.nodes, marked, strict=True):
        path = tuple(
            RelationStep(s.relation, s.weight, s.direction, uris[s.node]) for s in reached.path
        )
        uri = uris[reached.element.id]
        nodes.append(
            ReachedNode(uri, node, reached.cost, reached.hops, path, reached.reason, reached.tokens)
        )
    nearest = [uri_at(reader, ids.parse_id(cut.nearest)) for cut in traversal.cut_off]
    cut_off = [
        cut._replace(nearest=uri, name=uri)
        for cut, uri in zip(traversal.cut_off, nearest, strict=True)
    ]
    return NodeTraversal(tuple(nodes), tuple(cut_off))


def distant_starts(nodes: Iterable[ReachedNode], workspace: str) -> dict[str, float]:
    """The placeholders of concepts of other workspaces that were reached, with their costs."""
    return {
        node.uri: node.cost
        for node in nodes
        if isinstance(node.node, Node)
        and node.node.node_type == "missing"
        and node.uri.startswith("concept://")
        and parse(node.uri, workspace).workspace != workspace
    }
