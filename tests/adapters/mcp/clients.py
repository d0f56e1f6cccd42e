"""Servers in processes of their own, and two kinds of clients for them.

`Session` is the SDK's own client behind plain functions; its loop runs in a thread. `Pipe` speaks
JSON-RPC line by line, for what no well-behaved client would do.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, Self

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters

from tests.adapters.warm import warm_command

COMMAND = (sys.executable, "-m", "mycel", "mcp")
HANDSHAKE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


class Told(NamedTuple):
    """The result of a tool."""

    text: str
    data: Any
    failed: bool

    @property
    def error(self) -> dict[str, Any]:
        assert self.failed, self.text
        error: dict[str, Any] = self.data["error"]
        assert error["code"] in self.text
        assert error["message"] in self.text
        assert error["hint"] in self.text
        return error


class Session:
    """A connected client of the SDK."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self.portal = portal
        self.client = client

    def call(self, tool: str, /, **arguments: Any) -> Told:
        result = self.portal.call(self.client.call_tool, tool, arguments)
        (content,) = result.content
        return Told(content.text, result.structured_content, result.is_error)

    def ok(self, tool: str, /, **arguments: Any) -> Told:
        told = self.call(tool, **arguments)
        assert not told.failed, told.text
        return told

    def ask(self, method: str, /, *arguments: Any, **named: Any) -> Any:
        """Any other method of the client."""

        async def asked() -> Any:
            return await getattr(self.client, method)(*arguments, **named)

        return self.portal.call(asked)


def arguments_for(db: Path, *more: str) -> list[str]:
    return [*COMMAND[1:], "--db", str(db), *more]


@contextmanager
def connected(db: Path, *more: str, mode: str = "auto", **offers: Any) -> Iterator[Session]:
    """A server process with a client of one era: `auto` is the newer, `legacy` the older.

    `offers` are callbacks of the client, such as `sampling_callback`.
    """
    command, *words = warm_command("mycel")
    server = StdioServerParameters(
        command=command, args=[*words, "mcp", "--db", str(db), *more], env=dict(os.environ)
    )
    with start_blocking_portal() as portal:
        client = Client(server, mode=mode, **offers)
        with portal.wrap_async_context_manager(client):
            yield Session(portal, client)


class Pipe:
    """A server on two pipes."""

    def __init__(self, db: Path, *more: str, command: Sequence[str] | None = None) -> None:
        self.process = subprocess.Popen(
            command or [*warm_command("mycel"), "mcp", "--db", str(db), *more],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                with suppress(OSError):  # What could not be written any more.
                    pipe.close()

    def shake_hands(self) -> Self:
        self.send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HANDSHAKE})
        assert self.receive()["id"] == 0
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def send(self, message: dict[str, Any]) -> None:
        self.write(json.dumps(message).encode() + b"\n")

    def write(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def send_call(self, number: int, tool: str, **arguments: Any) -> None:
        self.send(
            {
                "jsonrpc": "2.0",
                "id": number,
                "method": "tools/call",
                "params": {"name": tool, "arguments": arguments},
            }
        )

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the server has gone"
        answer: dict[str, Any] = json.loads(line)
        return answer

    def finish(self) -> tuple[list[dict[str, Any]], str, int]:
        """Close the input. Returns the rest of the output, errors, and the exit status."""
        out, err = self.process.communicate(timeout=60)
        answers = [json.loads(line) for line in out.splitlines()]
        return answers, err.decode(), self.process.returncode
