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
from mycel.model.limits import BATCH_COMMANDS_MAX

Schema = dict[str, Any]

_FIND: Final = 'FIND(?t.name) WHERE { ?t {type: "$ConceptType"} } LIMIT 5'
_PARAMETERS: Final = {
    "type": "object",
    "description": "Values for the placeholders (`:name`) of the commands. They are bound, and"
    " never become part of the text.",
}
_MOMENT: Final = {
    "type": ["string", "integer"],
    "description": "A commit, a tag, a time (ISO 8601), or the number of a journal entry.",
}
_BRANCH: Final = {
    "name": "branch",
    "in": "query",
    "schema": {"type": "string"},
    "description": "The branch of the graph; without it, the one that the server began with.",
}
_ID: Final = {"description": "Any value: what the request had beside its method."}


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
    "Request": {
        "type": "object",
        "description": "A request of KIP §6.1: one command, or several of which each is a"
        " transaction of its own.",
        "properties": {
            "command": {"type": "string", "description": "A command of KIP."},
            "commands": {
                "type": "array",
                "maxItems": BATCH_COMMANDS_MAX,
                "items": {
                    "oneOf": [
                        {"type": "string"},
                        {
                            "type": "object",
                            "properties": {
                                "command": {"type": "string"},
                                "parameters": _PARAMETERS,
                            },
                            "required": ["command"],
                        },
                    ]
                },
            },
            "parameters": _PARAMETERS,
            "message": {
                "type": "string",
                "description": "The reason of writing, for the journal.",
            },
            "dry_run": {
                "type": "boolean",
                "default": False,
                "description": "Check only; nothing is written.",
            },
        },
        "oneOf": [{"required": ["command"]}, {"required": ["commands"]}],
        "not": {"required": ["method"]},
    },
    "MethodCall": {
        "type": "object",
        "properties": {
            "method": {"enum": ["execute_kip", "execute_kip_readonly"]},
            "params": _ref("Request"),
            "id": _ID,
            "jsonrpc": True,
        },
        "required": ["method", "params"],
        "additionalProperties": False,
    },
    "LogCall": {
        "type": "object",
        "properties": {
            "method": {"const": "list_logs"},
            "params": {
                "type": "object",
                "properties": {
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
                    "path": {
                        "type": "string",
                        "description": "Changes under this URI, and of links that begin there.",
                    },
                    "type": {"type": "string", "description": "Changes of a type or predicate."},
                    "actor": {"type": "string"},
                    "since": _MOMENT,
                    "until": _MOMENT,
                    "text": {"type": "string", "description": "A part of the message."},
                },
                "additionalProperties": False,
            },
            "id": _ID,
            "jsonrpc": True,
        },
        "required": ["method"],
        "additionalProperties": False,
    },
    "Response": {
        "type": "object",
        "description": "A response of KIP §6.2. That of a batch is an array of such responses.",
        "properties": {
            "result": {},
            "error": _ref("Error"),
            "next_cursor": {"type": "string"},
            "warnings": {"type": "array", "items": {"type": "string"}},
            "id": _ID,
        },
        "oneOf": [{"required": ["result"]}, {"required": ["error"]}],
        "additionalProperties": False,
    },
    "Failure": {
        "type": "object",
        "properties": {
            "error": _ref("Error"),
            "warnings": {"type": "array", "items": {"type": "string"}},
            "id": _ID,
        },
        "required": ["error"],
        "additionalProperties": False,
    },
    "Error": {
        "type": "object",
        "properties": {
            "code": {"type": "string", "pattern": "^KIP_[0-9]{4}$"},
            "name": {"enum": sorted(REGISTRY)},
            "message": {"type": "string", "description": "What happened."},
            "hint": {"type": "string", "description": "What to do next."},
            "data": {"type": "object", "description": "Details for programs."},
        },
        "required": ["code", "name", "message", "hint"],
        "additionalProperties": False,
    },
    "Information": {
        "type": "object",
        "properties": {
            "name": {"const": "mycel"},
            "version": {"type": "string"},
            "kip": {"type": "string", "description": "The version of KIP."},
            "capabilities": {"type": "array", "items": {"type": "string"}},
            "endpoints": {
                "type": "object",
                "additionalProperties": {"type": "string", "format": "uri"},
            },
            "limits": {
                "type": "object",
                "properties": {
                    "body_bytes": {"type": "integer"},
                    "batch_commands": {"type": "integer"},
                    "timeout_s": {"type": "number"},
                },
                "additionalProperties": False,
            },
            "graph": {
                "type": "object",
                "properties": {
                    "branch": {"type": "string"},
                    "entries": {"type": "integer", "description": "Entries of the journal."},
                    "overall_root": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
                    "replica_lag_s": {
                        "type": "number",
                        "description": "The seconds by which a replica of the database is behind.",
                    },
                },
                "required": ["branch", "entries", "overall_root"],
                "additionalProperties": False,
            },
        },
        "required": ["name", "version", "kip", "capabilities", "endpoints", "limits", "graph"],
        "additionalProperties": False,
    },
    "Health": {
        "type": "object",
        "properties": {"status": {"const": "ok"}},
        "required": ["status"],
        "additionalProperties": False,
    },
}

