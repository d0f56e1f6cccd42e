"""The part of the OpenAPI description that is made from the tables of endpoints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from mycel.http.branch_routes import BRANCH_ENDPOINTS
from mycel.http.endpoints import Endpoint
from mycel.http.explorer_openapi import query_of, schema_of
from mycel.http.explorer_routes import EXPLORER_ENDPOINTS
from mycel.http.query_routes import QUERY_ENDPOINTS
from mycel.http.remote_routes import REMOTE_ENDPOINTS
from mycel.http.submission_routes import SUBMISSION_ENDPOINTS
from mycel.model.json_schema import Schema, record, text

Refused = Callable[..., dict[str, Any]]

ENDPOINTS: Final = (
    *BRANCH_ENDPOINTS,
    *QUERY_ENDPOINTS,
    *REMOTE_ENDPOINTS,
    *SUBMISSION_ENDPOINTS,
    *EXPLORER_ENDPOINTS,
)


def paths(refused: Refused, branch: Schema) -> dict[str, Any]:
    """The paths of all endpoints; `refused` makes the responses that are errors."""
    payload: dict[str, Any] = {}
    errors = refused(400, 404, 409, 413, 429, 503, 504)
    for endpoint in ENDPOINTS:
        operation = _operation(endpoint, errors, branch)
        payload.setdefault(endpoint.path, {})[endpoint.method.lower()] = operation
    return payload


def _operation(endpoint: Endpoint, errors: Schema, branch: Schema) -> Schema:
    parameters = [branch]
    if "{name}" in endpoint.path:
        required = {"name": "name", "in": "path", "required": True}
        parameters.append(required | {"schema": text()})
    response_content = {"application/json": {"schema": endpoint.answer}}
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
    arguments = endpoint.parameters
    if endpoint.method == "POST":
        fields = {key: schema_of(parameter) for key, parameter in arguments.items()}
        required_fields = (key for key, parameter in arguments.items() if parameter.required)
        content = {"application/json": {"schema": record(fields, *required_fields)}}
        payload["requestBody"] = {"required": True, "content": content}
    else:
        parameters += [query_of(key, parameter) for key, parameter in arguments.items()]
    return payload | {"parameters": parameters}
