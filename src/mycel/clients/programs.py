"""Programs that speak MCP: their configuration files, and the entry of a graph in them.

Some clients have a file in each project, where the entry is called `mycel`. Others have one file
for all projects, where each graph has an entry of its own and the name tells them apart.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from mycel import workspaces
from mycel.workspaces import Location

NAME = "mycel"

ClientName = Literal["claude-code", "claude-desktop", "cursor", "vscode", "codex"]
CLIENTS: tuple[ClientName, ...] = ("claude-code", "claude-desktop", "cursor", "vscode", "codex")

PLACES = ("--db", "--workspace")
NAME_CHARACTERS_MAX = 40
"""Clients append the names of tools, and accept 64 characters together."""


@dataclass(frozen=True, slots=True)
class Server:
    """The command with which a client starts the server of one graph."""

    program: tuple[str, ...]
    location: Location
    root: Path
    compat: str | None = None
    """The value of `--compat`. None keeps that of the entry; an empty text removes it."""
    name: str | None = None
    """The name of the entry, if the user chose one."""

    def default_name(self, client: Client) -> str:
        return server_name(self.location) if client.is_shared else NAME

    def command(self, before: Sequence[str] = ()) -> list[str]:
        """The command. Other options of the command `before` are kept."""
        where = (
            ("--db", str(self.location.path.absolute()))
            if self.location.workspace is None
            else ("--workspace", self.location.workspace)
        )
        decided = {*PLACES, "--root"} | ({"--compat"} if self.compat is not None else set())
        kept = [
            word
            for name, value in options_of(before)
            for word in (name, *value)
            if name not in decided
        ]
        mode = ("--compat", self.compat) if self.compat else ()
        return [*self.program, "mcp", *where, "--root", str(self.root), *mode, *kept]

    def is_meant_by(self, command: Sequence[str]) -> bool:
        """True if a command serves the same graph."""
        found = location_of(command)
        return found is not None and found.path.absolute() == self.location.path.absolute()


def server_name(location: Location) -> str:
    """The name of a graph's entry in a file that all projects share.

    >>> server_name(Location(Path("/home/ada/x.db"), "shop-41e20c9a", "--workspace"))
    'mycel-shop-41e20c9a'
    """
    said = location.workspace or location.path.stem
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", f"{NAME}-{said}")
    is_whole = location.workspace is not None and name == f"{NAME}-{said}"
    if is_whole and len(name) <= NAME_CHARACTERS_MAX:
        return name
    # The stem of a file and a shortened name are not unique.
    digest = sha256(os.fsencode(location.path.absolute())).hexdigest()
    return f"{name[: NAME_CHARACTERS_MAX - 9]}-{digest[:8]}"


def location_of(command: Sequence[str]) -> Location | None:
    """The database that a command names with `--db` or `--workspace`; None without either.

    Raises:
        InvalidIdentifier: the name cannot be that of a database.
    """
    options = {name: value[0] for name, value in options_of(command) if value}
    if "--db" in options:
        return workspaces.file_location(options["--db"], "--db")
    if "--workspace" in options:
        return workspaces.workspace_location(Path.home(), options["--workspace"], "--workspace")
    return None


def options_of(command: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The options of `mycel mcp` in a command, each with its value, if it has one."""
    words = list(command[command.index("mcp") + 1 :]) if "mcp" in command else []
    while words:
        name, equals, value = words.pop(0).partition("=")
        if equals:
            yield name, (value,)
        elif name.startswith("--") and words and not words[0].startswith("--"):
            yield name, (words.pop(0),)
        else:
            yield name, ()


@dataclass(frozen=True, slots=True)
class Client:
    """A program and the form of its configuration file."""

    name: ClientName
    title: str
    path: Path
    key: str
    """The key of the object of servers in the file."""
    is_shared: bool = False
    """True if all projects share the file."""
    is_toml: bool = False
    has_comments: bool = False
    """True if its JSON may have comments."""
    has_type: bool = False
    """True if an entry has a `type`."""
    afterwards: str = ""
    """The next step for the user."""

    def entry(self, command: Sequence[str]) -> dict[str, Any]:
        """The entry of a server that is started with a command."""
        kind = {"type": "stdio"} if self.has_type else {}
        return {**kind, "command": command[0], "args": list(command[1:])}

    def snippet(self, name: str, command: Sequence[str]) -> str:
        """The whole file with this entry alone."""
        entry = self.entry(command)
        if self.is_toml:
            lines = (f"{key} = {toml_value(value)}" for key, value in entry.items())
            return "\n".join((f"[{self.key}.{name}]", *lines)) + "\n"
        return json.dumps({self.key: {name: entry}}, indent=2, ensure_ascii=False) + "\n"


