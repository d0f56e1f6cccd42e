"""Connections: the bytes of HTTP/1.1, and limits on slow, greedy and misbehaving clients.

h11 parses, `exchange` is one request with its response, uvicorn's server accepts connections and
stops them. A connection does no work before it is needed:

- The body of a request is parsed when the application asks for it, a few events at a time. A body
  in very many small pieces is refused.
- After a refusal nothing is parsed: bytes that still arrive are dropped for a moment, since closing
  while bytes are unread would discard the refusal.
- A further request on the same connection waits, unparsed, until the one before it is answered.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final
from urllib.parse import unquote

import h11
from uvicorn.config import Config
from uvicorn.protocols.utils import get_local_addr, get_remote_addr
from uvicorn.server import ServerState

from mycel.errors import (
    ExecutionTimeout,
    InvalidSyntax,
    MycelError,
    ResourceExhausted,
)
from mycel.http.exchange import Exchange
from mycel.http.jobs import find_job
from mycel.http.policy import (
    DISCARDED_BYTES_MAX,
    HEAD_BYTES_MAX,
    KEEP_ALIVE_S,
    LINGERING_S,
    PIECE_BYTES_MIN,
    PIECES_MAX,
    Policy,
)
from mycel.http.request_head import has_body, mistake_in, relative_target
from mycel.http.responses import raw_refusal

_BUFFER_BYTES_MAX: Final = 64 << 10
"""With this many unparsed bytes, no more are read."""
_EVENTS_AT_ONCE: Final = 64
"""The number of events that are parsed before other connections get a turn."""
_IDLE, _HEAD, _BUSY = range(3)


def protocol_for(policy: Policy) -> type[asyncio.Protocol]:
    """The class of all connections of one server."""

    class Connection(_Connection):
        rules = policy

    return Connection


class _Connection(asyncio.Protocol):
    rules: Policy

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        if not config.loaded:
            config.load()
        self._app = config.loaded_app
        self._app_state = app_state
        self._server_state = server_state
        self._loop = _loop or asyncio.get_running_loop()
        self._parser = h11.Connection(h11.SERVER, HEAD_BYTES_MAX)
        self._transport: asyncio.Transport
        self._ends: tuple[Any, Any] = (None, None)
        self._exchange: Exchange | None = None
        self._phase = _HEAD
        self._waits_since: float | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_at = 0.0
        self._left = False
        self._dropped = 0
        self._pieces = 0
        self._is_paused = False
        self._wants_body = False

    # Methods that the transport calls.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport
        self._ends = get_local_addr(transport), get_remote_addr(transport)
        connections = self._server_state.connections
        connections.add(self)  # type: ignore[arg-type] # It has what uvicorn's server calls.
        over = len(connections) - self.rules.connections_max
        if over > self.rules.connections_max // 4 + 16:
            self._left = True
            transport.abort()  # Refusing so many would cost too much.
        elif over > 0 and not self._supersede():
            self._refuse_as_full()
        else:
            self._expect(_HEAD, self.rules.head_timeout_s)

    def _supersede(self) -> bool:
        """Refuse the connection that has waited longest for a request; False if none waits.

        So idle connections do not block new ones.
        """
        waiting = [
            connection
            for connection in self._server_state.connections
            if isinstance(connection, _Connection) and connection.waits_since is not None
        ]
        if not waiting:
            return False
        min(waiting, key=lambda connection: connection.waits_since or 0.0).be_superseded()
        return True

    @property
    def waits_since(self) -> float | None:
        """The time since when the connection waits for a request; None if it does not wait."""
        return None if self._left or self._phase == _BUSY else self._waits_since

    def be_superseded(self) -> None:
        self._refuse_as_full()
        self._transport.close()  # Nothing is unread: no whole request has arrived.

    def _refuse_as_full(self) -> None:
        full = ResourceExhausted("The server has too many connections.", hint="Retry later.")
        self._refuse(full, 503, retry_after_s=1)

    def data_received(self, data: bytes) -> None:
        if self._left:
            self._dropped += len(data)
            if self._dropped > DISCARDED_BYTES_MAX:
                self._transport.abort()
            return
        self._parser.receive_data(data)
        if self._phase == _IDLE:
            self._expect(_HEAD, self.rules.head_timeout_s)
        if self._phase == _HEAD or self._wants_body:
            self._parse()
        elif not self._is_paused and len(self._parser.trailing_data[0]) > _BUFFER_BYTES_MAX:
            self._is_paused = True
            self._transport.pause_reading()

    def eof_received(self) -> None:
        """Note that the client has closed its side; asyncio closes the connection."""

    def connection_lost(self, exc: Exception | None) -> None:
        self._left = True
        self._server_state.connections.discard(self)
        if self._alarm is not None:
            self._alarm.cancel()
        if self._exchange is not None:
            self._exchange.lose_client()
            job = find_job(self._exchange.scope)
            if job is not None:
                job.drop()

    def pause_writing(self) -> None:
        if self._exchange is not None:
            self._exchange.pause()

    def resume_writing(self) -> None:
        if self._exchange is not None:
            self._exchange.resume()

    def shutdown(self) -> None:
        """Close once the request in progress is answered. The server calls this when it stops."""
        if self._exchange is None:
            self._transport.close()
        else:
            self._exchange.keep_alive = False

    # Parsing.

    def _parse(self) -> None:
        for _ in range(_EVENTS_AT_ONCE):
            try:
                event = self._parser.next_event()
            except h11.RemoteProtocolError as error:
                self._refuse_bytes(error)
                return
            if event is h11.NEED_DATA or event is h11.PAUSED:
                return
            match event:
                case h11.Request():
                    self._begin(event)
                    return
                case h11.Data():
                    self._take(event.data)
                    if self._left or not self._wants_body:
                        return
                case h11.EndOfMessage():
                    self._wants_body = False
                    if self._exchange is not None:
                        self._exchange.end_body()
                    return
                case _:  # The client has closed its side.
                    self._transport.close()
                    return
        self._loop.call_soon(self._parse_more)

    def _parse_more(self) -> None:
        if self._wants_body and not self._left:
            self._parse()

    def _begin(self, request: h11.Request) -> None:
        self._phase, self._pieces = _BUSY, 0
        server, client = self._ends
        headers = list(request.headers)
        mistake = mistake_in(request)
        if mistake is not None:
            self._refuse(*mistake)
            return
        raw_path, _, query = relative_target(request.target).partition(b"?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": request.http_version.decode("ascii"),
            "server": server,
            "client": client,
            "scheme": self.rules.scheme,
            "method": request.method.decode("ascii"),
            "root_path": "",
            "path": unquote(raw_path.decode("ascii")),
            "raw_path": raw_path,
            "query_string": query,
            "headers": headers,
            "state": self._app_state.copy(),
        }
        self._exchange = exchange = Exchange(
            self,
            self._transport,
            self._parser,
            scope,
            self._server_state.default_headers,
            stalled_s=self.rules.stalled_s,
        )
        if not has_body(headers):
            self._parser.next_event()  # This is the end of the message.
            exchange.end_body()
        task = self._loop.create_task(exchange.run(self._app))
        task.add_done_callback(self._server_state.tasks.discard)
        self._server_state.tasks.add(task)

    def _take(self, data: bytes) -> None:
        exchange = self._exchange
        if exchange is None:
            return
        self._pieces += 1
        exchange.add(data)
        if self._pieces > PIECES_MAX and exchange.received < self._pieces * PIECE_BYTES_MIN:
            small = ResourceExhausted(
                f"The body comes in pieces of less than {PIECE_BYTES_MIN} bytes.",
                hint="Send it at once, with its Content-Length.",
            )
            self._refuse(small, 413)
        elif exchange.is_full:
            self._wants_body = False

    # Methods that an exchange calls.

    def want_body(self) -> None:
        """Parse more of the body."""
        if self._left:
            return
        self._wants_body = True
        self._parse()
        if self._is_paused and not self._left:
            self._is_paused = False
            self._transport.resume_reading()

    def finish(self, *, keep_alive: bool) -> None:
        """After a response, go on with the next request or close."""
        self._server_state.total_requests += 1
        if self._left:
            return
        self._exchange = None
        parser = self._parser
        if not keep_alive or parser.their_state is not h11.DONE:
            self.leave()
            return
        following = parser.trailing_data[0]
        # h11 does not write the responses, so its state does not follow; each request gets a new
        # parser.
        self._parser = h11.Connection(h11.SERVER, HEAD_BYTES_MAX)
        if self._is_paused:
            self._is_paused = False
            self._transport.resume_reading()
        if following:
            self._parser.receive_data(following)
            self._expect(_HEAD, self.rules.head_timeout_s)
            self._loop.call_soon(self._parse_next)
        else:
            self._expect(_IDLE, KEEP_ALIVE_S)

    def _parse_next(self) -> None:
        if self._phase == _HEAD and not self._left:
            self._parse()

    def leave(self, response: bytes = b"") -> None:
        """Send a response, if there is one, and close; nothing is parsed any more.

        Bytes that still arrive are dropped for a moment, because closing while bytes are unread
        would discard the response.
        """
        if self._left or self._transport.is_closing():
            return
        self._left = True
        if response:
            self._transport.write(response)
        if self._parser.their_state in (h11.DONE, h11.MUST_CLOSE, h11.CLOSED):
            self._transport.close()
            return
        try:
            self._transport.write_eof()
        except OSError:  # The client is gone already.
            self._transport.abort()
            return
        self._transport.resume_reading()
        self._set_alarm(LINGERING_S)

    # Refusals before there is a request.

    def _refuse(self, error: MycelError, status: int, *, retry_after_s: int | None = None) -> None:
        exchange = self._exchange
        if exchange is not None:
            exchange.lose_client()
            if exchange.has_begun_response:
                self._left = True
                self._transport.close()
                return
        self.leave(raw_refusal(error, status, retry_after_s))

    def _refuse_bytes(self, error: h11.RemoteProtocolError) -> None:
        if error.error_status_hint == 431:
            large = ResourceExhausted(
                f"The headers are larger than {HEAD_BYTES_MAX} bytes.", hint="Send smaller ones."
            )
            self._refuse(large, 431)
            return
        self._refuse(
            InvalidSyntax("This is not a valid HTTP/1.1 request.", hint=f"h11 says: {error}."), 400
        )

    # Time limits.

    def _expect(self, phase: int, within_s: float) -> None:
        """Set the time limit for the next request, or for the rest of its head."""
        self._phase = phase
        self._waits_since = self._loop.time()
        self._set_alarm(within_s)

    def _set_alarm(self, within_s: float) -> None:
        # One timer serves many requests: if it fires before the present deadline, it is set again.
        self._alarm_at = self._loop.time() + within_s
        if self._alarm is not None:
            if self._alarm.when() <= self._alarm_at:
                return
            self._alarm.cancel()
        self._alarm = self._loop.call_at(self._alarm_at, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        if self._loop.time() < self._alarm_at:
            self._alarm = self._loop.call_at(self._alarm_at, self._ring)
        elif self._left:
            self._transport.abort()
        elif self._phase == _IDLE:
            self._transport.close()
        elif self._phase == _HEAD:
            slow = ExecutionTimeout(
                f"No complete request arrived within {self.rules.head_timeout_s:g} s.",
                hint="Send the headers at once.",
            )
            self._refuse(slow, 408)
