"""What `mycel serve` is told: the token, the root, and that nothing may be written."""

import json
import os
import shlex
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import pytest
from mcp import Client

from tests.adapters.cli.conftest import Run, needs_posix
from tests.adapters.http.conftest import Server

SECRET = "a-secret-of-enough-letters"
NAMES = 'FIND(?p.name) WHERE { ?p {type: "Plant"} } ORDER BY ?p.name'
WRITING = 'UPSERT { CONCEPT { {type: "Plant", name: "Moss"} } }'

Start = Callable[..., Server]


@pytest.fixture
def start(garden: Path) -> Iterator[Start]:
    started: list[Server] = []

    def call(*options: str | Path) -> Server:
        words = ("mycel", "serve", "--json", "--db", garden, "--port", "0", *options)
        server = Server(*words)
        started.append(server)
        server.wait_until_ready()
        return server

    yield call
    for server in started:
        server.end()


# The token.


def test_a_token_file_that_is_not_there_is_said(run: Run, garden: Path) -> None:
    done = run("serve", "--token-file", garden.parent / "nothing", "--json")
    assert (done.status, done.stdout) == (2, "")
    assert "--token-file" in done.error["message"]
    assert "does not exist" in done.error["message"]


def test_a_folder_holds_no_token(run: Run, garden: Path) -> None:
    done = run("serve", "--token-file", garden.parent, "--json")
    assert done.status == 2
    assert "is a directory" in done.error["message"]


@pytest.mark.parametrize("content", ["", " \n\n"])
def test_an_empty_file_holds_no_token(run: Run, garden: Path, content: str) -> None:
    path = garden.parent / "token"
    path.write_text(content)
    done = run("serve", "--token-file", path, "--json")
    assert done.status == 2
    assert "--token-file" in done.error["message"]
    assert "holds no token" in done.error["message"]


def test_a_token_that_is_too_short_is_said_without_showing_it(run: Run, garden: Path) -> None:
    path = garden.parent / "token"
    path.write_text("hunter2")
    done = run("serve", "--token-file", path)
    assert done.status == 2
    assert "at least 16" in done.stderr
    assert "hunter2" not in done.stderr


@needs_posix
@pytest.mark.parametrize(("mode", "warned"), [(0o640, True), (0o600, False)])
def test_a_token_that_others_can_read_is_warned_of(
    start: Start, garden: Path, mode: int, warned: bool
) -> None:
    path = garden.parent / "token"
    path.write_text(SECRET)
    path.chmod(mode)
    _, _, complained = start("--token-file", path).stop()
    assert ("Others on this machine can read" in complained) is warned
    assert SECRET not in complained


@needs_posix
def test_a_token_may_come_through_a_pipe(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "token"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=(SECRET,))
    writer.start()
    server = start("--token-file", path)
    writer.join()
    assert server.get().status_code == 401
    assert server.get(headers={"authorization": f"Bearer {SECRET}"}).status_code == 200


# What it says when it is ready.


