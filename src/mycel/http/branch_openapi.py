"""The part of the OpenAPI description that is made from tables of endpoints.

The tables are those of branches and merges, and of the protocol between workspaces.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from mycel.explorer.parameters import Parameters
from mycel.http.branch_routes import ENDPOINTS
from mycel.http.explorer_openapi import query_of, schema_of
from mycel.http.remote_routes import REMOTE_ENDPOINTS
from mycel.http.submission_routes import SUBMISSION_ENDPOINTS

Schema = dict[str, Any]
Refused = Callable[..., dict[str, Any]]

_BODY: Schema = {"type": "object"}


def paths(refused: Refused, branch: Schema) -> dict[str, Any]:
    """The paths of all endpoints; `refused` makes the responses that are errors."""
    payload: dict[str, Any] = {}
    errors = refused(400, 404, 409, 413, 429, 503, 504)
    described: list[_Endpoint] = [*ENDPOINTS, *REMOTE_ENDPOINTS, *SUBMISSION_ENDPOINTS]
    for endpoint in described:
        operation = _operation(endpoint, errors, branch)
        payload.setdefault(endpoint.path, {})[endpoint.method.lower()] = operation
    return payload


class _Endpoint(Protocol):
    """One method of one path."""

    @property
    def method(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def summary(self) -> str: ...
    @property
    def parameters(self) -> Parameters: ...
    @property
    def statuses(self) -> tuple[int, ...]: ...


def _operation(endpoint: _Endpoint, errors: Schema, branch: Schema) -> Schema:
    parameters = [branch]
    if "{name}" in endpoint.path:
        required = {"name": "name", "in": "path", "required": True}
        parameters.append(required | {"schema": {"type": "string"}})
    response_content = {"application/json": {"schema": _BODY}}
    responses = {
        str(status): {"description": "Done", "content": response_content}
        for status in endpoint.statuses
    }
    words = f"{endpoint.method}{endpoint.path}".replace("/", "_").strip("{}").lower()
    payload: Schema = {
        "operationId": words.replace("{", "").replace("}", ""),
        "summary": endpoint.summary,
        "responses": responses | errors,
    }
    if endpoint.method == "POST":
        fields = {key: schema_of(parameter) for key, parameter in endpoint.parameters.items()}
        required_fields = [
            key for key, parameter in endpoint.parameters.items() if parameter.required
        ]
        body: Schema = {"type": "object", "properties": fields}
        body |= {"required": required_fields} if required_fields else {}
        content = {"application/json": {"schema": body}}
        payload["requestBody"] = {"required": True, "content": content}
    else:
        parameters += [query_of(key, parameter) for key, parameter in endpoint.parameters.items()]
    return payload | {"parameters": parameters}
