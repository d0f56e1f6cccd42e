"""The part of the OpenAPI description about branches and merges, made from the endpoints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mycel.http.branch_routes import ENDPOINTS, BranchEndpoint
from mycel.http.explorer_openapi import query_of, schema_of

Schema = dict[str, Any]
Refused = Callable[..., dict[str, Any]]

_BODY: Schema = {"type": "object"}


def paths(refused: Refused, branch: Schema) -> dict[str, Any]:
    """The paths of branches and merges; `refused` makes the responses that are errors."""
    payload: dict[str, Any] = {}
    errors = refused(400, 404, 409, 413, 429, 503, 504)
    for branch_endpoint in ENDPOINTS:
        payload.setdefault(branch_endpoint.path, {})[branch_endpoint.method.lower()] = _operation(
            branch_endpoint, errors, branch
        )
    return payload


def _operation(endpoint: BranchEndpoint, errors: Schema, branch: Schema) -> Schema:
    parameters = [branch]
    if "{name}" in endpoint.path:
        required = {"name": "name", "in": "path", "required": True}
        parameters.append(required | {"schema": {"type": "string"}})
    shown = {"application/json": {"schema": _BODY}}
    responses = {
        str(status): {"description": "Done", "content": shown} for status in endpoint.statuses
    }
    words = f"{endpoint.method}{endpoint.path}".replace("/", "_").strip("{}").lower()
    payload: Schema = {
        "operationId": words.replace("{", "").replace("}", ""),
        "summary": endpoint.summary,
        "responses": responses | errors,
    }
    if endpoint.method == "POST":
        fields = {key: schema_of(each) for key, each in endpoint.parameters.items()}
        required_fields = [key for key, each in endpoint.parameters.items() if each.required]
        body: Schema = {"type": "object", "properties": fields}
        body |= {"required": required_fields} if required_fields else {}
        content = {"application/json": {"schema": body}}
        payload["requestBody"] = {"required": True, "content": content}
    else:
        parameters += [query_of(key, each) for key, each in endpoint.parameters.items()]
    return payload | {"parameters": parameters}
