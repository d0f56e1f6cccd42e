"""Checks every request against the policy, and reads its body.

The body is read here as a whole, within limits of size and time, and passed to the application. A
refusal is sent only after the body was read or enough of it was dropped: a client that is still
sending would see a broken connection instead.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import anyio
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mycel.errors import (
    AccessDenied,
    ExecutionTimeout,
    InternalError,
    InvalidSyntax,
    MycelError,
    ResourceExhausted,
)
from mycel.http.policy import (
    BODIES_BYTES_MAX,
    DISCARDED_BYTES_MAX,
    DISCARDING_TIMEOUT_S,
    HEAD_BYTES_MAX,
    Policy,
)
from mycel.http.responses import refusal

HEALTH: Final = "/healthz"

_WITHOUT_BODY: Final = frozenset(("GET", "HEAD", "OPTIONS"))
_METHODS: Final = "GET, HEAD, POST, DELETE"
_CORS_MAX_AGE_S: Final = 600

_log = logging.getLogger("mycel.http.requests")
_failures = logging.getLogger(__name__)


class Refused(Exception):  # noqa: N818 - it is an answer.
    """Ends the handling of a request with this response."""

    def __init__(self, response: Response) -> None:
        super().__init__()
        self.response = response


class Guard:
    """The application behind its policy."""

    def __init__(
        self,
        app: ASGIApp,
        policy: Policy,
        body_limits: Mapping[str, int] | None = None,
        is_public: Callable[[str, str, str], bool] = lambda _method, _path, _accept: False,
    ) -> None:
        """Take the application; `body_limits` are those of paths that have limits of their own.

        `is_public` says of method, path and `Accept` whether a request needs no token.
        """
        self.app = app
        self._is_public = is_public
        self._policy = policy
        self._body_limits = body_limits or {}
        self._bodies = _Bodies()
        self._in_progress = 0
        self._stopping = False
        self._interruptible: set[anyio.CancelScope] = set()

    @property
    def in_progress(self) -> int:
        """The number of requests in progress."""
        return self._in_progress

    def stop(self) -> None:
        """End open streams, and bodies that are still arriving."""
        self._stopping = True
        for scope in list(self._interruptible):
            scope.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, _Reply(send, scope, self._policy))

    async def _answer(self, scope: Scope, receive: Receive, send: _Reply) -> None:
        limit = self._body_limits.get(scope["path"], self._policy.body_bytes_max)
        offered = "expect" in send.headers
        body = _Body(receive, self._bodies, limit, self._policy.timeout_s, is_offered=offered)
        try:
            _check_head(send.headers)
            self._check(scope, send.headers)
            with self._counted(scope):
                await self._read(scope, send.headers, body)
                await self._pass_on(scope, body.replay, send)
        except Refused as refused:
            if self._stopping or not await body.discard(send.headers):
                refused.response.headers["connection"] = "close"
            await refused.response(scope, receive, send)
        except asyncio.CancelledError:
            # The server has waited long enough. The task ends with this answer.
            if not send.started:
                await _stopped_response()(scope, receive, send)
        except Exception:  # noqa: BLE001 - The edge: whatever it is, the caller gets an answer.
            _failures.exception("A request failed with an unexpected error.")
            if not send.started:
                error = InternalError("The request failed for a reason inside the server.")
                await refusal(error)(scope, receive, send)
        finally:
            body.release()
            await send.finish()
            send.log()

    # Who may ask.

    def _check(self, scope: Scope, headers: Headers) -> None:
        reached = (scope.get("server") or (None,))[0]
        host = headers.get("host")
        if not self._policy.knows_host(host, reached):
            raise _refused(
                "The request names a host that is not a name of this server.",
                "Use its address, or start it with --allow-host NAME.",
                status=421,
            )
        origin = headers.get("origin")
        if origin is not None and not self._policy.knows_origin(origin, host or ""):
            raise _refused(
                "Pages of this origin may not call this server.",
                "Start it with --allow-origin ORIGIN to allow them.",
            )
        if scope["method"] == "OPTIONS" and "access-control-request-method" in headers:
            raise Refused(Response(status_code=204, headers=_preflight(headers)))
        if scope["path"] == HEALTH or self._is_public(
            scope["method"], scope["path"], headers.get("accept", "")
        ):
            return
        if not self._policy.admits(headers.get("authorization")):
            raise _refused(
                "This server needs a token, and the request has none or a wrong one.",
                "Send the header `Authorization: Bearer TOKEN`.",
                status=401,
                headers={"www-authenticate": 'Bearer realm="mycel"'},
            )

    # How much.

    @contextmanager
    def _counted(self, scope: Scope) -> Iterator[None]:
        """Count a request with a body as in progress."""
        if scope["method"] in _WITHOUT_BODY:
            yield
            return
        if self._stopping:
            raise Refused(_stopped_response())
        if self._in_progress >= self._policy.requests_max:
            error = ResourceExhausted(
                f"{self._in_progress} requests are in progress, which is the limit.",
                hint="Retry in a moment; send several commands in one request.",
            )
            raise Refused(refusal(error, 503, {"retry-after": "1"}))
        self._in_progress += 1
        try:
            yield
        finally:
            self._in_progress -= 1

    async def _read(self, scope: Scope, headers: Headers, body: _Body) -> None:
        if scope["method"] in _WITHOUT_BODY and not _announces_body(headers):
            return
        with anyio.CancelScope() as reading, self._ending(reading):
            await body.read(headers)
        if reading.cancelled_caught:
            raise Refused(_stopped_response())

    async def _pass_on(self, scope: Scope, receive: Receive, send: _Reply) -> None:
        if scope["method"] != "GET":
            await self.app(scope, receive, send)
            return
        # It may be a stream, which lasts as long as its reader likes.
        with anyio.CancelScope() as streaming, self._ending(streaming):
            await self.app(scope, receive, send)
        if streaming.cancelled_caught and not send.started:
            raise Refused(_stopped_response())

    @contextmanager
    def _ending(self, scope: anyio.CancelScope) -> Iterator[None]:
        self._interruptible.add(scope)
        try:
            yield
        finally:
            self._interruptible.discard(scope)


class _Bodies:
    """The size of the bodies of all requests in progress."""

    def __init__(self) -> None:
        self.size = 0


class _Body:
    """The body of one request: read once, then handed on."""

    def __init__(
        self,
        receive: Receive,
        all_of_them: _Bodies,
        limit: int,
        timeout_s: float,
        *,
        is_offered: bool,
    ) -> None:
        self._receive = receive
        self._all = all_of_them
        self._limit = limit
        self._timeout_s = timeout_s
        self._is_offered = is_offered
        self._parts: list[bytes] | None = None
        self._size = 0
        self._ended = False

    async def read(self, headers: Headers) -> None:
        announced = headers.get("content-length", "")
        if announced.isdecimal() and int(announced) > self._limit:
            raise self._too_large()
        parts: list[bytes] = []
        try:
            async with asyncio.timeout(self._timeout_s):
                while not self._ended:
                    parts.append(await self._next())
                    self._count(len(parts[-1]))
        except TimeoutError:
            error = ExecutionTimeout(
                f"The body of the request did not arrive within {self._timeout_s:g} s;"
                " nothing was done.",
                hint="Send it at once, or in smaller requests.",
            )
            raise Refused(refusal(error, 408)) from None
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
            raise Refused(refusal(error, 503, {"retry-after": "1"}))

    def release(self) -> None:
        """Subtract it from the size of all bodies."""
        self._all.size -= self._size
        self._size = 0

    async def replay(self) -> Message:
        """The messages for the application: the whole body, then those of the client."""
        if self._parts is None:
            return await self._receive()
        whole, self._parts = b"".join(self._parts), None
        return {"type": "http.request", "body": whole, "more_body": False}

    async def discard(self, headers: Headers) -> bool:
        """Read and drop the rest of the body; False if it is too large or too slow.

        A client that waits for `100 Continue` has not sent it.
        """
        if not _announces_body(headers):
            return True
        if self._is_offered:
            return False
        left = DISCARDED_BYTES_MAX
        try:
            async with asyncio.timeout(min(DISCARDING_TIMEOUT_S, self._timeout_s)):
                while not self._ended and left > 0:
                    left -= len(await self._next())
        except (TimeoutError, Refused):
            return False
        return left > 0

    async def _next(self) -> bytes:
        self._is_offered = False
        message = await self._receive()
        if message["type"] == "http.disconnect":
            self._ended = True
            # A partial body must not pass for a whole one.
            raise Refused(
                refusal(InvalidSyntax("The connection closed before the whole body arrived."), 400)
            )
        self._ended = not message.get("more_body", False)
        part: bytes = message.get("body", b"")
        return part

    def _too_large(self) -> Refused:
        error = ResourceExhausted(
            f"The body is larger than {self._limit} bytes; nothing was done.",
            hint="Send it in several requests; large files are loaded with `mycel load`.",
        )
        return Refused(refusal(error, 413))


class _Reply:
    """The response: adds common headers, and records the status for the log."""

    def __init__(self, send: Send, scope: Scope, policy: Policy) -> None:
        self.headers = Headers(scope=scope)
        self.started = False
        self._send = send
        self._scope = scope
        self._policy = policy
        self._ended = False
        self._status = 0
        self._begun_at = time.perf_counter()

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            self._status = message["status"]
            headers = MutableHeaders(scope=message)
            headers.setdefault("cache-control", "no-store")
            headers["x-content-type-options"] = "nosniff"
            self._allow_origin(headers)
        elif message["type"] == "http.response.body":
            self._ended = not message.get("more_body", False)
        await self._send(message)

    def _allow_origin(self, headers: MutableHeaders) -> None:
        origin = self.headers.get("origin")
        if origin in self._policy.origins:
            headers["access-control-allow-origin"] = origin
            headers["access-control-expose-headers"] = (
                "mcp-session-id, mcp-protocol-version, retry-after, www-authenticate"
            )
        if self._policy.origins:
            headers.add_vary_header("origin")

    async def finish(self) -> None:
        """End a stream that was cut off, so that its reader sees the end."""
        if self.started and not self._ended:
            await self({"type": "http.response.body", "body": b"", "more_body": False})

    def log(self) -> None:
        took_ms = (time.perf_counter() - self._begun_at) * 1000
        # The path as it was sent: percent signs keep control characters out of the log.
        path = self._scope.get("raw_path", b"").decode("ascii", "replace")
        _log.info("%s %s %d %.1f ms", self._scope["method"], path, self._status, took_ms)


def _check_head(headers: Headers) -> None:
    """Check the size of the headers; the parser does so only for incomplete ones."""
    if sum(len(name) + len(value) for name, value in headers.raw) > HEAD_BYTES_MAX:
        error = ResourceExhausted(
            f"The headers are larger than {HEAD_BYTES_MAX} bytes.", hint="Send smaller ones."
        )
        raise Refused(refusal(error, 431))


def _announces_body(headers: Headers) -> bool:
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"


def _preflight(headers: Headers) -> dict[str, str]:
    """The headers of the response to a preflight request, whose origin was checked."""
    told = {
        "access-control-allow-methods": _METHODS,
        "access-control-max-age": str(_CORS_MAX_AGE_S),
    }
    wanted = headers.get("access-control-request-headers")
    if wanted:
        told["access-control-allow-headers"] = wanted
    if headers.get("access-control-request-private-network") == "true":
        told["access-control-allow-private-network"] = "true"
    return told


def _refused(
    message: str, hint: str, *, status: int = 403, headers: dict[str, str] | None = None
) -> Refused:
    error: MycelError = AccessDenied(message, hint=hint)
    return Refused(refusal(error, status, headers))


def _stopped_response() -> Response:
    error = ResourceExhausted(
        "The server is stopping.",
        hint="Retry when it is back. Repeating an identical write changes nothing.",
    )
    return refusal(error, 503, {"retry-after": "5", "connection": "close"})
