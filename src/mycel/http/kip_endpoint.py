"""`POST /kip`: turns the body of a request into the response.

A body is the request of KIP §6.1 itself, or names a method and holds the request as its `params`:

    {"method": "execute_kip" | "execute_kip_readonly" | "list_logs", "params": {…}}

An `id` beside them is returned with the response. All of this runs in a worker thread, even the
parsing of JSON.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from starlette.responses import Response

from mycel.api.graph import Graph
from mycel.errors import (
    InvalidSyntax,
    InvalidValueType,
    MycelError,
    did_you_mean,
)
from mycel.http.policy import LOG_PAGE, LOG_PAGE_MAX
from mycel.http.responses import JSON, encode, retry_header, status_of, unexpected
from mycel.model.json_text import read_request
from mycel.model.limits import INTEGER_MAX
from mycel.model.names import json_kind, shorten
from mycel.service import envelope

LOG_FILTERS: Final = ("path", "type", "actor", "since", "until", "text")
"""The conditions of `Graph.log` that `list_logs` takes."""
METHODS: Final = ("execute_kip", "execute_kip_readonly", "list_logs")

GONE_STATUS: Final = HTTPStatus.SERVICE_UNAVAILABLE
"""The status while the file of the graph is gone; the request can succeed later."""

_ENVELOPE: Final = frozenset(("method", "params", "id", "jsonrpc"))
_SHAPE_HINT: Final = (
    'Send {"method": "execute_kip", "params": {"command": "…"}}, or the params alone.'
)
_CURSOR: Final = re.compile(r"log-([1-9][0-9]{0,18})", re.ASCII)

_log = logging.getLogger(__name__)


def respond(db: Graph, body: bytes, *, readonly: bool = False) -> Response:
    """The response to any request.

    With `readonly`, every method refuses commands that write.
    """
    payload: dict[str, Any] = {}
    try:
        message = _parse(body)
        if "method" in message and "id" in message:
            payload["id"] = message["id"]
        payload |= _dispatch(db, message, readonly=readonly)
    except _GoneError as refusal:
        return Response(
            encode(payload | {"error": refusal.error.to_dict()}), GONE_STATUS, media_type=JSON
        )
    except MycelError as known:
        payload["error"] = known.to_dict()
    except Exception as error:  # noqa: BLE001 - The edge: the caller gets an answer to anything.
        _log.exception("A request failed with an unexpected error.")
        payload["error"] = unexpected(error).to_dict()
    failure = payload.get("error")
    if failure is None:
        return Response(encode(payload), media_type=JSON)
    return Response(encode(payload), status_of(failure), retry_header(failure), media_type=JSON)


def _parse(body: bytes) -> dict[str, Any]:
    try:
        message = read_request(body)
    except ValueError as error:
        raise InvalidSyntax(f"The body is not JSON: {error}.", hint=_SHAPE_HINT) from None
    if not isinstance(message, dict):
        raise InvalidSyntax(
            f"The body must be an object, not {json_kind(message)}.",
            hint=f'{_SHAPE_HINT} Several commands go into "commands".',
        )
    return message


def _dispatch(db: Graph, message: dict[str, Any], *, readonly: bool) -> dict[str, Any]:
    run, params = _asked(db, message, readonly=readonly)
    try:
        db.check_in_place()
    except MycelError as error:
        raise _GoneError(error) from None
    return run(params)


class _GoneError(Exception):
    """The file of the graph is gone or replaced."""

    def __init__(self, error: MycelError) -> None:
        super().__init__()
        self.error = error


def _asked(
    db: Graph, message: dict[str, Any], *, readonly: bool
) -> tuple[Callable[[dict[str, Any]], dict[str, Any]], dict[str, Any]]:
    """The method that a request names, and its parameters.

    Raises:
        InvalidSyntax: the message names no method.
    """
    if "method" not in message:
        return partial(envelope.respond, db.engine, readonly=readonly), message
    method = message["method"]
    if not isinstance(method, str) or method not in METHODS:
        listing = f"There are {', '.join(METHODS)}."
        close = did_you_mean(method, list(METHODS)) if isinstance(method, str) else ""
        raise InvalidSyntax(
            f"There is no method {shorten(repr(method))}.", hint=f"{close} {listing}".lstrip()
        )
    unknown = sorted(message.keys() - _ENVELOPE)
    if unknown:
        raise InvalidSyntax(
            f"The key {shorten(unknown[0])!r} is not allowed beside `method`.",
            hint='Put the keys of the request into "params".',
        )
    params = message.get("params", {} if method == "list_logs" else None)
    if not isinstance(params, dict):
        raise InvalidSyntax(
            f"`params` must be an object, not {json_kind(params)}.", hint=_SHAPE_HINT
        )
    match method:
        case "execute_kip":
            return partial(envelope.respond, db.engine, readonly=readonly), params
        case "execute_kip_readonly":
            return partial(envelope.respond, db.engine, readonly=True), params
        case _:
            return partial(list_logs, db), params


def list_logs(db: Graph, params: Mapping[str, Any]) -> dict[str, Any]:
    """A page of the journal: transactions, newest first.

    Raises:
        InvalidSyntax, InvalidValueType: a parameter is unknown, or has another kind of value.
    """
    unknown = sorted(params.keys() - {"limit", "cursor", *LOG_FILTERS})
    if unknown:
        raise InvalidSyntax(
            f"list_logs has no parameter {shorten(unknown[0])!r}.",
            hint=f"It takes limit, cursor, {', '.join(LOG_FILTERS)}.",
        )
    where = {key: params[key] for key in LOG_FILTERS if params.get(key) is not None}
    limit = _limit(params.get("limit"))
    # One more than the limit shows that there is another page.
    entries = list(db.history.log(limit=limit + 1, before=_before(params.get("cursor")), **where))
    payload: dict[str, Any] = {"result": [entry.to_dict() for entry in entries[:limit]]}
    if len(entries) > limit:
        payload["next_cursor"] = f"log-{entries[limit - 1].seq}"
    return payload


def _limit(value: object) -> int:
    if value is None:
        return LOG_PAGE
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= LOG_PAGE_MAX:
        raise InvalidValueType(
            f"`limit` is a whole number from 1 to {LOG_PAGE_MAX}.",
            hint="Page through more with the `next_cursor` of each answer.",
        )
    return value


def _before(cursor: object) -> int | None:
    if cursor is None:
        return None
    match = _CURSOR.fullmatch(cursor) if isinstance(cursor, str) else None
    if match is None or int(match[1]) > INTEGER_MAX:
        raise InvalidSyntax(
            "This is not a cursor of list_logs.",
            hint="Pass the `next_cursor` of an answer as it is.",
        )
    return int(match[1])
