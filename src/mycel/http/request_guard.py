"""Checks every request against the policy, and reads its body.

The body is read here as a whole, within limits of size and time, and passed to the application. If
a request is refused, the rest of it is not read; it is answered and its connection closed. Every
request gets a `Job`, whose deadline counts from here. The number of requests in progress is
limited, and so are the number and lifetime of streams. `/healthz` is exempt.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, Protocol

import anyio
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mycel.errors import (
    AccessDenied,
    InvalidSyntax,
    MycelError,
    ResourceExhausted,
)
from mycel.http.exchange import TAKE_BODY
from mycel.http.jobs import Job, ResponseBudget, attach
from mycel.http.policy import (
    PUBLIC_BODIES_MAX,
    PUBLIC_REQUESTS_MAX,
    Policy,
)
from mycel.http.request_body import CLOSE, Bodies, Refused, RequestBody
from mycel.http.responses import refusal, stopping, unexpected
from mycel.http.token_throttle import DELAY_S, WINDOW_S, Throttle
from mycel.http.worker_pool import Workers

HEALTH: Final = "/healthz"
GRANT: Final = "mycel.grant"
"""The key of a scope for the rights of its request."""

_WITHOUT_BODY: Final = frozenset(("GET", "HEAD", "OPTIONS"))
_METHODS: Final = "GET, HEAD, POST, DELETE"
_CORS_MAX_AGE_S: Final = 600

_log = logging.getLogger("mycel.http.requests")
_failures = logging.getLogger(__name__)


class RequestObserver(Protocol):
    """Called for every request that has ended, with the body of the error if it failed."""

    def __call__(
        self, scope: Scope, client: str, status: int, took_s: float, refusal: bytes, /
    ) -> None: ...


class RequestGate:
    """The application behind its policy."""

    def __init__(
        self,
        app: ASGIApp,
        policy: Policy,
        workers: Workers,
        body_limits: Mapping[str, int] | None = None,
        is_public: Callable[[str, str, str], bool] = lambda _method, _path, _accept: False,
        *,
        local_path: Callable[[str], str] = lambda path: path,
        observer: RequestObserver | None = None,
    ) -> None:
        """Take the application; `body_limits` are for paths with limits of their own.

        `is_public` takes method, path and `Accept`, and returns True if the request needs no token.
        Both use the `local_path` of a path, which is the path inside a workspace. The `observer` is
        called for every request that has ended.
        """
        self.app = app
        self.workers = workers
        self._is_public = is_public
        self._local_path = local_path
        self._observer = observer
        self._policy = policy
        self._body_limits = body_limits or {}
        self._bodies = Bodies()
        self._answers = ResponseBudget(policy.answers_bytes_max)
        self._throttle = Throttle()
        self._in_progress = 0
        self._public_in_progress = 0
        self._public_bodies: dict[anyio.CancelScope, None] = {}
        """Bodies of requests without a token that are arriving, the oldest first."""
        self._streams: Counter[str] = Counter()
        self._stopping = False
        self._interruptible: set[anyio.CancelScope] = set()

    @property
    def in_progress(self) -> int:
        """The number of requests in progress."""
        return self._in_progress

    @property
    def streams(self) -> int:
        """The number of streams that are open."""
        return self._streams.total()

    def stop(self) -> None:
        """End open streams, and bodies that are still arriving."""
        self._stopping = True
        for scope in list(self._interruptible):
            scope.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            policy = self._policy
            deadline = time.monotonic() + policy.timeout_s
            job = Job(deadline, self._answers, write_s=policy.write_s)
            attach(scope, job)
            try:
                await self._answer(scope, receive, _Reply(send, scope, self._policy, job, self))
            finally:
                job.close()

    async def _answer(self, scope: Scope, receive: Receive, send: _Reply) -> None:
        path = self._local_path(scope["path"])
        limit = self._body_limits.get(path, self._policy.body_bytes_max)
        body = RequestBody(receive, self._bodies, limit, self._policy.timeout_s)
        try:
            is_public = self._check(scope, send.headers)
            if is_public:
                body.be_public()
                await self._read(scope, send.headers, body, is_public=True)
                with self._counted_apart(scope):
                    await self._pass_on(scope, body.replay, send)
                return
            with self._counted(send):
                await self._read(scope, send.headers, body)
                await self._pass_on(scope, body.replay, send)
        except Refused as refused:
            if refused.delay_s and not self._stopping:
                await asyncio.sleep(refused.delay_s)
            await refused.response(scope, receive, send)
        except asyncio.CancelledError:
            # The grace period is nearly over. The task ends with this answer.
            if not send.started:
                await stopping()(scope, receive, send)
        except Exception as error:  # noqa: BLE001 - The edge: every caller gets an answer.
            _failures.exception("A request failed with an unexpected error.")
            if not send.started:
                await refusal(unexpected(error))(scope, receive, send)
        finally:
            body.release()
            await send.finish()
            send.log()
            if self._observer is not None:
                self._observer(scope, send.client, send.status, send.took_s, send.refusal)

    # Checks of the caller.

    def _check(self, scope: Scope, headers: Headers) -> bool:
        """Check who asks; True if the request needs no token.

        Raises:
            Refused: the caller may not send this request.
        """
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
        if scope["path"] == HEALTH:
            if scope["method"] not in ("GET", "HEAD"):
                raise _misused(scope)
            return True
        path = self._local_path(scope["path"])
        if self._is_public(scope["method"], path, headers.get("accept", "")):
            return True
        grant = scope[GRANT] = self._policy.grant(headers.get("authorization"))
        if grant is None:
            if self._throttle.fail(str((scope.get("client") or ("-",))[0])):
                error = ResourceExhausted(
                    "Too many requests with a wrong token came from this address.",
                    hint="Send the right token.",
                )
                late = refusal(error, 429, {"retry-after": str(WINDOW_S)} | CLOSE)
                raise Refused(late, delay_s=DELAY_S)
            raise _refused(
                "This server needs a token, and the request has none or a wrong one.",
                "Send the header `Authorization: Bearer TOKEN`.",
                status=401,
                headers={
                    "www-authenticate": self._policy.challenge(scope["path"], _error_of(headers))
                },
            )
        return False

    # Limits.

    @contextmanager
    def _counted_apart(self, scope: Scope) -> Iterator[None]:
        """Count a request that needs no token, apart from the requests with a token.

        Health checks are not counted, so that other requests cannot make the server look ill.
        """
        if scope["path"] == HEALTH:
            yield
            return
        if self._public_in_progress >= PUBLIC_REQUESTS_MAX:
            raise Refused(_too_many_without_token())
        self._public_in_progress += 1
        try:
            yield
        finally:
            self._public_in_progress -= 1

    @contextmanager
    def _counted(self, send: _Reply) -> Iterator[None]:
        """Count a request as in progress."""
        if self._stopping:
            raise Refused(stopping())
        if self._in_progress >= self._policy.requests_max:
            error = ResourceExhausted(
                f"{self._in_progress} requests are in progress, which is the limit.",
                hint="Retry in a moment; send several commands in one request.",
            )
            raise Refused(refusal(error, 503, {"retry-after": "1"} | CLOSE))
        self._in_progress += 1
        send.is_counted = True
        try:
            yield
        finally:
            if send.is_counted:
                self._in_progress -= 1

    def open_stream(self, client: str) -> Response | None:
        """Count a request as a stream instead. Returns a refusal if there are too many streams."""
        streams_max = self._policy.streams_max
        each_max = max(1, streams_max // 4)
        if self._streams.total() >= streams_max or self._streams[client] >= each_max:
            error = ResourceExhausted(
                f"Too many streams are open: a client may have {each_max}, and all together"
                f" {streams_max}.",
                hint="Close streams that nobody reads.",
            )
            return refusal(error, 503, {"retry-after": "5"} | CLOSE)
        self._streams[client] += 1
        self._in_progress -= 1
        return None

    def close_stream(self, client: str) -> None:
        self._streams[client] -= 1
        if not self._streams[client]:
            del self._streams[client]

    async def _read(
        self, scope: Scope, headers: Headers, body: RequestBody, *, is_public: bool = False
    ) -> None:
        if not _announces_body(headers):
            return
        if scope["method"] in _WITHOUT_BODY:
            error = InvalidSyntax(
                f"A {scope['method']} request has no body here.", hint="Send it without one."
            )
            raise Refused(refusal(error, 400, CLOSE))
        body.check_announced(headers)
        take = scope.get(TAKE_BODY)
        content = None if take is None else take()
        if content is not None:
            body.take(content)
            return
        with anyio.CancelScope() as reading, self._ending(reading):
            if is_public:
                self._make_room(reading)
            try:
                await body.read()
            finally:
                self._public_bodies.pop(reading, None)
        if reading.cancelled_caught:
            raise Refused(stopping() if self._stopping else _too_many_without_token())

    def _make_room(self, reading: anyio.CancelScope) -> None:
        """Wait for one more body without a token; if there are too many, refuse the oldest.

        So slow senders block only each other, and not clients that send at once.
        """
        if len(self._public_bodies) >= PUBLIC_BODIES_MAX:
            oldest = next(iter(self._public_bodies))
            del self._public_bodies[oldest]
            oldest.cancel()
        self._public_bodies[reading] = None

    async def _pass_on(self, scope: Scope, receive: Receive, send: _Reply) -> None:
        if scope["method"] not in ("GET", "HEAD"):
            await self.app(scope, receive, send)
            return
        # It may be a stream, which lasts until its client closes it, or its lifetime ends.
        with anyio.CancelScope() as streaming, self._ending(streaming):
            send.lifetime = streaming
            try:
                await self.app(scope, receive, send)
            finally:
                send.close_stream()
        if streaming.cancelled_caught and not send.started:
            raise Refused(stopping())

    @contextmanager
    def _ending(self, scope: anyio.CancelScope) -> Iterator[None]:
        self._interruptible.add(scope)
        try:
            yield
        finally:
            self._interruptible.discard(scope)


class _Reply:
    """The response: adds common headers, counts its bytes, and records the status for the log."""

    def __init__(
        self, send: Send, scope: Scope, policy: Policy, job: Job, guard: RequestGate
    ) -> None:
        self.headers = Headers(scope=scope)
        self.started = False
        self.is_counted = False
        self.lifetime: anyio.CancelScope | None = None
        """The scope of a request that may become a stream."""
        self._send = send
        self._scope = scope
        self._policy = policy
        self._job = job
        self._guard = guard
        self._ended = False
        self._is_refusal = False
        self._is_stream = False
        self._status = 0
        self.refusal = b""
        """The body of the response, if it is an error."""
        self._begun_at = time.perf_counter()

    async def __call__(self, message: Message) -> None:
        if self._ended:
            return
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            refused = None
            if self.lifetime is not None and _is_event_stream(headers):
                refused = self._become_stream(self.lifetime)
            elif not self._is_refusal:
                refused = self._count_bytes(headers)
            if refused is not None:
                self._is_refusal = True
                await refused(self._scope, _nothing, self)
                return
            self.started = True
            self._status = message["status"]
            headers.setdefault("cache-control", "no-store")
            headers["x-content-type-options"] = "nosniff"
            if self._status == 403 and self._policy.issuers is not None:
                # The challenge lists the scopes, so a client can ask its issuer for more.
                challenge = self._policy.challenge(self._scope["path"], "insufficient_scope")
                headers.setdefault("www-authenticate", challenge)
            self._allow_origin(headers)
        elif message["type"] == "http.response.body":
            self._ended = not message.get("more_body", False)
            if self._status >= 400:
                self.refusal = message.get("body", b"")
        await self._send(message)

    def _count_bytes(self, headers: MutableHeaders) -> Response | None:
        """Count the bytes of the answer.

        Returns the response to send instead if they are too many.
        """
        size = headers.get("content-length", "0")
        try:
            self._job.settle(int(size))
        except ResourceExhausted as error:
            return refusal(error, 503, {"retry-after": "1"})
        return None

    def _become_stream(self, lifetime: anyio.CancelScope) -> Response | None:
        """Count the request as a stream. Returns a refusal if there are too many streams."""
        refused = self._guard.open_stream(self.client)
        if refused is not None:
            lifetime.cancel()
            return refused
        self.is_counted = False
        self._is_stream = True
        self._job.become_stream(self._policy.timeout_s)
        # The answer to HEAD has no body, so its stream ends at once.
        lasts_s = 0.0 if self._scope["method"] == "HEAD" else self._policy.stream_s
        lifetime.deadline = anyio.current_time() + lasts_s
        return None

    @property
    def status(self) -> int:
        """The status of the answer; 0 if there was none."""
        return self._status

    @property
    def took_s(self) -> float:
        """The time since the request began."""
        return time.perf_counter() - self._begun_at

    def close_stream(self) -> None:
        if self._is_stream:
            self._is_stream = False
            self._guard.close_stream(self.client)

    @property
    def client(self) -> str:
        """The address of the client."""
        address = self._scope.get("client")
        return str(address[0]) if address else "-"

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
        """If the answer was cut off, send its end, so that the client does not wait for more."""
        if self.started and not self._ended:
            await self({"type": "http.response.body", "body": b"", "more_body": False})

    def log(self) -> None:
        took_ms = (time.perf_counter() - self._begun_at) * 1000
        # The path is logged as it was sent: percent-encoding keeps control characters out of the
        # log.
        path = self._scope.get("raw_path", b"").decode("ascii", "replace")
        method, status = self._scope["method"], self._status
        _log.info("%s %s %s %d %.1f ms", self.client, method, path, status, took_ms)


def _error_of(headers: Headers) -> str:
    """The error of a request with an invalid token; empty if it has no token."""
    return "invalid_token" if "authorization" in headers else ""


async def _nothing() -> Message:
    return {"type": "http.disconnect"}


def _is_event_stream(headers: MutableHeaders) -> bool:
    return headers.get("content-type", "").startswith("text/event-stream")


def _too_many_without_token() -> Response:
    error = ResourceExhausted("Too many requests without a token.", hint="Retry later.")
    return refusal(error, 503, {"retry-after": "1"} | CLOSE)


def _misused(scope: Scope) -> Refused:
    error = InvalidSyntax(
        f"{scope['path']} does not take {scope['method']}.", hint="Use GET or HEAD."
    )
    return Refused(refusal(error, 405, {"allow": "GET, HEAD"} | CLOSE))


def _announces_body(headers: Headers) -> bool:
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"


def _preflight(headers: Headers) -> dict[str, str]:
    """The headers of the response to a preflight request, whose origin was checked."""
    payload = {
        "access-control-allow-methods": _METHODS,
        "access-control-max-age": str(_CORS_MAX_AGE_S),
    }
    header = headers.get("access-control-request-headers")
    if header:
        payload["access-control-allow-headers"] = header
    if headers.get("access-control-request-private-network") == "true":
        payload["access-control-allow-private-network"] = "true"
    return payload


def _refused(
    message: str, hint: str, *, status: int = 403, headers: dict[str, str] | None = None
) -> Refused:
    error: MycelError = AccessDenied(message, hint=hint)
    return Refused(refusal(error, status, (headers or {}) | CLOSE))
