"""Connections: limits on slow clients, on their number, and on bytes that are not HTTP.

uvicorn parses requests. Three things are added: a deadline for the headers, a limit on connections,
and an error in our form for bytes that are not a request.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from mycel.errors import ExecutionTimeout, InvalidSyntax, ResourceExhausted
from mycel.http.policy import CONNECTIONS_MAX, HEAD_BYTES_MAX, LINGERING_S, Policy
from mycel.http.responses import raw_refusal


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
        self._lingering: asyncio.TimerHandle | None = None
        self._left = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > CONNECTIONS_MAX:
            full = ResourceExhausted("The server has too many connections.", hint="Retry later.")
            self._leave(raw_refusal(full, 503))
            return
        self._await_head()

    def data_received(self, data: bytes) -> None:
        if self._left:
            return
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_waiting()
        elif self._waiting is None:
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        if self._lingering is not None:
            self._lingering.cancel()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        # Called while the parser's error, which has the status, is handled.
        status = getattr(sys.exception(), "error_status_hint", 400)
        if status == 431:
            error: ResourceExhausted | InvalidSyntax = ResourceExhausted(
                f"The headers are larger than {HEAD_BYTES_MAX} bytes.", hint="Send smaller ones."
            )
        else:
            status = 400
            error = InvalidSyntax("This is not a valid HTTP/1.1 request.", hint=msg)
        self._leave(raw_refusal(error, status))

    def _await_head(self) -> None:
        if not (self._left or self.transport.is_closing()):
            self._waiting = self.loop.call_later(self.head_timeout_s, self._too_slow)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _too_slow(self) -> None:
        slow = ExecutionTimeout(
            f"No complete request arrived within {self.head_timeout_s:g} s.",
            hint="Send the headers at once.",
        )
        self._leave(raw_refusal(slow, 408))

    def _leave(self, response: bytes) -> None:
        """Send a response and close.

        Bytes that still arrive are dropped for a moment: closing while bytes are unread would
        discard the response.
        """
        if self._left or self.transport.is_closing():
            return
        self._left = True
        self._stop_waiting()
        cycle = self._open_cycle()
        if cycle is not None:
            # The handler of the request sees that its client has gone.
            cycle.disconnected = True
            cycle.message_event.set()
            if cycle.response_started:
                self.transport.close()
                return
        self.transport.write(response)
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.flow.resume_reading()
        self._lingering = self.loop.call_later(LINGERING_S, self.transport.abort)

    def _open_cycle(self) -> RequestResponseCycle | None:
        """The request that is being answered, if there is one."""
        cycle: RequestResponseCycle | None = self.cycle
        return None if cycle is None or cycle.response_complete else cycle
