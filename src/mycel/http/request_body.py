"""The body of a request: it is read as a whole, within limits of size and time."""

from __future__ import annotations

import asyncio
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Message, Receive

from mycel.errors import ExecutionTimeout, InvalidSyntax, ResourceExhausted
from mycel.http.policy import BODIES_BYTES_MAX, PUBLIC_BODY_BYTES_MAX, PUBLIC_BODY_S
from mycel.http.responses import refusal

CLOSE: Final = {"connection": "close"}
"""The header of a response after which nothing more of the request is read."""


class Refused(Exception):  # noqa: N818 - it is an answer.
    """Ends the handling of a request with this response."""

    def __init__(self, response: Response, *, delay_s: float = 0.0) -> None:
        super().__init__()
        self.response = response
        self.delay_s = delay_s


class Bodies:
    """The size of the bodies of all requests in progress."""

    def __init__(self) -> None:
        self.size = 0


class RequestBody:
    """The body of one request: read once, then handed on."""

    def __init__(self, receive: Receive, all_of_them: Bodies, limit: int, timeout_s: float) -> None:
        self._receive = receive
        self._all = all_of_them
        self._limit = limit
        self._timeout_s = timeout_s
        self._parts: list[bytes] | None = None
        self._size = 0

    def be_public(self) -> None:
        """Use the limits of a request without a token."""
        self._limit = PUBLIC_BODY_BYTES_MAX
        self._timeout_s = min(self._timeout_s, PUBLIC_BODY_S)

    def check_announced(self, headers: Headers) -> None:
        """Refuse a body whose announced size is too large."""
        announced = headers.get("content-length", "")
        if announced.isdecimal() and int(announced) > self._limit:
            raise self._too_large()

    def take(self, body: bytes) -> None:
        """Take the whole body at once."""
        self._count(len(body))
        self._parts = [body]

    async def read(self) -> None:
        """Read the body as it arrives."""
        parts: list[bytes] = []
        try:
            async with asyncio.timeout(self._timeout_s):
                more = True
                while more:
                    part, more = await self._next()
                    parts.append(part)
                    self._count(len(part))
        except TimeoutError:
            error = ExecutionTimeout(
                f"The body of the request did not arrive within {self._timeout_s:g} s;"
                " nothing was done.",
                hint="Send it at once, or in smaller requests.",
            )
            raise Refused(refusal(error, 408, CLOSE)) from None
        self._parts = parts

    def _count(self, size: int) -> None:
        self._size += size
        self._all.size += size
        if self._size > self._limit:
            raise self._too_large()
        if self._all.size > BODIES_BYTES_MAX:
            error = ResourceExhausted(
                "The bodies of all requests have reached the server's limit; nothing was done.",
                hint="Retry in a moment, or send less at once.",
            )
            raise Refused(refusal(error, 503, {"retry-after": "1"} | CLOSE))

    def release(self) -> None:
        """Subtract this body from the size of all bodies."""
        self._all.size -= self._size
        self._size = 0

    async def replay(self) -> Message:
        """The messages for the application: the whole body, then further messages of the client."""
        if self._parts is None:
            return await self._receive()
        body, self._parts = b"".join(self._parts), None
        return {"type": "http.request", "body": body, "more_body": False}

    async def _next(self) -> tuple[bytes, bool]:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            # An incomplete body must not be taken for a whole one.
            error = InvalidSyntax(
                "The connection closed before the whole body arrived.",
                hint="Send the request again.",
            )
            raise Refused(refusal(error, 400, CLOSE))
        return message.get("body", b""), message.get("more_body", False)

    def _too_large(self) -> Refused:
        error = ResourceExhausted(
            f"The body is larger than {self._limit} bytes; nothing was done.",
            hint="Send it in several requests; large files are loaded with `mycel load`.",
        )
        return Refused(refusal(error, 413, CLOSE))
