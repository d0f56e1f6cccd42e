"""/mcp: what is no message gets an answer in our words, in both eras of the protocol."""

import json
from pathlib import Path
from typing import Any

import anyio
import httpx
import mcp_types as types
import pytest
from mcp import Client

import mycel
from tests.adapters.http.conftest import HTTP, Server, Start

OLDER = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
NEWER = OLDER | {"mcp-protocol-version": "2026-07-28"}
ERAS = pytest.mark.parametrize("headers", [OLDER, NEWER], ids=["older", "newer"])
ABOUT = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def send(server: Server, body: bytes, headers: dict[str, str]) -> httpx.Response:
    return HTTP.post(f"{server.url}/mcp", content=body, headers=headers)


def message(answer: httpx.Response) -> dict[str, Any]:
    """The message in an answer, be it JSON or a stream."""
    text = answer.text
    if answer.headers["content-type"].startswith("text/event-stream"):
        text = next(each[6:] for each in text.splitlines() if each.startswith("data: {"))
    told: dict[str, Any] = json.loads(text)
    return told


@ERAS
@pytest.mark.parametrize(
    ("body", "code", "known_id"),
    [
        (b"{", -32700, None),
        (b"\xff\xfe", -32700, None),
        (b"[" * 100_000, -32700, None),
        (b"[]", -32600, None),
        (b'{"jsonrpc": "2.0", "id": 5, "method": "ping", "params": {"a":1,"a":2}}', -32600, 5),
        (b'{"jsonrpc": "2.0", "id": 5, "method": "ping", "params": {"a": NaN}}', -32700, 5),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', -32600, None),
        (b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', -32600, None),
        (b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}', -32600, None),
        (b'{"id": 5, "method": "ping"}', -32600, 5),
        (b'{"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": []}', -32600, 5),
        (b'{"jsonrpc": "2.0", "id": 5, "x": "' + b"x" * 100_000 + b'"}', -32600, 5),
    ],
    ids=lambda given: str(given)[:40],
)
def test_a_body_that_is_no_message_is_refused_in_one_sentence(
    garden: Server, headers: dict[str, str], body: bytes, code: int, known_id: int | None
) -> None:
    answer = send(garden, body, headers)
    told = answer.json()
    assert (answer.status_code, told["error"]["code"], told["id"]) == (400, code, known_id)
    assert "\n" not in told["error"]["message"]
    assert "pydantic" not in answer.text
    assert garden.is_well()


@ERAS
@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({}, "tools/call needs params.name."),
        (
            {"name": "get_nodes", "arguments": [1]},
            "params.arguments of tools/call has to be an object.",
        ),
    ],
)
def test_parameters_that_are_wrong_are_named(
    garden: Server, headers: dict[str, str], params: dict[str, Any], said: str
) -> None:
    more = {"mcp-method": "tools/call", "mcp-name": str(params.get("name", ""))}
    if headers is NEWER:
        params, headers = params | {"_meta": ABOUT}, headers | more
    call = {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params}
    told = message(send(garden, json.dumps(call).encode(), headers))
    assert (told["error"]["code"], told["error"]["message"]) == (-32602, said)


@ERAS
@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_a_body_that_does_not_say_it_is_json_is_refused(
    garden: Server, headers: dict[str, str], kind: str
) -> None:
    answer = send(garden, b"{}", headers | {"content-type": kind})
    assert (answer.status_code, answer.json()["error"]["code"]) == (415, -32600)
    assert "application/json" in answer.json()["error"]["message"]


def test_a_graph_that_is_gone_is_an_error_of_every_tool(start: Start, graph: Path) -> None:
    server = start()
    graph.rename(graph.with_suffix(".aside"))
    call = {
        "jsonrpc": "2.0",
        "id": 5,
        "method": "tools/call",
        "params": {"name": "describe_graph", "arguments": {}},
    }
    told = message(send(server, json.dumps(call).encode(), OLDER))["result"]
    assert told["isError"]
    assert "is gone" in told["content"][0]["text"]
    graph.with_suffix(".aside").rename(graph)
    assert not message(send(server, json.dumps(call).encode(), OLDER))["result"]["isError"]


