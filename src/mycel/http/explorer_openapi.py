"""The explorer's part of the OpenAPI description, made from its views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from mycel.explorer import saved
from mycel.explorer.conflicts import ACTIONS
from mycel.explorer.edits import OPERATIONS
from mycel.explorer.explorer import VIEWS, View
from mycel.explorer.parameters import Argument, ArgumentKind

Schema = dict[str, Any]
Refused = Callable[..., dict[str, Any]]

_KINDS: Final[dict[ArgumentKind, Schema]] = {
    "text": {"type": "string"},
    "whole": {"type": "integer"},
    "number": {"type": "number"},
    "texts": {"type": "array", "items": {"type": "string"}},
    "flag": {"type": "boolean"},
    "object": {"type": "object"},
    "objects": {"type": "array", "items": {"type": "object"}},
    "any": {},
}
_ANSWER: Final[Schema] = {
    "type": "object",
    "description": "The view; `position` is that of the journal at the state it shows.",
    "properties": {"position": {"type": ["integer", "null"]}},
    "required": ["position"],
}
_PAGE: Final = {"description": "A file of the page", "content": {"text/html": {}}}
_OBJECT: Final[Schema] = {"type": "object"}


def paths(refused: Refused, branch: Schema) -> dict[str, Any]:
    """The paths of the explorer; `refused` makes the responses that are errors."""
    errors = refused(400, 404, 409, 413, 429, 503, 504)
    payload = {f"/api/{name}": _view(name, view, errors, branch) for name, view in VIEWS.items()}
    return payload | {
        "/ui": _page("ui", "Leads to the explorer", {"307": {"description": "See /ui/"}}),
        "/ui/": _page("explorer", "The explorer, for browsers", {"200": _PAGE}),
        "/ui/{name}": _page(
            "explorer_file", "A file of the explorer", {"200": _PAGE, "404": errors["404"]}, "name"
        ),
        "/api/ticket": {
            "post": _posted(
                "ticket",
                "Exchange a ticket of `mycel serve --open` for a session token",
                {"ticket": _text()},
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
        **{
            f"/api/conflicts/{action}": {
                "post": _posted(
                    f"conflicts_{action}",
                    f"{action.capitalize()} an open merge, or its conflicts",
                    {key: schema_of(parameter) for key, parameter in parameters.items()},
                    errors,
                )
            }
            for action, parameters in ACTIONS.items()
        },
        **{
            f"/api/saved/{action}": {
                "post": _posted(
                    f"saved_{action}",
                    f"{action.capitalize()} a saved view",
                    {key: schema_of(parameter) for key, parameter in known.items()},
                    errors,
                )
            }
            for action, known in saved.ACTIONS.items()
        },
        "/api/write": {"post": _write(errors, branch)},
    }


def _text() -> Schema:
    return {"type": "string"}


def _page(name: str, summary: str, responses: Schema, *parts: str) -> dict[str, Any]:
    return {
        "get": {
            "operationId": name,
            "summary": summary,
            "security": [],
            "parameters": [
                {"name": part, "in": "path", "required": True, "schema": _text()} for part in parts
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


def _json_response(content: Schema) -> dict[str, Any]:
    return {"description": "Done", "content": {"application/json": {"schema": content}}}


def _view(name: str, view: View, errors: Schema, branch: Schema) -> dict[str, Any]:
    described = {
        "summary": view.description,
        "responses": {"200": _json_response(_ANSWER)} | errors,
    }
    queries = [query_of(key, parameter) for key, parameter in view.parameters.items()]
    payload = {
        "get": described | {"operationId": f"explorer_{name}", "parameters": [*queries, branch]}
    }
    if view.has_body:
        fields = {key: schema_of(parameter) for key, parameter in view.parameters.items()}
        payload["post"] = _posted(f"{name}_post", view.description, fields, errors)
    return payload


def _posted(name: str, summary: str, fields: Schema, errors: Schema) -> dict[str, Any]:
    body = {"type": "object", "properties": fields}
    return {
        "operationId": f"explorer_{name}",
        "summary": summary,
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
        "responses": {"200": _json_response(_OBJECT)} | errors,
    }


def _write(errors: Schema, branch: Schema) -> dict[str, Any]:
    fields: Schema = {"op": {"enum": list(OPERATIONS)}, "message": _text()}
    for parameters in OPERATIONS.values():
        fields |= {key: schema_of(parameter) for key, parameter in parameters.items()}
    payload = _posted("write", "Write, and get the commit", fields, errors)
    return payload | {"parameters": [branch]}
