"""Responses: JSON, and errors in their wire form.

The status of an error follows from its category, unless HTTP has a more specific one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ExceptionHandler

from mycel.engine.result import for_json
from mycel.errors import (
    REGISTRY,
    DatabaseReadOnly,
    ExecutionTimeout,
    InternalError,
    InvalidSyntax,
    MycelError,
    NotFound,
    ResourceExhausted,
)
from mycel.model.allowance import RETRY_AFTER, shortage

JSON = "application/json"
_IN_HTTP: Final = {
    "`mycel branch list` shows": "GET /branches lists",
    "db.merges.conflicts() (`mycel conflicts`) lists": "GET /merges/ID lists",
    "db.merges (`mycel conflicts`) lists": "GET /merges lists",
    "db.merges.resolve (`mycel resolve`)": "POST /merges/ID",
    "db.merges.abort() (`mycel merge --abort`)": "DELETE /merges/ID",
}
"""Parts of hints that name Python or the command line, and their replacements for HTTP."""


def encode(value: Any) -> bytes:
    """A value as JSON; the cells of a `Result` in it are not parsed.

    Errors quote the request, which may hold values that only the slower encoder can write: large
    integers and lone surrogates.
    """
    try:
        return orjson.dumps(value, default=for_json)
    except orjson.JSONEncodeError:
        written = json.dumps(
            value, allow_nan=False, separators=(",", ":"), default=lambda member: member.value
        )
        return written.encode()


def answer(value: Any, status: int = 200) -> Response:
    return Response(encode(value), status, media_type=JSON)


def refusal(
    error: MycelError, status: int | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    """An error as a response; its hint is adapted to HTTP."""
    for elsewhere, replacement in _IN_HTTP.items():
        error.hint = error.hint.replace(elsewhere, replacement)
    payload = error.to_dict()
    status = status_of(payload) if status is None else status
    return Response(
        encode({"error": payload}),
        status,
        retry_header(payload) | dict(headers or {}),
        media_type=JSON,
    )


async def error_response(_request: Request, error: Exception) -> Response:
    """The response to any error of a handler, for Starlette."""
    return refusal(error if isinstance(error, MycelError) else unexpected(error))


def error_handlers(where: str) -> dict[Any, ExceptionHandler]:
    """The handlers of errors of an application; `where` is the hint for an unknown path."""

    async def refuse(request: Request, error: Exception) -> Response:
        """The response for an unknown path, or a method that a path does not have."""
        if not isinstance(error, HTTPException) or error.status_code not in (404, 405):
            raise error
        refused: MycelError
        if error.status_code == 404:
            refused = NotFound("There is nothing at this path.", hint=where)
        else:
            allowed = (error.headers or {}).get("Allow", "another method")
            refused = InvalidSyntax(
                f"{request.url.path} does not take {request.method}.", hint=f"Use {allowed}."
            )
        return refusal(refused, error.status_code, error.headers)

    return {HTTPException: refuse, MycelError: error_response, Exception: error_response}


def unexpected(error: Exception) -> MycelError:
    """The `MycelError` for an unexpected exception, which is a bug or a lack of memory."""
    return shortage(error) or InternalError("The request failed for a reason inside the server.")


def stopping() -> Response:
    """The response of a server that stops."""
    error = ResourceExhausted(
        "The server is stopping.",
        hint="Retry when it is back. Repeating an identical write changes nothing.",
    )
    return refusal(error, 503, {"retry-after": "5", "connection": "close"})


def status_of(error: Mapping[str, Any]) -> int:
    """The HTTP status of an error in its wire form."""
    if RETRY_AFTER in error.get("data", ()):
        return HTTPStatus.SERVICE_UNAVAILABLE
    if error["name"] == ExecutionTimeout.name:
        return HTTPStatus.GATEWAY_TIMEOUT
    if error["name"] == DatabaseReadOnly.name:
        return HTTPStatus.FORBIDDEN
    if error.get("data", {}).get("status") == "stale":
        return HTTPStatus.PRECONDITION_FAILED  # Of a submission: the base is not the head.
    return REGISTRY.get(error["name"], InternalError).category.http_status


def retry_header(error: Mapping[str, Any]) -> dict[str, str]:
    """The header that says when to retry, if the error says it."""
    after = error.get("data", {}).get(RETRY_AFTER)
    return {} if after is None else {"retry-after": str(after)}


def raw_refusal(error: MycelError, status: int, retry_after_s: int | None = None) -> bytes:
    """A whole response as bytes, for a connection without a valid request."""
    body = encode({"error": error.to_dict()})
    retry = "" if retry_after_s is None else f"retry-after: {retry_after_s}\r\n"
    head = (
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n"
        f"content-type: {JSON}\r\n"
        f"content-length: {len(body)}\r\n"
        f"{retry}connection: close\r\n\r\n"
    )
    return head.encode() + body
