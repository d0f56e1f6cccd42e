"""`mycel mcp --compat memory` beside the official memory server, on the same entities.

Both servers are processes on standard input and output. The SDK's client sends both the same call,
in turns. The official server reads its whole file for each call and writes it back for each
change, so its time grows with the file; `latencies` shows that Mycel's writes do not.

The last measure sends calls without waiting for answers, like an agent that calls several tools at
once, or like two agents that share a memory. It counts the entities that a new process finds
afterwards.

The official server is not a dependency. The measure is skipped unless its command is on the path:
`npm install @modelcontextprotocol/server-memory`, then put `node_modules/.bin` on the path.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path
from typing import Final

import anyio
from mcp import Client

from benchmarks.compat.latencies import QUESTIONS, Question, took
from benchmarks.compat.servers import ask, connected, connected_official, make, write_file
from benchmarks.databases import Databases, say
from benchmarks.report import Line, Measure, Skipped
from benchmarks.timing import Summary, quiet

COMMAND: Final = "mcp-server-memory"
SIZES: Final = (1_000, 10_000, 50_000)
CALLS: Final = 40
WRITES: Final = 20
"""The number of entities that are created at the same time, one in each call."""

Connect = Callable[[], AbstractAsyncContextManager[Client]]


def measure(databases: Databases) -> Iterator[Line]:
    command = shutil.which(COMMAND)
    if command is None:
        yield Skipped("official memory server", f"{COMMAND} is not on the path")
        return
    for size in SIZES:
        say(f"the official memory server and ours, with {size:,} entities")
        ours = databases.folder / f"official-{size}.db"
        theirs = databases.folder / f"official-{size}.jsonl"
        ours.unlink(missing_ok=True)
        make(ours, size)
        write_file(theirs, size)
        yield from anyio.run(_turns, command, ours, theirs, size)
    for clients in (1, 2):
        yield anyio.run(_at_once, command, databases.folder, clients)


async def _turns(command: str, ours: Path, theirs: Path, size: int) -> list[Line]:
    async with connected(ours) as mycel, connected_official(command, theirs) as official:
        return [await _turn(question, mycel, official, size) for question in QUESTIONS]


async def _turn(question: Question, mycel: Client, official: Client, size: int) -> Line:
    samples: list[list[int]] = [[], []]
    with quiet():
        for n in range(CALLS):
            arguments = question.arguments(n, size)
            turns = [(mycel, samples[0]), (official, samples[1])]
            for client, into in turns if n % 2 else reversed(turns):
                into.append(await took(client, question.tool, arguments, question.found))
    before = CALLS // 10
    return Measure(
        f"{question.title}; official server",
        f"{size:,}",
        "s",
        Summary.of_ns(samples[0][before:]),
        Summary.of_ns(samples[1][before:]),
    )


async def _at_once(command: str, folder: Path, clients: int) -> Line:
    """The entities that are found after simultaneous writes."""
    say(f"{WRITES} writes at the same time by {clients} client(s)")
    ours, theirs = folder / f"at-once-{clients}.db", folder / f"at-once-{clients}.jsonl"
    for path in (ours, theirs):
        path.unlink(missing_ok=True)
    kept = [
        await _kept(lambda: connected(ours), clients),
        await _kept(lambda: connected_official(command, theirs), clients),
    ]
    mycel, official = (Summary.of([float(each)]) for each in kept)
    return Measure(
        f"kept of {WRITES} writes at the same time; official server",
        f"{clients} client{'s' * (clients > 1)}",
        "n",
        mycel,
        official,
    )


async def _kept(connect: Connect, count: int) -> int:
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(connect()) for _ in range(count)]
        async with anyio.create_task_group() as group:
            for number in range(WRITES):
                entity = {"name": f"E{number}", "entityType": "thing", "observations": ["new"]}
                client = clients[number % count]
                group.start_soon(_create, client, {"entities": [entity]})
    async with connect() as client:
        return len((await ask(client, "read_graph", {}))["entities"])


async def _create(client: Client, arguments: dict[str, object]) -> None:
    await ask(client, "create_entities", arguments)
