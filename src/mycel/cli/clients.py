"""How programs that speak MCP are told about a graph: which they are, and what they are told.

Some clients have a file in each project, and there our entry is called `mycel`. Others have one for
all projects, where each graph needs an entry of its own, and the name says which it is.
`registering` writes the files and looks into them.
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
from pathlib import Path
from typing import Any, Literal

from mycel.cli.frame.context import Place, Session

NAME = "mycel"

ClientName = Literal["claude-code", "claude-desktop", "cursor", "vscode", "codex"]
CLIENTS: tuple[ClientName, ...] = ("claude-code", "claude-desktop", "cursor", "vscode", "codex")

PLACES = ("--db", "--workspace")
NAME_CHARACTERS_MAX = 40
"""Clients put the names of tools behind it, and refuse what gets longer than 64 together."""


# What is told.


@dataclass(frozen=True, slots=True)
class Server:
    """How a client starts the server of one graph."""

    program: tuple[str, ...]
    place: Place
    root: Path
    compat: str | None = None
    """None: as the entry has it. An empty text: none."""
    name: str | None = None
    """What the entry is called, if somebody said so."""

    def default_name(self, client: Client) -> str:
        return server_name(self.place) if client.is_shared else NAME

    def command(self, before: Sequence[str] = ()) -> list[str]:
        """What is started. Options that an entry has had stay, but for those that say otherwise."""
        where = (
            ("--db", str(self.place.path.absolute()))
            if self.place.workspace is None
            else ("--workspace", self.place.workspace)
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
        """Whether a command serves the same graph."""
        found = place_of(command)
        return found is not None and found.path.absolute() == self.place.path.absolute()


def server_name(place: Place) -> str:
    """What the entry of a graph is called in a file that all projects share.

    >>> server_name(Place(Path("/home/ada/x.db"), "shop-41e20c9a", "--workspace"))
    'mycel-shop-41e20c9a'
    """
    # Late: see `folders.hashed_name`.
    from hashlib import sha256

    said = place.workspace or place.path.stem
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", f"{NAME}-{said}")
    is_whole = place.workspace is not None and name == f"{NAME}-{said}"
    if is_whole and len(name) <= NAME_CHARACTERS_MAX:
        return name
    # The name of a file, or what is left of a name, may be that of another one, too.
    digest = sha256(os.fsencode(place.path.absolute())).hexdigest()
    return f"{name[: NAME_CHARACTERS_MAX - 9]}-{digest[:8]}"


def place_of(command: Sequence[str]) -> Place | None:
    """The database that a command names, if it does.

    Raises:
        click.UsageError: what it names can be none.
    """
    given = {
        name.removeprefix("--"): value[0]
        for name, value in options_of(command)
        if name in PLACES and value
    }
    return Session(given=given).place() if given else None


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
    """A program, and how it is told."""

    name: ClientName
    title: str
    path: Path
    key: str
    """Under which key the file has its servers."""
    is_shared: bool = False
    """Whether all projects share the file."""
    is_toml: bool = False
    has_comments: bool = False
    """True if its JSON may have comments."""
    has_type: bool = False
    """Whether an entry says that it is a command."""
    afterwards: str = ""
    """What has to be done to make it notice."""

    def entry(self, command: Sequence[str]) -> dict[str, Any]:
        """What the file says of a server that is started with a command."""
        kind = {"type": "stdio"} if self.has_type else {}
        return {**kind, "command": command[0], "args": list(command[1:])}

    def snippet(self, name: str, command: Sequence[str]) -> str:
        """What the file has to hold, if there is nothing else in it."""
        entry = self.entry(command)
        if self.is_toml:
            lines = (f"{key} = {toml_value(value)}" for key, value in entry.items())
            return "\n".join((f"[{self.key}.{name}]", *lines)) + "\n"
        return json.dumps({self.key: {name: entry}}, indent=2, ensure_ascii=False) + "\n"


def toml_value(value: str | list[str]) -> str:
    """A text, or a list of texts. JSON's escapes are TOML's, too, but for DEL."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def client(name: ClientName, folder: Path) -> Client:
    """A client; `folder` is the project, where those look that have a file for each."""
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
            # A project that has a file of its own for Codex gets our entry there.
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
    """The files of Codex: servers of a project, and servers of all projects."""
    home = Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex")
    return folder / ".codex" / "config.toml", home / "config.toml"


def known_clients(folder: Path) -> Iterator[Client]:
    """Every file that may tell a client of us, of the project and of all projects."""
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
    """How this very program is started, from wherever: by its whole path.

    A client that was not started in a terminal knows no path of ours.
    """
    found = shutil.which("mycel")
    return (found,) if found else (sys.executable, "-m", "mycel")


# Words for people.


def connection_help(
    url: str, command: Sequence[str], shared_name: str, token_variable: str | None = None
) -> str:
    """How each client is connected: to the server at `url`, or by starting `command` itself.

    `shared_name` is for those that have one file for all projects. `token_variable` holds the
    token in the environment, if there is one: it is named, and the token never shown.
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
        # How Cursor and VS Code both write a variable of the environment.
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


def typed(client: Client, name: str, command: Sequence[str]) -> str | None:
    """What can be typed instead of writing the file, if the client has a command for it."""
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
