"""What a traversal reached, in the words of nodes: URIs instead of ids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from mycel.graph import traversal as graph
from mycel.knowledge.node_lookup import as_node, as_relation, element_uri, uri_at
from mycel.knowledge.node_values import Node, Relation
from mycel.model import ids
from mycel.model.elements import Concept
from mycel.model.values import JsonObject
from mycel.store.query.reader import Reader


@dataclass(frozen=True, slots=True)
class Step:
    """One relation of a way: its type and weight, which way it was gone, and where it led."""

    relation: str
    weight: float
    direction: Literal["out", "in"]
    uri: str

    def to_dict(self) -> JsonObject:
        """The value as JSON."""
        return {
            "relation": self.relation,
            "weight": self.weight,
            "direction": self.direction,
            "uri": self.uri,
        }


@dataclass(frozen=True, slots=True)
class Reached:
    """A node, how far it is, on which way, and why it is here."""

    uri: str
    node: Node | Relation
    cost: float
    hops: int
    path: tuple[Step, ...]
    """The way from the start; empty for the start itself."""
    reason: str
    tokens: int

    def to_dict(self) -> JsonObject:
        """The value as JSON."""
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
    """Which budget cut off what."""

    budget: str
    limit: int
    remaining: int
    """How many more nodes are known to be within `max_cost`; beyond them there may be more."""
    more: bool
    nearest: str
    """The URI of the one that would have come next."""
    cost: float

    @property
    def sentence(self) -> str:
        """What a reader should know."""
        count = f"more than {self.remaining}" if self.more else f"{self.remaining}"
        budget = self.budget.removesuffix("s") if self.limit == 1 else self.budget
        return (
            f"The budget of {self.limit} {budget} left out {count} within max_cost; the"
            f" nearest is {self.nearest} at a cost of {self.cost:g}."
        )

    def to_dict(self) -> JsonObject:
        """The value as JSON."""
        return {
            "budget": self.budget,
            "limit": self.limit,
            "remaining": self.remaining,
            "more": self.more,
            "nearest": self.nearest,
            "cost": self.cost,
            "sentence": self.sentence,
        }


@dataclass(frozen=True, slots=True)
class Traversal:
    """What a traversal reached, nearest first, and what its budgets cut off."""

    nodes: tuple[Reached, ...]
    cut_off: tuple[CutOff, ...] = ()
    evicted: tuple[str, ...] = ()
    """What had to leave the active context for it."""

    def to_dict(self) -> JsonObject:
        """The value as JSON."""
        return {
            "nodes": [each.to_dict() for each in self.nodes],
            "cut_off": [each.to_dict() for each in self.cut_off],
            "evicted": list(self.evicted),
        }


def with_uris(reader: Reader, found: graph.Traversal) -> Traversal:
    """A traversal of the graph as one of nodes."""
    # All that a way leads over was reached before: its URI is known.
    uris = {each.element.id: element_uri(each.element) for each in found.nodes}
    return Traversal(
        tuple(_reached(reader, each, uris) for each in found.nodes),
        tuple(
            CutOff(
                each.budget,
                each.limit,
                each.remaining,
                each.more,
                uri_at(reader, ids.parse_id(each.nearest)),
                each.cost,
            )
            for each in found.cut_off
        ),
    )


def _reached(reader: Reader, each: graph.Reached, uris: Mapping[str, str]) -> Reached:
    element = each.element
    return Reached(
        uris[element.id],
        as_node(element) if isinstance(element, Concept) else as_relation(reader, element),
        each.cost,
        each.hops,
        tuple(
            Step(step.relation, step.weight, step.direction, uris[step.node]) for step in each.path
        ),
        each.reason,
        each.tokens,
    )
