"""The description of the server in OpenAPI 3.1.

It is data, written by hand. A test sends every example to a server, validates every answer against
the schema given here, and compares the paths with the routes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mycel.errors import REGISTRY
from mycel.http import branch_openapi, explorer_openapi
from mycel.http.policy import LOG_PAGE, LOG_PAGE_MAX
from mycel.http.query_routes import query_operations
from mycel.model.json_schema import (
    Schema,
    array,
    closed_record,
    record,
    text,
    texts,
    typed,
)
from mycel.model.limits import BATCH_COMMANDS_MAX

_FIND: Final = 'FIND(?t.name) WHERE { ?t {type: "$ConceptType"} } LIMIT 5'
_PARAMETERS: Final = typed(
    "object",
    "Values for the placeholders (`:name`) of the commands. They are bound, and never become part"
    " of the text.",
)
_MOMENT: Final = {
    "type": ["string", "integer"],
    "description": "A commit, a tag, a time (ISO 8601), or the number of a journal entry.",
}
_BRANCH: Final = {
    "name": "branch",
    "in": "query",
    "schema": text(),
    "description": "The branch of the graph; without it, the one that the server began with.",
}
_ID: Final = {"description": "The `id` of the request, which may be any value."}


def document(
    *, version: str, body_bytes_max: int, wants_token: bool, mounts: Mapping[str, str]
) -> dict[str, Any]:
    """The whole description of one server."""
    payload: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "Mycel",
            "version": version,
            "summary": "An embedded, verifiable knowledge graph for AI agents",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/"}],
        "paths": {
            "/": {"get": _INFORMATION},
            "/kip": {"post": _kip(body_bytes_max)},
            "/healthz": {"get": _HEALTH},
            "/openapi.json": {"get": _DESCRIPTION},
        }
        | {path: _mount(name) for path, name in mounts.items()}
        | branch_openapi.paths(_refused, _BRANCH)
        | explorer_openapi.paths(_refused, _BRANCH),
        "components": {"schemas": _SCHEMAS, "responses": _RESPONSES},
    }
    if wants_token:
        payload["components"] |= {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}
        }
        payload["security"] = [{"token": []}]
    return payload


def team_document(
    *, version: str, body_bytes_max: int, wants_token: bool, mounts: Mapping[str, str]
) -> dict[str, Any]:
    """The description of a server of many workspaces: the paths of each are below `/ws/NAME`."""
    payload = document(
        version=version, body_bytes_max=body_bytes_max, wants_token=wants_token, mounts=mounts
    )
    inside = {
        f"/ws/{{workspace}}{path}": operations | {"parameters": [_WORKSPACE]}
        for path, operations in payload["paths"].items()
    }
    return payload | {"paths": _TEAM_PATHS | inside}


def query_paths(queries: list[dict[str, Any]]) -> dict[str, Any]:
    """An operation for each named query."""
    return query_operations(queries, _refused(*_QUERY_ERRORS), _BRANCH)


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _json(schema: Schema, **more: Any) -> dict[str, Any]:
    return {"application/json": {"schema": schema, **more}}


def _refused(*statuses: int) -> dict[str, Any]:
    """The error responses by status; the responses of the guard apply to every path."""
    everywhere = (401, 403, 421, 500)
    return {
        str(status): {"$ref": f"#/components/responses/{_MEANINGS[status][0]}"}
        for status in sorted({*everywhere, *statuses})
    }


_MEANINGS: Final = {
    400: ("Wrong", "The request is wrong; sending it again changes nothing"),
    401: ("TokenWanted", "The server wants a token"),
    403: ("Forbidden", "This origin may not ask, or this may not be changed"),
    404: ("Missing", "A thing that the request names does not exist"),
    408: ("TooSlow", "The body did not come in time; nothing was done"),
    409: ("Conflict", "The state differs from the one that the caller expects"),
    413: ("TooLarge", "The body is too large; nothing was done"),
    415: ("NotJson", "The body does not say that it is JSON"),
    421: ("WrongHost", "The server does not answer to this host"),
    429: ("TooMuch", "The request, or its result, is beyond a limit"),
    500: ("Failed", "The server or its storage failed"),
    503: ("Busy", "The server is busy, stopping, or its graph is gone"),
    504: ("TookTooLong", "No answer in time; a command that has begun is still completed"),
}

_RESPONSES: Final = {
    name: {"description": description, "content": _json(_ref("Failure"))}
    for name, description in _MEANINGS.values()
}

_SCHEMAS: Final[Mapping[str, Schema]] = {
    "Request": record(
        {
            "command": text("A command of KIP."),
            "commands": array(
                {
                    "oneOf": [
                        text(),
                        record({"command": text(), "parameters": _PARAMETERS}, "command"),
                    ]
                },
                maxItems=BATCH_COMMANDS_MAX,
            ),
            "parameters": _PARAMETERS,
            "message": text("The reason of writing, for the journal."),
            "dry_run": typed("boolean", "Check only; nothing is written.", default=False),
        },
        description="A request of KIP §6.1: one command, or several of which each is a transaction"
        " of its own.",
        oneOf=[{"required": ["command"]}, {"required": ["commands"]}],
        **{"not": {"required": ["method"]}},
    ),
    "MethodCall": closed_record(
        {
            "method": {"enum": ["execute_kip", "execute_kip_readonly"]},
            "params": _ref("Request"),
            "id": _ID,
            "jsonrpc": True,
        },
        "method",
        "params",
    ),
    "LogCall": closed_record(
        {
            "method": {"const": "list_logs"},
            "params": closed_record(
                {
                    "limit": {
                        "type": ["integer", "null"],
                        "minimum": 1,
                        "maximum": LOG_PAGE_MAX,
                        "default": LOG_PAGE,
                    },
                    "cursor": {
                        "type": ["string", "null"],
                        "description": "`next_cursor` of a page before.",
                    },
                    "path": text("Changes under this URI, and of links that begin there."),
                    "type": text("Changes of a type or predicate."),
                    "actor": text(),
                    "since": _MOMENT,
                    "until": _MOMENT,
                    "text": text("A part of the message."),
                }
            ),
            "id": _ID,
            "jsonrpc": True,
        },
        "method",
    ),
    "Response": closed_record(
        {
            "result": {},
            "error": _ref("Error"),
            "next_cursor": text(),
            "warnings": texts(),
            "id": _ID,
        },
        description="A response of KIP §6.2. That of a batch is an array of such responses.",
        oneOf=[{"required": ["result"]}, {"required": ["error"]}],
    ),
    "Failure": closed_record({"error": _ref("Error"), "warnings": texts(), "id": _ID}, "error"),
    "Error": closed_record(
        {
            "code": text(pattern="^KIP_[0-9]{4}$"),
            "name": {"enum": sorted(REGISTRY)},
            "message": text("What happened."),
            "hint": text("What to do next."),
            "data": typed("object", "Details for programs."),
        },
        *("code", "name", "message", "hint"),
    ),
    "Information": closed_record(
        {
            "name": {"const": "mycel"},
            "version": text(),
            "kip": text("The version of KIP."),
            "capabilities": texts(),
            "endpoints": typed("object", additionalProperties=text(format="uri")),
            "limits": closed_record(
                {
                    "body_bytes": typed("integer"),
                    "batch_commands": typed("integer"),
                    "timeout_s": typed("number"),
                }
            ),
            "graph": closed_record(
                {
                    "branch": text(),
                    "entries": typed("integer", "Entries of the journal."),
                    "overall_root": text(pattern="^[0-9a-f]{64}$"),
                    "replica_lag_s": typed(
                        "number", "The seconds by which a replica of the database is behind."
                    ),
                },
                *("branch", "entries", "overall_root"),
            ),
        },
        *("name", "version", "kip", "capabilities", "endpoints", "limits", "graph"),
    ),
    "Health": closed_record({"status": {"const": "ok"}}, "status"),
}
_OBJECT: Final = typed("object")


def _operation(
    name: str,
    summary: str,
    success: str,
    *statuses: int,
    schema: Schema = _OBJECT,
    **more: Any,
) -> dict[str, Any]:
    """An operation with its responses: one of success, and one for each status of an error."""
    return {
        "operationId": name,
        "summary": summary,
        "responses": {
            "200": {"description": success, "content": _json(schema)},
            **_refused(*statuses),
        },
        **more,
    }


_INFORMATION: Final = _operation(
    "information",
    "The server and its abilities",
    "That",
    *(400, 404, 503),
    schema=_ref("Information"),
    parameters=[_BRANCH],
)
_HEALTH: Final = _operation(
    "health",
    "Tell if the graph can be read; needs no token",
    "It can",
    503,
    schema=_ref("Health"),
    security=[],
)
_DESCRIPTION: Final = _operation("description", "This document", "This document")


def _kip(body_bytes_max: int) -> dict[str, Any]:
    calls = {"oneOf": [_ref("Request"), _ref("MethodCall"), _ref("LogCall")]}
    return _operation(
        "kip",
        "Run commands of KIP, or read the journal",
        "It was run",
        *(400, 404, 408, 409, 413, 415, 429, 503, 504),
        schema=_ref("Response"),
        description="An error has its own status. A batch is answered with"
        f" 200, and each of its responses has its own error. At most {body_bytes_max} bytes.",
        parameters=[_BRANCH],
        requestBody={"required": True, "content": _json(calls, examples=_EXAMPLES)},
    )


_EXAMPLES: Final = {
    "command": {"summary": "One command", "value": {"command": _FIND}},
    "batch": {
        "summary": "Several, with parameters",
        "value": {
            "commands": [
                "DESCRIBE PRIMER",
                {
                    "command": "FIND(?e) WHERE { ?e {type: :type} } LIMIT 1",
                    "parameters": {"type": "Event"},
                },
            ]
        },
    },
    "dry_run": {
        "summary": "Check a write",
        "value": {
            "command": 'UPSERT { CONCEPT { {type: "Person", name: "Ada"} } }',
            "dry_run": True,
        },
    },
    "readonly": {
        "summary": "Through the door that only reads",
        "value": {"method": "execute_kip_readonly", "params": {"command": _FIND}, "id": 1},
    },
    "write": {
        "summary": "A write, with its method",
        "value": {
            "method": "execute_kip",
            "params": {"command": 'UPSERT { CONCEPT { {type: "Person", name: "Ada"} } }'},
        },
    },
    "logs": {
        "summary": "The last transactions",
        "value": {"method": "list_logs", "params": {"limit": 2}},
    },
}


def _mount(name: str) -> dict[str, Any]:
    """The entry of another protocol, which only points to the description of that protocol."""
    payload: dict[str, Any] = {
        "summary": f"{name.upper()}: speak its own protocol here",
        "responses": {"default": {"description": f"A response of {name.upper()}"}},
    }
    return {method: payload | {"operationId": f"{name}_{method}"} for method in ("get", "post")}


_WORKSPACE: Final = {"name": "workspace", "in": "path", "required": True, "schema": text()}


def _server_operation(name: str, summary: str, *statuses: int, **more: Any) -> dict[str, Any]:
    return _operation(f"server_{name}", summary, "Done", *statuses, **more)


def _number(name: str, description: str) -> dict[str, Any]:
    schema = typed("integer", minimum=1)
    return {"name": name, "in": "query", "description": description, "schema": schema}


_TEAM_PATHS: Final = {
    "/": {"get": _server_operation("information", "The server, and its paths")},
    "/ws": {
        "get": _server_operation("workspaces", "List the workspaces that the token may see"),
        "post": _server_operation(
            "create_workspace",
            "Create a workspace",
            *(400, 409),
            requestBody={"required": True, "content": _json(record({"name": text()}, "name"))},
        ),
    },
    "/audit": {
        "get": _server_operation(
            "audit",
            "The audit log, newest records first",
            400,
            parameters=[
                _number("before", "A record"),
                _number("limit", "The maximum number of records"),
            ],
        )
    },
    "/metrics": {
        "get": {
            "operationId": "server_metrics",
            "summary": "Counters, in the text format of Prometheus",
            "responses": {
                "200": {"description": "Them", "content": {"text/plain": {"schema": text()}}},
                **_refused(),
            },
        }
    },
    "/status": {
        "get": _server_operation("status", "Requests, streams and the sizes of workspaces")
    },
    "/healthz": {"get": _HEALTH | {"operationId": "server_health"}},
    "/openapi.json": {"get": _DESCRIPTION | {"operationId": "server_description"}},
}

_QUERY_ERRORS: Final = (400, 404, 413, 429, 503, 504)
