"""JSON-RPC messages, and short errors for invalid ones.

The SDK treats a request with an invalid `id` (null, a fraction, an object) as a notification. It
answers other mistakes with the text of its validator, or not at all. Here every mistake gets a
short sentence, the same on standard input and over HTTP: `read` checks a message before the SDK
does, `worded` replaces the errors of the SDK.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Any, Final

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from mycel.errors import InvalidSyntax, ResourceExhausted
from mycel.model.json_text import read_request
from mycel.model.names import json_kind, shorten

ID_SOUGHT_BYTES: Final = 1 << 16
"""The maximum number of bytes of invalid JSON that are searched for an id."""

_TOKEN: Final = re.compile(rb'"(?>(?:[^"\\]++|\\.)*)(?:"|\\?\Z)|[{}\[\]]', re.DOTALL)
"""A string, which ends at its quote or at the end of the input, so that each is read only once."""
_ID: Final = re.compile(rb'\s*:\s*(-?\d{1,18}|"[^"\\]{1,200}")\s*[,}]')


_WANTED: Final = {
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "string_type": "a text",
    "int_type": "a whole number",
}
"""The expected value for each mistake; the names of mistakes are those of the validator."""

_log = logging.getLogger(__name__)


class NoMessage(Exception):  # noqa: N818 - it is an answer.
    """The input is no message of JSON-RPC; `answer` is the error for its sender."""

    def __init__(self, known_id: int | str | None, text: str, code: int = INVALID_REQUEST) -> None:
        super().__init__(text)
        self.answer: Final = JSONRPCError(
            jsonrpc="2.0", id=known_id, error=ErrorData(code=code, message=text)
        )


def read(data: bytes) -> JSONRPCMessage:
    """A message. Raises NoMessage if it is none."""
    try:
        content = read_request(data)
    except (InvalidSyntax, ResourceExhausted) as error:
        raise NoMessage(top_level_id(data), f"{error.message} {error.hint}") from None
    except ValueError:
        raise NoMessage(top_level_id(data), "This is no JSON in UTF-8.", PARSE_ERROR) from None
    try:
        message = jsonrpc_message_adapter.validate_json(data, by_name=False)
    except ValueError:
        raise _mistake(content) from None
    if (
        isinstance(message, JSONRPCNotification)
        and isinstance(content, Mapping)
        and "id" in content
    ):
        raise NoMessage(None, _bad_id(content["id"]))
    return message


def encode_message(message: JSONRPCMessage) -> bytes:
    """A message as JSON."""
    return jsonrpc_message_adapter.dump_json(message, by_alias=True, exclude_unset=True)


def top_level_id(data: bytes) -> int | str | None:
    """The id at the top level of invalid JSON, if its beginning has one."""
    depth = 0
    for match in _TOKEN.finditer(data[:ID_SOUGHT_BYTES]):
        match match[0]:
            case b"{" | b"[":
                depth += 1
            case b"}" | b"]":
                depth -= 1
            case b'"id"' if depth == 1:
                value = _ID.match(data, match.end())
                if value is not None:
                    text = value[1].decode(errors="replace")
                    return text[1:-1] if text[0] == '"' else int(text)
    return None


def _mistake(content: Any) -> NoMessage:
    """The error for JSON that is not a message."""
    if isinstance(content, list):
        return NoMessage(None, "This is a list. Send one message at a time.")
    if not isinstance(content, dict):
        return NoMessage(None, f"A message must be an object, not {json_kind(content)}.")
    if "id" in content and not _is_id(content["id"]):
        return NoMessage(None, _bad_id(content["id"]))
    return NoMessage(content.get("id"), _mistake_in(content))


def _mistake_in(content: Mapping[str, Any]) -> str:
    if content.get("jsonrpc") != "2.0":
        return 'A message says "jsonrpc": "2.0".'
    if "method" not in content:
        return "A message has a method, or it answers one with a result or an error."
    if not isinstance(content["method"], str):
        return f"The method must be a text, not {json_kind(content['method'])}."
    return f"The params are an object, not {json_kind(content.get('params'))}."


def _is_id(value: object) -> bool:
    return isinstance(value, int | str) and not isinstance(value, bool)


def _bad_id(value: object) -> str:
    noun = "a fraction" if isinstance(value, float) else json_kind(value)
    return f"The id of a request must be a whole number or a text, not {noun}."


# Errors of the SDK.


async def worded(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Middleware of a server that replaces errors of the SDK by short ones."""
    try:
        return await call_next(ctx)
    except ValidationError as error:
        raise MCPError(INVALID_PARAMS, _invalid(ctx.method, error)) from None
    except MCPError as error:
        if error.error.code == METHOD_NOT_FOUND:
            message = f"There is no method {shorten(repr(ctx.method))} here."
            raise MCPError(METHOD_NOT_FOUND, message) from None
        if error.error.code == INVALID_PARAMS and error.error.data == "":
            # The error of the SDK for a request before the handshake.
            message = f"{ctx.method} came before the handshake. Send initialize first."
            raise MCPError(INVALID_PARAMS, message) from None
        raise
    except Exception:
        if ctx.request_id is None:
            raise  # A notification gets no answer; the SDK logs the mistake.
        _log.exception("%s failed unexpectedly.", shorten(ctx.method))
        message = "The request failed inside the server."
        raise MCPError(INTERNAL_ERROR, message) from None


def _invalid(method: str, error: ValidationError) -> str:
    """The mistake in the parameters of a request, in one sentence."""
    detail = error.errors(include_url=False, include_input=False)[0]
    place = shorten(".".join(str(part) for part in detail["loc"]) or "params")
    if detail["type"] == "missing":
        return f"{shorten(method)} needs {place}."
    requirement = _WANTED.get(detail["type"])
    if requirement is None:
        return f"{place} is not what {shorten(method)} takes."
    return f"{place} of {shorten(method)} has to be {requirement}."
