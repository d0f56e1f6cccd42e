"""Named queries as tools: `@tool` makes a query a tool of its own, and `run_query` runs any."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Literal

import orjson

from mycel.errors import ConstraintViolation
from mycel.mcp.results import DATA_TOKENS_MAX, Answer, estimate
from mycel.mcp.tool_context import ServedGraph, ToolCall
from mycel.model.names import count
from mycel.model.values import JsonObject
from mycel.queries.declaration import NamedQuery
from mycel.queries.descriptor import (
    QueryFacts,
    parameters_schema,
    query_facts,
    result_schema,
    result_wire,
)
from mycel.schema import Catalog

QueryOffer = Literal["marked", "all", "none"]
TOOLS_MAX: Final = 20
"""The maximum number of queries that are tools of their own."""
RUN: Final = "run_query"


def offered_queries(served: ServedGraph, offer: QueryOffer, names: set[str]) -> list[NamedQuery]:
    """The queries that are tools of their own, by name; `names` are the names of other tools."""
    return [query for query in _allowed(served) if _is_offered(query, offer, names)][:TOOLS_MAX]


def _allowed(served: ServedGraph) -> Iterator[NamedQuery]:
    for query in served.db.queries:
        if not (served.readonly and query_facts(query).writes):
            yield query


def _is_offered(query: NamedQuery, offer: QueryOffer, names: set[str]) -> bool:
    return query.name not in names and (offer == "all" or (offer == "marked" and query.is_tool))


def query_tool(query: NamedQuery, catalog: Catalog) -> JsonObject:
    """A query as MCP lists a tool."""
    facts = query_facts(query)
    description = f"{query.description} {query.instruction}".strip()
    return {
        "name": query.name,
        "title": query.name.replace("_", " ").capitalize(),
        "description": description or f"The named query {query.name} of the graph.",
        "inputSchema": parameters_schema(query),
        "outputSchema": result_schema(facts, catalog),
        "annotations": _hints(facts),
    }


def _hints(facts: QueryFacts) -> dict[str, bool]:
    hints = {"readOnlyHint": not facts.writes, "openWorldHint": False}
    return hints | ({"destructiveHint": True, "idempotentHint": False} if facts.writes else {})


def run_tool(*, readonly: bool) -> JsonObject:
    """The tool that runs any query by its name."""
    return {
        "name": RUN,
        "title": "Run a named query",
        "description": "Run a named query of the graph: a checked command with typed parameters."
        " Without a name: list all with their parameters.",
        "inputSchema": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "parameters": {"type": "object"}},
        },
        "annotations": {"readOnlyHint": readonly, "openWorldHint": False}
        | ({} if readonly else {"destructiveHint": True, "idempotentHint": False}),
    }


def run_named(call: ToolCall) -> Answer:
    """Run the query that the arguments name, or list all."""
    arguments = call.arguments
    name, parameters = arguments.get("name"), arguments.get("parameters") or {}
    if not isinstance(parameters, dict):
        raise ConstraintViolation("parameters must be an object.", hint='{"name": value}')
    return query_list(call) if not name else run_query(call, str(name), parameters)


def query_list(call: ToolCall) -> Answer:
    """All queries, each on a line with its parameters."""
    lines = [_line(query) for query in _allowed(call.served)]
    return Answer("\n".join(lines) or "The graph has no named queries.")


def _line(query: NamedQuery) -> str:
    parameters = ", ".join(
        f"{parameter.name}: {parameter.type_text}" for parameter in query.parameters
    )
    return f"{query.name}({parameters}) {query.description} {query.instruction}".rstrip()


def run_query(call: ToolCall, name: str, parameters: dict[str, Any]) -> Answer:
    """Run a query. Rows beyond the size of an answer are left out, and the text says so."""
    result = call.served.db.queries.run(name, parameters, readonly=call.served.readonly)
    wire = result_wire(result)
    text = orjson.dumps(wire, option=orjson.OPT_NON_STR_KEYS).decode()
    rows = wire.get("rows")
    if rows is None or estimate(text) <= DATA_TOKENS_MAX:
        return Answer(text, wire)
    total = len(rows)
    while rows and estimate(text) > DATA_TOKENS_MAX:
        del rows[len(rows) // 2 :]
        text = orjson.dumps(wire, option=orjson.OPT_NON_STR_KEYS).decode()
    left_out = f"{count(total - len(rows), 'more row')} had no room; ask for fewer."
    return Answer(f"{text}\n{left_out}", wire)
