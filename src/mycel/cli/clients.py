"""How programs that speak MCP are told about a graph: what to type, or what to write where.

Each client has a file of its own, with entries of others in it. Ours is added and nothing else is
touched: JSON is read, changed and written again in its own indentation; to TOML a table is
appended, so that comments stay. What cannot be done so, such as JSON with comments, is left alone,
and the error says what to write by hand.

A file is replaced as a whole or not at all, and the one before is kept beside it. A symbolic link
is not followed: somebody has put the file elsewhere on purpose, and should know who writes to it.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from mycel.errors import ConstraintViolation, DatabaseError, MycelError

NAME = "mycel"
BACKUP = ".mycel-backup"

ClientName = Literal["claude-code", "claude-desktop", "cursor", "vscode", "codex"]

_OURS = ("command", "args", "type", "url", "headers", "http_headers")
"""Keys that say where a server is. All others, such as `env`, are the user's."""


@dataclass(frozen=True, slots=True)
class Client:
    """A program, and how it is told."""

    name: ClientName
    title: str
    path: Path
    key: str
    """Under which key the file has its servers."""
    is_toml: bool = False
    has_type: bool = False
    """Whether an entry says that it is a command."""
    afterwards: str = ""
    """What has to be done to make it notice."""

    def entry(self, command: Sequence[str]) -> dict[str, Any]:
        """What the file says of a server that is started with a command."""
        kind = {"type": "stdio"} if self.has_type else {}
        return {**kind, "command": command[0], "args": list(command[1:])}

    def snippet(self, command: Sequence[str]) -> str:
        """What the file has to hold, if there is nothing else in it."""
        entry = self.entry(command)
        if self.is_toml:
            lines = (f"{key} = {_toml(value)}" for key, value in entry.items())
            return "\n".join((f"[{self.key}.{NAME}]", *lines)) + "\n"
        return json.dumps({self.key: {NAME: entry}}, indent=2, ensure_ascii=False) + "\n"


CLIENTS: tuple[ClientName, ...] = ("claude-code", "claude-desktop", "cursor", "vscode", "codex")


def client(name: ClientName, folder: Path) -> Client:
    """A client; `folder` is the project, where those look that have a file for each."""
    match name:
        case "claude-code":
            path, noted = folder / ".mcp.json", "Claude Code asks whether to trust it."
            return Client(name, "Claude Code", path, "mcpServers", afterwards=noted)
        case "claude-desktop":
            path, noted = _claude_desktop(), "Restart Claude Desktop."
            return Client(name, "Claude Desktop", path, "mcpServers", afterwards=noted)
        case "cursor":
            path, noted = folder / ".cursor" / "mcp.json", "Enable it in Cursor's settings, MCP."
            return Client(name, "Cursor", path, "mcpServers", afterwards=noted)
        case "vscode":
            path, noted = folder / ".vscode" / "mcp.json", "Start it there, or in the chat's tools."
            return Client(name, "VS Code", path, "servers", has_type=True, afterwards=noted)
        case "codex":
            home = Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex")
            path, noted = home / "config.toml", "Start a new session of Codex."
            return Client(name, "Codex", path, "mcp_servers", is_toml=True, afterwards=noted)


def _claude_desktop() -> Path:
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    elif sys.platform == "win32":
        base = Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming")
    else:
        base = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return base / "Claude" / "claude_desktop_config.json"


def own_command() -> list[str]:
    """How this very program is started, from wherever: by its whole path.

    A client that was not started in a terminal knows no path of ours.
    """
    found = shutil.which("mycel")
    return [found] if found else [sys.executable, "-m", "mycel"]


# Writing.


class Told(NamedTuple):
    """What became of a client's file."""

    path: Path
    changed: bool
    backup: Path | None = None


def tell(client: Client, command: Sequence[str]) -> Told:
    """Write a server into a client's file; nothing happens if it is there.

    Raises:
        ConstraintViolation: the file is not what it should be, and is left as it is.
    """
    if client.path.is_symlink() or client.path.parent.is_symlink():
        there = os.path.realpath(client.path)
        raise _refusal(client, f"it is elsewhere, behind a symbolic link: {there}")
    before = _read(client)
    after = (_toml_after if client.is_toml else _json_after)(client, command, before)
    if after == before:
        return Told(client.path, changed=False)
    try:
        backup = _replace(client.path, after, keep=before is not None)
    except OSError as error:
        raise DatabaseError(
            f"{client.path} cannot be written: {error.strerror}.",
            hint="Check the permissions; --print shows what it should hold.",
        ) from None
    return Told(client.path, changed=True, backup=backup)


def _read(client: Client) -> str | None:
    try:
        return client.path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else "it is no text in UTF-8"
        raise _refusal(client, f"it cannot be read: {said}") from None


