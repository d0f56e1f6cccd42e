"""Reads rows from the graph, in the order of their creation, a chunk at a time.

All rows are read from one snapshot, of the present or of the past. Left out are ids, versions,
times, metadata keys that start with an underscore, the two actors of every graph, and, unless types
are named, elements that every new graph has and that are unchanged.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Any, Final, NamedTuple, TypeAlias

from mycel.engine.protection_guard import ACTORS
from mycel.errors import InternalError, ResourceExhausted
from mycel.model import ids
from mycel.model.elements import Proposition
from mycel.model.limits import JSON_DEPTH_MAX
from mycel.model.names import CORE_MESSAGE, SYSTEM_ACTOR
from mycel.model.values import JsonObject, own_metadata
from mycel.store.file.layout import Table
from mycel.store.query.bulk import instances
from mycel.store.query.reader import Reader
from mycel.store.write.transaction import DEFAULT_WEIGHT
from mycel.transfer.load_targets import EdgeTarget, NodeTarget, Target, Targets

Name: TypeAlias = tuple[str, str]
"""Type and name of a concept."""


class NodeRecord(NamedTuple):
    """A concept to export."""

    name: str
    attributes: JsonObject
    metadata: JsonObject


class EdgeRecord(NamedTuple):
    """A link to export; an end that is a link is an object."""

    id: str
    subject: Name | JsonObject
    object: Name | JsonObject
    attributes: JsonObject
    metadata: JsonObject
    weight: float


class GraphRows:
    """The rows of one snapshot."""

    def __init__(self, reader: Reader, targets: Targets, *, from_the_start: bool) -> None:
        self._reader: Final = reader
        self._targets: Final = targets
        self._left_out: Final = frozenset() if from_the_start else self._beginning()

    def nodes(self, target: NodeTarget) -> Iterator[list[NodeRecord]]:
        """The concepts of a type."""
        for chunk in self._chunks(target):
            yield [
                NodeRecord(instance.name, instance.attributes, own_metadata(instance.metadata))
                for instance in chunk
                if (target.type, instance.name) not in ACTORS
            ]

    def edges(self, target: EdgeTarget) -> Iterator[list[EdgeRecord]]:
        """The links of a predicate."""
        for chunk in self._chunks(target):
            names = instances.names(
                self._reader,
                (end for instance in chunk for end in (instance.subject, instance.object)),
            )
            yield [
                EdgeRecord(
                    ids.link_id(instance.number, target.predicate),
                    names.get(instance.subject) or self._link(instance.subject),
                    names.get(instance.object) or self._link(instance.object),
                    instance.attributes,
                    own_metadata(instance.metadata),
                    instance.weight,
                )
                for instance in chunk
            ]

    def rows(self, target: Target) -> Iterator[list[Any]]:
        """The rows of a type or of a predicate."""
        yield from self.nodes(target) if isinstance(target, NodeTarget) else self.edges(target)

    def is_empty(self, target: Target) -> bool:
        """True if no row of the target is exported."""
        return not any(self.rows(target))

    def columns_beside(self, target: Target) -> dict[str, str]:
        """The columns of a table that are not properties, and their contents."""
        return {
            column: content
            for column, content in target.beside.items()
            if self._has(target, content)
        }

    def _has(self, target: Target, content: str) -> bool:
        """True if any row has metadata, or a weight other than 1."""
        table, kind = self._place(target)
        if content == "weight":
            may_be = instances.has_weights(self._reader, kind, DEFAULT_WEIGHT)
            return may_be and any(
                row.weight != DEFAULT_WEIGHT for rows in self.rows(target) for row in rows
            )
        may_be = instances.has_metadata(self._reader, table, kind)
        return may_be and any(row.metadata for rows in self.rows(target) for row in rows)

    def _place(self, target: Target) -> tuple[Table, int]:
        """The table of the rows, and the number of their type or predicate."""
        if isinstance(target, NodeTarget):
            return "concept", self._reader.type_number(target.type)
        return "proposition", self._reader.predicate_number(target.predicate)

    def _chunks(self, target: Target) -> Iterator[list[instances.Instance]]:
        table, kind = self._place(target)
        left_out = self._left_out
        chosen = instances.numbers(self._reader, table, kind)
        if left_out:
            chosen = array("q", (number for number in chosen if number not in left_out))
        return instances.chunks(self._reader, table, chosen)

    def _link(self, number: int, depth: int = 0) -> JsonObject:
        """A link that is the end of another one, by its own ends."""
        if depth == JSON_DEPTH_MAX:
            raise ResourceExhausted(
                f"Links about links nest deeper than {JSON_DEPTH_MAX} levels, and a row cannot.",
                hint="Export other types alone with `types`, or copy the file of the graph.",
            )
        link = self._reader.link(number)
        if not isinstance(link, Proposition):
            raise InternalError(f"The element {number} is gone from its own snapshot.")
        ends = ids.parse_id(link.subject), ids.parse_id(link.object)
        names = instances.names(self._reader, ends)
        edge = self._targets.edge(link.predicate)
        return {
            "edge": edge.label,
            "from": self.end(edge.subject, names.get(ends[0]) or self._link(ends[0], depth + 1)),
            "to": self.end(edge.object, names.get(ends[1]) or self._link(ends[1], depth + 1)),
        }

    def end(self, target: NodeTarget | None, end: Name | JsonObject) -> object:
        """An end in JSON Lines: a key, or an object if the key does not identify the end."""
        if isinstance(end, dict):
            return end
        type_name, name = end
        if target is not None and target.type == type_name:
            return target.key_from_name(name)
        return {"type": self._targets.node(type_name).label, "name": name}

    def _beginning(self) -> frozenset[int]:
        """The elements of a new graph that were never changed."""
        reader = self._reader
        tables: tuple[Table, ...] = ("concept", "proposition")
        return frozenset(
            number
            for table in tables
            for number in instances.first_versions(reader, table, SYSTEM_ACTOR, CORE_MESSAGE)
        )
