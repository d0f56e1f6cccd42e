"""`/queries`: list and run the named queries of a graph.

On a read-only server, a query that writes is treated like an unknown one.
"""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from mycel.api.graph import Graph
from mycel.api.open_branches import OpenBranches
from mycel.errors import MycelError
from mycel.http.policy import Policy
from mycel.http.request_values import given_parameters
from mycel.http.responses import JSON, encode, refusal
from mycel.http.worker_pool import Workers
from mycel.queries.descriptor import result_wire

LIST: str = "/queries"
RUN: str = "/queries/{name}"


def query_routes(policy: Policy, branches: OpenBranches, workers: Workers) -> list[Route]:
    """The routes of named queries."""

    async def serve(request: Request) -> Response:
        try:
            branch, given = await given_parameters(request)
            name = request.path_params.get("name")

            def run() -> bytes:
                with branches.using(branch) as db:
                    db.check_in_place()
                    return encode(_answer(db, policy, name, given))

            payload = await workers.run(request.scope, run)
        except MycelError as error:
            return refusal(error)
        return Response(payload, media_type=JSON)

    return [Route(LIST, serve, methods=["GET"]), Route(RUN, serve, methods=["POST"])]


def _answer(db: Graph, policy: Policy, name: str | None, given: dict[str, Any]) -> dict[str, Any]:
    if name is None:
        return {"queries": described(db, readonly=policy.readonly)}
    return result_wire(db.queries.run(name, given, readonly=policy.readonly))


def described(db: Graph, *, readonly: bool) -> list[dict[str, Any]]:
    """The queries that may be run here."""
    return [query for query in db.queries.describe() if not (readonly and query["writes"])]


def query_operations(
    queries: list[dict[str, Any]], responses: dict[str, Any], branch: dict[str, Any]
) -> dict[str, Any]:
    """An operation of OpenAPI for each query."""
    return {
        f"{LIST}/{query['name']}": {
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