@needs_posix
def test_clients_are_told_of_the_same_graph_files_and_uris(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shop").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    assert run("init", "--workspace", "store").status == 0
    (tmp_path / "token").write_text(SECRET)
    (tmp_path / "token").chmod(0o600)
    options = ("--workspace", "store", "--port", "0", "--root", tmp_path / "shop", "--readonly")
    server = Server(
        *("mycel", "serve", *options, "--token-file", tmp_path / "token"),
        HOME=str(tmp_path),
    )
    try:
        assert server.process.stdout is not None
        said = "".join(iter(server.process.stdout.readline, "\n"))
        more = server.process.stdout.readline()
    finally:
        server.end()
    (entry,) = [json.loads(line) for line in said.splitlines() if '"args"' in line]
    ((name, started),) = entry["mcpServers"].items()
    assert name == "mycel-store"
    wanted = ["--workspace", "store", "--root", str(tmp_path / "shop"), "--readonly"]
    assert started["args"][-5:] == wanted
    assert "codex mcp add mycel-store --url" in said
    assert "Authorization: Bearer TOKEN" in more
    assert SECRET not in said + more


def _said(*options: str | Path, **environment: str) -> str:
    """What a server for people prints, up to the line that says where it is."""
    server = Server("mycel", "serve", "--port", "0", *options, **environment)
    try:
        assert server.process.stdout is not None
        said = ""
        while "Mycel serves" not in said:
            line = server.process.stdout.readline()
            assert line, said
            said += line
    finally:
        server.end()
    return said


def test_clients_are_told_of_the_token_each_in_its_own_way(garden: Path) -> None:
    path = garden.parent / "token"
    path.write_text(SECRET)
    said = _said("--db", garden, "--token-file", path)
    lines = [line.strip() for line in said.splitlines()]
    (claude,) = [line for line in lines if line.startswith("claude mcp add")]
    assert claude.endswith('/mcp --header "Authorization: Bearer $MYCEL_TOKEN"')
    (codex,) = [line for line in lines if line.startswith("codex mcp add")]
    assert codex.endswith("/mcp --bearer-token-env-var MYCEL_TOKEN")
    header = {"Authorization": "Bearer ${env:MYCEL_TOKEN}"}
    (cursor,) = [json.loads(line) for line in lines if line.startswith("{") and '"url"' in line]
    assert cursor["mcpServers"]["mycel"]["headers"] == header
    (code,) = [line for line in lines if line.startswith("code --add-mcp")]
    assert json.loads(shlex.split(code)[2])["headers"] == header
    assert SECRET not in said


def test_clients_are_told_of_no_token_where_none_is_asked_for(garden: Path) -> None:
    said = _said("--db", garden)
    assert "TOKEN" not in said
    assert "eader" not in said


def test_clients_are_told_the_name_that_is_allowed(garden: Path) -> None:
    allowed = ("--allow-host", "graph.example.org", "--allow-host", "other.example.org")
    said = _said("--db", garden, "--host", "0.0.0.0", *allowed, MYCEL_TOKEN=SECRET)
    assert said.count("http://graph.example.org:") == 6
    assert "127.0.0.1" not in said
    # Here a proxy has that name, and nobody knows its port.
    local = _said("--db", garden, *allowed)
    assert local.count("http://127.0.0.1:") == 6


# Reading only.


@pytest.mark.parametrize("words", [("serve", "--port", "0"), ("mcp",)], ids=lambda words: words[0])
def test_whoever_only_reads_creates_no_database(
    spawn: Run, tmp_path: Path, words: tuple[str, ...]
) -> None:
    path = tmp_path / "none.db"
    done = spawn(*words, "--readonly", "--db", path, "--json", stdin=subprocess.DEVNULL)
    known = spawn("kip", 'FIND(?x) WHERE { ?x {type: "Person"} }', "--db", path, "--json")
    assert (done.status, done.stdout) == (1, "")
    assert done.error == known.error
    assert done.error["name"] == "NotADatabase"
    assert f"mycel init --db {path}" in done.error["hint"]
    assert not path.exists()


def test_what_is_brought_in_before_reading_only_creates_the_database(
    start: Start, garden: Path, tmp_path: Path
) -> None:
    (tmp_path / "wood").mkdir()
    (tmp_path / "wood" / "fern.py").write_text("def grow(): ...\n")
    garden.unlink()
    server = start("--readonly", "--bootstrap", tmp_path / "wood")
    found = server.run('FIND(?r.name) WHERE { ?r {type: "Resource"} }')
    assert found == ["file://wood/fern.py"]


def test_a_server_that_only_reads_has_no_door_for_writing(start: Start) -> None:
    server = start("--readonly")
    asked = {"command": WRITING}
    for body in (
        asked,
        {"commands": [WRITING]},
        {"method": "execute_kip", "params": asked},
        {"method": "execute_kip_readonly", "params": asked},
    ):
        told = server.ask(body)
        assert "only reading is allowed here" in told.text, told.text
    assert server.run(NAMES) == ["Fern", "Oak"]
    assert server.get().json()["capabilities"] == ["execute_kip_readonly", "list_logs", "mcp"]

    async def tools() -> set[str]:
        async with Client(f"{server.url}/mcp") as client:
            return {tool.name for tool in (await client.list_tools()).tools}

    offered = anyio.run(tools)
    assert "execute_kip_readonly" in offered
    assert offered & {"execute_kip", "update_node"} == set()


@needs_posix
def test_a_graph_that_may_not_be_written_can_be_served_for_reading(
    start: Start, garden: Path
) -> None:
    garden.chmod(0o400)
    assert start("--readonly").run(NAMES) == ["Fern", "Oak"]


# The root.


def test_files_are_read_below_the_root_if_they_are_served(start: Start, tmp_path: Path) -> None:
    project = tmp_path / "Wood"
    (project / "src").mkdir(parents=True)
    (project / "notes.md").write_text("All about moss.")
    (project / "src" / "fern.py").write_text("def grow(): ...\n")

    async def text(url: str) -> str:
        async with Client(f"{url}/mcp") as client:
            (content,) = (await client.read_resource("file://wood/notes.md")).contents
            return str(content.text)

    server = start("--root", project, "--bootstrap", project / "src", "--files")
    assert anyio.run(text, server.url) == "All about moss."
    found = server.run('FIND(?r.name) WHERE { ?r {type: "Resource"} }')
    assert found == ["file://wood/src/fern.py"]


def test_what_is_brought_in_has_to_be_below_the_root(run: Run, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    path = tmp_path / "x.db"
    folders = ("--root", tmp_path / "one", "--bootstrap", tmp_path / "two")
    done = run("serve", "--db", path, "--port", "0", *folders)
    assert done.status == 2
    assert "root" in done.stderr


@needs_posix
def test_a_server_stops_in_order_although_nobody_hears_it_any_more(start: Start) -> None:
    server = start()
    process = server.process
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) in (0, 141)  # 141 if the interpreter notices the closed pipe last.
    assert "Traceback" not in process.stderr.read()
