"""One request and its response, as an ASGI application sees them.

h11 parses requests; responses are written here. A response is written in pieces, and each has to
leave within a time limit: a client that does not read is disconnected.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import MutableMapping
from http import HTTPStatus
from typing import Any, Final, Protocol

import h11
from starlette.types import ASGIApp, Message

from mycel.errors import InternalError
from mycel.http.policy import READING_BYTES_PER_S, READING_S, STALLED_S

_PIECE: Final = 256 << 10
"""The maximum number of bytes of a response that are written at once."""
_BODY_PART_MAX: Final = 256 << 10
"""The maximum number of bytes of a request that wait for the application."""
_PHRASES: Final = {status.value: status.phrase.encode() for status in HTTPStatus}

TAKE_BODY: Final = "mycel.take_body"
"""The key of a scope for a function that returns the whole body, if it has arrived."""
_LENGTH, _CHUNKS, _CLOSE, _NONE = range(4)
"""The mark of the end of a body: its length, its last chunk, or the close of the connection; or
there is no body."""

_log = logging.getLogger(__name__)


class Line(Protocol):
    """The connection, as an exchange uses it."""

    def want_body(self) -> None:
        """Parse more of the body."""
        ...

    def finish(self, *, keep_alive: bool) -> None:
        """Go on with the connection after the response."""
        ...


class Exchange:
    """One request and its response."""

    def __init__(
        self,
        line: Line,
        transport: asyncio.Transport,
        parser: h11.Connection,
        scope: MutableMapping[str, Any],
        headers: list[tuple[bytes, bytes]],
        stalled_s: float = STALLED_S,
    ) -> None:
        self.scope: Final = scope
        scope[TAKE_BODY] = self.take_body
        self.keep_alive = True
        self.has_begun_response = False
        self.received = 0
        """The bytes of the body that have arrived."""
        self._line = line
        self._transport = transport
        self._parser = parser
        self._stalled_s = stalled_s
        self._head = b""
        """The head of the response, if it waits for the body."""
        self._framing = _LENGTH
        self._due = 0
        """The bytes of the response body that are still to be sent, by its announced length."""
        self._is_invited = False
        """True once the client was told to send its body."""
        self._headers = headers
        """Headers of every response."""
        self._parts: list[bytes] = []
        self._waiting_size = 0
        self._body_ended = False
        self._told_end = False
        self._is_lost = False
        self._is_answered = False
        self._changed: asyncio.Future[None] | None = None
        self._drained: asyncio.Future[None] | None = None
        self._sent = 0
        self._read_until = 0.0

    async def run(self, app: ASGIApp) -> None:
        """Run the application, which answers the request."""
        try:
            await app(self.scope, self.receive, self.send)
        except Exception:  # noqa: BLE001 - The edge: the guard answers what it can.
            _log.exception("A request failed with an unexpected error.")
            self._transport.abort()
            return
        if not self._is_answered and not self._is_lost:
            if not self.has_begun_response:
                _log.error("A request was not answered.")
            self._transport.abort()

    # Methods that the connection calls.

    def add(self, data: bytes) -> None:
        """Add a part of the body that has arrived."""
        self._parts.append(bytes(data))
        self.received += len(data)
        self._waiting_size += len(data)
        self._notify()

    @property
    def is_full(self) -> bool:
        """True if enough of the body waits for the application."""
        return self._waiting_size > _BODY_PART_MAX

    def end_body(self) -> None:
        self._body_ended = True
        self._notify()

    def lose_client(self) -> None:
        """Take note that the client is gone."""
        self._is_lost = True
        self._notify()
        self.resume()

    def pause(self) -> None:
        """Write nothing until the client has read more."""
        if self._drained is None:
            self._drained = asyncio.get_running_loop().create_future()

    def resume(self) -> None:
        drained, self._drained = self._drained, None
        if drained is not None and not drained.done():
            drained.set_result(None)

    def _notify(self) -> None:
        if self._changed is not None and not self._changed.done():
            self._changed.set_result(None)

    # The application's side.

    def take_body(self) -> bytes | None:
        """The whole body; None if it has not arrived yet."""
        if not self._body_ended and not self._parser.they_are_waiting_for_100_continue:
            self._line.want_body()
        if not self._body_ended or self._is_over():
            return None
        self._told_end = True
        return self._take_parts()

    def _take_parts(self) -> bytes:
        body = b"".join(self._parts)
        self._parts, self._waiting_size = [], 0
        return body

    async def receive(self) -> Message:
        if not self._is_over() and not self._parts:
            if not self._body_ended:
                if self._parser.they_are_waiting_for_100_continue and not self._is_invited:
                    self._is_invited = True
                    self._write(b"HTTP/1.1 100 Continue\r\n\r\n")
                self._line.want_body()
            # After the whole body, only the end of the connection can follow.
            while not (self._parts or self._is_over() or self._ends_now()):
                self._changed = asyncio.get_running_loop().create_future()
                await self._changed
                self._changed = None
        if self._is_over():
            return {"type": "http.disconnect"}
        self._told_end = self._body_ended
        more = not self._body_ended
        return {"type": "http.request", "body": self._take_parts(), "more_body": more}

    def _is_over(self) -> bool:
        """True if the request is answered or its client is gone."""
        return self._is_lost or self._is_answered

    def _ends_now(self) -> bool:
        """True if the body has ended and the application does not know yet."""
        return self._body_ended and not self._told_end

    async def send(self, message: Message) -> None:
        if self._is_over():
            return
        if message["type"] == "http.response.start":
            self._begin(message)
            return
        body = memoryview(message.get("body", b""))
        if self._framing == _NONE:
            body = body[:0]
        for at in range(0, len(body) or 1, _PIECE):
            self._write(self._framed(body[at : at + _PIECE]))
            if self._drained is not None:
                await self._drain()
            if self._is_over():
                return
        if not message.get("more_body", False):
            self._end()

    def _begin(self, message: Message) -> None:
        self.has_begun_response = True
        status, headers = message["status"], [*self._headers, *message.get("headers", ())]
        names = dict(headers)
        if names.get(b"connection") == b"close":
            self.keep_alive = False
        elif not self.keep_alive or self._parser.their_state is h11.MUST_CLOSE:
            self.keep_alive = False
            headers.append((b"connection", b"close"))
        if self.scope["method"] == "HEAD" or status in (204, 304):
            self._framing = _NONE
        elif b"content-length" in names:
            self._framing, self._due = _LENGTH, int(names[b"content-length"])
        elif self.scope["http_version"] == "1.1":
            self._framing = _CHUNKS
            headers.append((b"transfer-encoding", b"chunked"))
        else:
            self._framing, self.keep_alive = _CLOSE, False
        head = b"".join([b"%s: %s\r\n" % header for header in headers])
        if head.count(b"\n") != len(headers) or head.count(b"\r") != len(headers):
            raise InternalError("A header of a response has a line break.")
        first = b"HTTP/1.1 %d %s\r\n" % (status, _PHRASES.get(status, b""))
        self._head = b"%s%s\r\n" % (first, head)
        self._read_until = asyncio.get_running_loop().time() + READING_S
        if self._framing != _LENGTH:  # Otherwise the head is sent together with the body.
            self._write(self._take_head())

    def _take_head(self) -> bytes:
        head, self._head = self._head, b""
        return head

    def _framed(self, data: memoryview) -> bytes:
        """Bytes of the body in the form to send, after the head if it is not sent yet."""
        if self._framing == _CHUNKS:
            return b"%x\r\n%s\r\n" % (len(data), data) if data else b""
        if self._framing == _LENGTH:
            self._due -= len(data)
        return b"%s%s" % (self._take_head(), data)

    def _end(self) -> None:
        if self._framing == _CHUNKS:
            self._write(b"0\r\n\r\n")
        self._is_answered = True
        self._notify()
        # The connection is closed if the response was shorter than announced.
        self._line.finish(keep_alive=self.keep_alive and not self._due)

    def _write(self, data: bytes | None) -> None:
        if data and not self._transport.is_closing():
            self._sent += len(data)
            self._transport.write(data)

    async def _drain(self) -> None:
        """Wait until the client has read most of the output; if it does not, disconnect it."""
        drained = self._drained
        if drained is None:
            return
        left = self._read_until + self._sent / READING_BYTES_PER_S - drained.get_loop().time()
        try:
            async with asyncio.timeout(max(0.0, min(self._stalled_s, left))):
                await asyncio.shield(drained)
        except TimeoutError:
            _log.warning("A client did not read its answer and was disconnected.")
            self._is_lost = True
            self._transport.abort()
