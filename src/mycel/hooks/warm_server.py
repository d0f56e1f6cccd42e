"""Answers to hooks over a Unix socket, from a process that has the graph open.

`mycel mcp` and `mycel serve` run one beside their own work; `mycel hook keep` runs nothing else.
The socket is in a private folder of the user. A request is a line, `EVENT CLIENT BYTES`, and the
client's JSON; the answer is `ok` and the output, or `no`. One thread answers one request after
another: a person types one prompt at a time.

A process of `mycel hook keep` ends on request (`end_kept`), which `mycel uninstall` sends. If the
files of Mycel itself have changed, a process stops answering, because modules that it has not
loaded yet are of another version; a process of `mycel hook keep` then ends.
"""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from time import monotonic
from typing import Final

from mycel.errors import MycelError
from mycel.hooks.addresses import is_private, socket_folder, socket_of
from mycel.hooks.answering import answer
from mycel.hooks.client_events import HOOK_EVENTS
from mycel.hooks.light import INPUT_BYTES_MAX
from mycel.knowledge.knowledge import Knowledge
from mycel.store.file.branch_files import MAIN, current

REQUEST_SECONDS: Final = 5.0
HEAD_BYTES_MAX: Final = 200
BACKLOG: Final = 8
END: Final = "end"
"""The request that ends a process which only keeps a graph open; others answer `no`."""


class WarmServer:
    """Serves hooks of one graph in a thread, from the start until it is closed."""

    def __init__(
        self,
        knowledge: Knowledge,
        path: Path,
        folder: Path | None,
        person: Callable[[], str] = str,
        *,
        is_kept: bool = False,
    ) -> None:
        """`path` is the file of the graph, `folder` the folder that it belongs to.

        `person` returns the actor whose words are the user's own; it is called once, when it is
        first needed. `is_kept` is true for a process that only answers hooks.
        """
        self._knowledge, self.path = knowledge, path
        self._main: Final = path.resolve()
        self._person: Final = cache(person)
        self._used = monotonic()
        self._is_kept: Final = is_kept
        self._program: Final = _program_stamp()
        self.ended: Final = threading.Event()
        """Set when a process of `mycel hook keep` has to end."""
        self._listeners: list[socket.socket] = []
        self._files: list[Path] = []
        addresses = [socket_of("db", str(path.absolute()))]
        if folder is not None:
            addresses.append(socket_of("folder", str(folder)))
        if sys.platform != "win32":
            with suppress(OSError):
                self._listen(addresses)
        for listener in self._listeners:
            threading.Thread(
                target=self._serve, args=(listener,), name="mycel-hooks", daemon=True
            ).start()

    @property
    def is_serving(self) -> bool:
        """True if the server has a socket."""
        return bool(self._listeners)

    @property
    def idle_seconds(self) -> float:
        """The time since the last request."""
        return monotonic() - self._used

    def close(self) -> None:
        """Stop, and remove the sockets."""
        for file in self._files:
            with suppress(OSError):
                file.unlink()
        for listener in self._listeners:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        self._listeners.clear()

    def _listen(self, addresses: list[str]) -> None:
        folder = socket_folder()
        with suppress(FileExistsError):
            Path(folder).mkdir(mode=0o700)
        if not is_private(folder):
            return
        for address in addresses:
            if _is_answered(address):
                continue  # Another process serves this graph.
            with suppress(FileNotFoundError):
                Path(address).unlink()
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                listener.bind(address)
                Path(address).chmod(0o600)
                listener.listen(BACKLOG)
            except OSError:
                listener.close()
                raise
            self._listeners.append(listener)
            self._files.append(Path(address))

    def _serve(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return  # The server was closed.
            with connection, suppress(OSError, ValueError):
                connection.settimeout(REQUEST_SECONDS)
                event, reply = self._reply(connection)
                connection.sendall(reply)
                self._used = monotonic()
                connection.close()
                if event == "session-start":
                    self.warm_up()
            if self._is_kept and not self.is_serving:
                self.ended.set()  # Set after the answer is sent, because the process then ends.

    def warm_up(self) -> None:
        """Load everything that the first prompt needs, before it arrives."""
        with suppress(MycelError):
            self._knowledge.search("warm up", limit=1, warnings=[])

    def _reply(self, connection: socket.socket) -> tuple[str, bytes]:
        """The event of a request, and its answer."""
        stream = connection.makefile("rb")
        event, client, size = stream.readline(HEAD_BYTES_MAX).decode().split()
        is_stale = _program_stamp() != self._program
        if self._is_kept and (event == END or is_stale):
            self.close()  # The next hook finds no socket, and starts another process.
        if event == END or is_stale:
            return event, b"ok\n" if event == END and self._is_kept else b"no\n"
        if not 0 <= int(size) <= INPUT_BYTES_MAX or current(self._main) != MAIN:
            return event, b"no\n"  # Commands now use another branch of the graph.
        payload = stream.read(int(size))
        for name in HOOK_EVENTS:
            if name == event:
                output = answer(
                    self._knowledge, name, client, payload, path=self.path, person=self._person
                )
                return event, b"ok\n" + output
        return event, b"no\n"


def _is_answered(address: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as attempt:
        attempt.settimeout(1.0)
        try:
            attempt.connect(address)
        except OSError:
            return False
    return True


def serve_until_idle(server: WarmServer, idle_seconds: float) -> None:
    """Wait until the server was idle for long, was ended, or the graph's file is gone."""
    while server.is_serving and server.idle_seconds < idle_seconds and server.path.exists():
        if server.ended.wait(min(idle_seconds, 30.0)):
            return


def end_kept() -> int:
    """End the processes of this user that keep graphs open for hooks. Returns their number."""
    folder = socket_folder()
    if not is_private(folder):
        return 0
    return sum(_end(str(file)) for file in sorted(Path(folder).glob("db-*.sock")))


def _end(address: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(REQUEST_SECONDS)
        try:
            connection.connect(address)
            connection.sendall(f"{END} mycel 0\n".encode())
            return connection.recv(HEAD_BYTES_MAX) == b"ok\n"
        except OSError:
            return False


def _program_stamp() -> tuple[int, int] | None:
    """A mark that changes with the installed package; None if the package is gone."""
    try:
        status = Path(__file__).stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns
