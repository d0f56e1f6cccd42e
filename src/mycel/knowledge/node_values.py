"""Values of the knowledge engine: nodes, relations, and results of writes.

`to_dict` is their form in JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, Generic, Literal, TypeVar, overload

from mycel.errors import MycelError
from mycel.model.values import JsonObject, with_times_as_text

NodeType = Literal["concept", "resource", "missing"]
"""The directions of relations: outgoing ones of a node, incoming ones, or both."""


class _Value:
    """A value with a JSON form: times as ISO 8601 in UTC, without None and empty values."""

    __slots__ = ()

    def to_dict(self) -> JsonObject:
        """The value as JSON, without None and empty values."""
        return _plain(asdict(self))  # type: ignore[call-overload]


def _plain(fields: Mapping[str, Any]) -> JsonObject:
    return {
        key: value.isoformat() if isinstance(value, datetime) else value
        for key, value in fields.items()
        if value is not None and value not in ((), {})
    }


# Results of reads.


@dataclass(frozen=True, slots=True)
class Child(_Value):
    """A part of a path, directly below another."""

    path: str
    uri: str
    type: str | None
    """The type of the node; None for a part that is no node, with nodes below it."""
    name: str | None
    """The readable name, if it differs from the path."""
    below: int
    """The number of nodes below this part."""


@dataclass(frozen=True, slots=True)
class Node(_Value):
    """A concept or resource."""

    uri: str
    id: str
    type: str
    node_type: NodeType
    """"concept" or "resource", as in the view `nodes`; "missing" for a placeholder."""
    name: str | None
    """The readable name; None for a resource."""
    content: str | None
    properties: JsonObject
    metadata: JsonObject
    created_at: datetime
    updated_at: datetime
    version: int
    conflicts: tuple[JsonObject, ...] = ()
    """Open conflicts of merges at this node, in the form of `Conflict.to_dict`."""
    changed_since: tuple[str, ...] = ()
    """Files, symbols and sections that the note cites and that have changed since it was
    written."""
    hint: str | None = None
    """A sentence with the URI, if the caller used another name: a former URI, an alias."""
    caveats: tuple[str, ...] = ()
    """Reasons for care: superseded, expired, of low confidence, or the source of the node."""


@dataclass(frozen=True, slots=True)
class Relation(_Value):
    """A directed, weighted relation between two nodes."""

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
    """The ends of the relation that do not exist yet."""
    conflicts: tuple[JsonObject, ...] = ()
    """Open conflicts of merges at this relation."""
    caveats: tuple[str, ...] = ()
    """Reasons for care: expired, of low confidence, or the source of the relation."""


Item_co = TypeVar("Item_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Page(Sequence[Item_co], Generic[Item_co]):
    """A part of the results, in order. `next_cursor` asks for the next page."""

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
        items = [item.to_dict() if isinstance(item, _Value) else item for item in self.items]
        more = {} if self.next_cursor is None else {"next_cursor": self.next_cursor}
        return {"items": items} | more


@dataclass(frozen=True, slots=True)
class Hit(_Value):
    """A node or relation found by a search, and its score from 0 to 1."""

    uri: str
    score: float
    found: Node | Relation
    why: tuple[str, ...] = ()
    """The reasons for this hit, the strongest first: name, words, meaning, linked from …"""
    snippet: str = ""
    """The part of the text that fits the question best."""
    kind: Literal["notes", "code"] = "notes"
    """`notes` for knowledge that somebody wrote, `code` for symbols that a bootstrap read."""

    def to_dict(self) -> JsonObject:
        return {
            "uri": self.uri,
            "score": round(self.score, 4),
            "kind": self.kind,
            "why": list(self.why),
            "snippet": self.snippet,
            "found": self.found.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class ResourceContent(_Value):
    """The content of a file: text, or base64 if it is not UTF-8."""

    uri: str
    path: str
    mime_type: str
    size_bytes: int
    text: str | None = None
    base64: str | None = None


@dataclass(frozen=True, slots=True)
class DistantNode:
    """A node of another workspace, or the reason why it is missing."""

    uri: str
    state: str
    """`fetched`, `unchanged` (the answer before is still valid), `kept` (it is young enough not to
    be asked for again), or the reason for no node:
    `removed`, `moved`, `unknown`, `forbidden`, `unreachable`, `not registered`, `untrusted`."""
    cost: float
    workspace: str
    origin: str = ""
    """The address from which the node came."""
    commit: str = ""
    """The commit at which the node was read."""
    type: str = ""
    name: str | None = None
    content: str = ""
    author: str = ""
    is_proven: bool = False
    """True if a proof connects the record of the node with the root of the remote."""
    advice: str = ""
    """The next step, if there is no node."""
    node: Node | None = None
    """The whole node; its caveat says who wrote it and where it comes from."""

    @property
    def is_there(self) -> bool:
        return self.node is not None

    def to_dict(self) -> JsonObject:
        values = asdict(replace(self, node=None))
        return {key: value for key, value in values.items() if value not in ("", None)}


# Input of writes.


@dataclass(frozen=True, slots=True)
class NewNode:
    """A node to write. `Knowledge.remember` takes many of them."""

    uri: str
    name: str | None = None
    content: str | None = None
    type: str | None = None
    properties: Mapping[str, Any] | None = None
    metadata: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        _write_times(self)


@dataclass(frozen=True, slots=True)
class NewRelation:
    """A relation to write; a `weight` of None keeps the stored one, or is 1 for a new one."""

    source: str
    relation: str
    target: str
    weight: float | None = None
    properties: Mapping[str, Any] | None = None
    metadata: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        _write_times(self)


def _write_times(draft: NewNode | NewRelation) -> None:
    """Turn each `datetime` and `date` of a draft into a text of ISO 8601."""
    for field in ("properties", "metadata"):
        object.__setattr__(draft, field, with_times_as_text(getattr(draft, field)))


# Results of writes.


@dataclass(frozen=True, slots=True)
class Written(_Value):
    """The result of writing a node."""

    uri: str
    id: str
    created: bool = False
    changed: bool = False
    """True if the graph changed, which is always so for a new node."""
    version: int | None = 1
    """The version of the node. It is None, and `id` empty, if no node has the URI itself and only
    nodes below it moved."""
    moved: int = 0
    """The number of nodes that got a new URI."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MergedNode(_Value):
    """The result of merging a node into another one."""

    uri: str
    """The URI of the node that stays."""
    id: str
    merged: str
    """The URI of the merged node, which leads to the other node from now on."""
    changed: bool = False
    version: int = 1
    relations: int = 0
    """The number of relations that moved."""
    joined: int = 0
    """The number of relations that were not moved: the other node had them, or they joined the
    two."""
    properties: int = 0
    """The number of properties that were taken over."""
    warnings: tuple[str, ...] = ()
    """Warnings, such as those about values that were not taken over."""


