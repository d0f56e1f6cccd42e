"""Targets: the types and predicates into which rows are loaded.

A *typed* target has a declaration, with the key of a row, its required properties and the types of
its cells. A *flexible* target has none: its rows have a name, and values are stored unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any, Final, TypeAlias

import orjson

from mycel.engine.protection_guard import ACTORS
from mycel.errors import (
    ConstraintViolation,
    InvalidValueType,
    MycelError,
    TypeMismatch,
    did_you_mean,
)
from mycel.model.names import CONCEPT_TYPE, PROPOSITION_TYPE, kind_of
from mycel.model.values import JsonObject
from mycel.schema.catalog import Catalog
from mycel.schema.model import EdgeType, InstanceType, NodeType, Property, PropertyType
from mycel.schema.property_values import (
    BadValue,
    format_value,
    from_python,
    from_text,
    key_text,
    wire,
)
from mycel.schema.row_rules import RowRules
from mycel.store.file.layout import CONCEPT_TYPE_NUMBER, PROPOSITION_TYPE_NUMBER
from mycel.store.query import summary
from mycel.store.query.reader import Reader

ReadCatalog: TypeAlias = Callable[[Reader], Catalog]
"""A function that reads the schema of a state.

`migration`, which this package cannot import, has it.
"""

_META: Final = (CONCEPT_TYPE, PROPOSITION_TYPE)
_STRING: Final = PropertyType("String")
_LISTS: Final = {"type": "DESCRIBE CONCEPT TYPES", "edge": "DESCRIBE PROPOSITION TYPES"}


class _Target:
    """Shared parts of the targets of nodes and of edges."""

    columns_beside: tuple[str, ...] = ("metadata",)

    def __init__(self, label: str, instance_type: InstanceType | None) -> None:
        self.label: Final = label
        """The name in messages: the name in the schema, or else in KIP."""
        properties: tuple[Property, ...] = () if instance_type is None else instance_type.properties
        self.properties: Final = {property_.name: property_.type for property_ in properties}
        self.is_closed: Final = instance_type is not None and not instance_type.is_open
        self.is_typed: Final = instance_type is not None
        self._rules: Final = None if instance_type is None else RowRules(instance_type)
        self._required: Final = [
            property_.name
            for property_ in properties
            if property_.is_required and property_.default is None
        ]
        self._needed: Final = frozenset(self._required)
        self.beside: Final = {
            name if name not in self.properties else f"@{name}": name
            for name in self.columns_beside
        }
        """Columns of a table that are not properties, and their contents.

        A column with the name of a property gets an `@`, which no property has.
        """

    def complete_attributes(self, attributes: JsonObject) -> JsonObject:
        """The attributes of a new row, without nulls; an error if a required one is missing."""
        if not self.is_typed or (
            self._needed <= attributes.keys() and None not in attributes.values()
        ):
            return attributes
        self.check_required(attributes)
        return without_nulls(attributes)

    def check(self, attributes: JsonObject, name: str | None, *, is_whole: bool) -> None:
        """Check a row; with `is_whole`, no required property may be missing."""
        if self._rules is None:
            return
        attributes = without_nulls(attributes)
        if is_whole:
            self.check_required(attributes)
        self._rules.shape(attributes, name=name, creating=True)

    def check_required(self, attributes: Mapping[str, Any]) -> None:
        """Refuse a new row that lacks a required property: the commit would not know its line."""
        for name in self._required:
            if attributes.get(name) is None:
                unknown = [
                    attribute for attribute in attributes if attribute not in self.properties
                ]
                # An unknown property may be the missing one, misspelt.
                if unknown and self.is_closed:
                    raise self.refuse_unknown(unknown[0])
                raise ConstraintViolation(
                    f"{self.label}.{name} is required.",
                    hint=f"Give every {self.label} a value for {name!r}.",
                    data={"type": self.label, "property": name, "value": None}
                    | {"constraint": "required"},
                )

    def with_defaults(self, attributes: JsonObject) -> JsonObject:
        """The attributes of a row that replaces another one, with defaults."""
        return attributes if self._rules is None else attributes | self._rules.lacking(attributes)

    def check_id(self, row_id: object) -> str:
        """The id of a row, which is text."""
        if isinstance(row_id, str):
            return row_id
        raise InvalidValueType(
            f"The id of a {self.label} is text, not {kind_of(row_id)}.",
            data={"type": self.label, "property": "id", "value": wire(row_id)},
        )

    def refuse_unknown(self, name: str) -> ConstraintViolation:
        """The error about a property that is not declared."""
        property_names = list(self.properties)
        hint = (
            did_you_mean(name, property_names)
            or f"It has {', '.join(property_names) or 'no properties'}."
        )
        return ConstraintViolation(
            f"{self.label} has no property {name!r}.",
            hint=hint,
            data={"type": self.label, "property": name},
        )

    def bad(self, name: str, value: object, error: BadValue) -> MycelError:
        """The error about a value that does not fit its property."""
        if self._rules is not None and name in self.properties:
            return self._rules.refused(name, value, None, error)
        return InvalidValueType(
            f"{self.label}.{name} cannot be stored: {error}.",
            hint=f"Correct {name!r}.",
            data={"type": self.label, "property": name, "value": wire(value)},
        )


class NodeTarget(_Target):
    """A type of concepts."""

    def __init__(self, type_name: str, node_type: NodeType | None) -> None:
        super().__init__(type_name if node_type is None else node_type.name, node_type)
        self.type: Final = type_name
        """Its name in KIP."""
        self.key: Final = () if node_type is None else node_type.key
        types = [self.properties[name] for name in self.key]
        # The usual key is a single text, which is the name itself.
        self._text_key: Final = self.key[0] if types == [_STRING] else None

    def name_of(self, attributes: JsonObject, row_id: object) -> str | None:
        """The name of a row: its key, or else its id, if there is one."""
        if self._text_key is not None:
            name = attributes.get(self._text_key)
            if name.__class__ is str and name and (row_id is None or row_id == name):
                return name
        if self.key and self._rules is not None:
            name = self._rules.name(attributes)
            if row_id not in (None, name) and self._spelled(row_id) != name:
                raise ConstraintViolation(
                    f"The id {format_value(row_id)} is not the key of this {self.label}, {name!r}.",
                    hint=f"Leave the id out: {' and '.join(self.key)} name a {self.label}.",
                    data={"type": self.label, "property": "id", "value": wire(row_id)},
                )
            return name
        return None if row_id is None else self.check_id(row_id)

    def _spelled(self, key: object) -> str | None:
        """The name of the node for a key in another form: a number, or an array."""
        with suppress(InvalidValueType):
            return self.name_from_key(key)
        return None

    def name_from_key(self, key: object) -> str:
        """The name of the node that an edge names by its key: text, number, or array of these."""
        if key.__class__ is str and (
            self._text_key is not None or not self.key or (self.type, key) in ACTORS
        ):
            return key
        if not self.key:
            raise self._bad_key(key, "It is text.")
        parts = _parts(key) if len(self.key) > 1 else [key]
        if len(parts) != len(self.key):
            raise self._bad_key(key, f"It is an array of {' and '.join(self.key)}, in this order.")
        types = (self.properties[name] for name in self.key)
        try:
            texts = [_key_text(*pair) for pair in zip(types, parts, strict=True)]
            return texts[0] if len(texts) == 1 else orjson.dumps(texts).decode()
        except BadValue as error:
            raise self._bad_key(key, f"{error}.") from None

    def _bad_key(self, key: object, hint: str) -> InvalidValueType:
        return InvalidValueType(
            f"{format_value(key)} is not a key of {self.label}.",
            hint=hint,
            data={"type": self.label, "value": wire(key)},
        )

    def key_from_name(self, name: str) -> object:
        """The key as JSON: the reverse of `name_from_key`."""
        if self._text_key is not None or not self.key or (self.type, name) in ACTORS:
            return name
        types = [self.properties[column] for column in self.key]
        if len(types) == 1:
            return from_text(types[0], name)
        return [from_text(*pair) for pair in zip(types, orjson.loads(name), strict=True)]


class EdgeTarget(_Target):
    """A predicate. Without `subject` or `object`, rows have to name the type of that end."""

    columns_beside = ("weight", "metadata")

    def __init__(
        self,
        predicate: str,
        edge_type: EdgeType | None,
        subject: NodeTarget | None,
        object_: NodeTarget | None,
    ) -> None:
        super().__init__(predicate if edge_type is None else edge_type.name, edge_type)
        self.predicate: Final = predicate
        self.subject: Final = subject
        self.object: Final = object_


Target: TypeAlias = NodeTarget | EdgeTarget


class Targets:
    """All targets of rows, by name."""

    def __init__(
        self,
        reader: Reader,
        catalog: Catalog,
        ids: Iterator[str],
    ) -> None:
        self._reader: Final = reader
        self._catalog: Final = catalog
        self._nodes: Final[dict[object, NodeTarget]] = {}
        self._edges: Final[dict[object, EdgeTarget]] = {}
        self._by_type: Final[dict[str, NodeTarget]] = {}
        self._by_predicate: Final[dict[str, EdgeTarget]] = {}
        self._ids: Final = ids

    def new_id(self) -> str:
        """An id for a node that has none."""
        return next(self._ids)

    def node(self, name: object) -> NodeTarget:
        """The target of a node's rows, by its name in the schema or in KIP."""
        try:
            return self._nodes[name]
        except (KeyError, TypeError):
            node_target = self._find_node(name)
            # All names of a type lead to the same target.
            return self._nodes.setdefault(
                name, self._by_type.setdefault(node_target.type, node_target)
            )

    def edge(self, name: object) -> EdgeTarget:
        """The target of an edge's rows, by its name in the schema, in any case, or in KIP."""
        try:
            return self._edges[name]
        except (KeyError, TypeError):
            edge_target = self._find_edge(name)
            return self._edges.setdefault(
                name, self._by_predicate.setdefault(edge_target.predicate, edge_target)
            )

    def find_target(self, name: str, columns: Iterable[str]) -> Target:
        """The target of a table whose rows do not name their type.

        If a node and an edge have the same name, the columns decide.
        """
        try:
            node = self.node(name)
        except TypeMismatch:
            if not self.has_edge(name):
                raise
            return self.edge(name)
        joins = set(columns) & {"src", "from"} and set(columns) & {"dst", "to"}
        return self.edge(name) if joins and self.has_edge(name) else node

    def has_edge(self, name: str) -> bool:
        try:
            self.edge(name)
        except TypeMismatch:
            return False
        return True

    def all(self) -> tuple[list[NodeTarget], list[EdgeTarget]]:
        """Every type and every predicate; those of the schema come first, in its order."""
        nodes = {target.type: target for target in map(self.node, self._catalog.nodes)}
        edges = {target.predicate: target for target in map(self.edge, self._catalog.edges)}
        for name in self._types:
            if name not in _META and name not in nodes and name not in self._catalog.interfaces:
                nodes[name] = self.node(name)
        for name in self._predicates:
            if name not in edges:
                edges[name] = self._flexible_edge(name)
        return list(nodes.values()), list(edges.values())

    def _find_node(self, name: object) -> NodeTarget:
        if not isinstance(name, str):
            raise _undefined("type", name, [])
        node_type = self._catalog.nodes.get(name)
        if node_type is None:
            node_type = next((n for n in self._catalog.nodes.values() if n.kip_name == name), None)
        if node_type is not None:
            return NodeTarget(node_type.kip_name, node_type)
        if name in self._catalog.interfaces:
            raise ConstraintViolation(
                f"{name} is an interface, which has no rows.",
                hint="Load into a node that implements it.",
                data={"type": wire(name)},
            )
        if name in self._types and name not in _META:
            return NodeTarget(name, None)
        if name in _META:
            raise TypeMismatch(
                f"{name} holds definitions, which are not rows.",
                hint="Apply a schema, or define types and predicates in KIP; capsules carry them.",
                data={"type": name},
            )
        type_names = [
            *self._catalog.nodes,
            *(type_name for type_name in self._types if type_name not in _META),
        ]
        raise _undefined("type", name, type_names)

    def _find_edge(self, name: object) -> EdgeTarget:
        if not isinstance(name, str):
            raise _undefined("edge", name, [])
        edges = self._catalog.edges.values()
        edge_type = self._catalog.edge(name)
        if edge_type is None:
            edge_type = next((e for e in edges if e.kip_name == name), None)
        if edge_type is not None:
            ends = self.node(edge_type.from_type), self.node(edge_type.to_type)
            return EdgeTarget(edge_type.kip_name, edge_type, *ends)
        if name in self._predicates:
            return self._flexible_edge(name)
        raise _undefined("edge", name, [*self._catalog.edges, *self._predicates])

    def _flexible_edge(self, name: str) -> EdgeTarget:
        says = summary.definition(self._reader, PROPOSITION_TYPE_NUMBER, name)
        return EdgeTarget(
            name, None, self._only(says.get("subject_types")), self._only(says.get("object_types"))
        )

    def _only(self, types: object) -> NodeTarget | None:
        """The type of an end, if its definition allows one only."""
        if not isinstance(types, list) or len(types) != 1 or types[0] not in self._types:
            return None
        return None if types[0] in _META else self.node(types[0])

    @cached_property
    def _types(self) -> dict[str, None]:
        return dict.fromkeys(summary.definitions(self._reader, CONCEPT_TYPE_NUMBER))

    @cached_property
    def _predicates(self) -> dict[str, None]:
        return dict.fromkeys(summary.definitions(self._reader, PROPOSITION_TYPE_NUMBER))


def without_nulls(attributes: JsonObject) -> JsonObject:
    """The attributes that are not null."""
    return {name: value for name, value in attributes.items() if value is not None}


def _undefined(noun: str, name: object, candidates: list[str]) -> TypeMismatch:
    close = did_you_mean(name, candidates) if isinstance(name, str) else ""
    return TypeMismatch(
        f"There is no {noun} {format_value(name)}.",
        hint=close or f"{_LISTS[noun]} lists the existing ones; schemas and KIP define new ones.",
        data={"type": wire(name)},
    )


def _parts(key: object) -> list[Any]:
    """The parts of a composite key: an array, or its text."""
    if isinstance(key, str):
        try:
            key = orjson.loads(key)
        except orjson.JSONDecodeError:
            return []
    return list(key) if isinstance(key, (list, tuple)) else []


def _key_text(type_: PropertyType, part: object) -> str:
    if isinstance(part, str) and type_.scalar != "String":
        return key_text(type_, from_text(type_, part))
    return key_text(type_, from_python(type_, part))
