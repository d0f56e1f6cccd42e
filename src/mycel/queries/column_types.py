"""The types of a query's columns as JSON Schema, if command and schema determine them.

A variable has a type if a clause outside of UNION, OPTIONAL and NOT states it. In a query AS OF the
past, columns of attributes have no type: the schema of that time is not read.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, assert_never

from mycel.kip import ast
from mycel.schema import Catalog
from mycel.schema.model import PropertyType
from mycel.schema.scalars import SCALARS

_TEXTS: Final = frozenset(("name", "type", "id"))
"""The fields of every concept that are texts."""


class ColumnOrigin(NamedTuple):
    """The origin of a column: a variable of one type and a path from it, or an aggregate."""

    type: str = ""
    """The type of the variable; empty if unknown."""
    fields: tuple[str, ...] = ()
    function: str = ""


def columns_of(command: ast.Find) -> tuple[ColumnOrigin, ...]:
    types: dict[str, set[str]] = {}
    for clause in command.where:
        match clause:
            case ast.ConceptClause(variable, ast.ConceptMatcher(ast.Literal(str(name)))):
                types.setdefault(variable.name, set()).add(name)
            case _:
                pass
    return tuple(
        _column(expression, types, is_past=command.as_of is not None)
        for expression in command.expressions
    )


def _column(
    expression: ast.Expression, types: dict[str, set[str]], *, is_past: bool
) -> ColumnOrigin:
    match expression:
        case ast.Aggregate(function):
            return ColumnOrigin(function=function)
        case ast.Path(variable, fields):
            (type_name, *others) = sorted(types.get(variable.name, {""}))
            return ColumnOrigin(
                "" if others or (is_past and len(fields) > 1) else type_name, fields
            )
        case _:
            assert_never(expression)


def column_schema(column: ColumnOrigin, catalog: Catalog) -> dict[str, Any]:
    """The JSON Schema of the values of a column; empty if they may be anything."""
    if column.function == "COUNT":
        return {"type": "integer"}
    if not column.type:
        return {}
    match column.fields:
        case (field,) if field in _TEXTS:
            return {"type": "string"}
        case ("attributes", name):
            node = catalog.node(column.type)
            properties = () if node is None else node.properties
            return next((_value_schema(p.type) for p in properties if p.name == name), {})
        case _:
            return {}


def _value_schema(of_type: PropertyType) -> dict[str, Any]:
    """The schema of a property's values, which may be missing."""
    value = _scalar_schema(of_type)
    if of_type.is_list:
        return {"type": ["array", "null"], "items": value}
    return value | {"type": [value["type"], "null"]}


def _scalar_schema(of_type: PropertyType) -> dict[str, Any]:
    match of_type.scalar:
        case "Bool":
            return {"type": "boolean"}
        case "I32" | "I64" | "U32" | "U64" as name:
            limits = SCALARS[name].limits or ()
            return {"type": "integer", **dict(zip(("minimum", "maximum"), limits, strict=False))}
        case "F32" | "F64":
            return {"type": "number"}
        case "Vector":
            return {"type": "array", "items": {"type": "number"}}
        case "Date":
            return {"type": "string", "format": "date"}
        case "DateTime":
            return {"type": "string", "format": "date-time"}
        case "String" | "Blob":
            return {"type": "string"}
        case _:
            assert_never(of_type.scalar)
