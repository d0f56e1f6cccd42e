"""Programs that speak MCP: their configuration files, and the entry of a graph in them.

Some clients have a file in each project, where the entry is called `mycel`. Others have one file
for all projects, where each graph has an entry of its own and the name tells them apart.

The entry in a project's file is portable: it has no path of this machine, so it can be committed.
It serves the graph of the folder that the client starts it in. An entry for all projects of a user
does the same, with the whole path of the program.
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
from typing import Any, Literal, assert_never, get_args

from mycel import workspaces
from mycel.workspaces import WorkspaceLocation

NAME = "mycel"

ClientName = Literal[
    "claude-code",
    "claude-desktop",
    "cursor",
    "vscode",
    "codex",
    "gemini",
    "opencode",
    "zed",
    "copilot",
]
CLIENTS: tuple[ClientName, ...] = get_args(ClientName)

EntryForm = Literal["portable", "whole", "everywhere"]
"""The paths in an entry: no path of this machine, whole paths, or only the path of the program.

The last form is for all projects of a user: it serves the graph of the open project.
"""

PLACES = ("--db", "--workspace")
FOLDER_VARIABLE = "${workspaceFolder}"
"""The variable for the open folder in the files of Cursor and VS Code."""
NAME_CHARACTERS_MAX = 40
"""Clients append the names of tools, and accept up to 64 characters in total."""


@dataclass(frozen=True, slots=True)
class Server:
    """The command with which a client starts the server of one graph."""

    program: tuple[str, ...]
    location: WorkspaceLocation
    root: Path
    compat: str | None = None
    """The value of `--compat`. None keeps the value of the entry; an empty text removes it."""
    name: str | None = None
    """The name of the entry, if the user chose one."""
    form: EntryForm = "whole"

    def default_name(self, client: Client) -> str:
        is_named = client.is_shared and self.form != "everywhere"
        return server_name(self.location) if is_named else NAME

    def form_for(self, client: Client) -> EntryForm:
        """The form of the entry: a file that all projects share needs whole paths."""
        return "whole" if client.is_shared and self.form == "portable" else self.form

    def command(self, client: Client | None = None, before: Sequence[str] = ()) -> list[str]:
        """The command for a client. Other options of the command `before` are kept."""
        form: EntryForm = "whole" if client is None else self.form_for(client)
        variable = None if client is None else client.folder_variable
        decided = {*PLACES, "--root"} | ({"--compat"} if self.compat is not None else set())
        rest = [
            word
            for name, value in options_of(before)
            for word in (name, *value)
            if name not in decided
        ]
        mode = ("--compat", self.compat) if self.compat else ()
        if form == "whole":
            root: tuple[str, ...] = ("--root", str(self.root))
        else:
            root = () if variable is None else ("--root", variable)
        program = self.program
        if form == "portable" and shutil.which(NAME) is not None:
            program = (NAME,)
        return [*program, "mcp", *self._graph_options(form, variable), *root, *mode, *rest]

    def _graph_options(self, form: EntryForm, variable: str | None) -> tuple[str, ...]:
        """The options that name the graph; none if the client's folder leads to it."""
        if form == "everywhere":
            return ()
        if self.location.url is not None:
            return ("--db", self.location.url)
        workspace, path = self.location.workspace, self.location.path.absolute()
        if form == "portable" and self.location.folder == self.root:
            return ()
        if workspace is not None:
            return ("--workspace", workspace)
        if form == "portable" and path.is_relative_to(self.root):
            relative = path.relative_to(self.root).as_posix()
            return ("--db", relative if variable is None else f"{variable}/{relative}")
        return ("--db", str(path))

    def is_meant_by(self, command: Sequence[str]) -> bool:
        """True if a command serves the same graph."""
        workspace_location = location_of(command, self.root)
        if workspace_location is None:
            follows_client = self.form == "everywhere" or self.location.folder == self.root
            return "mcp" in command and follows_client
        if workspace_location.url is not None or self.location.url is not None:
            return workspace_location.url == self.location.url
        return workspace_location.path.absolute() == self.location.path.absolute()


def server_name(location: WorkspaceLocation) -> str:
    """The name of a graph's entry in a file that all projects share.

    >>> server_name(WorkspaceLocation(Path("/home/ada/x.db"), "shop-41e20c9a", "--workspace"))
    'mycel-shop-41e20c9a'
    """
    message = location.workspace or (location.path.stem if location.url is None else "server")
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", f"{NAME}-{message}")
    is_whole = location.workspace is not None and name == f"{NAME}-{message}"
    if is_whole and len(name) <= NAME_CHARACTERS_MAX:
        return name
    # The stem of a file and a shortened name are not unique.
    digest = sha256(os.fsencode(location.url or location.path.absolute())).hexdigest()
    return f"{name[: NAME_CHARACTERS_MAX - 9]}-{digest[:8]}"


