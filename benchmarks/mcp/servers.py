"""Starts servers, and sends them requests with little overhead."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

from benchmarks.loads import package_folder

ROOT = Path(__file__).resolve().parents[2]


def environment(cache: str) -> dict[str, str]:
    """The environment of servers, with cached bytecode as in an installed package."""
    own = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    paths = os.pathsep.join((package_folder(), str(ROOT)))
    return own | {"PYTHONPATH": paths, "PYTHONPYCACHEPREFIX": cache}


def ours(path: Path) -> tuple[str, ...]:
    return sys.executable, "-m", "mycel", "mcp", "--db", str(path), "--root", str(path.parent)


EMPTY = (sys.executable, "-m", "benchmarks.mcp.empty")


class Connection:
    """A server on two pipes, and requests that wait for their answer."""

    def __init__(self, command: tuple[str, ...], env: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._number = 0

    def __enter__(self) -> Self:
        """Do the handshake."""
        self.request(
            "initialize",
            {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "benchmark", "version": "1"},
            },
        )
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.wait(30)
        if self.process.stdout is not None:
            self.process.stdout.close()

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool; it must not fail."""
        result = self.request("tools/call", {"name": tool, "arguments": arguments})
        if result.get("isError"):
            raise RuntimeError(result["content"][0]["text"])
        return result

    def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        if self.process.stdout is None:
            raise RuntimeError("The server has no output.")
        answer = json.loads(self.process.stdout.readline())
        result: dict[str, Any] = answer["result"]
        return result

    def _send(self, message: dict[str, Any]) -> None:
        if self.process.stdin is None:
            raise RuntimeError("The server has no input.")
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def processor_s(self) -> float:
        """The processor time that the server has used."""
        words = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def resident_bytes(self, *, own: bool = False) -> int:
        """The memory of the server, without or with mapped files."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        wanted = "RssAnon:" if own else "VmRSS:"
        (line,) = (each for each in lines if each.startswith(wanted))
        return int(line.split()[1]) << 10
