"""`docs/mcp.md`, written from the tools themselves: `python -m mycel.mcp.reference`.

A test compares the file with what this makes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any, Final

from mycel.mcp.prompts import PROMPTS
from mycel.mcp.resources import TEMPLATES
from mycel.mcp.tool_list import CONTEXT_ID, TOOLS, Tool

HEAD: Final = """\
# The graph over MCP

<!-- Written by `python -m mycel.mcp.reference > docs/mcp.md`; do not edit. -->

`mycel mcp` is a server of the Model Context Protocol on standard input and output: an agent that
speaks MCP can search the graph, walk it, and write down what it learns. It serves both eras of the
protocol, the one that begins with `server/discover` (2026-07-28) and the one that begins with
`initialize` (2025-06-18 and before), whichever the client begins with.

## Connecting a client

A client starts the command itself, in the folder of the project. Most of them take this:

```json
{
  "mcpServers": {
    "mycel": {"command": "mycel", "args": ["mcp"]}
  }
}
```

- **The database** is that of the project the server starts in, or the one that `--db` or
  `--workspace` names (see [cli.md](cli.md)). It is created if it is not there, unless the server
  only reads.
- **`--root PATH`** is the folder that `file://` URIs are relative to; without it, the project's.
  Nothing outside of it is ever read, symbolic links included.
- **`--context-size NODES`** is how many nodes the active context holds.
- **`--readonly`** offers no tool that writes, and creates no database.
- **`--compat memory`** offers the nine tools of the official memory server under their own names.

One process serves one client. Any number of processes may have one database open and write to it:
nothing is lost. `mycel serve` offers the same server over HTTP, at `/mcp`.

In Python, the SDK's own client talks to it:

```python
import os
import sys

import anyio
from mcp import Client, StdioServerParameters


async def main() -> None:
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "mycel", "mcp", "--db", "agent.db"],
        env=dict(os.environ),
    )
    async with Client(server) as client:
        await client.call_tool(
            "remember_knowledge",
            {
                "concepts": [{"uri": "auth/login", "content": "Sessions last a day."}],
                "relations": [
                    {
                        "source": "auth/login",
                        "relation": "implemented_in",
                        "target": "file://reader/login.py",
                        "weight": 0,
                    }
                ],
            },
        )
        found = await client.call_tool("search_knowledge", {"query": "sessions"})
        print(found.content[0].text)
        # 0.80 concept://reader/auth/login (Concept): Sessions last a day.


anyio.run(main)
```

`reader` in these URIs is the workspace: the name of the folder this ran in, or of the one that
`--root` names, unless `--workspace` gives it another name.

## What a model is told

At the start of a session the server says what the graph is for, to search before writing, and to
record what earlier work has taught. That is below 2 KB, and all tools together are below 3,000
tokens: a model reads both in every conversation. Each tool says whether it only reads, whether it
may remove something, and whether it may be repeated.

## What comes back

Text for the model, and a small structured part for programs. With `detail` `concise`, which is what
you get, a node is a few lines; `detailed` adds metadata, ids and all of each property.

- **Sizes.** No answer has more than about 20,000 tokens; where something was left out, the answer
  says so and how to get it: a `cursor`, a smaller `limit`, a narrower question. Arguments of one
  call have at most 4 MiB, a message 32 MiB.
- **Errors** are results with `isError`: the text has code, message and a hint what to do next, the
  structured part the same as `error` (see [errors.md](errors.md)). A call about several nodes
  answers for each; those that failed stand at the end, and in `failed`. It is an error only if all
  of them failed.
- **What is no message** of JSON-RPC gets an error of the protocol (-32700, -32600) in one sentence,
  and so does a request whose `id` is no whole number or text; the next one counts.
- **Writes** are one transaction for each call; only `update_node` with `new_uri` makes its changes
  first and then moves. They are on the disk when the answer comes. A call that is cancelled
  finishes what it has begun; only its answer is dropped.
- **The file.** If the database is deleted, moved away or replaced while it is served, every call
  says so and does nothing. When the same file is back in its place, all goes on; if it is gone for
  good, or another one is to be served, start the server anew.
