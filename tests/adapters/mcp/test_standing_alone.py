"""Calls that stand alone, as over HTTP: contexts by handle. And calls nobody waits for any more."""

import threading
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from mcp import Client
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

import mycel
from mycel.errors import MycelError
from mycel.knowledge.active_context import Contexts
from mycel.knowledge.knowledge import Knowledge
from mycel.mcp import tool_list
from mycel.mcp.results import Answer
from mycel.mcp.server import build_server
from mycel.mcp.tool_context import ToolCall


@pytest.fixture
def knowledge(tmp_path: Path) -> Iterator[Knowledge]:
    with mycel.open(tmp_path / "graph.db") as db:
        knowledge = Knowledge(db, workspace="shop", root=tmp_path)
        knowledge.remember(
            [{"uri": "a"}, {"uri": "b"}], [{"source": "a", "relation": "near", "target": "b"}]
        )
        yield knowledge


@pytest.fixture
def server(knowledge: Knowledge) -> Server:
    return build_server(knowledge.db, knowledge, contexts=Contexts(3))


MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])


@MODES
def test_a_context_is_a_handle_that_the_caller_passes_back(server: Server, mode: str) -> None:
    async def story() -> None:
        async with Client(server, mode=mode) as client:
            first = await client.call_tool("traverse_graph", {"start": "a"})
            handle = first.structured_content["context_id"]
            assert f"Pass context_id {handle} to the next" in first.content[0].text
            shown = await client.call_tool("manage_context", {"context_id": handle})
            assert shown.structured_content["loaded"] == 2
            other = await client.call_tool("manage_context", {})
            assert other.structured_content["loaded"] == 0
            assert other.structured_content["context_id"] != handle
            await client.call_tool("get_nodes", {"uris": ["a"], "context_id": handle})

    anyio.run(story)


@MODES
def test_every_context_follows_what_one_call_moved_or_forgot(server: Server, mode: str) -> None:
    async def story() -> None:
        async with Client(server, mode=mode) as client:
            first = await client.call_tool("traverse_graph", {"start": "a"})
            handle = first.structured_content["context_id"]
            await client.call_tool("update_node", {"uri": "a", "new_uri": "z"})
            await client.call_tool("forget_nodes", {"uris": ["b"], "action": "remove"})
            shown = await client.call_tool("manage_context", {"context_id": handle})
            assert shown.structured_content["loaded"] == 1
            assert "- concept://shop/z (" in shown.content[0].text
            assert "- concept://shop/b: no longer in the graph" in shown.content[0].text

    anyio.run(story)


@MODES
def test_a_handle_that_nobody_knows_is_refused_with_a_next_step(server: Server, mode: str) -> None:
    async def story() -> None:
        async with Client(server, mode=mode) as client:
            for tool, arguments in (
                ("manage_context", {}),
                ("traverse_graph", {"start": "a"}),
                ("get_nodes", {"uris": ["a"]}),
            ):
                told = await client.call_tool(tool, arguments | {"context_id": "guessed"})
                assert told.is_error
                assert told.structured_content["error"]["code"] == "KIP_3002"
                assert "Leave context_id out" in told.content[0].text

    anyio.run(story)


def test_only_so_many_contexts_are_kept_and_the_oldest_goes(server: Server) -> None:
    async def story() -> None:
        async with Client(server) as client:
            handles = [
                (await client.call_tool("manage_context", {})).structured_content["context_id"]
                for _ in range(4)
            ]
            for handle, is_known in zip(handles, (False, True, True, True), strict=True):
                told = await client.call_tool("manage_context", {"context_id": handle})
                assert told.is_error is not is_known

    anyio.run(story)


def test_only_tools_with_a_context_take_a_handle(server: Server) -> None:
    async def story() -> None:
        async with Client(server) as client:
            listed = (await client.list_tools()).tools
        taking = [each for each in listed if "context_id" in each.input_schema["properties"]]
        assert {each.name for each in taking} == {t.name for t in tool_list.TOOLS if t.has_context}

    anyio.run(story)


def test_a_long_call_that_is_cancelled_stops_and_the_server_lives_on(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, ended = threading.Event(), threading.Event()

    def endless(call: ToolCall) -> Answer:
        try:
            while True:
                call.report(0.0, None, "still at it")
                begun.set()
        finally:
            ended.set()

    object.__setattr__(tool_list.BOOTSTRAP, "run", endless)
    try:

        async def story() -> None:
            async with Client(server, mode="legacy") as client:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(client.call_tool, "bootstrap_workspace", {})
                    await anyio.to_thread.run_sync(begun.wait)
                    tasks.cancel_scope.cancel()
                assert await anyio.to_thread.run_sync(ended.wait, 30)
                assert not (await client.call_tool("get_nodes", {"uris": ["a"]})).is_error

        anyio.run(story)
    finally:
        object.__setattr__(tool_list.BOOTSTRAP, "run", BOOTSTRAP_RUN)


BOOTSTRAP_RUN = tool_list.BOOTSTRAP.run


def test_without_a_root_no_file_is_read_and_nothing_is_bootstrapped(knowledge: Knowledge) -> None:
    rootless = Knowledge(knowledge.db, workspace="shop")
    server = build_server(knowledge.db, rootless)

    async def story() -> None:
        async with Client(server) as client:
            with pytest.raises(MCPError, match="shows no files"):
                await client.call_tool("bootstrap_workspace", {})
            reading = {"uris": ["file://shop/x"], "read_file": True}
            told = await client.call_tool("get_nodes", reading)
            assert told.is_error
            assert "has no root folder" in told.content[0].text

    anyio.run(story)


def test_a_failure_inside_the_engine_is_told_as_every_other(
    server: Server, knowledge: Knowledge, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MycelError("The disk is \ud800 odd.")

    monkeypatch.setattr(Knowledge, "search", fail)

    async def story() -> None:
        async with Client(server, mode="legacy") as client:
            told = await client.call_tool("search_knowledge", {"query": "x"})
            assert told.is_error
            assert "The disk is ? odd." in told.content[0].text

    anyio.run(story)
