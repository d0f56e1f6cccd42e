"""Configuration files of clients: writing the entry of a graph, and finding entries.

The file has entries of other servers. In JSON only our own member changes, in TOML only the lines
of our own table, so comments stay. The result is parsed again and compared. If the change is
impossible in this way, it is refused, and the error says what to write by hand.

An entry that already names this graph is rewritten, under any name. An entry that names
another graph or server is replaced only on request.

A file is replaced atomically, and its former version is kept beside it. A symbolic link is refused,
because the user has put the file elsewhere on purpose.
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
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from mycel.clients import jsonc
from mycel.clients.programs import NAME, PLACES, Client, Server, options_of, toml_value
from mycel.errors import ConstraintViolation, DatabaseError, InvalidIdentifier, MycelError
from mycel.store.file.plain_files import NoPlainFile, read_bounded, reason_of

CONFIG_BYTES_MAX: Final = 16 << 20
"""The maximum number of bytes of a configuration file."""

BACKUP = ".mycel-backup"

_OURS = ("command", "args", "type", "url", "headers", "http_headers")
"""The keys of an entry that Mycel writes. All others, such as `env`, belong to the user."""
_SETTING = re.compile(rf"\s*(?:{'|'.join(_OURS)})\s*=")


class ConfigOutcome(NamedTuple):
    """The result of writing a client's file."""

    path: Path
    name: str
    """The name of the entry."""
    changed: bool
    backup: Path | None = None
    replaced: str | None = None
    """The graph or server that the entry named before, if that was another one."""


class ConfigDraft(NamedTuple):
    """The planned text of a client's file, and the name of our entry in it."""

    client: Client
    name: str
    before: str | None
    """The text of the file, if it exists."""
    after: str
    replaced: str | None = None


def draft(client: Client, server: Server, *, replace: bool = False) -> ConfigDraft:
    """Plan the change of a client's file.

    Raises:
        ConstraintViolation: the file cannot be parsed, or its entry names another graph and
            `replace` is false.
    """
    if client.path.is_symlink() or client.path.parent.is_symlink():
        real = os.path.realpath(client.path)
        raise _refusal(client, f"it is elsewhere, behind a symbolic link: {real}")
    before = _read(client)
    servers = _servers(client, _parse(client, before))
    name = _name(client, server, servers)
    stored = servers.get(name)
    elsewhere = _elsewhere(stored, server)
    if elsewhere is not None and not replace:
        raise _name_taken_error(client, name, elsewhere)
    command = server.command(client, _command(stored) if elsewhere is None else ())
    after = _after(client, name, command, before)
    return ConfigDraft(client, name, before, after, elsewhere)


def write(draft: ConfigDraft) -> ConfigOutcome:
    """Write a draft, unless the file already holds it.

    Raises:
        DatabaseError: the file cannot be written.
    """
    path = draft.client.path
    if draft.after == draft.before:
        return ConfigOutcome(path, draft.name, changed=False)
    try:
        backup = _replace(path, draft.after, keep=draft.before is not None)
    except OSError as error:
        raise DatabaseError(
            f"{path} cannot be written: {error.strerror}.",
            hint="Check the permissions; --print shows the text that it should have.",
        ) from None
    return ConfigOutcome(path, draft.name, True, backup, draft.replaced)


def preview(client: Client, server: Server) -> tuple[str, list[str]]:
    """The name of the entry that `write` would write, and its command."""
    try:
        servers = _servers(client, _parse(client, _read(client)))
    except MycelError:
        servers = {}  # The user can write the entry by hand.
    name = _name(client, server, servers)
    stored = servers.get(name)
    options = _command(stored) if _elsewhere(stored, server) is None else ()
    return name, server.command(client, options)


def _read(client: Client) -> str | None:
    try:
        return _text_of(client)
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise _refusal(client, "it cannot be read: it is not UTF-8") from None
    except (OSError, ValueError) as error:
        raise _refusal(client, f"it cannot be read: {reason_of(error)}") from None


