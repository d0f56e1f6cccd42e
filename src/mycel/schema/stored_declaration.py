"""Declarations in the graph: in the attributes of the concept that defines a type.

A declared type is defined like any other, by a `$ConceptType` or a `$PropositionType`. The
attributes of the definition have two views of the declaration:

    pg                 the whole declaration, in its order, which the engine reads
    instance_schema    the same for readers of KIP: attribute -> {type, is_required, …}
    subject_types, object_types, description, is_interface

All attributes except `pg` are derived from `pg`, for models that know nothing of schemas. A
definition without `pg` is flexible: KIP alone made it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple, assert_never

from mycel.model.retention import retention_from_words
from mycel.schema import model
from mycel.schema.property_values import parse_default
from mycel.schema.scalars import Scalar

PG: Final = "pg"
"""The attribute that holds a declaration."""
IS_INTERFACE: Final = "is_interface"
PG_DROPPED: Final = "pg_dropped"
"""The attribute for the memory of a dropped type whose definition had to stay."""
OWNED: Final = (PG, "instance_schema", "subject_types", "object_types", IS_INTERFACE)
"""The attributes of a definition that only the application of a schema changes."""


class HiddenType(NamedTuple):
    """A type that was dropped while its definition had to stay."""

    declared: model.SchemaType
    payload: Mapping[str, Any]
    """The declaration of the type as JSON."""
    seq: int
    """The journal position just before the type was dropped."""
    time_us: int
    """The time at which the type was dropped."""


_COLUMNS: Final[dict[str, Callable[[tuple[str, ...]], model.Constraint]]] = {
    "key": model.Key,
    "unique": model.Unique,
    "index": model.Index,
}


def attributes_of(
    schema_type: model.SchemaType,
    nodes: Mapping[str, model.NodeType],
    dropped: Iterable[Mapping[str, Any]] = (),
    adopted: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The attributes that define a type; `nodes` has the ends of an edge.

    `dropped` are entries of `dropped_entry`, `adopted` the attributes of a flexible definition
    before a schema declared its type.
    """
    payload = encode(schema_type)
    if isinstance(schema_type, model.EdgeType):
        payload["ends"] = [nodes[schema_type.from_type].type_id, nodes[schema_type.to_type].type_id]
    if remembered_properties := [dict(part) for part in dropped]:
        payload["dropped"] = remembered_properties
    if adopted:
        payload["adopted"] = dict(adopted)
    attributes: dict[str, Any] = {PG: payload}
    attributes["instance_schema"] = {
        property_.name: _entry(property_) for property_ in schema_type.properties
    }
    match schema_type:
        case model.Interface():
            attributes[IS_INTERFACE] = True
        case model.EdgeType():
            attributes["subject_types"] = [nodes[schema_type.from_type].kip_name]
            attributes["object_types"] = [nodes[schema_type.to_type].kip_name]
    if schema_type.description:
        attributes[model.DESCRIPTION] = schema_type.description
    if schema_type.retention is not None:
        attributes[model.RETENTION] = retention_from_words(schema_type.retention)
    if schema_type.is_functional:
        attributes[model.FUNCTIONAL] = True
    return attributes


def owned_attributes(schema_type: model.SchemaType) -> tuple[str, ...]:
    """The attributes of a definition that its declaration writes."""
    stated = (
        (model.DESCRIPTION, schema_type.description),
        (model.RETENTION, schema_type.retention),
        (model.FUNCTIONAL, schema_type.is_functional),
    )
    return (*OWNED, *(key for key, value in stated if value))


def _entry(property_: model.Property) -> dict[str, Any]:
    """The entry of a property in `instance_schema`."""
    type_ = property_.type
    is_array = type_.is_list or type_.scalar == "Vector"
    item_type = _json_type(type_.scalar)
    entry: dict[str, Any] = {
        "type": "array" if is_array else item_type,
        "is_required": property_.is_required,
    }
    if is_array:
        entry["item_type"] = item_type
    if type_.enum_values is not None:
        entry["enum"] = list(type_.enum_values)
    if property_.default is not None:
        entry["default_value"] = parse_default(property_)
    if property_.description:
        entry["description"] = property_.description
    if property_.merge is not None:
        entry["merge"] = property_.merge
    return entry


def _json_type(scalar: Scalar) -> str:
    """The type of a value in JSON; for a Vector, the type of its items."""
    match scalar:
        case "I32" | "I64" | "U32" | "U64":
            return "integer"
        case "F32" | "F64" | "Vector":
            return "number"
        case "Bool":
            return "boolean"
        case "String" | "Blob" | "Date" | "DateTime":
            return "string"
        case _:
            assert_never(scalar)


def encode(schema_type: model.SchemaType) -> dict[str, Any]:
    """A declaration as JSON, in its order."""
    payload: dict[str, Any] = {
        "kind": schema_type.kind,
        "name": schema_type.name,
        "type_id": schema_type.type_id,
    }
    if isinstance(schema_type, model.EdgeType):
        payload["from"], payload["to"] = schema_type.from_type, schema_type.to_type
        payload["card"] = [schema_type.cardinality.minimum, schema_type.cardinality.maximum]
    if isinstance(schema_type, model.NodeType) and schema_type.implements:
        payload["implements"] = list(schema_type.implements)
    if schema_type.annotations:
        payload["annotations"] = _annotations(schema_type.annotations)
    payload["properties"] = [encode_property(property_) for property_ in schema_type.properties]
    payload["constraints"] = [_constraint(constraint) for constraint in schema_type.constraints]
    return payload