def toml_value(value: str | list[str]) -> str:
    """A text or list of texts in TOML. It has the escapes of JSON, and needs one for DEL."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def client(name: ClientName, folder: Path) -> Client:
    """A client by name; `folder` is the project, for clients with a file in each project."""
    match name:
        case "claude-code":
            path, noted = folder / ".mcp.json", "Claude Code asks whether to trust it."
            return Client(name, "Claude Code", path, "mcpServers", afterwards=noted)
        case "claude-desktop":
            path, noted = _claude_desktop(), "Restart Claude Desktop."
            return Client(
                name, "Claude Desktop", path, "mcpServers", is_shared=True, afterwards=noted
            )
        case "cursor":
            path, noted = folder / ".cursor" / "mcp.json", "Enable it in Cursor's settings, MCP."
            return Client(name, "Cursor", path, "mcpServers", has_comments=True, afterwards=noted)
        case "vscode":
            path, noted = folder / ".vscode" / "mcp.json", "Start it there, or in the chat's tools."
            return Client(
                name,
                "VS Code",
                path,
                "servers",
                has_comments=True,
                has_type=True,
                afterwards=noted,
            )
        case "codex":
            own, shared = codex_files(folder)
            is_shared = own == shared or not own.exists()
            trusted = "" if is_shared else "Codex reads it if it trusts the project. "
            return Client(
                name,
                "Codex",
                shared if is_shared else own,
                "mcp_servers",
                is_shared=is_shared,
                is_toml=True,
                afterwards=f"{trusted}Start a new session of Codex.",
            )


def codex_files(folder: Path) -> tuple[Path, Path]:
    """The files of Codex: that of a project, and that of all projects."""
    home = Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex")
    return folder / ".codex" / "config.toml", home / "config.toml"


def known_clients(folder: Path) -> Iterator[Client]:
    """Every file that may hold an entry: of the project, and of all projects."""
    for name in CLIENTS:
        found = client(name, folder)
        yield found
        if name == "codex" and not found.is_shared:
            yield replace(found, path=codex_files(folder)[1], is_shared=True)


def _claude_desktop() -> Path:
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    elif sys.platform == "win32":
        base = Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming")
    else:
        base = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return base / "Claude" / "claude_desktop_config.json"


def own_program() -> tuple[str, ...]:
    """The start of a command for this program, by its whole path: clients may have another PATH."""
    found = shutil.which("mycel")
    return (found,) if found else (sys.executable, "-m", "mycel")


def connection_help(
    url: str, command: Sequence[str], shared_name: str, token_variable: str | None = None
) -> str:
    """Instructions for each client: connect to the server at `url`, or start `command`.

    `shared_name` is the entry's name in files that all projects share. `token_variable` is the
    environment variable of the token, if there is one; the token itself is never shown.
    """
    return "\n".join(_lines(url, command, shared_name, token_variable))


def _lines(
    url: str, command: Sequence[str], shared_name: str, token_variable: str | None
) -> Iterator[str]:
    typed_header = told_variable = ""
    headers: dict[str, Any] = {}
    if token_variable is not None:
        typed_header = f' --header "Authorization: Bearer ${token_variable}"'
        told_variable = f" --bearer-token-env-var {token_variable}"
        # The form of an environment variable in Cursor and VS Code.
        headers = {"headers": {"Authorization": f"Bearer ${{env:{token_variable}}}"}}
    there = json.dumps({"mcpServers": {NAME: {"url": url, **headers}}})
    entry = {"command": command[0], "args": [*command[1:]]}
    started = json.dumps({"mcpServers": {shared_name: entry}})
    yield "Claude Code:"
    yield f"  claude mcp add --transport http {NAME} {url}{typed_header}"
    yield "Claude Desktop, in claude_desktop_config.json (Settings, Developer, Edit Config):"
    yield f"  {started}"
    yield "Cursor, in .cursor/mcp.json:"
    yield f"  {there}"
    yield "VS Code:"
    added = json.dumps({"name": NAME, "type": "http", "url": url, **headers})
    yield f"  code --add-mcp {shlex.quote(added)}"
    yield "Codex:"
    yield f"  codex mcp add {shared_name} --url {url}{told_variable}"


def shell_command(client: Client, name: str, command: Sequence[str]) -> str | None:
    """The shell command that writes the same entry, if the client has one."""
    words = shlex.join(command)
    match client.name:
        case "claude-code":
            return f"claude mcp add {name} -- {words}"
        case "codex":
            return f"codex mcp add {name} -- {words}"
        case "vscode":
            added = json.dumps({"name": name, **client.entry(command)}, ensure_ascii=False)
            return f"code --add-mcp {shlex.quote(added)}"
    return None
