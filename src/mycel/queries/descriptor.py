"""A named query described for other programs.

Its parameters as JSON Schema, its columns, and the types and predicates that it reads and writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple, assert_never, get_args

from mycel.engine.result import Result
from mycel.kip import ast, fragments
from mycel.kip.parser import parse
from mycel.model.json_schema import array, record, text, texts, typed
from mycel.queries.column_types import ColumnOrigin, column_schema, columns_of
from mycel.queries.declaration import NO_DEFAULT, NamedQuery, ParameterType, QueryParameter
from mycel.schema import Catalog
from mycel.schema.scalars import SCALARS

_BODIES_MAX: Final = 1_000


class QueryFacts(NamedTuple):
    """The facts about a query that follow from its command."""

    writes: bool
    columns: tuple[str, ...]
    """The columns of a FIND; empty for other commands."""
    origins: tuple[ColumnOrigin, ...]
    """Of each column."""
    types: tuple[str, ...]
    predicates: tuple[str, ...]
    properties: tuple[str, ...]
    """The attributes that it names."""
    placeholders: tuple[str, ...]


def query_facts(query: NamedQuery) -> QueryFacts:
    """The facts about a query.

    Raises:
        InvalidSyntax: its body is no command.
    """
    return _facts_of(query.body)


@lru_cache(_BODIES_MAX)
def _facts_of(body: str) -> QueryFacts:
    """The facts about a command.

    They are cached, because each run needs them, and computing them takes longer than a run.
    """
    command = parse(body)
    types: dict[str, None] = {}
    predicates: dict[str, None] = {}
    properties: dict[str, None] = {}
    for node in _nodes(command):
        match node:
            case ast.ConceptMatcher(ast.Literal(str(name))):
                types[name] = None
            case ast.LinkPattern(_, ast.Literal(str(name))):
                predicates[name] = None
            case ast.PredicateHops(ast.Literal(str(name))):
                predicates[name] = None
            case ast.PredicateChoice(names):
                predicates |= {name.value: None for name in names if isinstance(name, ast.Literal)}
            case ast.SetProposition(ast.Literal(str(name))):
                predicates[name] = None
            case ast.Path(_, ("attributes", name, *_)):
                properties[name] = None
            case ast.ConceptBlock(attributes=ast.ObjectTemplate(entries)):
                properties |= {name: None for name, _ in entries}
            case _:
                pass
    columns = (
        tuple(map(fragments.expression, command.expressions))
        if isinstance(command, ast.Find)
        else ()
    )
    return QueryFacts(
        isinstance(command, get_args(ast.Manipulation)),
        columns,
        columns_of(command) if isinstance(command, ast.Find) else (),
        tuple(name for name in types if not name.startswith("$")),
        tuple(predicates),
        tuple(properties),
        tuple(dict.fromkeys(placeholder.name for placeholder in fragments.placeholders(command))),
    )


def _nodes(node: object) -> Iterator[object]:
    if isinstance(node, tuple):
        for item in node:
            yield from _nodes(item)
    elif is_dataclass(node):
        yield node
        for field in fields(node):
            if field.name != "span":
                yield from _nodes(getattr(node, field.name))


def parameters_schema(query: NamedQuery) -> dict[str, Any]:
    """The JSON Schema of the parameters."""
    required = (parameter.name for parameter in query.parameters if parameter.is_required)
    return record({parameter.name: _schema(parameter) for parameter in query.parameters}, *required)


def _schema(parameter: QueryParameter) -> dict[str, Any]:
    schema = _value_schema(parameter.type)
    if parameter.is_list:
        schema = {"type": "array", "items": schema}
    if parameter.description:
        schema["description"] = parameter.description
    if parameter.default is not NO_DEFAULT and parameter.default is not None:
        schema["default"] = parameter.default
    return schema


def _value_schema(of_type: ParameterType) -> dict[str, Any]:
    match of_type:
        case "String":
            return {"type": "string"}
        case "Bool":
            return {"type": "boolean"}
        case "I32" | "U32":
            limits = SCALARS[of_type].limits or ()
            return {"type": "integer", **dict(zip(("minimum", "maximum"), limits, strict=True))}
        # Large integers may come as texts, because clients in JavaScript round numbers above 2^53.
        case "I64":
            return {"type": "string", "format": "int64"}
        case "U64":
            return {"type": "string", "format": "uint64"}
        case "F32" | "F64":
            return {"type": "number"}
        case "Date":
            return {"type": "string", "format": "date"}
        case "DateTime":
            return {"type": "string", "format": "date-time"}
        case "Json":
            return {}
        case _:
            assert_never(of_type)


def result_schema(facts: QueryFacts, catalog: Catalog) -> dict[str, Any]:
    """The JSON Schema of the result: rows of a FIND, or the result of another command.

    Values have types as far as `catalog` and the command determine them.
    """
    if not facts.columns:
        return record({"result": {}})
    row = typed(
        "array",
        prefixItems=[column_schema(origin, catalog) for origin in facts.origins],
        minItems=len(facts.columns),
        maxItems=len(facts.columns),
    )
    properties = {"columns": texts(), "rows": array(row), "next_cursor": text()}
    return record(properties, "columns", "rows")


def result_wire(result: Result) -> dict[str, Any]:
    """The result of a query in the form of `result_schema`."""
    if result.columns == ("result",):
        return {"result": result.value}
    wire: dict[str, Any] = {
        "columns": list(result.columns),
        "rows": [list(row) for row in result.rows],
    }
    return wire | ({"next_cursor": result.next_cursor} if result.next_cursor else {})


def descriptor(query: NamedQuery, catalog: Catalog) -> dict[str, Any]:
    """The description of a query for other programs."""
    facts = query_facts(query)
    other_annotations = {
        k: v for k, v in query.annotations.items() if k not in ("description", "instruction")
    }
    return {
        "name": query.name,
        "description": query.description,
        "instruction": query.instruction,
        "annotations": other_annotations,
        "parameters": parameters_schema(query),
        "result": result_schema(facts, catalog),
        "columns": list(facts.columns),
        "writes": facts.writes,
        "types": list(facts.types),
        "predicates": list(facts.predicates),
    }
