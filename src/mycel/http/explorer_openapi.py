"""The OpenAPI description of the explorer's page, its sessions and its stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from mycel.explorer.parameters import Argument, ArgumentKind
from mycel.model.json_schema import Schema, array, record, text, texts, typed

Refused = Callable[..., dict[str, Any]]

_KINDS: Final[dict[ArgumentKind, Schema]] = {
    "text": text(),
    "whole": typed("integer"),
    "number": typed("number"),
    "texts": texts(),
    "flag": typed("boolean"),
    "object": typed("object"),
    "objects": array(typed("object")),
    "any": {},
}
_PAGE: Final = {"description": "A file of the page", "content": {"text/html": {}}}


def paths(refused: Refused, branch: Schema) -> dict[str, Any]:
    """The paths of the page; `refused` makes the responses that are errors."""
    errors = refused(400, 404, 409, 413, 429, 503, 504)
    return {
        "/ui": _page("ui", "Leads to the explorer", {"307": {"description": "See /ui/"}}),
        "/ui/": _page("explorer", "The explorer, for browsers", {"200": _PAGE}),
        "/ui/{name}": _page(
            "explorer_file", "A file of the explorer", {"200": _PAGE, "404": errors["404"]}, "name"
        ),
        "/api/ticket": {
            "post": _posted(
                "ticket",
                "Exchange a ticket of `mycel serve --open` for a session token",
                {"ticket": text()},
                errors,
            )
            | {"security": []}
        },
        "/api/signout": {
            "post": _posted("signout", "Revoke the session token that is sent", {}, errors)
        },
        "/api/changes": {
            "get": {
                "operationId": "explorer_changes",
                "summary": "Commits as they happen, as server-sent events",
                "parameters": [
                    query_of("after", Argument("whole", "Begin after this position")),
                    branch,
                ],
                "responses": {
                    "200": {"description": "A stream", "content": {"text/event-stream": {}}}
                }
                | errors,
            }
        },
    }


def _page(name: str, summary: str, responses: Schema, *parts: str) -> dict[str, Any]:
    return {
        "get": {
            "operationId": name,
            "summary": summary,
            "security": [],
            "parameters": [
                {"name": part, "in": "path", "required": True, "schema": text()} for part in parts
            ],
            "responses": responses,
        }
    }


def schema_of(parameter: Argument) -> Schema:
    """The schema of the values of a parameter."""
    payload = dict(_KINDS[parameter.kind])
    if parameter.words:
        payload["enum"] = list(parameter.words)
    if parameter.kind == "whole":
        payload |= {"minimum": parameter.least} | (
            {"maximum": parameter.most} if parameter.most else {}
        )
    if parameter.default not in (None, (), ""):
        payload["default"] = parameter.default
    return payload


def query_of(name: str, parameter: Argument) -> dict[str, Any]:
    """A parameter of a URL."""
    return {
        "name": name,
        "in": "query",
        "required": parameter.required,
        "description": parameter.description,
        "schema": schema_of(parameter),
    }


def _posted(name: str, summary: str, fields: Schema, errors: Schema) -> dict[str, Any]:
    body = {"application/json": {"schema": record(fields)}}
    answer = {"application/json": {"schema": typed("object")}}
    return {
        "operationId": f"explorer_{name}",
        "summary": summary,
        "requestBody": {"required": True, "content": body},
        "responses": {"200": {"description": "Done", "content": answer}} | errors,
    }