def location_of(command: Sequence[str], folder: Path | None = None) -> WorkspaceLocation | None:
    """The database that a command names with `--db` or `--workspace`; None without either.

    `folder` is the folder of the client, to which relative paths and the client's variable refer.

    Raises:
        InvalidIdentifier: no database can have the name.
    """
    options = {name: value[0] for name, value in options_of(command) if value}
    if "--db" in options:
        path = options["--db"].removeprefix(f"{FOLDER_VARIABLE}/")
        workspace_location = workspaces.file_location(path, "--db")
        return (
            workspace_location
            if folder is None
            else replace(workspace_location, path=folder / workspace_location.path)
        )
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
    folder_variable: str | None = None
    """The text that the client replaces by the folder that is open.

    Without it, the client starts servers in that folder.
    """
    afterwards: str = ""
    """The next step for the user."""

    def entry(self, command: Sequence[str]) -> dict[str, Any]:
        """The entry of a server that is started with a command."""
        if self.name == "opencode":
            return {"type": "local", "command": list(command), "enabled": True}
        kind: dict[str, Any] = {"type": "stdio"} if self.has_type else {}
        tools = {"tools": ["*"]} if self.name == "copilot" else {}
        return {**kind, "command": command[0], "args": list(command[1:]), **tools}

    def snippet(self, name: str, command: Sequence[str]) -> str:
        """The whole file with this entry alone."""
        entry = self.entry(command)
        if self.is_toml:
            lines = (f"{key} = {toml_value(value)}" for key, value in entry.items())
            return "\n".join((f"[{self.key}.{name}]", *lines)) + "\n"
        return json.dumps({self.key: {name: entry}}, indent=2, ensure_ascii=False) + "\n"


def toml_value(value: str | list[str]) -> str:
    """A text or list of texts in TOML, which has the escapes of JSON and also needs one for DEL."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def client(name: ClientName, folder: Path, *, everywhere: bool = False) -> Client:
    """A client by name; `folder` is the project, for clients with a file in each project.

    With `everywhere`, the file is the one for all projects of the user.
    """
    home = Path.home()
    match name:
        case "claude-code":
            path = home / ".claude.json" if everywhere else folder / ".mcp.json"
            noted = "" if everywhere else "Claude Code asks whether to trust it."
            program = Client(name, "Claude Code", path, "mcpServers", afterwards=noted)
        case "claude-desktop":
            path, noted = _claude_desktop(), "Restart Claude Desktop."
            program = Client(
                name, "Claude Desktop", path, "mcpServers", is_shared=True, afterwards=noted
            )
        case "cursor":
            program = Client(
                name,
                "Cursor",
                (home if everywhere else folder) / ".cursor" / "mcp.json",
                "mcpServers",
                has_comments=True,
                folder_variable=FOLDER_VARIABLE,
                afterwards="Enable it in Cursor's settings, MCP.",
            )
        case "vscode":
            program = Client(
                name,
                "VS Code",
                _settings_folder("Code") / "User" / "mcp.json"
                if everywhere
                else folder / ".vscode" / "mcp.json",
                "servers",
                has_comments=True,
                has_type=True,
                folder_variable=FOLDER_VARIABLE,
                afterwards="Start it there, or in the chat's tools.",
            )
        case "codex":
            own, shared = codex_files(folder)
            is_shared = everywhere or own == shared or not own.exists()
            trusted = "" if is_shared else "Codex reads it if it trusts the project. "
            program = Client(
                name,
                "Codex",
                shared if is_shared else own,
                "mcp_servers",
                is_shared=is_shared,
                is_toml=True,
                afterwards=f"{trusted}Start a new session of Codex.",
            )
        case "gemini":
            base = home if everywhere else folder
            path = base / ".gemini" / "settings.json"
            program = Client(name, "Gemini CLI", path, "mcpServers")
        case "opencode":
            base = _config_folder() / "opencode" if everywhere else folder
            program = Client(name, "OpenCode", base / "opencode.json", "mcp", has_comments=True)
        case "zed":
            base = _config_folder() / "zed" if everywhere else folder / ".zed"
            path = base / "settings.json"
            program = Client(name, "Zed", path, "context_servers", has_comments=True)
        case "copilot":
            path = home / ".copilot" / "mcp-config.json"
            program = Client(name, "Copilot CLI", path, "mcpServers", is_shared=True, has_type=True)
        case _:
            assert_never(name)
    return replace(program, is_shared=True) if everywhere else program


def codex_files(folder: Path) -> tuple[Path, Path]:
    """The files of Codex: one for the project, and one for all projects."""
    home = Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex")
    return folder / ".codex" / "config.toml", home / "config.toml"


def known_clients(folder: Path) -> Iterator[Client]:
    """Every file that may have an entry, for the project or for all projects."""
    for name in CLIENTS:
        program = client(name, folder)
        yield program
        if not program.is_shared:
            yield client(name, folder, everywhere=True)


def _config_folder() -> Path:
    """The settings folder of programs that use the same place on every system."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")


def _claude_desktop() -> Path:
    return _settings_folder("Claude") / "claude_desktop_config.json"


def _settings_folder(program: str) -> Path:
    """The folder of a program's settings on this system."""
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    elif sys.platform == "win32":
        base = Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming")
    else:
        base = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return base / program


def own_program() -> tuple[str, ...]:
    """The start of a command with this program's whole path: clients may have another PATH."""
    executable = shutil.which("mycel")
    return (executable,) if executable else (sys.executable, "-m", "mycel")


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
    wire = json.dumps({"mcpServers": {NAME: {"url": url, **headers}}})
    entry = {"command": command[0], "args": [*command[1:]]}
    started = json.dumps({"mcpServers": {shared_name: entry}})
    yield "Claude Code:"
    yield f"  claude mcp add --transport http {NAME} {url}{typed_header}"
    yield "Claude Desktop, in claude_desktop_config.json (Settings, Developer, Edit Config):"
    yield f"  {started}"
    yield "Cursor, in .cursor/mcp.json:"
    yield f"  {wire}"
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