def _json_after(client: Client, command: Sequence[str], before: str | None) -> str:
    if before is None or not before.strip():
        return client.snippet(command)
    try:
        whole = json.loads(before)
    except ValueError as error:
        raise _refusal(client, f"it is no plain JSON: {error}") from None
    servers = whole.setdefault(client.key, {}) if isinstance(whole, dict) else None
    if not isinstance(servers, dict):
        raise _refusal(client, f"{client.key!r} is no object in it")
    there = servers.get(NAME)
    kept = {k: v for k, v in there.items() if k not in _OURS} if isinstance(there, dict) else {}
    entry = client.entry(command) | kept
    if there == entry:
        return before
    servers[NAME] = entry
    end = "\n" if before.endswith("\n") else ""
    return json.dumps(whole, indent=_indent(before), ensure_ascii=False) + end


def _indent(text: str) -> int | str:
    found = re.search(r"^([ \t]+)\S", text, re.MULTILINE)
    return 2 if found is None else found[1]


def _toml_after(client: Client, command: Sequence[str], before: str | None) -> str:
    if before is None or not before.strip():
        return client.snippet(command)
    try:
        whole = tomllib.loads(before)
    except ValueError as error:
        raise _refusal(client, f"it is no TOML: {error}") from None
    servers = whole.get(client.key, {})
    there = servers.get(NAME) if isinstance(servers, dict) else None
    entry = client.entry(command)
    if isinstance(there, dict):
        if {key: value for key, value in there.items() if key in _OURS} == entry:
            return before
        raise _refusal(client, f"it has another server called {NAME}")
    after = before.rstrip("\n") + "\n\n" + client.snippet(command)
    try:
        tomllib.loads(after)
    except ValueError:
        said = f"a table cannot be added to its {client.key}"
        raise _refusal(client, said) from None
    return after


def _refusal(client: Client, why: str) -> MycelError:
    return ConstraintViolation(
        f"{client.path} stays as it is: {why}.",
        hint=f"`mycel init --client {client.name} --print` shows what to write into it by hand.",
    )


def _replace(path: Path, text: str, *, keep: bool) -> Path | None:
    """Write a file as a whole, and keep the one before. Returns where that is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    backup = path.with_name(path.name + BACKUP) if keep else None
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if backup is None:
            Path(name).chmod(0o666 & ~_umask())
        else:
            shutil.copymode(path, name)
            _keep(path, backup)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return backup


def _keep(path: Path, backup: Path) -> None:
    """Copy a file, over an earlier copy: not through a link that somebody has put there."""
    backup.unlink(missing_ok=True)
    shutil.copy2(path, backup, follow_symlinks=False)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _toml(value: str | list[str]) -> str:
    """A text, or a list of texts. JSON's escapes are TOML's, too, but for DEL."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


# Looking.


class Registered(NamedTuple):
    """What a client's file says of us."""

    client: Client
    command: tuple[str, ...] = ()
    """How it starts us; nothing if it asks a server at `url`."""
    url: str | None = None
    trouble: str | None = None
    """Why the file cannot be used."""


def registered(client: Client) -> Registered | None:
    """What a client's file says of us, if there is one and it does."""
    try:
        text = client.path.read_text(encoding="utf-8-sig")
        whole = tomllib.loads(text) if client.is_toml else json.loads(text or "{}")
    except FileNotFoundError:
        return None
    except OSError as error:
        return Registered(client, trouble=f"cannot be read: {error.strerror}")
    except ValueError as error:
        # With comments, which some clients allow, it may be well all the same.
        return Registered(client, trouble=f"cannot be understood: {error}")
    servers = whole.get(client.key) if isinstance(whole, dict) else None
    entry = servers.get(NAME) if isinstance(servers, dict) else None
    if not isinstance(entry, dict):
        return None
    if isinstance(entry.get("url"), str):
        return Registered(client, url=entry["url"])
    command, arguments = entry.get("command"), entry.get("args", [])
    if not isinstance(command, str) or not isinstance(arguments, list):
        return Registered(client, trouble=f"has no command under {NAME}")
    return Registered(client, (command, *map(str, arguments)))


# Words for people.


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


def typed(client: Client, command: Sequence[str]) -> str | None:
    """What can be typed instead of writing the file, if the client has a command for it."""
    words = shlex.join(command)
    match client.name:
        case "claude-code":
            return f"claude mcp add {NAME} -- {words}"
        case "codex":
            return f"codex mcp add {NAME} -- {words}"
        case "vscode":
            added = json.dumps({"name": NAME, **client.entry(command)}, ensure_ascii=False)
            return f"code --add-mcp {shlex.quote(added)}"
    return None