@ERAS
def test_a_connection_or_a_call_names_the_branch_it_works_on(
    start: Start, graph: Path, headers: dict[str, str]
) -> None:
    with mycel.open(graph) as db:
        db.branches.create("draft")
    server = start()

    def call(tool: str, query: str = "", **arguments: Any) -> dict[str, Any]:
        params: dict[str, Any] = {"name": tool, "arguments": arguments}
        said = dict(headers)
        if headers is NEWER:
            params |= {"_meta": ABOUT}
            said |= {"mcp-method": "tools/call", "mcp-name": tool}
        body = {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params}
        answer = HTTP.post(f"{server.url}/mcp{query}", json=body, headers=said)
        told: dict[str, Any] = message(answer)["result"]
        return told

    note = [{"uri": "a", "content": "only here"}]
    assert not call("remember_knowledge", "?branch=draft", concepts=note)["isError"]
    assert call("get_nodes", uris=["a"])["isError"]
    for query, arguments in (("?branch=draft", {}), ("", {"branch": "draft"})):
        assert (
            "only here" in call("get_nodes", query, uris=["a"], **arguments)["content"][0]["text"]
        )
    switched = call("manage_history", action="switch_branch", name="draft")
    assert "Pass branch with each call" in switched["structuredContent"]["error"]["hint"]
    missing = call("get_nodes", "?branch=drafft", uris=["a"])["structuredContent"]["error"]
    assert missing["hint"].startswith("Did you mean 'draft'?")


@pytest.mark.parametrize(("mode", "status"), [("auto", "merged"), ("legacy", "conflicts")])
def test_the_model_of_a_client_decides_where_the_protocol_lets_a_server_ask_over_http(
    start: Start, graph: Path, mode: str, status: str
) -> None:
    with mycel.open(graph) as db:
        db.branches.create("draft")
        with db.open_branch("draft") as draft:
            draft.write(lambda tx: tx.update(("Plant", "Oak"), attributes={"height_m": 21}))
        db.write(lambda tx: tx.update(("Plant", "Oak"), attributes={"height_m": 22}))
    asked = []

    async def sample(_context: Any, params: types.CreateMessageRequestParams) -> Any:
        text = str(getattr(params.messages[0].content, "text", ""))
        asked.append(text)
        id_ = next(line.split()[0] for line in text.splitlines() if line.endswith("height_m"))
        said = json.dumps({"resolutions": [{"conflict": id_, "choice": "theirs"}]})
        content = types.TextContent(type="text", text=said)
        return types.CreateMessageResult(role="assistant", content=content, model="test")

    server = start("--sampling")

    async def merge() -> Any:
        async with Client(f"{server.url}/mcp", mode=mode, sampling_callback=sample) as client:
            return await client.call_tool("manage_history", {"action": "merge", "name": "draft"})

    told = anyio.run(merge)
    assert told.structured_content["status"] == status
    assert len(asked) == (status == "merged")
    find = 'FIND(?p.attributes.height_m) WHERE { ?p {name: "Oak"} }'
    assert server.run(find) == [21 if status == "merged" else 22]


def test_answers_to_questions_that_were_never_asked_decide_nothing(
    start: Start, graph: Path
) -> None:
    with mycel.open(graph) as db:
        db.branches.create("draft")
        with db.open_branch("draft") as draft:
            draft.write(lambda tx: tx.update(("Plant", "Oak"), attributes={"height_m": 21}))
        db.write(lambda tx: tx.update(("Plant", "Oak"), attributes={"height_m": 22}))
        merge = db.merge("draft")
    content = {"type": "text", "text": '[{"conflict": "CONFLICT", "choice": "theirs"}]'}
    content["text"] = content["text"].replace("CONFLICT", merge.conflicts[0].id)
    said = {"role": "assistant", "content": content, "model": "test"}

    def call(server: Server, key: str, **arguments: Any) -> dict[str, Any]:
        params = {"name": "manage_history", "arguments": arguments, "_meta": ABOUT}
        params["inputResponses"] = {key: said}
        body = {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params}
        headers = NEWER | {"mcp-method": "tools/call", "mcp-name": "manage_history"}
        answer = HTTP.post(f"{server.url}/mcp", json=body, headers=headers)
        told: dict[str, Any] = message(answer)["result"]
        return told

    key = f"1.{merge.id}.model"
    reading, writing = start("--readonly"), start()
    call(reading, key, action="merge", name="draft")
    call(reading, key, action="log")
    call(writing, key, action="log")
    for wrong in ("nonsense", "1.deadbeef.model", "9.x.model", f"1.{merge.id}.ffffffff"):
        call(writing, wrong, action="merge", name="draft")
    with mycel.open(graph) as db:
        assert [len(each.unresolved) for each in db.merges] == [1]
