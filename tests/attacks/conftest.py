"""Servers to be attacked: short deadlines, little memory, and a graph with heavy questions."""

import json
import re
import resource
import shutil
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mycel
from tests.adapters.http.conftest import GARDEN, Server, Start

SECRET = "c2VjcmV0LXNlY3JldC1zZWNyZXQ"
BEARER = f"Authorization: Bearer {SECRET}"
MEMORY_BYTES_MAX = 1 << 30
"""The most data that an attacked server may have; the kernel refuses more."""
RESIDENT_KIB_MAX = 450_000
LEAVES = 400

HEAVY = (
    "FIND(COUNT(?a.name), COUNT(?b.name), COUNT(?c.name), COUNT(?d.name)) WHERE {"
    ' ?a {type: "Leaf"} ?b {type: "Leaf"} ?c {type: "Leaf"} ?d {type: "Leaf"}'
    " FILTER(?a.name != ?b.attributes.x) FILTER(?c.name != ?d.attributes.x) }"
)
"""A read that takes hours: 400 leaves, four times over."""
LARGE = 'FIND(?t.attributes.text) WHERE { ?t {type: "Page"} }'
"""An answer of four megabytes."""
HUGE = 'FIND(?t.attributes.text) WHERE { ?t {type: "Page"} ?l {type: "Leaf"} } LIMIT 96'
"""An answer of fifty megabytes."""


@pytest.fixture(scope="session")
def _forest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("forest") / "forest.db"
    with mycel.open(path) as db:
        db.execute(GARDEN)

        def work(tx: Any) -> None:
            for name in ("Leaf", "Page"):
                tx.define_type(name)
            tx.put_concepts(mycel.ConceptRow("Leaf", f"Leaf {at}") for at in range(LEAVES))
            for at in range(8):
                tx.put_concept("Page", f"Page {at}", {"text": "lorem ipsum " * 43_000})

        db.write(work)
    return path


@pytest.fixture
def forest(_forest: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(_forest, tmp_path / "forest.db"))


def limited(server: Server) -> Server:
    if sys.platform == "linux":
        limit = (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX)
        resource.prlimit(server.ready["pid"], resource.RLIMIT_DATA, limit)
    return server


def free(server: Server, size: int) -> None:
    """Limit the data of a server to its present size plus this many bytes."""
    told = Path(f"/proc/{server.ready['pid']}/status").read_text(encoding="ascii")
    found = re.search(r"VmData:\s+(\d+)", told)
    assert found is not None
    limit = (int(found[1]) * 1024 + size, MEMORY_BYTES_MAX)
    resource.prlimit(server.ready["pid"], resource.RLIMIT_DATA, limit)


def resident_kib(server: Server) -> int:
    """The peak memory of a server, in KiB."""
    if sys.platform != "linux":
        return 0
    told = Path(f"/proc/{server.ready['pid']}/status").read_text(encoding="ascii")
    found = re.search(r"VmHWM:\s+(\d+)", told)
    assert found is not None
    return int(found[1])


@pytest.fixture
def attacked(forest: Path) -> Iterator[Start]:
    """Start a server on the forest, with a memory limit."""
    started: list[Server] = []

    def call(*options: str | Path, **environment: str) -> Server:
        words = ("mycel", "serve", "--json", "--db", forest, "--port", "0", *options)
        server = Server(*words, **environment)
        started.append(server)
        server.wait_until_ready()
        return limited(server)

    yield call
    for server in started:
        server.end()


@pytest.fixture(scope="session")
def target(_forest: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with a token, shared by many attacks; each has to leave it working."""
    path = shutil.copy(_forest, tmp_path_factory.mktemp("target") / "forest.db")
    options = ("--timeout", "2", "--concurrency", "32")
    server = Server(
        "mycel", "serve", "--json", "--db", path, "--port", "0", *options, MYCEL_TOKEN=SECRET
    )
    try:
        server.wait_until_ready()
        yield limited(server)
        assert resident_kib(server) < RESIDENT_KIB_MAX
    finally:
        server.end()


def asking(command: Any, *headers: str, **parameters: Any) -> bytes:
    """A request with the token, as bytes; a list of commands is a batch."""
    key = "commands" if isinstance(command, list) else "command"
    body = json.dumps({key: command, "parameters": parameters}).encode()
    head = ["POST /kip HTTP/1.1", "Host: localhost", "Content-Type: application/json", BEARER]
    return "\r\n".join([*head, f"Content-Length: {len(body)}", *headers, "", ""]).encode() + body


def posting(path: str, body: bytes, *headers: str) -> bytes:
    """A request with the token and any body, after which the connection is closed."""
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json", BEARER]
    lines += ["Accept: application/json, text/event-stream", "Connection: close", *headers]
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body


def answer_in(made: socket.socket) -> tuple[int, Any]:
    """Status and value of one answer."""
    got = bytearray()
    length = None
    while length is None or len(got) < length:
        part = made.recv(1 << 20)
        assert part, f"it closed: {bytes(got)!r}"
        got += part
        if length is None and (end := got.find(b"\r\n\r\n")) >= 0:
            found = re.search(rb"content-length: (\d+)", bytes(got[:end]).lower())
            assert found is not None
            head, length = end + 4, end + 4 + int(found[1])
    return int(got[9:12]), json.loads(got[head:length])


def ask(server: Server, command: Any, **parameters: Any) -> tuple[int, Any]:
    """Status and value of the answer to a request of its own."""
    with server.connection() as made:
        made.sendall(asking(command, **parameters))
        return answer_in(made)
