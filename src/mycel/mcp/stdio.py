"""Standard input and output as a connection: one message a line.

It differs from the transport of the SDK:

- A signal ends it at once, without waiting for the next line. Running calls finish their writes.
- The end of the input ends it after all calls were answered.
- Invalid and too long messages get an error.
- Messages are read and written without other threads, and a slow client blocks nothing else.

While it serves, descriptor 1 is standard error and descriptor 0 is empty, so that libraries cannot
disturb the connection by printing or reading.
"""

from __future__ import annotations

import logging
import os
import select
import signal
import stat
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, Final

import anyio
import anyio.to_thread
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from mycel.mcp.messages import NoMessage, encode_message, read, top_level_id
from mycel.model.limits import MESSAGE_LINE_BYTES_MAX

READ_BYTES: Final = 1 << 16
ATOMIC_BYTES: Final = getattr(select, "PIPE_BUF", 512)
"""The bytes that a ready pipe accepts without blocking."""
LAST_CALLS_S: Final = 5.0
"""The time for running calls after the input has ended."""

Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
Outgoing = MemoryObjectSendStream[SessionMessage]

_log = logging.getLogger(__name__)


def serve(server: Server[Any]) -> int | None:
    """Serve until the input ends or a signal arrives; returns the signal, if any."""
    with _claimed_descriptors() as (source, target):
        return anyio.run(_serve, server, source, target)


async def _serve(server: Server[Any], source: int, target: int) -> int | None:
    stopped_by: int | None = None
    connection = _Connection(source, target)

    async def watch_signals(scope: anyio.CancelScope) -> None:
        nonlocal stopped_by
        with (
            # On Windows, signals are not handled here: they end the process.
            suppress(NotImplementedError),
            anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals,
        ):
            async for number in signals:
                stopped_by = number
                scope.cancel()
                return

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch_signals, tasks.cancel_scope)
        async with connection.open() as (incoming, outgoing):
            await server.run(incoming, outgoing, _options(server))
        tasks.cancel_scope.cancel()
    return stopped_by


def _options(server: Server[Any]) -> InitializationOptions:
    return server.create_initialization_options(NotificationOptions(tools_changed=True))


class _Connection:
    """Lines of one descriptor as messages, and messages as lines of another."""

    def __init__(self, source: int, target: int) -> None:
        self._source = source
        self._target = target
        self._waiting: set[int | str] = set()
        """Requests without an answer so far."""
        self._answered = anyio.Event()
        self._is_waited_for = True
        """True if the event loop can wait for the input."""
        self._broken = False
        self._lock = anyio.Lock()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[tuple[Incoming, Outgoing]]:
        """The two streams that the SDK serves."""
        read, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outgoing, write = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._read, read)
            tasks.start_soon(self._write, write)
            yield incoming, outgoing
            tasks.cancel_scope.cancel()

    # Input.

    async def _read(self, into: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        async with into:
            async for line in self._lines():
                message = await self._message(line)
                if message is not None:
                    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                        await into.send(SessionMessage(message))
            with anyio.move_on_after(LAST_CALLS_S):
                while self._waiting and not self._broken:
                    await self._answered.wait()

    async def _lines(self) -> AsyncIterator[bytes]:
        """Yield lines; a line beyond `MESSAGE_LINE_BYTES_MAX` is cut soon after that size."""
        parts: list[bytes] = []
        size = 0
        while data := await self._read_some():
            *pieces, rest = data.split(b"\n")
            for piece in pieces:
                parts.append(piece)
                yield b"".join(parts)
                parts, size = [], 0
            if size <= MESSAGE_LINE_BYTES_MAX:
                parts.append(rest)
            size += len(rest)
        if size:
            yield b"".join(parts)

    async def _read_some(self) -> bytes:
        """The next bytes of the input; none at its end."""
        try:
            if self._is_waited_for:
                try:
                    await anyio.wait_readable(self._source)
                except (PermissionError, NotImplementedError):
                    self._is_waited_for = False  # The input is a file, or the system is Windows.
            if self._is_waited_for:
                return os.read(self._source, READ_BYTES)
            return await anyio.to_thread.run_sync(
                os.read, self._source, READ_BYTES, abandon_on_cancel=True
            )
        except OSError as error:
            _log.info("The input cannot be read any more: %s.", error.strerror)
            return b""

    async def _message(self, line: bytes) -> Any:
        """A line as a message; if it is invalid, send an error and return None."""
        if not line.strip():
            return None
        try:
            if len(line) > MESSAGE_LINE_BYTES_MAX:
                most = MESSAGE_LINE_BYTES_MAX >> 20
                raise NoMessage(top_level_id(line), f"A message has at most {most} MiB.")
            message = read(line)
        except NoMessage as mistake:
            await self._send(mistake.answer)
            return None
        match message:
            case JSONRPCRequest():
                self._waiting.add(message.id)
            case JSONRPCNotification(
                method="notifications/cancelled", params={"requestId": int() | str() as cancelled}
            ):
                # A cancelled call gets no answer.
                self._waiting.discard(cancelled)
        return message

    # Output.

    async def _write(self, messages: MemoryObjectReceiveStream[SessionMessage]) -> None:
        async with messages:
            async for message in messages:
                await self._send(message.message)
                if isinstance(message.message, JSONRPCResponse | JSONRPCError):
                    self._waiting.discard("" if message.message.id is None else message.message.id)
                    self._answered.set()
                    self._answered = anyio.Event()

    async def _send(self, message: Any) -> None:
        if self._broken:
            return
        line = encode_message(message) + b"\n"
        async with self._lock:
            try:
                await _write_all(self._target, line)
            except OSError as error:
                # The client is gone; the end of the input will follow.
                _log.info("The client has gone: %s.", error.strerror)
                self._broken = True
                self._answered.set()


async def _write_all(descriptor: int, data: bytes) -> None:
    """Write in pieces that the client is ready for, so that a slow client blocks nothing else."""
    rest = memoryview(data)
    if sys.platform == "win32":  # A pipe cannot be polled on Windows.
        while rest:
            rest = rest[await anyio.to_thread.run_sync(os.write, descriptor, rest) :]
        return
    piece = ATOMIC_BYTES if os.get_blocking(descriptor) else len(rest)
    while rest:
        if not select.select((), (descriptor,), (), 0)[1]:
            await anyio.wait_writable(descriptor)
        with suppress(BlockingIOError):
            rest = rest[os.write(descriptor, rest[:piece]) :]


@contextmanager
def _claimed_descriptors() -> Iterator[tuple[int, int]]:
    """Copies of standard input and output, while the originals are redirected."""
    sys.stdout.flush()
    source, output = os.dup(0), os.dup(1)
    target = _unblocked(output)
    nowhere = os.open(os.devnull, os.O_RDONLY)
    try:
        os.dup2(nowhere, 0)
        os.dup2(2, 1)
        yield source, target
    finally:
        sys.stdout.flush()
        os.dup2(output, 1)
        os.dup2(source, 0)
        for descriptor in (source, output, target, nowhere):
            os.close(descriptor)


def _unblocked(descriptor: int) -> int:
    """A pipe, opened again for non-blocking writes; any other descriptor is copied."""
    if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
        with suppress(OSError):
            return os.open(f"/proc/self/fd/{descriptor}", os.O_WRONLY | os.O_NONBLOCK)
    return os.dup(descriptor)
