"""`/queries`: list and run the named queries of a graph.

On a read-only server, a query that writes is treated like an unknown one.
"""

from __future__ import annotations

from typing import Any, Final

from mycel.api.graph import Graph
from mycel.http.endpoints import Endpoint, EndpointCall, EndpointReply, reply
from mycel.http.responses import JSON
from mycel.queries.descriptor import result_wire

QUERIES: Final = "/queries"


def _list(call: EndpointCall) -> EndpointReply:
    return reply({"queries": described(call.db, readonly=call.served.policy.readonly)})


def _run(call: EndpointCall) -> EndpointReply:
    readonly = call.served.policy.readonly
    return reply(result_wire(call.db.queries.run(call.name, call.values, readonly=readonly)))


QUERY_ENDPOINTS: Final = (
    Endpoint(
        "GET",
        QUERIES,
        "List the named queries, with their parameters and results",
        _list,
        {},
        is_checked=False,
    ),
    Endpoint(
        "POST",
        f"{QUERIES}/{{name}}",
        "Run a named query; the body has the values of its parameters",
        _run,
        {},
        is_checked=False,
    ),
)


def described(db: Graph, *, readonly: bool) -> list[dict[str, Any]]:
    """The queries that may be run here."""
    return [query for query in db.queries.describe() if not (readonly and query["writes"])]


def query_operations(
    queries: list[dict[str, Any]], responses: dict[str, Any], branch: dict[str, Any]
) -> dict[str, Any]:
    """An operation of OpenAPI for each query."""
    return {
        f"{QUERIES}/{query['name']}": {
            "post": {
                "operationId": f"query_{query['name']}",
                "summary": query["description"] or f"Run the query {query['name']}",
                "description": query["instruction"],
                "parameters": [branch],
                "requestBody": {
                    "required": True,
                    "content": {JSON: {"schema": query["parameters"]}},
                },
                "responses": {
                    "200": {
                        "description": "Done",
                        "content": {JSON: {"schema": query["result"]}},
                    }
                }
                | responses,
            }
        }
        for query in queries
    }