def _text_of(client: Client) -> str:
    text = read_bounded(client.path, CONFIG_BYTES_MAX).decode("utf-8-sig")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _load(client: Client, text: str) -> Any:
    if client.is_toml:
        return tomllib.loads(text)
    text = jsonc.plain(text) if client.has_comments else text
    return json.loads(text) if text.strip() else {}


def _parse(client: Client, text: str | None) -> dict[str, Any]:
    try:
        config = _load(client, text or "")
    except ValueError as error:
        message = "TOML" if client.is_toml else "JSON" if client.has_comments else "plain JSON"
        raise _refusal(client, f"it is not {message}: {error}") from None
    if not isinstance(config, dict):
        raise _refusal(client, f"{client.key!r} is no object in it")
    return config


def _servers(client: Client, config: dict[str, Any]) -> dict[str, Any]:
    servers = config.setdefault(client.key, {})
    if not isinstance(servers, dict):
        raise _refusal(client, f"{client.key!r} is no object in it")
    return servers


def _name(client: Client, server: Server, servers: Mapping[str, Any]) -> str:
    """The name of our entry: the given one, one that names this graph, or a new one."""
    if server.name is not None:
        return server.name
    default = server.default_name(client)
    naming = [name for name, entry in servers.items() if _names(entry, server)]
    return default if default in naming or not naming else naming[0]


def _after(client: Client, name: str, command: Sequence[str], before: str | None) -> str:
    """The text of the file with our entry."""
    if before is None or not before.strip():
        return client.snippet(name, command)
    config = _parse(client, before)
    servers = _servers(client, config)
    stored, entry = servers.get(name), client.entry(command)
    ours = {key: value for key, value in entry.items() if key in _OURS}
    if isinstance(stored, dict) and {key: stored[key] for key in _OURS if key in stored} == ours:
        return before
    others = {k: v for k, v in stored.items() if k not in _OURS} if isinstance(stored, dict) else {}
    servers[name] = entry | others
    if client.is_toml:
        return _toml_after(client, name, entry, before, config)
    after = jsonc.with_member(before, (client.key, name), servers[name], _indent(before))
    if _load(client, after) != config:
        raise _refusal(client, f"{name!r} cannot be written without changing others")
    return after


def _command(entry: object) -> list[str]:
    """The command of an entry; empty if it has none."""
    if not isinstance(entry, dict):
        return []
    command, arguments = entry.get("command"), entry.get("args", [])
    if isinstance(command, list) and command:
        command, arguments = command[0], command[1:]
    if not isinstance(command, str) or not isinstance(arguments, list):
        return []
    return [command, *map(str, arguments)]


def _names(entry: object, server: Server) -> bool:
    try:
        return server.is_meant_by(_command(entry))
    except InvalidIdentifier:
        return False


def _elsewhere(entry: object, server: Server) -> str | None:
    """The graph or server that an entry names, unless it is ours; None if it names none."""
    if not isinstance(entry, dict):
        return None
    if isinstance(entry.get("url"), str):
        return str(entry["url"])
    command = _command(entry)
    places = [shlex.join((name, *value)) for name, value in options_of(command) if name in PLACES]
    if places:
        return None if _names(entry, server) else " ".join(places)
    return None if not command or "mcp" in command else shlex.join(command)


def _name_taken_error(client: Client, name: str, elsewhere: str) -> MycelError:
    remedy = f"`mycel init --client {client.name} --name NAME` adds one under another name"
    return ConstraintViolation(
        f"{client.path} stays as it is: its server {name!r} is for {elsewhere}.",
        hint=f"{remedy}; --replace takes it over.",
    )


def _indent(text: str) -> str:
    match = re.search(r"^([ \t]+)\S", text, re.MULTILINE)
    return "  " if match is None else match[1]


