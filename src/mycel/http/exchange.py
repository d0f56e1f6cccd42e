"""One request and its response, as an ASGI application sees them.

A response is written in pieces, and each has to leave within a time limit: a client that does not
read is disconnected.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import MutableMapping
from http import HTTPStatus
from typing import Any, Final, Protocol

import h11
from starlette.types import ASGIApp, Message

from mycel.http.policy import READING_BYTES_PER_S, READING_S, STALLED_S

_PIECE: Final = 256 << 10
"""Bytes of a response that are written at once."""
_BODY_PART_MAX: Final = 256 << 10
"""Bytes of a request that wait for the application."""
_PHRASES: Final = {status.value: status.phrase.encode() for status in HTTPStatus}

_log = logging.getLogger(__name__)


class Line(Protocol):
    """The connection of an exchange."""

    def want_body(self) -> None:
        """Parse more of the body."""
        ...

    def finish(self, *, keep_alive: bool) -> None:
        """Go on after the response."""
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
        self.keep_alive = True
        self.has_begun_response = False
        self.received = 0
        """The bytes of the body that have come."""
        self._line = line
        self._transport = transport
        self._parser = parser
        self._stalled_s = stalled_s
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
        """Let an application answer."""
        try:
            await app(self.scope, self.receive, self.send)
        except Exception:  # noqa: BLE001 - The edge: the guard answers what it can.
            _log.exception("A request failed with an unexpected error.")
            self._transport.abort()
            return
        if not self._is_answered and not self._is_lost:
            _log.error("A request was not answered.")
            self._transport.abort()

    # Told by the connection.

    def add(self, data: bytes) -> None:
        """Take a part of the body."""
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

    async def receive(self) -> Message:
        if not self._is_over() and not self._parts:
            if not self._body_ended:
                if self._parser.they_are_waiting_for_100_continue:
                    told = h11.InformationalResponse(
                        status_code=100, headers=[], reason=b"Continue"
                    )
                    self._write(self._parser.send(told))
                self._line.want_body()
            # After the whole body, nothing more comes than the end of the connection.
            while not (self._parts or self._is_over() or self._ends_now()):
                self._changed = asyncio.get_running_loop().create_future()
                await self._changed
                self._changed = None
        if self._is_over():
            return {"type": "http.disconnect"}
        whole = b"".join(self._parts)
        self._parts, self._waiting_size = [], 0
        self._told_end = self._body_ended
        return {"type": "http.request", "body": whole, "more_body": not self._body_ended}

    def _is_over(self) -> bool:
        """True if no more of the request counts."""
        return self._is_lost or self._is_answered

    def _ends_now(self) -> bool:
        """True if the end of the body is still to be told."""
        return self._body_ended and not self._told_end

    async def send(self, message: Message) -> None:
        if self._is_over():
            return
        if message["type"] == "http.response.start":
            self._begin(message)
            return
        body = memoryview(message.get("body", b""))
        more = message.get("more_body", False)
        if self.scope["method"] == "HEAD":
            body = memoryview(b"")
        for at in range(0, len(body) or 1, _PIECE):
            self._write(self._parser.send(h11.Data(data=body[at : at + _PIECE])))  # type: ignore[arg-type]
            if self._drained is not None:
                await self._drain()
            if self._is_over():
                return
        if not more:
            self._write(self._parser.send(h11.EndOfMessage()))
            self._is_answered = True
            self._notify()
            self._line.finish(keep_alive=self.keep_alive)

    def _begin(self, message: Message) -> None:
        self.has_begun_response = True
        status, headers = message["status"], [*self._headers, *message.get("headers", ())]
        if not self.keep_alive:
            headers.append((b"connection", b"close"))
        self._read_until = asyncio.get_running_loop().time() + READING_S
        response = h11.Response(
            status_code=status, headers=headers, reason=_PHRASES.get(status, b"")
        )
        self._write(self._parser.send(response))

    def _write(self, data: bytes | None) -> None:
        if data and not self._transport.is_closing():
            self._sent += len(data)
            self._transport.write(data)

    async def _drain(self) -> None:
        """Wait until the client has read most of what was written; disconnect one that does not."""
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
