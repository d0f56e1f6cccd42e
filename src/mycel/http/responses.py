"""Responses: JSON, and errors in their wire form.

The status of an error follows from its category, or is given where HTTP has a closer one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import orjson
from starlette.responses import Response

from mycel.errors import REGISTRY, ExecutionTimeout, InternalError, MycelError, ResourceExhausted

JSON = "application/json"


def encode(value: Any) -> bytes:
    """A value as JSON.

    Errors quote the request, which may hold values that only the slower encoder can write: large
    integers and lone surrogates.
    """
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


def answer(value: Any, status: int = 200) -> Response:
    return Response(encode(value), status, media_type=JSON)


def refusal(
    error: MycelError, status: int | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    """An error as a response."""
    status = status_of(error.to_dict()) if status is None else status
    return Response(encode({"error": error.to_dict()}), status, headers, media_type=JSON)


def stopping() -> Response:
    """The response of a server that stops."""
    error = ResourceExhausted(
        "The server is stopping.",
        hint="Retry when it is back. Repeating an identical write changes nothing.",
    )
    return refusal(error, 503, {"retry-after": "5", "connection": "close"})


def status_of(error: Mapping[str, Any]) -> int:
    """The HTTP status of an error in its wire form."""
    if error["name"] == ExecutionTimeout.name:
        return HTTPStatus.GATEWAY_TIMEOUT
    return REGISTRY.get(error["name"], InternalError).category.http_status


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
