"""Servers in processes of their own, each on a free port, each on a graph of its own."""

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import httpx
import pytest

import mycel
from tests.adapters.warm import warm_command
from tests.prepared import Prepared

GARDEN = """
UPSERT {
  CONCEPT { {type: "$ConceptType", name: "Plant"} SET ATTRIBUTES {description: "It grows"} }
  CONCEPT { {type: "$PropositionType", name: "shades"} SET ATTRIBUTES {description: "Takes light"} }
}
UPSERT {
  CONCEPT ?oak { {type: "Plant", name: "Oak"} SET ATTRIBUTES {height_m: 20} }
  CONCEPT ?fern { {type: "Plant", name: "Fern"} }
  PROPOSITION { (?oak, "shades", ?fern) }
}
"""
PLANTED = Prepared(lambda db: db.execute(GARDEN), actor="ada")
NAMES = 'FIND(?p.name) WHERE { ?p {type: "Plant"} } ORDER BY ?p.name'
SILENCE_S = 180
HTTP = httpx.Client(
    verify=False, timeout=SILENCE_S, limits=httpx.Limits(max_keepalive_connections=0)
)
"""A connection for each request. A client takes long to make, for certificates that none needs."""


def plant(name: str) -> str:
    """A command that writes one plant."""
    return f'UPSERT {{ CONCEPT {{ {{type: "Plant", name: {json.dumps(name)}}} }} }}'


class Server:
    """A process that serves, from its ready line to its end."""

    def __init__(self, module: str, *options: str | Path, **environment: str) -> None:
        clean = {key: value for key, value in os.environ.items() if not key.startswith("MYCEL_")}
        # Whatever directory a process starts in, it runs the code that is tested here.
        root = Path(mycel.__file__).parents[2]
        path = os.pathsep.join((str(root / "src"), str(root)))
        self.process = subprocess.Popen(
            [*warm_command(module), *map(str, options)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env=clean | {"PYTHONPATH": path} | environment,
        )
        self.ready: dict[str, Any] = {}

    def wait_until_ready(self) -> None:
        self.ready = self.event()
        assert self.ready["event"] == "ready"

    def event(self) -> dict[str, Any]:
        """The next line that the server prints."""
        assert self.process.stdout is not None
        is_readable = wait([self.process.stdout], SILENCE_S)
        line = self.process.stdout.readline() if is_readable else ""
        if not line:
            self.process.kill()
            raise AssertionError(self.process.communicate()[1])
        told: dict[str, Any] = json.loads(line)
        return told

    @property
    def url(self) -> str:
        url: str = self.ready["url"]
        return url

    @property
    def address(self) -> tuple[str, int]:
        parts = httpx.URL(self.url)
        assert parts.port is not None
        return parts.host, parts.port

    def ask(self, body: Any, **how: Any) -> httpx.Response:
        """One request to /kip."""
        return HTTP.post(f"{self.url}/kip", json=body, **how)

    def run(self, command: str, **parameters: Any) -> Any:
        """The result of one command, which has to succeed."""
        answer = self.ask({"command": command, "parameters": parameters})
        assert answer.status_code == 200, answer.text
        return answer.json()["result"]

    def get(self, path: str = "/", **how: Any) -> httpx.Response:
        return HTTP.get(f"{self.url}{path}", **how)

    @contextmanager
    def connection(self) -> Iterator[socket.socket]:
        """A connection for raw bytes."""
        with socket.create_connection(self.address, timeout=SILENCE_S) as made:
            yield made

    def say(self, *parts: bytes) -> bytes:
        """Send bytes and read all that comes back until the server closes."""
        with self.connection() as made:
            for part in parts:
                made.sendall(part)
            return read_all(made)

    def is_well(self) -> bool:
        return self.get("/healthz").json() == {"status": "ok"}

    def stop(self, with_signal: int = signal.SIGTERM) -> tuple[int, str, str]:
        """Stop the server. Returns its exit status, and its output since the last event."""
        self.process.send_signal(with_signal)
        said, complained = self.process.communicate(timeout=SILENCE_S)
        return self.process.returncode, said, complained

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


def read_all(made: socket.socket) -> bytes:
    parts = []
    while part := made.recv(65536):
        parts.append(part)
    return b"".join(parts)


def read_until(made: socket.socket, text: bytes) -> bytes:
    got = b""
    while text not in got:
        part = made.recv(65536)
        assert part, f"it closed before it said {text!r}: {got!r}"
        got += part
    return got


def request(body: bytes, *headers: str, first: str = "POST /kip HTTP/1.1") -> bytes:
    """A request as bytes, with the length of its body."""
    usual = ["Host: localhost", "Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([first, *usual, *headers, "", ""]).encode() + body


def eventually(holds: Callable[[], bool]) -> None:
    """Repeat a check until it holds."""
    deadline = time.monotonic() + SILENCE_S
    while not holds():
        assert time.monotonic() < deadline


Start = Callable[..., Server]


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    """A new small graph."""
    path = tmp_path / "garden.db"
    PLANTED.put(path)
    return path


@pytest.fixture
def start(graph: Path) -> Iterator[Start]:
    """Start a server on the graph, and wait until it answers."""
    started: list[Server] = []

    def call(*options: str | Path, **environment: str) -> Server:
        words = ("mycel", "serve", "--json", "--db", graph, "--port", "0", *options)
        server = Server(*words, **environment)
        started.append(server)
        server.wait_until_ready()
        return server

    yield call
    for server in started:
        server.end()


@pytest.fixture(scope="session")
def garden(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server for tests that leave the two plants of the garden as they are."""
    path = tmp_path_factory.mktemp("garden") / "garden.db"
    PLANTED.put(path)
    server = Server("mycel", "serve", "--json", "--db", path, "--port", "0")
    try:
        server.wait_until_ready()
        yield server
    finally:
        server.end()