def encode_property(property_: model.Property) -> dict[str, Any]:
    """A property as JSON."""
    payload: dict[str, Any] = {
        "name": property_.name,
        "prop_id": property_.prop_id,
        "type": _type(property_.type),
    }
    if property_.annotations:
        payload["annotations"] = _annotations(property_.annotations)
    if property_.inherited_from is not None:
        payload["inherited_from"] = property_.inherited_from
    return payload


def dropped_entry(property_: model.Property, seq: int) -> dict[str, Any]:
    """The memory of a hidden property, whose values are in history as of `seq`."""
    return {"property": encode_property(property_), "seq": seq}


def _type(type_: model.PropertyType) -> dict[str, Any]:
    payload: dict[str, Any] = {"scalar": type_.scalar}
    if type_.is_nullable:
        payload["nullable"] = True
    if type_.is_list:
        payload["list"] = True
    if type_.enum_values is not None:
        payload["enum"] = list(type_.enum_values)
    if type_.dimension is not None:
        payload["dimension"] = type_.dimension
    return payload


def _annotations(annotations: Iterable[model.Annotation]) -> list[list[str | None]]:
    return [
        [annotation.name, annotation.value]
        if annotation.model is None
        else [annotation.name, annotation.value, annotation.model]
        for annotation in annotations
    ]


def _constraint(constraint: model.Constraint) -> dict[str, Any]:
    match constraint:
        case model.Range(name, minimum, maximum):
            return {"range": [name, minimum, maximum]}
        case model.Check(name, pattern):
            return {"check": [name, pattern]}
        case model.ColumnConstraint(columns):
            return {constraint.word: list(columns)}


def type_memory(payload: Mapping[str, Any], seq: int, time_us: int) -> dict[str, Any]:
    """The memory of a hidden type: its declaration, and the entry before it was hidden."""
    return {"declaration": payload, "seq": seq, "time_us": time_us}


def remembered(attributes: Mapping[str, Any]) -> HiddenType | None:
    """The memory of a hidden type in a definition that had to stay."""
    attribute = attributes.get(PG_DROPPED)
    if not isinstance(attribute, dict):
        return None
    schema_type = declaration({PG: attribute.get("declaration")})
    if schema_type is None:
        return None
    return HiddenType(schema_type, attribute["declaration"], attribute["seq"], attribute["time_us"])


def declaration(attributes: Mapping[str, Any]) -> model.SchemaType | None:
    """The declaration in the attributes of a definition; None if KIP alone made it."""
    attribute = attributes.get(PG)
    if not isinstance(attribute, dict):
        return None
    try:
        return decode(attribute)
    except (KeyError, TypeError, ValueError):
        return None


def decode(payload: Mapping[str, Any]) -> model.SchemaType:
    """The declaration that `encode` wrote."""
    name, type_id = payload["name"], payload["type_id"]
    properties = tuple(map(decode_property, payload["properties"]))
    constraints = tuple(map(_decode_constraint, payload["constraints"]))
    annotations = _decode_annotations(payload.get("annotations", ()))
    match payload["kind"]:
        case "interface":
            return model.Interface(name, type_id, annotations, properties, constraints)
        case "node":
            implements = tuple(payload.get("implements", ()))
            return model.NodeType(name, type_id, annotations, implements, properties, constraints)
        case _:
            card = model.Cardinality(*payload["card"])
            ends = payload["from"], payload["to"]
            return model.EdgeType(name, type_id, *ends, card, annotations, properties, constraints)


def decode_property(payload: Mapping[str, Any]) -> model.Property:
    """The property that `encode_property` wrote."""
    return model.Property(
        payload["name"],
        _decode_type(payload["type"]),
        payload["prop_id"],
        _decode_annotations(payload.get("annotations", ())),
        inherited_from=payload.get("inherited_from"),
    )


class HiddenProperty(NamedTuple):
    """A hidden property, or hidden values of a present property that did not fit its type."""

    declared: model.Property
    """The declaration of the property, under its present name."""
    attribute: str
    """The name of the property when it was hidden, under which its values are in history."""
    entry: Mapping[str, Any]
    """The entry of the property in the definition."""

    @property
    def seq(self) -> int:
        """The journal position just before its values were hidden."""
        return int(self.entry["seq"])


def hidden_properties(
    schema_type: model.SchemaType, payload: Mapping[str, Any]
) -> list[HiddenProperty]:
    """The hidden properties of a type, oldest first, under their present names."""
    entries = [(decode_property(part["property"]), part) for part in payload.get("dropped", ())]
    names = {was.prop_id: was.name for was, _ in entries}
    names |= {property_.prop_id: property_.name for property_ in schema_type.properties}
    return [
        HiddenProperty(replace(was, name=names[was.prop_id]), was.name, entry)
        for was, entry in entries
    ]


def _decode_type(payload: Mapping[str, Any]) -> model.PropertyType:
    enum = payload.get("enum")
    return model.PropertyType(
        payload["scalar"],
        payload.get("nullable", False),
        payload.get("list", False),
        None if enum is None else tuple(enum),
        payload.get("dimension"),
    )


def _decode_annotations(pairs: Iterable[Iterable[str | None]]) -> tuple[model.Annotation, ...]:
    return tuple(model.Annotation(str(name), *values) for name, *values in pairs)


def _decode_constraint(payload: Mapping[str, Any]) -> model.Constraint:
    (kind, arguments), *_ = payload.items()
    if kind == "range":
        return model.Range(*arguments)
    if kind == "check":
        return model.Check(*arguments)
    return _COLUMNS[kind](tuple(arguments))