@dataclass(frozen=True, slots=True)
class Linked(_Value):
    """The result of writing a relation."""

    id: str
    source: str
    relation: str
    target: str
    created: bool = False
    changed: bool = False
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Removed(_Value):
    """The result of a removal."""

    concepts: int
    """The number of removed nodes, resources included, placeholders excluded."""
    relations: int
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeOutcome(Generic[Item_co]):
    """The result or the error for one URI among several."""

    uri: str
    """The URI as the caller passed it; for a removed node, its own URI."""
    result: Item_co | None = None
    error: MycelError | None = None
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> JsonObject:
        if self.error is not None:
            return {"uri": self.uri, "error": self.error.to_dict()}
        result = self.result.to_dict() if isinstance(self.result, _Value) else self.result
        return {"uri": self.uri, "result": result}


@dataclass(frozen=True, slots=True)
class Remembered(_Value):
    """The results of nodes and relations written together, in their order."""

    nodes: tuple[Written, ...] = ()
    relations: tuple[Linked, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def created(self) -> int:
        """The number of new nodes and relations."""
        written: tuple[Written | Linked, ...] = (*self.nodes, *self.relations)
        return sum(outcome.created for outcome in written)

    @property
    def changed(self) -> int:
        """The number of new or changed nodes and relations."""
        written: tuple[Written | Linked, ...] = (*self.nodes, *self.relations)
        return sum(outcome.changed for outcome in written)

    def to_dict(self) -> JsonObject:
        return _plain(
            {
                "nodes": [node.to_dict() for node in self.nodes],
                "relations": [relation.to_dict() for relation in self.relations],
                "warnings": self.warnings,
            }
        )
