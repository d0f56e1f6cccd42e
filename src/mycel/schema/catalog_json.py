"""The intermediate representation of a schema (IR, version 1): JSON in one canonical order.

Equal schemas have equal IR: types, properties, annotations, constraints and the columns of
constraints are sorted, both ways to write a constraint become one, and `@rename_from`, which only
the planner reads, is left out. `ir_hash` is its fingerprint.

Types and properties have numbers besides their names. A number starts as a hash of the name, and
stays when the name changes, so that a rename differs from a removal with an addition.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any, Final

from mycel.schema import model

SCHEMA_IR_VERSION: Final = 1

_FNV_OFFSET: Final = 0x811C9DC5
_FNV_PRIME: Final = 0x01000193
_IDS: Final = ("type_id", "prop_id")


def fnv1a(text: str) -> int:
    """FNV-1a of 32 bits over UTF-8."""
    value = _FNV_OFFSET
    for byte in text.encode():
        value = ((value ^ byte) * _FNV_PRIME) & 0xFFFFFFFF
    return value


def type_id(kind: model.TypeKind, name: str) -> int:
    """The number that a type starts with."""
    return fnv1a(f"{kind}:{name}") or 1


def prop_id(kind: model.TypeKind, owner: str, name: str) -> int:
    """The number that a property starts with."""
    return fnv1a(f"{kind}:{owner}:{name}") or 1


def schema_json(
    interfaces: Iterable[model.Interface],
    nodes: Iterable[model.NodeType],
    edges: Iterable[model.EdgeType],
) -> dict[str, Any]:
    """The IR of a catalog."""
    return {
        "ir_version": SCHEMA_IR_VERSION,
        "interfaces": [declared_json(interface) for interface in sorted(interfaces, key=_name)],
        "nodes": [declared_json(node) for node in sorted(nodes, key=_name)],
        "edges": [declared_json(edge) for edge in sorted(edges, key=_name)],
    }


def hash_of(ir: dict[str, Any]) -> str:
    """The fingerprint of an IR: SHA-256 of its compact JSON in UTF-8."""
    text = json.dumps(ir, ensure_ascii=False, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def without_ids(value: Any) -> Any:
    """An IR without the numbers of types and properties: equal for schemas of the same meaning."""
    if isinstance(value, dict):
        return {key: without_ids(member) for key, member in value.items() if key not in _IDS}
    return [without_ids(member) for member in value] if isinstance(value, list) else value


def declared_json(schema_type: model.SchemaType) -> dict[str, Any]:
    """A type.

    IR v1 has no annotations of interfaces, so an interface has the key only if it has annotations.
    """
    payload: dict[str, Any] = {"name": schema_type.name, "type_id": schema_type.type_id}
    if isinstance(schema_type, model.EdgeType):
        payload |= {"from_type": schema_type.from_type, "to_type": schema_type.to_type}
        payload["cardinality"] = cardinality_json(schema_type.cardinality)
    if schema_type.annotations or not isinstance(schema_type, model.Interface):
        payload["annotations"] = annotations_json(schema_type.annotations)
    if isinstance(schema_type, model.NodeType):
        payload["implements"] = sorted(set(schema_type.implements))
    payload["properties"] = [
        property_json(property_) for property_ in sorted(schema_type.properties, key=_name)
    ]
    if not isinstance(schema_type, model.Interface):
        ordered = sorted(schema_type.constraints, key=constraint_order)
        payload["constraints"] = [constraint_json(constraint) for constraint in ordered]
    return payload


def property_json(property_: model.Property) -> dict[str, Any]:
    return {
        "name": property_.name,
        "prop_id": property_.prop_id,
        "prop_type": type_json(property_.type),
        "annotations": annotations_json(property_.annotations),
    }


def type_json(type_: model.PropertyType) -> dict[str, Any]:
    """A type of values.

    >>> type_json(model.PropertyType("Vector", dimension=3))
    {'scalar': {'Vector': 3}, 'nullable': False, 'list': False, 'enum_values': None}
    """
    enum_values = type_.enum_values
    return {
        "scalar": {"Vector": type_.dimension} if type_.scalar == "Vector" else type_.scalar,
        "nullable": type_.is_nullable,
        "list": type_.is_list,
        "enum_values": None if enum_values is None else list(enum_values),
    }


def cardinality_json(cardinality: model.Cardinality) -> dict[str, Any]:
    return {"min": cardinality.minimum, "max": cardinality.maximum}


def constraint_json(constraint: model.Constraint) -> dict[str, Any]:
    """A constraint, its columns sorted.

    >>> constraint_json(model.Unique(("src", "dst")))
    {'Unique': ['dst', 'src']}
    """
    match constraint:
        case model.ColumnConstraint(columns):
            return {type(constraint).__name__: sorted(columns)}
        case model.Range(name, minimum, maximum):
            return {"Range": {"property": name, "min": minimum, "max": maximum}}
        case model.Check(name, pattern):
            return {"Check": {"property": name, "pattern": pattern}}


def constraint_order(constraint: model.Constraint) -> tuple[str, str]:
    """The sort key of a constraint: its kind and columns, then its parameters."""
    match constraint:
        case model.Range(_, minimum, maximum):
            demand = f"{minimum!r}..{maximum!r}"
        case model.Check(_, pattern):
            demand = pattern
        case _:
            demand = ""
    return (
        f"{type(constraint).__name__.lower()}:{','.join(sorted(model.columns_of(constraint)))}",
        demand,
    )


def annotations_json(annotations: Iterable[model.Annotation]) -> list[dict[str, Any]]:
    ordered = sorted(annotations, key=lambda annotation: (annotation.name, annotation.value or ""))
    return [
        {"name": annotation.name, "value": annotation.value}
        | ({} if annotation.model is None else {"model": annotation.model})
        for annotation in ordered
    ]


def _name(part: model.Interface | model.NodeType | model.EdgeType | model.Property) -> str:
    return part.name
