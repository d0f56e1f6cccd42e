"""Starting and stopping: ports, graphs that vanish, writes in progress, streams without end."""

import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import httpx
import pytest

import mycel
from mycel.hooks import light
from mycel.http.server import bind, is_loopback, resolve
from tests.adapters.http.conftest import (
    HTTP,
    NAMES,
    Server,
    Start,
    plant,
    read_all,
    read_until,
    request,
)
from tests.adapters.warm import warm_command
from tests.cases import cases

needs_posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Nobody else can write to a graph while this lasts."""
    connection = apsw.Connection(str(path))
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")
        connection.close()


def serve(*options: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    root = Path(mycel.__file__).parents[1]
    return subprocess.run(
        [*warm_command("mycel"), "serve", *map(str, options)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"PYTHONPATH": str(root), **environment},
    )


# Starting.


def test_a_port_that_is_taken_is_said(graph: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = serve("--db", graph, "--port", str(port))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("KIP_4002 ResourceExhausted: The server cannot listen")
    assert "--port 0" in done.stderr
    assert f"lsof -i :{port}" in done.stderr


def test_an_address_of_another_machine_is_said(graph: Path) -> None:
    done = serve("--db", graph, "--host", "192.0.2.1", MYCEL_TOKEN="a-secret-of-enough-letters")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("KIP_2002 ConstraintViolation: The server cannot listen")


@pytest.mark.parametrize(
    "options",
    [
        ("--host", "no.such.host.invalid"),
        ("--port", "70000"),
        ("--timeout", "0"),
        ("--timeout", "nan"),
        ("--concurrency", "0"),
        ("--allow-host", "a b"),
        ("--allow-origin", "example.org"),
        ("--bootstrap", "no-such-folder"),
        ("--token-file", "no-such-file"),
    ],
    ids=lambda options: options[0],
)
def test_an_option_that_cannot_be_is_refused(graph: Path, options: tuple[str, ...]) -> None:
    done = serve("--db", graph, "--port", "0", *options)
    assert done.returncode in (1, 2)
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


def test_a_file_that_is_no_graph_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    path.write_text("not a graph, " * 100, encoding="utf-8")
    done = serve("--db", path, "--port", "0")
    assert done.returncode == 1
    assert "NotADatabase" in done.stderr


def test_a_graph_that_is_not_there_is_created(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    server = Server("mycel", "serve", "--json", "--db", path, "--port", "0")
    try:
        server.wait_until_ready()
        assert server.ready["path"] == str(path)
        assert server.ask({"command": "DESCRIBE PRIMER"}).status_code == 200
    finally:
        server.end()


def test_a_branch_is_served_and_the_graph_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "graph.db"
    with mycel.open(path, core_capsules=False) as db:
        db.branches.create("draft")
        before = db.snapshot()
    server = Server("mycel", "serve", "--json", "--db", path, "--branch", "draft", "--port", "0")
    try:
        server.wait_until_ready()
        assert server.ready["path"] == f"{path}@draft.db"
        server.run('UPSERT { CONCEPT { {type: "$ConceptType", name: "Plant"} } }')
    finally:
        server.end()
    with mycel.open(path) as db:
        assert db.snapshot() == before
        assert db.branches.get("draft").parting.ahead == 1


def test_a_folder_is_brought_in_first(start: Start, tmp_path: Path) -> None:
    folder = tmp_path / "wood"
    folder.mkdir()
    (folder / "tree.py").write_text("def grow():\n    return 1\n", encoding="utf-8")
    server = start("--bootstrap", folder)
    found = server.run('FIND(?r.name) WHERE { ?r {type: "Resource"} }')
    assert "file://wood/tree.py" in found
    _, _, complained = server.stop()
    assert "1 file added" in json.loads(complained.splitlines()[-1])["note"]


def test_people_are_told_where_it_is_and_how_to_connect(graph: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "mycel", "serve", "--db", str(graph), "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": str(Path(mycel.__file__).parents[1])},
    )
    assert process.stdout is not None
    said = ""
    try:
        while "Ctrl-C" not in said:
            line = process.stdout.readline()
            assert line, said
            said += line
        url = re.findall(r"http://127\.0\.0\.1:\d+", said)[-1]
        assert HTTP.get(f"{url}/healthz").json() == {"status": "ok"}
    finally:
        process.terminate()
        rest, _ = process.communicate(timeout=60)
    for client in ("Claude Code", "Claude Desktop", "Cursor", "VS Code", "Codex"):
        assert client in said
    assert f"{url}/mcp" in said
    assert rest == "Stopping: no new requests.\nStopped.\n"
    assert process.returncode == 0


def test_the_other_protocol_answers_beside_it(start: Start) -> None:
    server = start()
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    accepted = {"accept": "application/json, text/event-stream"}
    answer = HTTP.post(f"{server.url}/mcp", json=hello, headers=accepted, timeout=60)
    assert answer.status_code == 200
    assert '"serverInfo"' in answer.text
    evil = accepted | {"origin": "https://evil.example"}
    assert HTTP.post(f"{server.url}/mcp", json=hello, headers=evil).status_code == 403
    assert "mcp" in server.get().json()["endpoints"]
    assert set(server.get("/openapi.json").json()["paths"]["/mcp"]) == {"get", "post"}


# Others at the same file.


def test_two_servers_on_one_graph_see_each_other(start: Start) -> None:
    servers = [start(), start()]
    names = [f"Tree {number:02}" for number in range(20)]

    def write(at: int) -> int:
        return servers[at % 2].ask({"command": plant(names[at])}).status_code

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(write, range(20))) == [200] * 20
    for server in servers:
        assert server.run(NAMES) == ["Fern", "Oak", *names]


def test_a_graph_that_is_deleted_is_an_error_and_not_the_end(start: Start, graph: Path) -> None:
    server = start()
    assert server.run(NAMES) == ["Fern", "Oak"]
    aside = graph.with_suffix(".aside")
    graph.rename(aside)
    for answer in (
        server.ask({"command": NAMES}),
        server.ask({"commands": [plant("Ivy"), NAMES]}),
        server.ask({"method": "list_logs", "id": 7}),
        server.get("/healthz"),
        server.get("/"),
    ):
        error = answer.json()["error"]
        assert (answer.status_code, error["name"]) == (503, "DatabaseError")
        assert "is gone" in error["message"]
        assert "Put it back" in error["hint"]
    assert server.ask({"method": "nope"}).status_code == 400
    assert not graph.exists()
    aside.rename(graph)
    assert server.is_well()
    assert server.run(NAMES) == ["Fern", "Oak"]


def test_another_file_in_the_place_of_the_graph_is_noticed(start: Start, graph: Path) -> None:
    server = start()
    for beside in graph.parent.glob(f"{graph.name}*"):
        beside.unlink()
    mycel.open(graph).close()
    answer = server.ask({"command": plant("Ivy")})
    assert (answer.status_code, answer.json()["error"]["name"]) == (503, "DatabaseError")
    assert "was replaced" in answer.json()["error"]["message"]
    assert server.stop()[0] == 0
    with mycel.open(graph) as db:
        assert db.verify().ok


# Stopping.


@needs_posix
@pytest.mark.parametrize("with_signal", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_when_it_is_told_to(start: Start, graph: Path, with_signal: int) -> None:
    server = start()
    server.run(plant("Ivy"))
    status, said, complained = server.stop(with_signal)
    assert (status, complained) == (0, "")
    events = [json.loads(line)["event"] for line in said.splitlines()]
    assert events == ["stopping", "stopped"]
    # The last one to close a graph leaves nothing beside it.
    assert sorted(path.name for path in graph.parent.glob(f"{graph.name}*")) == [graph.name]


@needs_posix
def test_a_write_in_progress_is_finished_and_answered(start: Start, graph: Path) -> None:
    server = start()
    with server.connection() as made:
        with held(graph):
            body = json.dumps({"command": plant("Ivy")}).encode()
            made.sendall(request(body, "Expect: 100-continue")[: -len(body)])
            read_until(made, b"100 Continue")
            made.sendall(body)
            server.process.send_signal(signal.SIGTERM)
            assert server.event() == {"event": "stopping", "in_progress": 1}
        answer = read_all(made)
    assert answer.partition(b"\r\n")[0] == b"HTTP/1.1 200 OK"
    assert server.event() == {"event": "stopped"}
    assert server.process.wait(60) == 0
    with mycel.open(graph) as db:
        assert db.execute(NAMES).value == ["Fern", "Ivy", "Oak"]


@needs_posix
@pytest.mark.parametrize("era", ["older", "newer"])
def test_a_tool_call_in_progress_is_finished_and_answered(
    start: Start, graph: Path, era: str
) -> None:
    params: dict[str, Any] = {
        "name": "remember_knowledge",
        "arguments": {"concepts": [{"uri": "kept"}]},
    }
    headers = ["Accept: application/json, text/event-stream", "Expect: 100-continue"]
    if era == "newer":
        headers += ["MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call"]
        headers += ["Mcp-Name: remember_knowledge"]
        params["_meta"] = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    call = {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params}
    body = json.dumps(call).encode()
    server = start()
    with server.connection() as made:
        with held(graph):
            made.sendall(request(body, *headers, first="POST /mcp HTTP/1.1")[: -len(body)])
            read_until(made, b"100 Continue")
            made.sendall(body)
            server.process.send_signal(signal.SIGTERM)
            assert server.event() == {"event": "stopping", "in_progress": 1}
        answer = read_all(made)
    assert b'"created":1' in answer
    assert server.event() == {"event": "stopped"}
    assert server.process.wait(60) == 0


@needs_posix
def test_a_write_whose_client_has_gone_is_finished_all_the_same(start: Start, graph: Path) -> None:
    server = start()
    with held(graph):
        with server.connection() as made:
            body = json.dumps({"command": plant("Ivy")}).encode()
            made.sendall(request(body, "Expect: 100-continue")[: -len(body)])
            read_until(made, b"100 Continue")
            made.sendall(body)
        server.process.send_signal(signal.SIGTERM)
        assert server.event()["event"] == "stopping"
    assert server.event() == {"event": "stopped"}
    with mycel.open(graph) as db:
        assert db.execute(NAMES).value == ["Fern", "Ivy", "Oak"]


@needs_posix
def test_before_the_grace_ends_a_write_that_waits_is_given_up_and_its_client_told(
    start: Start, graph: Path
) -> None:
    server = start("--grace", "1")
    with server.connection() as made:
        with held(graph):
            body = json.dumps({"command": plant("Ivy")}).encode()
            made.sendall(request(body, "Expect: 100-continue")[: -len(body)])
            read_until(made, b"100 Continue")
            made.sendall(body)
            server.process.send_signal(signal.SIGTERM)
            answer = read_all(made)
        assert answer.startswith(b"HTTP/1.1 503")
        assert b"is stopping" in answer
    assert server.event()["event"] == "stopping"
    assert server.event() == {"event": "stopped"}
    with mycel.open(graph) as db:
        assert db.execute(NAMES).value == ["Fern", "Oak"]


@needs_posix
def test_a_body_that_is_still_coming_is_not_waited_for(start: Start, graph: Path) -> None:
    server = start()
    with server.connection() as made:
        body = json.dumps({"command": plant("Ivy")}).encode()
        made.sendall(request(body, "Expect: 100-continue")[: -len(body)])
        read_until(made, b"100 Continue")
        made.sendall(body[:-1])
        server.process.send_signal(signal.SIGTERM)
        answer = read_all(made)
    assert answer.startswith(b"HTTP/1.1 503")
    assert server.process.wait(60) == 0
    with mycel.open(graph) as db:
        assert db.execute(NAMES).value == ["Fern", "Oak"]


# Doors of other layers.


@pytest.fixture
def streaming(graph: Path) -> Iterator[Server]:
    server = Server("tests.adapters.http.streaming", graph)
    try:
        server.wait_until_ready()
        yield server
    finally:
        server.end()


def test_the_lifespan_of_a_door_runs_and_its_limit_is_its_own(streaming: Server) -> None:
    answer = HTTP.post(f"{streaming.url}/stream", content=b"x" * (5 << 20))
    assert (answer.status_code, answer.text) == (200, f"alive {5 << 20}")
    assert HTTP.post(f"{streaming.url}/stream", content=b"x" * (9 << 20)).status_code == 413


def test_a_failure_behind_a_door_says_nothing_of_the_inside(streaming: Server) -> None:
    answer = HTTP.delete(f"{streaming.url}/stream")
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert streaming.is_well()


@needs_posix
def test_a_stream_without_end_is_ended(streaming: Server) -> None:
    with httpx.stream("GET", f"{streaming.url}/stream", timeout=60) as answer:
        parts = answer.iter_bytes()
        assert next(parts) == b"begun\n"
        streaming.process.send_signal(signal.SIGTERM)
        assert list(parts) == []
    events = [streaming.event()["event"] for _ in range(3)]
    assert events == ["stopping", "door closed", "stopped"]
    assert streaming.process.wait(60) == 0


# Sockets.


def test_any_port_is_the_same_one_on_every_address() -> None:
    bound = bind(resolve("localhost", 0))
    try:
        assert len({each.getsockname()[1] for each in bound}) == 1
        # Without it, small answers would wait for each other.
        assert {each.proto for each in bound} == {socket.IPPROTO_TCP}
    finally:
        for each in bound:
            each.close()


@cases(
    ("host", "alone"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("localhost", True),
        ("::1", True),
        ("0.0.0.0", False),
        ("::", False),
        ("", False),
        ("192.0.2.1", False),
    ],
)
def test_who_can_reach_an_address_is_known(host: str, alone: bool) -> None:
    assert is_loopback(resolve(host, 80)) is alone


# Hooks.


@needs_posix
def test_a_hook_is_answered_by_the_server(
    start: Start, graph: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a machine with much to do, loading the model may take longer than a prompt waits.
    monkeypatch.setitem(light.ANSWER_SECONDS, "prompt", 60.0)
    wire = json.dumps({"session_id": "s", "prompt": "How tall do plants of oak get?"}).encode()
    note = (
        'UPSERT { CONCEPT { {type: "Plant", name: "Tall oaks"} SET ATTRIBUTES { content: :t } } }'
    )
    server = start()
    server.run(note, t="An oak is the tallest of all plants.")
    answer = light.ask("prompt", "claude-code", str(graph), wire) or b""
    assert b"the tallest of all plants" in answer
    assert server.stop()[0] == 0
    assert light.ask("prompt", "claude-code", str(graph), wire) is None
