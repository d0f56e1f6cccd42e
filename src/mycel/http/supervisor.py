"""Several processes that serve one graph, and the process that watches over them.

The watching process serves nothing and has no graph open. It forks the others; each listens on the
same address and opens the graph itself. If a process ends by itself, it is started again. A signal
to stop is passed on to all, and a process that does not stop within the grace period is killed. If
the watching process is killed, the others see the end of a pipe and stop.
"""

from __future__ import annotations

import logging
import os
import select
import signal
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from time import monotonic
from types import FrameType
from typing import Final

from mycel.errors import ConstraintViolation, InternalError

RESTARTS_MAX: Final = 5
"""If this many processes end by themselves within `RESTARTS_S`, all are stopped."""
RESTARTS_S: Final = 30.0
_LOOK_S: Final = 0.1
_READY: Final = b"r"
_MARGIN_S: Final = 1.0
"""The time after the grace period until a process is killed."""

_log = logging.getLogger(__name__)

Serve = Callable[[int, Callable[[], None]], None]
"""Serves until a signal, as the process with this number; calls the function once it is ready."""


def check_possible() -> None:
    """Check that several processes can serve here.

    Raises:
        ConstraintViolation: the system has no fork.
    """
    if not hasattr(os, "fork") or sys.platform == "win32":
        raise ConstraintViolation(
            "Several processes need an operating system with fork.",
            hint="Leave --workers out, or start several servers on ports of their own.",
        )


def listening_again(sockets: Sequence[socket.socket]) -> list[socket.socket]:
    """Open new sockets on the addresses of old ones, and close the old ones.

    Linux distributes connections evenly among sockets of one address; elsewhere the processes
    accept from the same sockets.
    """
    if sys.platform != "linux":
        return list(sockets)
    listeners = []
    for listener in sockets:
        own = socket.socket(listener.family, listener.type, listener.proto)
        for level, name in (
            (socket.SOL_SOCKET, socket.SO_REUSEADDR),
            (socket.SOL_SOCKET, socket.SO_REUSEPORT),
        ):
            own.setsockopt(level, name, 1)
        size = listener.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
        own.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, size // 2)  # Linux doubles the value.
        if listener.family == socket.AF_INET6:
            own.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        own.bind(listener.getsockname())
        listener.close()
        listeners.append(own)
    return listeners


class Supervisor:
    """The processes of one server."""

    def __init__(self, count: int, serve: Serve, *, grace_s: float) -> None:
        self._serve: Final = serve
        self._count: Final = count
        self._grace_s: Final = grace_s
        self._numbers: dict[int, int] = {}
        """The number of each process, by its id."""
        self._ends: list[float] = []
        self._is_stopping = False
        self._failed = False
        self._alive = os.pipe()
        self._ready = os.pipe()

    def run(self, *, on_ready: Callable[[], object], on_stop: Callable[[], object]) -> None:
        """Serve until this process is told to stop, by SIGINT or SIGTERM.

        Raises:
            InternalError: the processes end as soon as they begin.
        """
        before = {name: signal.signal(name, self._stop) for name in _SIGNALS}
        try:
            for number in range(self._count):
                self._start(number)
            self._await_ready()
            if not self._is_stopping:
                on_ready()
            while self._numbers:
                if self._is_stopping:
                    on_stop()
                    break
                self._look()
                select.select([], [], [], _LOOK_S)
            while self._numbers:
                self._collect(os.waitpid(-1, 0))
        finally:
            for name, handler in before.items():
                signal.signal(name, handler)
        if self._failed:
            raise InternalError(
                "The processes of the server ended by themselves, again and again.",
                hint="The log says why; start the server without --workers to see more.",
            )

    def _start(self, number: int) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if child:
            self._numbers[child] = number
            return
        status = 1
        try:
            for name in _SIGNALS:
                signal.signal(name, signal.SIG_DFL)
            os.close(self._alive[1])
            threading.Thread(target=self._watch_parent, daemon=True).start()
            self._serve(number, self._say_ready)
            status = 0
        except BaseException:  # noqa: BLE001 - Any end of the process.
            _log.exception("A process of the server failed.")
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    def _say_ready(self) -> None:
        os.write(self._ready[1], _READY)

    def _watch_parent(self) -> None:
        """Stop when the pipe ends, which means that the watching process is gone."""
        os.read(self._alive[0], 1)
        os.kill(os.getpid(), signal.SIGTERM)

    def _await_ready(self) -> None:
        ready = 0
        while ready < self._count and not self._is_stopping and self._numbers:
            if select.select([self._ready[0]], [], [], _LOOK_S)[0]:
                ready += len(os.read(self._ready[0], self._count))
            self._look()

    def _look(self) -> None:
        """Restart the processes that have ended."""
        while self._numbers and (child := os.waitpid(-1, os.WNOHANG))[0]:
            number = self._collect(child)
            if self._is_stopping:
                continue
            now = monotonic()
            self._ends = [*(at for at in self._ends if now - at < RESTARTS_S), now]
            if len(self._ends) > RESTARTS_MAX:
                self._failed = True
                self._stop(signal.SIGTERM, None)
                return
            _log.warning("Process %d of the server ended; it is started again.", number)
            self._start(number)

    def _collect(self, child: tuple[int, int]) -> int:
        return self._numbers.pop(child[0], -1)

    def _stop(self, _signal: int, _frame: FrameType | None) -> None:
        if self._is_stopping:
            return
        self._is_stopping = True
        self._send(signal.SIGTERM)
        killing = threading.Timer(self._grace_s + _MARGIN_S, self._send, (signal.SIGKILL,))
        killing.daemon = True
        killing.start()

    def _send(self, number: int) -> None:
        for child in list(self._numbers):
            try:
                os.kill(child, number)
            except ProcessLookupError:
                continue


_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
