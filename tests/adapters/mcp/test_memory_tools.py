"""`mycel mcp --compat memory`: the memory server's calls, through the SDK's own client.

What is expected here is what that server's documentation says, and what its answers look like.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import anyio
import jsonschema
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

import mycel
from mycel.knowledge.memory.file_import import import_memory
from tests.adapters.warm import warm_command

Mode = Literal["auto", "legacy"]
MODES: tuple[Mode, ...] = ("auto", "legacy")
"""The present revision of the protocol, and those before it."""

NAMES = [
    "create_entities",
    "create_relations",
    "add_observations",
    "delete_entities",
    "delete_observations",
    "delete_relations",
    "read_graph",
    "search_nodes",
    "open_nodes",
]
JOHN = {"name": "John_Smith", "entityType": "person", "observations": ["Speaks fluent Spanish"]}
ACME = {"name": "Acme", "entityType": "organization", "observations": []}
WORKS = {"from": "John_Smith", "to": "Acme", "relationType": "works_at"}


@asynccontextmanager
async def connected(path: Path, *options: str, mode: Mode = "auto") -> AsyncIterator[Client]:
    command, *words = warm_command("mycel")
    server = StdioServerParameters(
        command=command,
        args=[*words, "mcp", "--compat", "memory", "--db", str(path), *options],
        env={"PYTHONPATH": str(Path(mycel.__file__).parents[1])},
    )
    async with Client(stdio_client(server), mode=mode) as client:
        yield client


def talk(path: Path, what: Callable[[Client], Awaitable[None]], *options: str, **how: Any) -> None:
    async def run() -> None:
        with anyio.fail_after(60):
            async with connected(path, *options, **how) as client:
                await what(client)

    anyio.run(run)


async def call(client: Client, tool: str, **arguments: Any) -> Any:
    """The structured part of an answer, which the text says too."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    (first, *_) = result.content
    if tool.startswith("delete"):
        assert first.text == result.structured_content["message"]
    elif "graph" in tool or "nodes" in tool:
        assert json.loads(first.text) == result.structured_content
    else:
        (listed,) = result.structured_content.values()
        assert json.loads(first.text) == listed
        assert first.text == json.dumps(listed, indent=2, ensure_ascii=False)
    return result.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return str(result.content[0].text)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.mark.parametrize("mode", MODES)
def test_a_whole_life_of_a_graph_in_the_original_calls(path: Path, mode: Mode) -> None:
    async def what(client: Client) -> None:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == NAMES
        made = await call(client, "create_entities", entities=[JOHN, ACME, JOHN])
        assert made == {"entities": [JOHN, ACME]}
        assert await call(client, "create_entities", entities=[JOHN]) == {"entities": []}
        related = await call(client, "create_relations", relations=[WORKS, WORKS])
        assert related == {"relations": [WORKS]}
        added = await call(
            client,
            "add_observations",
            observations=[
                {"entityName": "John_Smith", "contents": ["Speaks fluent Spanish", "Is early"]}
            ],
        )
        assert added == {
            "results": [{"entityName": "John_Smith", "addedObservations": ["Is early"]}]
        }
        john = JOHN | {"observations": ["Speaks fluent Spanish", "Is early"]}
        whole = {"entities": [john, ACME], "relations": [WORKS]}
        assert await call(client, "read_graph") == whole
        # Relations come with either end.
        assert await call(client, "search_nodes", query="FLUENT span") == whole | {
            "entities": [john]
        }
        assert await call(client, "search_nodes", query="organiz") == whole | {"entities": [ACME]}
        opened = await call(client, "open_nodes", names=["Acme", "Nobody", "John_Smith"])
        assert opened == whole
        gone = {"entityName": "John_Smith", "observations": ["Is early", "Never said"]}
        told = await call(client, "delete_observations", deletions=[gone])
        assert told["success"] is True
        assert "1 of 2" in told["message"]
        told = await call(client, "delete_relations", relations=[WORKS])
        assert told["message"] == "Deleted 1 relation."
        assert (await call(client, "read_graph")) == {"entities": [JOHN, ACME], "relations": []}
        await call(client, "create_relations", relations=[WORKS])
        told = await call(client, "delete_entities", entityNames=["Acme", "Nobody"])
        assert told["success"] is True
        assert "Nobody" in told["message"]
        assert (await call(client, "read_graph")) == {"entities": [JOHN], "relations": []}

    talk(path, what, mode=mode)


