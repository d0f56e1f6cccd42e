"""Many connections that repeat their requests, in a process with one event loop."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator
from itertools import repeat
from time import perf_counter
from typing import Any, Final

_LENGTH: Final = b"content-length:"


def request(command: str, **parameters: Any) -> bytes:
    """A request of a command as bytes."""
    return post("/kip", {"command": command, "parameters": parameters})


def post(path: str, content: Any) -> bytes:
    """A request as bytes."""
    body = json.dumps(content).encode()
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json"]
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body


class _Asking(asyncio.Protocol):
    """A connection that sends one request after the other, and records the time of each."""

    def __init__(self, requests: Iterator[bytes], until: float, took_s: list[float]) -> None:
        self._requests, self._until, self._took_s = requests, until, took_s
        self._got = bytearray()
        self.done = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport
        self._ask()

    def _ask(self) -> None:
        self._sent = next(self._requests)
        self._asked_at = perf_counter()
        self._transport.write(self._sent)

    def data_received(self, data: bytes) -> None:
        self._got += data
        end = self._got.find(b"\r\n\r\n")
        if end < 0:
            return
        at = self._got.lower().find(_LENGTH) + len(_LENGTH)
        if len(self._got) < end + 4 + int(self._got[at : self._got.find(b"\r", at)]):
            return
        status = self._got[9:12]
        if status not in (b"200", b"503"):
            raise RuntimeError(bytes(self._got[:200]).decode(errors="replace"))
        self._got.clear()
        if status == b"503":  # Busy: repeat the request within the same time.
            self._transport.write(self._sent)
            return
        self._took_s.append(perf_counter() - self._asked_at)
        if perf_counter() < self._until:
            self._ask()
        else:
            self._transport.close()

    def connection_lost(self, _error: Exception | None) -> None:
        self.done.set_result(None)


async def _load(port: int, clients: Iterable[Iterator[bytes]], seconds: float) -> list[float]:
    took_s: list[float] = []
    loop, until = asyncio.get_running_loop(), perf_counter() + seconds
    made = [
        await loop.create_connection(
            lambda requests=requests: _Asking(requests, until, took_s),  # type: ignore[misc]
            "127.0.0.1",
            port,
        )
        for requests in clients
    ]
    for _, asking in made:
        await asking.done
    return took_s


def load(port: int, sent: bytes, *, connections: int, seconds: float) -> list[float]:
    """The seconds of each request; all clients send the same one."""
    return load_each(port, [repeat(sent) for _ in range(connections)], seconds=seconds)


def load_each(port: int, clients: Iterable[Iterator[bytes]], *, seconds: float) -> list[float]:
    """The seconds of each request; each client sends its own requests, one after the other."""
    return asyncio.run(_load(port, clients, seconds))
