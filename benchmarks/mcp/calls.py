"""Ready for the first call; a `get` beside an empty call; memory with a large graph open.

The first two are measured with the SDK's client and with bare pipes. The client takes most of the
time of a round trip, the same for both servers, and would hide the time of the server.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter, perf_counter_ns
from typing import Any, Final

import anyio
from mcp import Client, StdioServerParameters

import mycel
from benchmarks.databases import Databases, Pair, say
from benchmarks.mcp.servers import EMPTY, Connection, environment, ours
from benchmarks.report import Bar, Line, Measure, Skipped
from benchmarks.timing import Summary
from mycel.knowledge.knowledge import Knowledge

STARTS: Final = 9
CALLS: Final = 600
NODES: Final = 100
READY_RATIO: Final = 1.3
RATIO: Final = 1.5
RESIDENT_BYTES: Final = 150 << 20

SOME: Final = 'FIND(?c.id, ?c.name) WHERE { ?c {type: "Document"} } LIMIT 60'
ALL: Final = (
    'FIND(?c) WHERE { ?c {type: "Document"} }',
    "FIND(?p, COUNT(?l)) WHERE { ?l (?a, ?p, ?b) }",
    "FIND(?l) WHERE { ?l (?a, ?p, ?b) } LIMIT 1000",
)
POINT: Final = 'FIND(?c) WHERE { ?c {type: "Concept", name: :name} }'
NAMED: Final = f'query concept_of($name: String) @description("A concept.") @tool {{ {POINT} }}'
NAMED_RATIO: Final = 1.2
URIS: Final = [f"concept://bench/notes/{at}" for at in range(NODES)]


def measure(databases: Databases) -> Iterator[Line]:
    if sys.platform == "win32":
        yield Skipped("mcp", "pipes and /proc are needed")
        return
    with tempfile.TemporaryDirectory(prefix="mycel-bench-") as cache:
        env = environment(cache)
        for size in databases.sizes:
            say(f"mcp, {size}")
            with databases.copies(size) as pair:
                _prepare(pair.ours)
                yield from _measure(pair, env)


def _prepare(path: Path) -> None:
    with mycel.open(path, create=False) as db:
        Knowledge(db, workspace="bench").remember(
            [
                {"uri": uri, "name": f"Note {at}", "content": f"What is known about {at}. " * 8}
                for at, uri in enumerate(URIS)
            ],
            [
                {"source": uri, "relation": "follows", "target": URIS[at - 1], "weight": 0.5}
                for at, uri in enumerate(URIS)
            ],
        )
        db.queries.add(NAMED)


def _measure(pair: Pair, env: dict[str, str]) -> Iterator[Line]:
    yield from _ready(pair, env)
    with Connection(ours(pair.ours), env) as server, Connection(EMPTY, env) as empty:
        yield _round_trip(pair, server, empty)
        yield _named_query(pair, server)
        server.call("search_knowledge", {"query": "note"})
        server.call("traverse_graph", {"start": URIS[0], "direction": "both"})
        yield _memory("mcp memory", pair, server, empty, "after get, search, traverse")
        _work_hard(server)
        yield _memory("mcp memory, worked", pair, server, empty, "after questions about all of it")
        yield _memory("mcp memory, own", pair, server, empty, "the same without mapped files")
    plain_s, ours_s = anyio.run(_with_client, pair, env)
    yield Measure("mcp get, SDK client", pair.size, "s", ours_s, plain_s, bar=Bar(RATIO))


def _work_hard(server: Connection) -> None:
    """Do work that needs memory: counts, large traversals, searches, sorting all links."""
    server.call("describe_graph", {})
    found = server.call("execute_kip_readonly", {"command": SOME})
    ids, names = found["structuredContent"]["result"]
    for each in ids:
        wide = {"max_cost": 2, "max_nodes": 1000, "direction": "both"}
        server.call("traverse_graph", {"start": each, **wide})
    for each in names[:20]:
        server.call("search_knowledge", {"query": each, "limit": 50})
    for each in ALL:
        server.call("execute_kip_readonly", {"command": each})


def _memory(name: str, pair: Pair, server: Connection, empty: Connection, note: str) -> Measure:
    own = name.endswith("own")
    return Measure(
        name,
        pair.size,
        "B",
        Summary.of([server.resident_bytes(own=own)]),
        Summary.of([empty.resident_bytes(own=own)]),
        bar=Bar(RESIDENT_BYTES, "ours"),
        note=note,
    )


def _ready(pair: Pair, env: dict[str, str]) -> Iterator[Measure]:
    clock: tuple[list[float], list[float]] = ([], [])
    processor: tuple[list[float], list[float]] = ([], [])
    for _ in range(STARTS + 1):  # The first start fills the caches of bytecode and of the disk.
        for at, command in enumerate((ours(pair.ours), EMPTY)):
            start = perf_counter()
            with Connection(command, env) as server:
                server.request("tools/list", {})
                clock[at].append(perf_counter() - start)
                processor[at].append(server.processor_s())
    for name, took in (("mcp ready", clock), ("mcp ready, processor", processor)):
        mine, empty = (Summary.of(each[1:]) for each in took)
        yield Measure(
            name,
            pair.size,
            "s",
            mine,
            empty,
            bar=Bar(READY_RATIO),
            note="from process start to the list of tools, beside an empty server",
        )


def _round_trip(pair: Pair, server: Connection, empty: Connection) -> Measure:
    took: tuple[list[int], list[int]] = ([], [])
    for at in range(CALLS):
        start = perf_counter_ns()
        server.call("get_nodes", {"uris": [URIS[at % NODES]]})
        middle = perf_counter_ns()
        empty.call("empty", {})
        end = perf_counter_ns()
        if at >= NODES:  # Warm up.
            took[0].append(middle - start)
            took[1].append(end - middle)
    return Measure(
        "mcp get, bare pipe",
        pair.size,
        "s",
        Summary.of_ns(took[0]),
        Summary.of_ns(took[1]),
        note="beside an empty tool of the same SDK; without the client, which takes the most",
    )


def _named_query(pair: Pair, server: Connection) -> Measure:
    """A named query as a tool, beside the same command as an argument."""
    took: tuple[list[int], list[int]] = ([], [])
    for at in range(CALLS):
        values = {"name": URIS[at % NODES]}
        start = perf_counter_ns()
        server.call("concept_of", values)
        middle = perf_counter_ns()
        server.call("execute_kip_readonly", {"command": POINT, "parameters": values})
        end = perf_counter_ns()
        if at >= NODES:  # Warm up.
            took[0].append(middle - start)
            took[1].append(end - middle)
    return Measure(
        "mcp named query, bare pipe",
        pair.size,
        "s",
        Summary.of_ns(took[0]),
        Summary.of_ns(took[1]),
        bar=Bar(NAMED_RATIO),
        note="a tool of its own, beside the same FIND through execute_kip_readonly",
    )


async def _with_client(pair: Pair, env: dict[str, str]) -> tuple[Summary, Summary]:
    def parameters(command: tuple[str, ...]) -> StdioServerParameters:
        return StdioServerParameters(command=command[0], args=list(command[1:]), env=env)

    took: dict[str, list[int]] = {"empty": [], "get_nodes": []}

    async def call(client: Client, tool: str, arguments: dict[str, Any]) -> None:
        start = perf_counter_ns()
        await client.call_tool(tool, arguments)
        took[tool].append(perf_counter_ns() - start)

    async with (
        Client(parameters(ours(pair.ours))) as server,
        Client(parameters(EMPTY)) as empty,
    ):
        for at in range(CALLS):
            await call(server, "get_nodes", {"uris": [URIS[at % NODES]]})
            await call(empty, "empty", {})
    warm = {tool: samples[NODES:] for tool, samples in took.items()}
    return Summary.of_ns(warm["empty"]), Summary.of_ns(warm["get_nodes"])
