"""Bytes to requests: what comes too slowly, or is no HTTP at all.

uvicorn parses requests and leaves three things open that matter to a server that others can reach:
a client that never finishes its headers, more connections than there are files to open, and what
is said about bytes that are no request.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from mycel.errors import ExecutionTimeout, InvalidSyntax, ResourceExhausted
from mycel.http.answers import raw_refusal
from mycel.http.policy import CONNECTIONS_MAX, HEAD_BYTES_MAX, Policy


def protocol_for(policy: Policy) -> type[asyncio.Protocol]:
    """The class of all connections of one server."""

    class Connection(_Connection):
        head_timeout_s = policy.head_timeout_s

    return Connection


class _Connection(H11Protocol):
    head_timeout_s: float

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > CONNECTIONS_MAX:
            full = ResourceExhausted("The server has too many connections.", hint="Retry later.")
            self._leave(raw_refusal(full, 503))
            return
        self._await_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_waiting()
        elif self._waiting is None and not self.transport.is_closing():
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        # Called while the error of the parser is handled, which knows the status.
        status = getattr(sys.exception(), "error_status_hint", 400)
        if status == 431:
            error: ResourceExhausted | InvalidSyntax = ResourceExhausted(
                f"The headers are larger than {HEAD_BYTES_MAX} bytes.", hint="Send smaller ones."
            )
        else:
            status = 400
            error = InvalidSyntax("This is no valid request of HTTP/1.1.", hint=msg)
        self._leave(raw_refusal(error, status))

    def _await_head(self) -> None:
        self._waiting = self.loop.call_later(self.head_timeout_s, self._too_slow)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _too_slow(self) -> None:
        slow = ExecutionTimeout(
            f"No whole request has come within {self.head_timeout_s:g} s.",
            hint="Send the headers at once.",
        )
        self._leave(raw_refusal(slow, 408))

    def _leave(self, last_words: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(last_words)
            self.transport.close()