- **Memory.** About 80 MB, and below 150 MB with a graph of 100,000 concepts and a million relations
  after traversals, searches and questions about all of it; more for a moment while one runs.

## The active context

What `traverse_graph` reaches is loaded into the active context: up to 100 nodes, or as many as
`--context-size` says, the least recently used of which make room. `manage_context` shows what is
loaded, what was evicted and why, or says what it has added and removed; a node that has moved
meanwhile is shown under its new URI, and one that was forgotten as evicted, whichever process did
it.
On standard input and output there is one context for the process, and it is gone when the process
ends; there no tool has an argument `context_id`. Over HTTP, where calls stand alone, a call that
names no `context_id` gets a new context and its handle, to be passed back; 1,000 of them are kept,
and the one that was not used for longest is forgotten first.
"""


def reference() -> str:
    """The whole page."""
    return "\n".join(_parts()).rstrip("\n") + "\n"


def _parts() -> Iterator[str]:
    yield HEAD
    yield "## Tools\n"
    yield _table(
        ("tool", "", "reads only", "may remove", "may be repeated"),
        [
            (
                f"[`{tool.name}`](#{tool.name})",
                tool.title,
                _mark(not tool.writes),
                _mark(tool.destroys),
                _mark(not tool.writes or tool.repeatable),
            )
            for tool in TOOLS
        ],
    )
    yield ""
    for tool in TOOLS:
        yield from _tool(tool)
    yield "## Resources\n"
    yield "Whatever is here can also be had with a tool, for clients that show no resources.\n"
    yield _table(
        ("resource", ""),
        [(f"`{each['uriTemplate']}`", str(each["description"])) for each in TEMPLATES],
    )
    yield (
        "\nListed are the concepts of the workspace (`concept://` URIs) of every type but `Symbol`,"
        "\nby URI, 100 a page and at most 1,000. The symbols of a code base would leave no room for"
        "\nothers; they are read by their URIs, like all nodes.\n"
    )
    yield "## Prompts\n"
    for prompt in PROMPTS:
        yield f"### {prompt.name}\n"
        yield f"{prompt.description}\n"
        yield _table(
            ("argument", ""),
            [
                (f"`{name}`", said + ("; required" if required else ""))
                for name, (said, required) in prompt.arguments.items()
            ],
        )
        yield ""


def _tool(tool: Tool) -> Iterator[str]:
    yield f"### {tool.name}\n"
    yield f"{tool.description}\n"
    rows = [
        (f"`{name}`", _kind(schema), _said(schema, required=name in tool.required))
        for name, schema in tool.properties.items()
    ]
    if tool.has_context:
        said = _said(CONTEXT_ID, required=False)
        rows.append(("`context_id`", _kind(CONTEXT_ID), f"Over HTTP only: {said}"))
    yield _table(("argument", "", ""), rows)
    yield ""
    for name, schema in tool.properties.items():
        inner = schema.get("items", {})
        if "properties" not in inner:
            continue
        yield f"Each of `{name}`:\n"
        yield _table(
            ("key", "", ""),
            [
                (f"`{key}`", _kind(each), _said(each, required=key in inner["required"]))
                for key, each in inner["properties"].items()
            ],
        )
        yield ""


def _kind(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(f"`{each}`" for each in schema["enum"])
    if schema["type"] == "array":
        kinds = schema["items"].get("anyOf", [schema["items"]])
        return f"array of {' or '.join(each['type'] for each in kinds)}"
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is None:
        return str(schema["type"])
    return (
        f"{schema['type']}, {low} to {high:,}" if high is not None else f"{schema['type']} >= {low}"
    )


def _said(schema: dict[str, Any], *, required: bool) -> str:
    said = [str(schema["description"])] if "description" in schema else []
    usual = schema.get("default")
    if usual is not None:
        said.append(f"by default `{usual}`" if isinstance(usual, str) else f"by default {usual:,}")
    return "; ".join([*said, "required"] if required else said)


def _mark(yes: bool) -> str:
    return "yes" if yes else ""


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


if __name__ == "__main__":
    sys.stdout.write(reference())
