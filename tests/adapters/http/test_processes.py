"""Several processes on one graph: they serve together, are replaced, and stop together."""

import json
import os
import signal
import sys
from pathlib import Path

import anyio
import pytest
from mcp import Client

from tests.adapters.http.conftest import NAMES, Server, Start, eventually, plant

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")


def children(server: Server) -> set[int]:
    pid = server.ready["pid"]
    told = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return {int(each) for each in told.split()}


def is_gone(pid: int) -> bool:
    try:
        return "Z" in Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2][:4]
    except FileNotFoundError:
        return True


def test_several_processes_serve_one_graph_and_are_replaced_and_stopped(start: Start) -> None:
    server = start("--workers", "2")
    first = children(server)
    assert len(first) == 2
    # Each request is a connection of its own, so both processes write and read.
    for at in range(12):
        assert server.ask({"command": plant(f"Moss {at}")}).status_code == 200
        assert len(server.run(NAMES)) == 3 + at
    victim = min(first)
    os.kill(victim, signal.SIGKILL)
    eventually(lambda: len(children(server) - first) == 1)
    eventually(lambda: all(server.is_well() for _ in range(4)))
    assert len(server.run(NAMES)) == 14
    every = children(server)
    status, said, complained = server.stop()
    assert status == 0
    assert [json.loads(line)["event"] for line in said.splitlines()] == ["stopping", "stopped"]
    assert "started again" in complained
    assert all(is_gone(each) for each in every)


def test_the_processes_stop_when_the_one_that_watches_them_is_killed(start: Start) -> None:
    server = start("--workers", "2")
    every = children(server)
    os.kill(server.ready["pid"], signal.SIGKILL)
    eventually(lambda: all(is_gone(each) for each in every))


def test_several_processes_keep_no_contexts_and_say_so(start: Start) -> None:
    server = start("--workers", "2")

    async def ask() -> tuple[object, str]:
        async with Client(f"{server.url}/mcp") as client:
            fresh = await client.call_tool("traverse_graph", {"start": "kip:Plant/Oak"})
            kept = await client.call_tool(
                "traverse_graph", {"start": "kip:Plant/Oak", "context_id": "x" * 22}
            )
            return fresh.structured_content, str(kept.content)

    fresh, kept = anyio.run(ask)
    assert isinstance(fresh, dict)
    assert "context_id" not in fresh
    assert "several processes" in kept


def test_what_only_one_process_can_do_is_refused(graph: Path) -> None:
    words = ("mycel", "serve", "--db", graph, "--port", "0", "--workers", "2")
    for option in ("--open", "--sampling"):
        refused = Server(*words, option)
        _, complained = refused.process.communicate(timeout=60)
        assert refused.process.returncode == 2
        assert "single process" in complained
