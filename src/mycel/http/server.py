"""Sockets, and the server around the application: how it starts and stops.

The server stops within the grace period, or at most 0.25 s after it if no thread can run:

1. At once: accept no connections; end streams and bodies that are still arriving.
2. At four fifths of the period: stop the commands that still run. Reads end; writes that are not
   being committed are rolled back. Their requests are answered.
3. At nine tenths: answer requests that are still in progress with 503.
4. At its end: leave the process, if a thread still runs in code that cannot be stopped. SQLite then
   rolls back the open transaction, as after a crash.

So every acknowledged write is durable, and a command has either its whole effect or none.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import logging
import os
import signal
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from types import FrameType
from typing import Any, Final, NamedTuple

import uvicorn

from mycel.errors import (
    AccessDenied,
    ConstraintViolation,
    InternalError,
    MycelError,
    ResourceExhausted,
)
from mycel.http.connection_protocol import protocol_for
from mycel.http.policy import GRACE_S, Policy, host_name
from mycel.http.request_guard import RequestGate
from mycel.service.malloc_trim import share_pools

_BACKLOG: Final = 512
_SEND_BUFFER_BYTES: Final = 256 << 10
_ABORTING: Final = 0.8
"""The fraction of the grace period after which commands are stopped."""
_CANCELLING: Final = 0.9
"""The fraction of the grace period after which requests are answered with 503."""
_STACK_BYTES: Final = 2 << 20
"""The stack of a thread. Linux reserves 8 MiB, which counts where memory is limited."""
_ADDRESS_HINT: Final = "Give an address of this machine, or 0.0.0.0 for all of them."
_SIGNALS: Final = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGBREAK") if hasattr(signal, name)
)

_log = logging.getLogger(__name__)

Address = tuple[int, tuple[Any, ...]]
"""An address family, and an address in the form of the operating system: host, port, more."""


def resolve(host: str, port: int) -> list[Address]:
    """The addresses that a host means.

    Raises:
        ConstraintViolation: the host means no address.
    """
    try:
        addresses = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except (OSError, UnicodeError):
        raise ConstraintViolation(
            f"There is no address for the host {host!r}.", hint=_ADDRESS_HINT
        ) from None
    return list(dict.fromkeys((int(family), address) for family, _, _, _, address in addresses))


def is_loopback(addresses: Sequence[Address]) -> bool:
    """True if only this machine can reach the addresses."""
    return all(
        ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback
        for _, address in addresses
    )


def bind(addresses: Sequence[Address], *, shared: bool = False) -> list[socket.socket]:
    """A socket for each address, all with one port, not yet listening.

    With `shared`, other sockets of this user may have the same address.

    Raises:
        ResourceExhausted: the port is taken.
        AccessDenied: the port may not be used.
        ConstraintViolation: the host is no address of this machine.
    """
    bound: list[socket.socket] = []
    try:
        for family, (host, port, *more) in addresses:
            # If the port is 0, the port of the first socket is used for all.
            common = bound[0].getsockname()[1] if bound and not port else port
            try:
                bound.append(_bind(family, (host, common, *more), shared=shared))
            except OSError as error:
                if error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT) and len(addresses) > 1:
                    # `localhost` may resolve to an IPv6 address on a machine without IPv6.
                    continue
                raise _cannot_listen(host, common, error) from error
    except BaseException:
        for listener in bound:
            listener.close()
        raise
    if not bound:
        raise ConstraintViolation(
            "None of the host's addresses is one of this machine.", hint=_ADDRESS_HINT
        )
    return bound


def _bind(family: int, address: tuple[Any, ...], *, shared: bool) -> socket.socket:
    # The protocol is given explicitly: only then does asyncio send small answers at once.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared and hasattr(socket, "SO_REUSEPORT"):
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        # The send buffer of a connection; a larger one would hold bytes of answers that nobody
        # counts.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER_BYTES)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(address)
    except BaseException:
        listener.close()
        raise
    return listener


def _cannot_listen(host: str, port: int, error: OSError) -> MycelError:
    message = f"The server cannot listen on {host} port {port}: {error.strerror or error}."
    another = "Choose another port with --port, or any free one with --port 0"
    match error.errno:
        case errno.EADDRINUSE:
            return ResourceExhausted(
                message,
                hint=f"{another}; or stop the process that holds this one, which"
                f" `lsof -i :{port}` names: it may be another `mycel serve`.",
            )
        case errno.EACCES | errno.EPERM:
            return AccessDenied(message, hint=f"{another}. Those below 1024 need special rights.")
        case errno.EADDRNOTAVAIL | errno.EAFNOSUPPORT:
            return ConstraintViolation(message, hint=_ADDRESS_HINT)
    return InternalError(message, hint=f"{another}.")


def url_of(
    bound: socket.socket, host: str, allowed: Sequence[str] = (), scheme: str = "http"
) -> str:
    """The URL of the server; for other machines, with the first allowed host name.

    On loopback that name is not used, because it is the name of a proxy whose port is unknown.
    """
    address, port = bound.getsockname()[:2]
    listens = ipaddress.ip_address(address)
    outside = host_name(allowed[0]) if allowed and not listens.is_loopback else None
    if outside is not None:
        name = outside
    elif listens.is_unspecified:
        name = "127.0.0.1" if bound.family == socket.AF_INET else "::1"
    else:
        name = host or address
    return f"{scheme}://[{name}]:{port}" if ":" in name else f"{scheme}://{name}:{port}"


def check_certificate(certificate: Path, key: Path) -> None:
    """Check that a certificate and its key can be used.

    Raises:
        ConstraintViolation: certificate or key cannot be used.
    """
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password="")
    except (OSError, ValueError) as error:
        raise ConstraintViolation(
            f"The certificate {certificate} and the key {key} cannot be used: {error}",
            hint="Give PEM files of a certificate with its chain, and of its key without a"
            " password.",
        ) from None


def run(
    app: RequestGate,
    sockets: Sequence[socket.socket],
    policy: Policy,
    *,
    on_ready: Callable[[], object],
    on_stop: Callable[[int], object],
    on_cut: Callable[[], object] = lambda: None,
    grace_s: float = GRACE_S,
) -> None:
    """Serve until the process is told to stop, by SIGINT or SIGTERM.

    `on_ready` is called when the server can answer requests. `on_stop` is called when it begins to
    stop, with the number of requests in progress. `on_cut` is called if something cannot be stopped
    and the process ends here.
    """
    threading.stack_size(_STACK_BYTES)
    share_pools()
    certificate, key = policy.certificate or (None, None)
    config = uvicorn.Config(
        app,
        http=protocol_for(policy),
        ws="none",
        lifespan="on",
        loop="asyncio",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=_BACKLOG,
        ssl_certfile=certificate,
        ssl_keyfile=key,
    )
    # uvicorn declares whole seconds, but accepts any number.
    config.timeout_graceful_shutdown = _CANCELLING * grace_s  # type: ignore[assignment]
    calls = _Calls(on_ready, on_stop, on_cut)
    _Server(config, app, calls, grace_s).run(sockets=list(sockets))


class _Calls(NamedTuple):
    """The callbacks of a server."""

    on_ready: Callable[[], object]
    on_stop: Callable[[int], object]
    on_cut: Callable[[], object]


class _Server(uvicorn.Server):
    """uvicorn's server with callbacks, which ends without raising the signal again."""

    def __init__(
        self, config: uvicorn.Config, app: RequestGate, calls: _Calls, grace_s: float
    ) -> None:
        super().__init__(config)
        self._guard = app
        self._calls = calls
        self._grace_s = grace_s
        self._told_to_stop: Final[SimpleQueue[None]] = SimpleQueue()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._calls.on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._calls.on_stop(self._guard.in_progress)
        self._guard.stop()
        workers = self._guard.workers
        asyncio.get_running_loop().call_later(_ABORTING * self._grace_s, workers.abort)
        # Let streams send their end before their connections are closed.
        await asyncio.sleep(0)
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Listen to signals while serving.

        Unlike the method of uvicorn, this does not raise the signals again afterwards, because a
        requested stop is no failure.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        # A thread is used because the event loop itself may hang. It starts here because there may
        # be no memory for one later.
        threading.Thread(target=self._cut, name="mycel-stop", daemon=True).start()
        before = {name: signal.signal(name, self.handle_exit) for name in _SIGNALS}
        try:
            yield
        finally:
            for name, handler in before.items():
                signal.signal(name, handler)

    def handle_exit(self, sig: int, _frame: FrameType | None) -> None:
        if self.should_exit and sig == signal.SIGINT:
            self.force_exit = True  # After a second Ctrl-C, wait for writes only.
        self.should_exit = True
        self._told_to_stop.put(None)  # A SimpleQueue is safe in a signal handler.

    def _cut(self) -> None:
        """End the process when the grace period is over."""
        self._told_to_stop.get()
        time.sleep(self._grace_s)
        _log.warning("Something could not be stopped within the grace period, and was cut off.")
        self._calls.on_cut()
        os._exit(0)
