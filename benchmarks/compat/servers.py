"""Clients of servers that offer the memory server's tools, and the graphs they serve."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any, Final

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

import mycel
from benchmarks.loads import package_folder
from mycel.knowledge.memory.file_import import import_memory

KINDS: Final = ("person", "project", "organization", "event", "place")
RELATIONS: Final = ("knows", "works_at", "part_of", "depends on")


def name_of(number: int) -> str:
    return f"Entity_{number:05d}"


def code_of(number: int) -> str:
    """A text inside a word of a single entity."""
    return f"{number * 2_654_435_761 % 2**32:08x}"


def write_file(file: Path, entities: int) -> None:
    """Write a file of the official memory server, with as many relations as entities."""
    draw = Random(11)
    words = ["".join(draw.choices("aeioulnrstdmk", k=draw.randint(3, 9))) for _ in range(5_000)]
    with file.open("w", encoding="utf-8") as lines:
        for number in range(entities):
            observations = [" ".join(draw.choices(words, k=8)) for _ in range(2)]
            observations.append(f"Ticket ref-{code_of(number)}-x, seen on day {number} of the log")
            entity = {"name": name_of(number), "entityType": draw.choice(KINDS)}
            lines.write(json.dumps({"type": "entity", **entity, "observations": observations}))
            lines.write("\n")
        for number in range(entities):
            relation = {"from": name_of(number), "relationType": draw.choice(RELATIONS)}
            other = name_of((number + 1) % entities)
            lines.write(json.dumps({"type": "relation", **relation, "to": other}) + "\n")


def make(path: Path, entities: int) -> None:
    """Create a graph from a file of the official memory server."""
    file = path.with_suffix(".jsonl")
    write_file(file, entities)
    with mycel.open(path) as db:
        import_memory(db, file)
    file.unlink()


@asynccontextmanager
async def connected_official(command: str, file: Path) -> AsyncIterator[Client]:
    """A client of a new process of the official memory server on this file."""
    server = StdioServerParameters(
        command=command, env={"PATH": os.environ["PATH"], "MEMORY_FILE_PATH": str(file)}
    )
    async with Client(stdio_client(server)) as client:
        yield client


@asynccontextmanager
async def connected(path: Path) -> AsyncIterator[Client]:
    """A client of a new process of our server."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "mycel", "mcp", "--compat", "memory", "--db", str(path)],
        env={"PYTHONPATH": package_folder()},
    )
    async with Client(stdio_client(server)) as client:
        yield client


async def ask(client: Client, tool: str, arguments: dict[str, Any]) -> Any:
    """The structured part of an answer."""
    result = await client.call_tool(tool, arguments)
    if result.is_error:
        raise RuntimeError(str(result.content))
    return result.structured_content