def test_schemas_are_those_of_the_original(path: Path) -> None:
    async def what(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        taken = {name: sorted(tool.input_schema["properties"]) for name, tool in tools.items()}
        assert taken == {
            "create_entities": ["entities"],
            "create_relations": ["relations"],
            "add_observations": ["observations"],
            "delete_entities": ["entityNames"],
            "delete_observations": ["deletions"],
            "delete_relations": ["relations"],
            "read_graph": [],
            "search_nodes": ["query"],
            "open_nodes": ["names"],
        }
        entity = tools["create_entities"].input_schema["properties"]["entities"]["items"]
        assert entity["required"] == ["name", "entityType", "observations"]
        for tool in tools.values():
            jsonschema.Draft202012Validator.check_schema(tool.input_schema)
            jsonschema.Draft202012Validator.check_schema(tool.output_schema)
            assert tool.annotations.read_only_hint == (tool.name in NAMES[6:])
            assert tool.annotations.destructive_hint == tool.name.startswith("delete")

    talk(path, what)


def test_what_the_original_refuses_is_refused_and_changes_nothing(path: Path) -> None:
    async def what(client: Client) -> None:
        await call(client, "create_entities", entities=[JOHN])
        said = await refused(
            client,
            "add_observations",
            observations=[
                {"entityName": "John_Smith", "contents": ["new"]},
                {"entityName": "Ghost", "contents": ["new"]},
            ],
        )
        assert "Ghost" in said
        assert "'entities'" in await refused(client, "create_entities")
        assert "entityType" in await refused(client, "create_entities", entities=[{"name": "x"}])
        assert "text" in await refused(client, "search_nodes", query=3)
        # What is no list is not taken for one.
        for tool, key, given in (
            ("create_entities", "entities", JOHN | {"name": "x"}),
            ("create_entities", "entities", json.dumps([JOHN | {"name": "x"}])),
            ("create_entities", "entities", [JOHN | {"name": "x", "observations": "plain"}]),
            ("open_nodes", "names", "John_Smith"),
            ("delete_entities", "entityNames", "John_Smith"),
        ):
            assert "list" in await refused(client, tool, **{key: given})
        await refused(client, "create_entities", entities=[JOHN | {"name": ""}])
        await refused(client, "create_entities", entities=[JOHN | {"name": "x" * 10_000}])
        assert "Did you mean 'create_entities'" in await refused(client, "create_entity")
        # Nothing of it was written, and the server lives on.
        assert await call(client, "read_graph") == {"entities": [JOHN], "relations": []}

    talk(path, what)


def test_what_the_original_takes_is_taken(path: Path) -> None:
    loose = [WORKS, WORKS | {"from": "Ghost"}]

    async def what(client: Client) -> None:
        assert await call(client, "create_relations", relations=loose) == {"relations": loose}
        assert await call(client, "read_graph") == {"entities": [], "relations": loose}
        await call(client, "create_entities", entities=[JOHN])
        opened = await call(client, "open_nodes", names=["John_Smith", "Ghost"])
        assert opened == {"entities": [JOHN], "relations": [WORKS]}
        await call(client, "delete_entities", entityNames=["Acme"])
        assert await call(client, "read_graph") == {"entities": [JOHN], "relations": []}
        nothing = {"entities": [], "relations": []}
        assert await call(client, "search_nodes", query="x" * 3000) == nothing
        assert not (await client.list_resource_templates()).resource_templates

    talk(path, what)


def test_keys_that_the_original_ignores_are_ignored(path: Path) -> None:
    async def what(client: Client) -> None:
        more: Mapping[str, Any] = {"type": "entity", "confidence": 1}
        made = await call(client, "create_entities", entities=[{**JOHN, **more}], why="so")
        assert made == {"entities": [JOHN]}

    talk(path, what)


def test_the_whole_graph_is_a_resource(path: Path) -> None:
    async def what(client: Client) -> None:
        await call(client, "create_entities", entities=[JOHN])
        (resource,) = (await client.list_resources()).resources
        assert str(resource.uri) == "memory://knowledge-graph"
        (content,) = (await client.read_resource("memory://knowledge-graph")).contents
        assert content.mime_type == "application/json"
        assert json.loads(content.text) == {"entities": [JOHN], "relations": []}
        with pytest.raises(MCPError, match="no such resource"):
            await client.read_resource("memory://other")

    talk(path, what)


def test_an_answer_that_is_cut_keeps_its_shape_and_says_so_beside_it(path: Path) -> None:
    many = [JOHN | {"name": f"n{n}", "observations": ["x" * 500]} for n in range(300)]

    async def what(client: Client) -> None:
        await call(client, "create_entities", entities=many)
        for tool, arguments in (("read_graph", {}), ("search_nodes", {"query": "xx"})):
            result = await client.call_tool(tool, arguments)
            text, remark = (block.text for block in result.content)
            assert json.loads(text) == result.structured_content
            assert result.structured_content.keys() == {"entities", "relations"}
            assert 10 < len(result.structured_content["entities"]) < 300
            assert "incomplete" in remark
            assert len(text) < 60_000
        (content,) = (await client.read_resource("memory://knowledge-graph")).contents
        assert len(json.loads(content.text)["entities"]) == 300

    talk(path, what)


def test_a_graph_that_is_only_read_offers_only_what_reads(path: Path) -> None:
    async def what(client: Client) -> None:
        assert [tool.name for tool in (await client.list_tools()).tools] == NAMES[6:]
        assert "no tool" in await refused(client, "create_entities", entities=[JOHN])

    mycel.open(path).close()  # Whoever only reads creates none.
    talk(path, what, "--readonly")


def test_twenty_creates_at_once_from_two_processes_are_all_there(path: Path) -> None:
    async def create(client: Client, number: int) -> None:
        entity = JOHN | {"name": f"entity {number}"}
        assert await call(client, "create_entities", entities=[entity]) == {"entities": [entity]}
        relation = WORKS | {"from": f"entity {number}"}
        assert await call(client, "create_relations", relations=[relation]) == {
            "relations": [relation]
        }

    async def run() -> None:
        with anyio.fail_after(60):
            async with connected(path) as one, connected(path) as other:
                await call(one, "create_entities", entities=[ACME])
                async with anyio.create_task_group() as tasks:
                    for number in range(20):
                        tasks.start_soon(create, (one, other)[number % 2], number)
                for client in (one, other):
                    graph = await call(client, "read_graph")
                    names = {each["name"] for each in graph["entities"]}
                    assert names == {"Acme"} | {f"entity {number}" for number in range(20)}
                    assert len(graph["relations"]) == 20

    anyio.run(run)


def test_a_full_graph_of_the_server_can_be_imported_and_used(path: Path, tmp_path: Path) -> None:
    lines = [{"type": "entity", **JOHN}, {"type": "entity", **ACME}, {"type": "relation", **WORKS}]
    file = tmp_path / "memory.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in lines))
    with mycel.open(path) as db:
        import_memory(db, file)

    async def what(client: Client) -> None:
        assert await call(client, "read_graph") == {"entities": [JOHN, ACME], "relations": [WORKS]}

    talk(path, what)


def test_a_graph_file_that_is_gone_is_reported_until_it_is_back(path: Path) -> None:
    away = path.with_suffix(".away")

    async def what(client: Client) -> None:
        await call(client, "create_entities", entities=[JOHN])
        path.rename(away)
        for tool, arguments in (
            ("create_entities", {"entities": [ACME]}),
            ("open_nodes", {"names": ["John_Smith"]}),
            ("read_graph", {}),
        ):
            assert "is gone" in await refused(client, tool, **arguments)
        with pytest.raises(MCPError, match="is gone"):
            await client.read_resource("memory://knowledge-graph")
        away.rename(path)
        assert (await call(client, "read_graph"))["entities"] == [JOHN]

    talk(path, what)
