"""How programs that speak MCP are told about a graph: what to type, or what to write where."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence

NAME = "mycel"


def connection_help(url: str, command: Sequence[str]) -> str:
    """How each client is connected: to the server at `url`, or by starting `command` itself."""
    return "\n".join(_lines(url, command))


def _lines(url: str, command: Sequence[str]) -> Iterator[str]:
    there = json.dumps({"mcpServers": {NAME: {"url": url}}})
    started = json.dumps({"mcpServers": {NAME: {"command": command[0], "args": [*command[1:]]}}})
    yield "Claude Code:"
    yield f"  claude mcp add --transport http {NAME} {url}"
    yield "Claude Desktop, in claude_desktop_config.json (Settings, Developer, Edit Config):"
    yield f"  {started}"
    yield "Cursor, in .cursor/mcp.json:"
    yield f"  {there}"
    yield "VS Code:"
    added = json.dumps({"name": NAME, "type": "http", "url": url})
    yield f"  code --add-mcp {shlex.quote(added)}"
    yield "Codex:"
    yield f"  codex mcp add {NAME} --url {url}"