def _toml_after(
    client: Client, name: str, entry: Mapping[str, Any], before: str, config: Mapping[str, Any]
) -> str:
    """The text with our table, added or replaced; it must parse to `config`."""
    header = f"[{client.key}.{name}]"
    ours = [header, *(f"{key} = {toml_value(value)}" for key, value in entry.items())]
    lines = before.removesuffix("\n").split("\n")
    if header in lines:
        start = lines.index(header)
        following = (at for at in range(start + 1, len(lines)) if lines[at].startswith("["))
        end = next(following, len(lines))
        rest = [line for line in lines[start + 1 : end] if not _SETTING.match(line)]
        lines[start:end] = [*ours, *rest]
    else:
        lines += ["", *ours]
    after = "\n".join(lines) + "\n"
    try:
        is_meant = tomllib.loads(after) == config
    except ValueError:
        is_meant = False
    if not is_meant:
        raise _refusal(client, f"a table {header} cannot be written without changing others")
    return after


def _refusal(client: Client, why: str) -> MycelError:
    return ConstraintViolation(
        f"{client.path} stays as it is: {why}.",
        hint=f"`mycel init --client {client.name} --print` shows what to write into it by hand.",
    )


def replace_text(path: Path, text: str) -> None:
    """Replace the text of a file atomically, or create the file.

    Raises:
        DatabaseError: the file cannot be written.
        ConstraintViolation: the path is a symbolic link.
    """
    if path.is_symlink() or path.parent.is_symlink():
        raise ConstraintViolation(
            f"{path} stays as it is: it is behind a symbolic link, {os.path.realpath(path)}.",
            hint="Write the entry by hand; `mycel install --print` shows it.",
        )
    try:
        _replace(path, text, keep=False)
    except OSError as error:
        raise DatabaseError(
            f"{path} cannot be written: {error.strerror}.", hint="Check the permissions."
        ) from None


def without_entry(client: Client, name: str, text: str) -> str:
    """The text of a client's file without an entry."""
    if not client.is_toml:
        with suppress(ValueError):
            return jsonc.without_member(text, (client.key, name))
        return text
    header = f"[{client.key}.{name}"
    kept_lines: list[str] = []
    is_inside = is_open = False
    for line in text.split("\n"):
        if line.startswith("["):
            is_first = not is_inside
            is_inside = line.startswith((f"{header}]", f"{header}."))
            if is_inside and is_first and kept_lines and not kept_lines[-1].strip():
                kept_lines.pop()  # Also remove the empty line that was written before the table.
            is_open = is_inside
        # Comments and empty lines after the settings belong to the user.
        if not is_inside or not (is_open and line.strip()) or line.lstrip().startswith("#"):
            kept_lines.append(line)
    return "\n".join(kept_lines)


def _replace(path: Path, text: str, *, keep: bool) -> Path | None:
    """Replace a file atomically. Returns the backup of the former file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
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
    """Copy a file beside itself. No copy is overwritten: the first one is the original."""
    content = read_bounded(path, CONFIG_BYTES_MAX)
    backup, number = path.with_name(path.name + BACKUP), 1
    while not _write_new(backup, content):
        if backup.is_file() and not backup.is_symlink():
            with suppress(ValueError):  # A larger backup is of another file.
                if read_bounded(backup, CONFIG_BYTES_MAX) == content:
                    return backup
        number += 1
        backup = path.with_name(f"{path.name}{BACKUP}-{number}")
    shutil.copystat(path, backup)
    return backup


def _write_new(path: Path, content: bytes) -> bool:
    """Write a new file that only its owner can read. Returns False if the path exists."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:  # A symbolic link counts too.
        return False
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    return True


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


class Registered(NamedTuple):
    """An entry of ours in a client's file."""

    client: Client
    name: str = ""
    """The name of the entry; empty if the file cannot be read."""
    command: tuple[str, ...] = ()
    """The command that starts the server; empty if the entry has a `url`."""
    url: str | None = None
    trouble: str | None = None
    """The reason why the file or the entry cannot be used."""


def registered(client: Client) -> list[Registered]:
    """Our entries in a client's file; empty if there is no such file."""
    try:
        config = _load(client, _text_of(client))
    except FileNotFoundError:
        return []
    except OSError as error:
        return [Registered(client, trouble=f"cannot be read: {error.strerror}")]
    except ValueError as error:
        verb = "read" if isinstance(error, NoPlainFile) else "parsed"
        return [Registered(client, trouble=f"cannot be {verb}: {reason_of(error)}")]
    servers = config.get(client.key) if isinstance(config, dict) else None
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
