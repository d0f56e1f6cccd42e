"""The memory server's tools with 50,000 entities, beside the same calls with 100.

Both servers are real processes on standard input and output, and the SDK's own client asks them in
turns. Every question has one entity as its answer in both graphs, so only the search grows with the
graph. A search is for a name, for words of an observation, and for characters inside a word.

A search reads all entities, so it has no bar here. `official` compares it with the official server,
which reads its whole file for every call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter_ns
from typing import Any, Final, NamedTuple

import anyio
from mcp import Client

from benchmarks.compat.servers import ask, code_of, connected, make, name_of
from benchmarks.databases import Databases, say
from benchmarks.report import Bar, Line, Measure
from benchmarks.timing import Summary, quiet

SMALL, LARGE = 100, 50_000
CALLS: Final = 400

Arguments = Callable[[int, int], dict[str, Any]]
"""Makes the arguments of the n-th call, for a graph with this many entities."""


class Question(NamedTuple):
    """A timed call."""

    title: str
    tool: str
    arguments: Arguments
    found: int


def _nth(n: int, size: int) -> int:
    return n * 7919 % size


def _create(n: int, size: int) -> dict[str, Any]:
    observations = [f"Noticed in the {n}th call", "A new thing"]
    entity = {"name": f"New_{size}_{n}", "entityType": "thing", "observations": observations}
    return {"entities": [entity]}


QUESTIONS: Final = (
    Question("create_entities", "create_entities", _create, 1),
    Question(
        "search_nodes, a name",
        "search_nodes",
        lambda n, size: {"query": name_of(_nth(n, size)).lower()},
        1,
    ),
    Question(
        "search_nodes, words",
        "search_nodes",
        lambda n, size: {"query": f"on day {_nth(n, size)} of"},
        1,
    ),
    Question(
        "search_nodes, in a word",
        "search_nodes",
        lambda n, size: {"query": f"EF-{code_of(_nth(n, size))}-"},
        1,
    ),
    Question("search_nodes, nothing", "search_nodes", lambda n, _size: {"query": f"zq{n}zq"}, 0),
    Question("open_nodes", "open_nodes", lambda n, size: {"names": [name_of(_nth(n, size))]}, 1),
)


def measure(databases: Databases) -> Iterator[Line]:
    say(f"the memory server's tools, with {SMALL} and {LARGE:,} entities")
    paths = []
    for size in (SMALL, LARGE):
        path = databases.folder / f"compat-{size}.db"
        path.unlink(missing_ok=True)
        make(path, size)
        paths.append(path)
    small, large = paths
    yield from anyio.run(_measure, small, large)


async def _measure(small: Path, large: Path) -> list[Line]:
    async with connected(small) as few, connected(large) as many:
        with quiet():
            return [await _turns(question, few, many) for question in QUESTIONS]


async def _turns(question: Question, few: Client, many: Client) -> Line:
    samples: list[list[int]] = [[], []]
    for n in range(CALLS):
        turns = [(few, SMALL, samples[0]), (many, LARGE, samples[1])]
        for client, size, into in turns if n % 2 else reversed(turns):
            arguments = question.arguments(n, size)
            into.append(await took(client, question.tool, arguments, question.found))
    # The first tenth warms up.
    before, after = (Summary.of_ns(each[CALLS // 10 :]) for each in samples)
    return Measure(
        question.title,
        f"{LARGE:,}",
        "s",
        after,
        before,
        bar=None if question.tool == "search_nodes" else Bar(2.0),
        note=f"beside {SMALL} entities",
    )


async def took(client: Client, tool: str, arguments: dict[str, Any], found: int) -> int:
    """The nanoseconds that a call took, after a check that it found this many entities."""
    start = perf_counter_ns()
    answer = await ask(client, tool, arguments)
    took = perf_counter_ns() - start
    if len(answer["entities"]) != found:
        raise RuntimeError(f"{tool} {arguments} found {len(answer['entities'])}, not {found}")
    return took
