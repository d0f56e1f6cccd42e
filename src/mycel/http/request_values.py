"""The branch and the parameters of a request."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from starlette.requests import Request

from mycel.errors import InvalidSyntax
from mycel.http.responses import JSON
from mycel.model.json_text import read_request
from mycel.model.names import json_kind

INLINE_BYTES_MAX: Final = 1 << 16
"""Larger bodies are parsed in a thread, off the event loop."""


async def given_parameters(request: Request) -> tuple[str | None, dict[str, Any]]:
    """The branch of a request, and its parameters from the URL or the body of a POST.

    Raises:
        InvalidSyntax: the body is no JSON object.
    """
    query = request.query_params
    branch = query.get("branch")
    if request.method != "POST":
        return branch, {key: query.getlist(key) for key in query if key != "branch"}
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != JSON:
        raise InvalidSyntax(
            "The body must be JSON, with its content type.", hint=f"Send `Content-Type: {JSON}`."
        )
    body = await request.body()
    try:
        is_large = len(body) > INLINE_BYTES_MAX
        body_values = (
            await asyncio.to_thread(read_request, body) if is_large else read_request(body)
        )
    except ValueError as error:
        raise InvalidSyntax(
            f"The body is not JSON: {error}.", hint="Send an object in JSON, encoded in UTF-8."
        ) from None
    if not isinstance(body_values, dict):
        raise InvalidSyntax(
            f"The body must be an object, not {json_kind(body_values)}.",
            hint="Send an object in JSON, encoded in UTF-8.",
        )
    branch = body_values.pop("branch", branch)
    if branch is not None and not isinstance(branch, str):
        raise InvalidSyntax(
            "`branch` must be a text.", hint="Send the name of a branch, or leave it out."
        )
    return branch, body_values
