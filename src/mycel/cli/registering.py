"""What the files of clients say of us: our entry is written there, and looked for.

Each client has a file of its own, with entries of others in it. Ours is written and nothing else is
touched: in JSON only our own member changes, in TOML only the lines of our own table, so that
comments stay; the result is read again to be sure. What cannot be done so is left alone, and the
error says what to write by hand.

An entry that leads to this graph already is the one to write, whatever it is called. One that leads
elsewhere is not taken over unless that is asked for.

A file is replaced as a whole or not at all, and the one before is kept beside it. A symbolic link
is not followed: somebody has put the file elsewhere on purpose, and should know who writes to it.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import rich_click as click

from mycel.cli import jsonc
from mycel.cli.clients import NAME, PLACES, Client, Server, options_of, toml_value
from mycel.errors import ConstraintViolation, DatabaseError, MycelError

BACKUP = ".mycel-backup"

_OURS = ("command", "args", "type", "url", "headers", "http_headers")
"""Keys that say where a server is. All others, such as `env`, are the user's."""
_SETTING = re.compile(rf"\s*(?:{'|'.join(_OURS)})\s*=")


# Writing.


class Told(NamedTuple):
    """What became of a client's file."""

    path: Path
    name: str
    """The entry."""
    changed: bool
    backup: Path | None = None
    replaced: str | None = None
    """Where the entry led before, if that was elsewhere."""


class Draft(NamedTuple):
    """What a client's file is to hold, and which entry of it is ours."""

    client: Client
    name: str
    before: str | None
    """What it holds now, if there is such a file."""
    after: str
    replaced: str | None = None


def draft(client: Client, server: Server, *, replace: bool = False) -> Draft:
    """How a server is written into a client's file; nothing is done yet.

    Raises:
        ConstraintViolation: the file is not what it should be, or its entry leads elsewhere and
            may not be replaced.
    """
    if client.path.is_symlink() or client.path.parent.is_symlink():
        real = os.path.realpath(client.path)
        raise _refusal(client, f"it is elsewhere, behind a symbolic link: {real}")
    before = _read(client)
    servers = _servers(client, _parse(client, before))
    name = _name(client, server, servers)
    there = servers.get(name)
    elsewhere = _elsewhere(there, server)
    if elsewhere is not None and not replace:
        raise _taken(client, name, elsewhere)
    command = server.command(_command(there) if elsewhere is None else ())
    after = _after(client, name, command, before)
    return Draft(client, name, before, after, elsewhere)


def tell(draft: Draft) -> Told:
    """Write a draft; nothing happens if all of it is there.

    Raises:
        DatabaseError: the file cannot be written.
    """
    path = draft.client.path
    if draft.after == draft.before:
        return Told(path, draft.name, changed=False)
    try:
        backup = _replace(path, draft.after, keep=draft.before is not None)
    except OSError as error:
        raise DatabaseError(
            f"{path} cannot be written: {error.strerror}.",
            hint="Check the permissions; --print shows what it should hold.",
        ) from None
    return Told(path, draft.name, True, backup, draft.replaced)


def shown(client: Client, server: Server) -> tuple[str, list[str]]:
    """The name of the entry that `tell` would write, and the command in it."""
    try:
        servers = _servers(client, _parse(client, _read(client)))
    except MycelError:
        servers = {}  # It can be written by hand all the same.
    name = _name(client, server, servers)
    there = servers.get(name)
    return name, server.command(_command(there) if _elsewhere(there, server) is None else ())


def _read(client: Client) -> str | None:
    try:
        return client.path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else "it is no text in UTF-8"
        raise _refusal(client, f"it cannot be read: {said}") from None


def _load(client: Client, text: str) -> Any:
    if client.is_toml:
        return tomllib.loads(text)
    text = jsonc.plain(text) if client.has_comments else text
    return json.loads(text) if text.strip() else {}


def _parse(client: Client, text: str | None) -> dict[str, Any]:
    try:
        whole = _load(client, text or "")
    except ValueError as error:
        said = "TOML" if client.is_toml else "JSON" if client.has_comments else "plain JSON"
        raise _refusal(client, f"it is no {said}: {error}") from None
    if not isinstance(whole, dict):
        raise _refusal(client, f"{client.key!r} is no object in it")
    return whole


def _servers(client: Client, whole: dict[str, Any]) -> dict[str, Any]:
    servers = whole.setdefault(client.key, {})
    if not isinstance(servers, dict):
        raise _refusal(client, f"{client.key!r} is no object in it")
    return servers


def _name(client: Client, server: Server, servers: Mapping[str, Any]) -> str:
    """Which entry is ours: the one that was named, or that leads here, or else a new one."""
    if server.name is not None:
        return server.name
    default = server.default_name(client)
    leading = [name for name, entry in servers.items() if _leads_to(entry, server)]
    return default if default in leading or not leading else leading[0]


def _after(client: Client, name: str, command: Sequence[str], before: str | None) -> str:
    """What the file holds when our entry is in it."""
    if before is None or not before.strip():
        return client.snippet(name, command)
    whole = _parse(client, before)
    servers = _servers(client, whole)
    there, entry = servers.get(name), client.entry(command)
    if isinstance(there, dict) and {key: there[key] for key in _OURS if key in there} == entry:
        return before
    kept = {k: v for k, v in there.items() if k not in _OURS} if isinstance(there, dict) else {}
    servers[name] = entry | kept
    if client.is_toml:
        return _toml_after(client, name, entry, before, whole)
    after = jsonc.with_member(before, (client.key, name), servers[name], _indent(before))
    if _load(client, after) != whole:
        raise _refusal(client, f"{name!r} cannot be written without touching others")
    return after


