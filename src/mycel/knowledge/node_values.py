"""What the knowledge engine takes and gives: nodes, relations, and what became of a write.

All are plain values. `to_dict` is their form in JSON, the same at every door.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Generic, Literal, TypeVar, overload

from mycel.errors import MycelError
from mycel.model.values import JsonObject

NodeType = Literal["concept", "resource", "missing"]
Direction = Literal["out", "in", "both"]
"""Which relations of a node: those that leave it, those that reach it, or all."""


class _Value:
    """The JSON form of a value: times as ISO 8601 in UTC, and nothing that is None or empty."""

    __slots__ = ()

    def to_dict(self) -> JsonObject:
        """The value as JSON; what is None or empty is left out."""
        return _plain(asdict(self))  # type: ignore[call-overload]


def _plain(fields: Mapping[str, Any]) -> JsonObject:
    return {
        key: value.isoformat() if isinstance(value, datetime) else value
        for key, value in fields.items()
        if value is not None and value not in ((), {})
    }


# What is read.


@dataclass(frozen=True, slots=True)
class Node(_Value):
    """A concept or resource."""

    uri: str
    id: str
    type: str
    node_type: NodeType
    """"concept" or "resource", as in the view `nodes`; "missing" if only links know of it."""
    name: str | None
    """What people call it; None for a resource."""
    content: str | None
    properties: JsonObject
    metadata: JsonObject
    created_at: datetime
    updated_at: datetime
    version: int


@dataclass(frozen=True, slots=True)
class Relation(_Value):
    """A directed, weighted link between two nodes."""

    id: str
    source: str
    relation: str
    target: str
    weight: float
    properties: JsonObject
    metadata: JsonObject
    created_at: datetime
    updated_at: datetime
    version: int
    missing: tuple[str, ...] = ()
    """Those of its ends that nobody has written yet."""


Item_co = TypeVar("Item_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Page(Sequence[Item_co], Generic[Item_co]):
    """Some of the answers, in order. Pass `next_cursor` back to get those that follow."""

    items: tuple[Item_co, ...]
    next_cursor: str | None = None

    def __iter__(self) -> Iterator[Item_co]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, index: int) -> Item_co: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Item_co]: ...
    def __getitem__(self, index: int | slice) -> Item_co | Sequence[Item_co]:
        return self.items[index]

    def to_dict(self) -> JsonObject:
        """The value as JSON; `next_cursor` only if there is more."""
        shown = [each.to_dict() if isinstance(each, _Value) else each for each in self.items]
        more = {} if self.next_cursor is None else {"next_cursor": self.next_cursor}
        return {"items": shown} | more


@dataclass(frozen=True, slots=True)
class Hit(_Value):
    """A node or relation that fits a search, and how well: between 0 and 1."""

    uri: str
    score: float
    found: Node | Relation

    def to_dict(self) -> JsonObject:
        """The value as JSON."""
        return {"uri": self.uri, "score": round(self.score, 4), "found": self.found.to_dict()}


@dataclass(frozen=True, slots=True)
class ResourceContent(_Value):
    """What a file of the workspace holds: text, or base64 if it is no text in UTF-8."""

    uri: str
    path: str
    mime_type: str
    size_bytes: int
    text: str | None = None
    base64: str | None = None


# What is written.


@dataclass(frozen=True, slots=True)
class NewNode:
    """A node to write; `Knowledge.remember` takes many."""

    uri: str
    name: str | None = None
    content: str | None = None
    type: str | None = None
    properties: Mapping[str, Any] | None = None
    metadata: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class NewRelation:
    """A relation to write; one whose `weight` is None keeps the one it has, or gets 1."""

    source: str
    relation: str
    target: str
    weight: float | None = None
    properties: Mapping[str, Any] | None = None
    metadata: Mapping[str, Any] | None = None


# What became of it.


@dataclass(frozen=True, slots=True)
class Written(_Value):
    """What became of a node."""

    uri: str
    id: str
    created: bool = False
    changed: bool = False
    """Whether the graph is another one now; always so if it was created."""
    version: int | None = 1
    """None where a subtree moved whose root is no node; then there is no `id` either."""
    moved: int = 0
    """How many nodes have another URI now."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Linked(_Value):
    """What became of a relation."""

    id: str
    source: str
    relation: str
    target: str
    created: bool = False
    changed: bool = False
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Removed(_Value):
    """How much a removal took with it."""

    concepts: int
    """Nodes, resources among them; placeholders do not count."""
    relations: int
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome(Generic[Item_co]):
    """What became of one URI among several: a result, or the error that it alone met."""

    uri: str
    """As the caller wrote it."""
    result: Item_co | None = None
    error: MycelError | None = None

    def to_dict(self) -> JsonObject:
        """The value as JSON: with a result, or with an error."""
        if self.error is not None:
            return {"uri": self.uri, "error": self.error.to_dict()}
        result = self.result.to_dict() if isinstance(self.result, _Value) else self.result
        return {"uri": self.uri, "result": result}


@dataclass(frozen=True, slots=True)
class Remembered(_Value):
    """What became of nodes and relations that were written together, in their order."""

    nodes: tuple[Written, ...] = ()
    relations: tuple[Linked, ...] = ()
    warnings: tuple[str, ...] = field(default=())

    @property
    def created(self) -> int:
        """How many nodes and relations are new."""
        return sum(each.created for each in self.nodes) + sum(
            each.created for each in self.relations
        )

    @property
    def changed(self) -> int:
        """How many nodes and relations are new or others than before."""
        return sum(each.changed for each in self.nodes) + sum(
            each.changed for each in self.relations
        )

    def to_dict(self) -> JsonObject:
        """The value as JSON."""
        return _plain(
            {
                "nodes": [each.to_dict() for each in self.nodes],
                "relations": [each.to_dict() for each in self.relations],
                "warnings": self.warnings,
            }
        )