_INFORMATION: Final = {
    "operationId": "information",
    "summary": "What this server is, and what it can do",
    "parameters": [_BRANCH],
    "responses": {
        "200": {"description": "That", "content": _json(_ref("Information"))},
        **_refused(400, 404, 503),
    },
}

_HEALTH: Final = {
    "operationId": "health",
    "summary": "Whether the graph can be read; needs no token",
    "security": [],
    "responses": {
        "200": {"description": "It can", "content": _json(_ref("Health"))},
        **_refused(503),
    },
}

_DESCRIPTION: Final = {
    "operationId": "description",
    "summary": "This document",
    "responses": {
        "200": {"description": "This document", "content": _json({"type": "object"})},
        **_refused(),
    },
}


def _kip(body_bytes_max: int) -> dict[str, Any]:
    calls = {"oneOf": [_ref("Request"), _ref("MethodCall"), _ref("LogCall")]}
    return {
        "operationId": "kip",
        "summary": "Run commands of KIP, or read the journal",
        "description": "The status is that of the error, if there is one. A batch is answered with"
        f" 200, and each of its responses has its own error. At most {body_bytes_max} bytes.",
        "parameters": [_BRANCH],
        "requestBody": {"required": True, "content": _json(calls, examples=_EXAMPLES)},
        "responses": {
            "200": {"description": "It was run", "content": _json(_ref("Response"))},
            **_refused(400, 404, 408, 409, 413, 415, 429, 503, 504),
        },
    }


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
        "responses": {"default": {"description": f"As {name.upper()} has it"}},
    }
    return {method: payload | {"operationId": f"{name}_{method}"} for method in ("get", "post")}


_WORKSPACE: Final = {
    "name": "workspace",
    "in": "path",
    "required": True,
    "schema": {"type": "string"},
}


def _server_operation(summary: str, name: str, *statuses: int, **more: Any) -> dict[str, Any]:
    success = {"description": "Done", "content": _json({"type": "object"})}
    return {
        "operationId": f"server_{name}",
        "summary": summary,
        "responses": {"200": success, **_refused(*statuses)},
        **more,
    }


def _number(name: str, description: str) -> dict[str, Any]:
    schema = {"type": "integer", "minimum": 1}
    return {"name": name, "in": "query", "description": description, "schema": schema}


_TEAM_PATHS: Final = {
    "/": {"get": _server_operation("The server, and its paths", "information")},
    "/ws": {
        "get": _server_operation("List the workspaces that the token may see", "workspaces"),
        "post": _server_operation(
            "Create a workspace",
            "create_workspace",
            400,
            409,
            requestBody={
                "required": True,
                "content": _json(
                    {
                        "type": "object",
                        "properties": {"name": {"type": "string"}},
                        "required": ["name"],
                    }
                ),
            },
        ),
    },
    "/audit": {
        "get": _server_operation(
            "The audit log, newest records first",
            "audit",
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
                "200": {
                    "description": "Them",
                    "content": {"text/plain": {"schema": {"type": "string"}}},
                },
                **_refused(),
            },
        }
    },
    "/status": {
        "get": _server_operation("Requests, streams and the sizes of workspaces", "status")
    },
    "/healthz": {"get": _HEALTH | {"operationId": "server_health"}},
    "/openapi.json": {"get": _DESCRIPTION | {"operationId": "server_description"}},
}

_QUERY_ERRORS: Final = (400, 404, 413, 429, 503, 504)
