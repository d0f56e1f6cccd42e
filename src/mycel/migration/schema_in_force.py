"""The schema in force, read from the definitions in the graph: now, or at a moment of the past."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mycel.schema.catalog import Catalog, Dropped
from mycel.schema.model import EdgeType, NodeType, SchemaType
from mycel.schema.stored_declaration import (
    PG,
    PG_DROPPED,
    declaration,
    hidden_properties,
    remembered,
)
from mycel.store.query.reader import Reader
from mycel.store.query.vocabulary import definitions_with, retired_definitions_with


def read(reader: Reader, *, dropped: bool = False) -> Catalog:
    """The catalog of the declared types of a state; with `dropped`, also the hidden ones."""
    definitions = [
        (schema_type, attributes)
        for attributes in definitions_with(reader, PG)
        if (schema_type := declaration(attributes)) is not None
    ]
    parts = _hidden_declarations(reader, definitions) if dropped else ()
    return Catalog.of((schema_type for schema_type, _ in definitions), parts)


def with_renames(before: Catalog, after: Catalog) -> Catalog:
    """The later catalog, which notes the earlier names of renamed types and properties."""
    old = {type_name.identity: type_name for type_name in before.types}

    def renamed(current: SchemaType) -> SchemaType:
        was = old.get(current.identity)
        if was is None:
            return current
        names = {property_.prop_id: property_.name for property_ in was.properties}
        properties = tuple(
            replace(property_, renamed_from=_other(names.get(property_.prop_id), property_.name))
            for property_ in current.properties
        )
        return replace(current, properties=properties, renamed_from=_other(was.name, current.name))

    return Catalog.of(map(renamed, after.types))


def _other(was: str | None, name: str) -> str | None:
    return None if was == name else was


def _hidden_declarations(
    reader: Reader, live: list[tuple[SchemaType, dict[str, Any]]]
) -> list[Dropped]:
    """Hidden properties and types in live definitions, and in tombstones of definitions."""
    parts = [
        part
        for schema_type, attributes in live
        for part in _properties_gone(schema_type, attributes[PG])
    ]
    names = {
        node_type.type_id: node_type.name
        for node_type, _ in live
        if isinstance(node_type, NodeType)
    }
    for definition, seq in retired_definitions_with(reader, PG):
        schema_type = declaration(definition)
        if schema_type is not None:
            parts += _type_gone(_with_ends(schema_type, definition[PG], names), definition[PG], seq)
    for definition in definitions_with(reader, PG_DROPPED):
        memory = remembered(definition)
        if memory is not None:
            parts += _type_gone(memory.declared, memory.payload, memory.seq)
    return parts


def _type_gone(schema_type: SchemaType, payload: Mapping[str, Any], seq: int) -> list[Dropped]:
    """A hidden type, and its properties that were hidden before."""
    hidden_type = Dropped(schema_type.kind, schema_type.name, None, schema_type, seq)
    return [hidden_type, *_properties_gone(schema_type, payload)]


def _properties_gone(schema_type: SchemaType, payload: Mapping[str, Any]) -> list[Dropped]:
    return [
        Dropped(
            schema_type.kind,
            schema_type.name,
            property_.declared,
            seq=property_.seq,
            attribute=property_.attribute,
        )
        for property_ in hidden_properties(schema_type, payload)
    ]


def _with_ends(
    schema_type: SchemaType, payload: Mapping[str, Any], names: Mapping[int, str]
) -> SchemaType:
    """A hidden edge with the present names of its ends."""
    if not isinstance(schema_type, EdgeType):
        return schema_type
    ends = (schema_type.from_type, schema_type.to_type)
    ids = payload.get("ends", (None, None))
    source, target = (names.get(id_, end) for id_, end in zip(ids, ends, strict=True))
    return replace(schema_type, from_type=source, to_type=target)