def _command(entry: object) -> list[str]:
    """The command of an entry; nothing if it has none."""
    if not isinstance(entry, dict):
        return []
    command, arguments = entry.get("command"), entry.get("args", [])
    if not isinstance(command, str) or not isinstance(arguments, list):
        return []
    return [command, *map(str, arguments)]


def _leads_to(entry: object, server: Server) -> bool:
    try:
        return server.is_meant_by(_command(entry))
    except click.UsageError:
        return False


def _elsewhere(entry: object, server: Server) -> str | None:
    """Where an entry leads, if that is not to our graph. One that names no graph leads nowhere."""
    if not isinstance(entry, dict):
        return None
    if isinstance(entry.get("url"), str):
        return str(entry["url"])
    command = _command(entry)
    named = [shlex.join((name, *value)) for name, value in options_of(command) if name in PLACES]
    if named:
        return None if _leads_to(entry, server) else " ".join(named)
    return None if not command or "mcp" in command else shlex.join(command)


def _taken(client: Client, name: str, elsewhere: str) -> MycelError:
    remedy = f"`mycel init --client {client.name} --name NAME` adds one under another name"
    return ConstraintViolation(
        f"{client.path} stays as it is: its server {name!r} leads elsewhere, to {elsewhere}.",
        hint=f"{remedy}; --replace takes it over.",
    )


def _indent(text: str) -> str:
    found = re.search(r"^([ \t]+)\S", text, re.MULTILINE)
    return "  " if found is None else found[1]


def _toml_after(
    client: Client, name: str, entry: Mapping[str, Any], before: str, wanted: Mapping[str, Any]
) -> str:
    """The text with our table in it: new, or its old lines exchanged. It has to mean `wanted`."""
    header = f"[{client.key}.{name}]"
    ours = [header, *(f"{key} = {toml_value(value)}" for key, value in entry.items())]
    lines = before.rstrip("\n").split("\n")
    if header in lines:
        start = lines.index(header)
        following = (at for at in range(start + 1, len(lines)) if lines[at].startswith("["))
        end = next(following, len(lines))
        kept = [line for line in lines[start + 1 : end] if not _SETTING.match(line)]
        lines[start:end] = [*ours, *kept]
    else:
        lines += ["", *ours]
    after = "\n".join(lines) + "\n"
    try:
        is_meant = tomllib.loads(after) == wanted
    except ValueError:
        is_meant = False
    if not is_meant:
        raise _refusal(client, f"a table {header} cannot be written without touching others")
    return after


def _refusal(client: Client, why: str) -> MycelError:
    return ConstraintViolation(
        f"{client.path} stays as it is: {why}.",
        hint=f"`mycel init --client {client.name} --print` shows what to write into it by hand.",
    )


def _replace(path: Path, text: str, *, keep: bool) -> Path | None:
    """Write a file as a whole, and keep the one before. Returns where that is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if keep:
            shutil.copymode(path, name)
        else:
            Path(name).chmod(0o666 & ~_umask())
        backup = _keep(path) if keep else None
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return backup


def _keep(path: Path) -> Path:
    """Copy a file beside itself. No copy is ever overwritten: the first one is the original."""
    content = path.read_bytes()
    backup, number = path.with_name(path.name + BACKUP), 1
    while not _write_new(backup, content):
        if backup.is_file() and not backup.is_symlink() and backup.read_bytes() == content:
            return backup
        number += 1
        backup = path.with_name(f"{path.name}{BACKUP}-{number}")
    shutil.copystat(path, backup)
    return backup


def _write_new(path: Path, content: bytes) -> bool:
    """Write a file that is not there yet, for nobody else to read; returns whether that was so."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:  # A link too, wherever it leads.
        return False
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    return True


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


# Looking.


class Registered(NamedTuple):
    """What an entry of a client's file says of us."""

    client: Client
    name: str = ""
    """The entry; empty if the file has none that could be read."""
    command: tuple[str, ...] = ()
    """How it starts us; nothing if it asks a server at `url`."""
    url: str | None = None
    trouble: str | None = None
    """Why the file or the entry cannot be used."""


def registered(client: Client) -> list[Registered]:
    """What a client's file says of us, entry by entry; nothing if there is no such file."""
    try:
        whole = _load(client, client.path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        return []
    except OSError as error:
        return [Registered(client, trouble=f"cannot be read: {error.strerror}")]
    except ValueError as error:
        # With comments, which some clients allow, it may be well all the same.
        return [Registered(client, trouble=f"cannot be understood: {error}")]
    servers = whole.get(client.key) if isinstance(whole, dict) else None
    if not isinstance(servers, dict):
        return []
    ours = {name: entry for name, entry in servers.items() if _is_ours(name, entry)}
    return [_registered(client, name, entry) for name, entry in ours.items()]


def _is_ours(name: str, entry: object) -> bool:
    if name == NAME or name.startswith(f"{NAME}-"):
        return isinstance(entry, dict)
    command = _command(entry)
    program = [Path(command[0]).stem, *command[1:]] if command else []
    return program[:2] == [NAME, "mcp"] or program[1:4] == ["-m", NAME, "mcp"]


def _registered(client: Client, name: str, entry: dict[str, Any]) -> Registered:
    if isinstance(entry.get("url"), str):
        return Registered(client, name, url=entry["url"])
    command = tuple(_command(entry))
    return Registered(client, name, command, trouble=None if command else "has no command")
