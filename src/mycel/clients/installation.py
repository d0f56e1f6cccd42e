"""Installs Mycel in the clients of this machine, and uninstalls it without other changes.

Each client that is found gets the entry of the MCP server for all projects and, if it has them,
calls of hooks and a skill. First a plan is made, which can be shown. When the plan is written, a
record keeps each file as it was before and after. To uninstall, a file that nobody has changed
since is restored; from any other file, only our own parts are removed.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import orjson

from mycel.clients import config_files, jsonc, skill
from mycel.clients.programs import CLIENTS, NAME, Client, ClientName, Server, client
from mycel.errors import ConstraintViolation, MycelError
from mycel.store.file.plain_files import read_bounded
from mycel.store.file.workspace_databases import HOME_FOLDER

TRUST_HELP: Final = "Codex runs hooks that you have trusted: type /hooks in it"
RECORD: Final = "installed.json"
PERSONAL: Final = "personal"
"""The workspace of clients that work in no folder."""
HOOK_SECONDS: Final = 20

Part = Literal["server", "hooks", "skill"]
PARTS: Final[tuple[Part, ...]] = ("server", "hooks", "skill")

_PROGRAMS: Final[dict[ClientName, str]] = {
    "claude-code": "claude",
    "cursor": "cursor",
    "vscode": "code",
    "codex": "codex",
    "gemini": "gemini",
    "opencode": "opencode",
    "zed": "zed",
    "copilot": "copilot",
}


class FileChange(NamedTuple):
    """The planned change of one file."""

    client: ClientName
    part: Part
    path: Path
    before: str | None
    """The present text; None if there is no file."""
    after: str

    @property
    def is_change(self) -> bool:
        return self.before != self.after


class Restored(NamedTuple):
    """A file from which Mycel was removed."""

    path: Path
    how: Literal["restored", "removed", "our parts removed", "left"]


def present_clients() -> list[ClientName]:
    """The clients of this machine, recognised by a program on the PATH or by their settings."""
    return [name for name in CLIENTS if _is_present(name)]


def _is_present(name: ClientName) -> bool:
    if name in _PROGRAMS and shutil.which(_PROGRAMS[name]) is not None:
        return True
    path = client(name, Path.home(), everywhere=True).path
    return path.exists() or (path.parent != Path.home() and path.parent.is_dir())


def plan_changes(
    names: Iterable[ClientName], server: Server, personal: Server, parts: Sequence[Part] = PARTS
) -> Iterator[FileChange | MycelError]:
    """The changes that install Mycel in clients; an error for a file that cannot be changed.

    `server` is the entry for all projects, `personal` the entry of clients that work in no folder.
    """
    for name in names:
        program = client(name, Path.cwd(), everywhere=name != "claude-desktop")
        texts: dict[Path, str] = {}
        try:
            if "server" in parts:
                own = personal if name == "claude-desktop" else server
                draft = config_files.draft(program, own)
                texts[program.path] = draft.after
                yield FileChange(name, "server", program.path, draft.before, draft.after)
            if "hooks" in parts and (hooks := _hook_file(name)) is not None:
                path, events = hooks
                before = _text_at(path)
                after = _with_hooks(
                    name, texts.get(path, before) or "", events, shlex.join(server.program)
                )
                yield FileChange(name, "hooks", path, before, after)
            if "skill" in parts and (folder := _skill_folder(name)) is not None:
                path = folder / skill.NAME / "SKILL.md"
                yield FileChange(name, "skill", path, _text_at(path), skill.TEXT)
        except MycelError as error:
            yield error


def _text_at(path: Path) -> str | None:
    try:
        return read_bounded(path, config_files.CONFIG_BYTES_MAX).decode("utf-8-sig")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ConstraintViolation(
            f"{path} cannot be read: {error}.", hint="Repair the file, or leave the client out."
        ) from None


# Hooks.

_EVENTS: Final[dict[ClientName, dict[str, str]]] = {
    "claude-code": {
        "SessionStart": "session-start",
        "UserPromptSubmit": "prompt",
        "PreCompact": "pre-compact",
        "SessionEnd": "session-end",
    },
    "codex": {
        "SessionStart": "session-start",
        "UserPromptSubmit": "prompt",
        "PreCompact": "pre-compact",
        "Stop": "stop",
    },
    "cursor": {"sessionStart": "session-start", "preCompact": "pre-compact", "stop": "stop"},
    "gemini": {
        "SessionStart": "session-start",
        "BeforeAgent": "prompt",
        "PreCompress": "pre-compact",
        "SessionEnd": "session-end",
    },
}
"""The connected events of each client: the client's name of an event, and our name."""


def _hook_file(name: ClientName) -> tuple[Path, dict[str, str]] | None:
    """The file of a client's hooks, and the events; None for a client without hooks."""
    home = Path.home()
    match name:
        case "claude-code":
            path = home / ".claude" / "settings.json"
        case "codex":
            path = client(name, home, everywhere=True).path.with_name("hooks.json")
        case "cursor":
            path = home / ".cursor" / "hooks.json"
        case "gemini":
            path = home / ".gemini" / "settings.json"
        case _:
            return None
    return path, _EVENTS[name]


def hook_entry(name: ClientName, event: str, program: str) -> dict[str, Any]:
    """The entry of a hook in a client's settings."""
    command = f"{program} hook {event} --client {name}"
    if name == "cursor":
        return {"command": command}
    # Gemini counts in milliseconds, other clients in seconds.
    timeout = HOOK_SECONDS * 1000 if name == "gemini" else HOOK_SECONDS
    return {"hooks": [{"type": "command", "command": command, "timeout": timeout}]}


def _with_hooks(name: ClientName, text: str, events: dict[str, str], program: str) -> str:
    """The text of a file of hooks with our hooks; hooks of others stay."""
    text = text if text.strip() else "{}"
    try:
        settings = json.loads(jsonc.plain(text))
        hooks = settings.get("hooks", {})
        if name == "cursor" and "version" not in settings:
            text = jsonc.with_member(text, ("version",), 1, "  ")
        for event, own in events.items():
            others = [entry for entry in hooks.get(event, []) if not is_ours(entry)]
            entry = hook_entry(name, own, program)
            if event not in hooks:
                text = jsonc.with_member(text, ("hooks", event), [entry], "  ")
            elif hooks[event] != [*others, entry]:
                text = _without_hooks(text, event, hooks[event])
                text = jsonc.with_item(text, ("hooks", event), entry, "  ")
    except (ValueError, AttributeError, TypeError) as error:
        raise ConstraintViolation(
            f"The hooks of {name} stay as they are: its settings cannot be parsed ({error}).",
            hint="Repair the file, or leave hooks out with --no-hooks.",
        ) from None
    return text if text.endswith("\n") else f"{text}\n"


def _without_hooks(text: str, event: str, entries: Sequence[object]) -> str:
    """The text without our entries of an event; its list stays."""
    for number in reversed([at for at, entry in enumerate(entries) if is_ours(entry)]):
        text = jsonc.without_item(text, ("hooks", event), number)
    return text


def is_ours(entry: object) -> bool:
    """True if an entry of a hook calls `mycel hook`."""
    return any(_hook_commands(entry))


def _hook_commands(entry: object) -> Iterator[str]:
    """The commands of an entry that call `mycel hook`."""
    if not isinstance(entry, dict):
        return
    calls = entry.get("hooks")
    for call in (entry, *(calls if isinstance(calls, list) else ())):
        command = call.get("command") if isinstance(call, dict) else None
        if isinstance(command, str) and _calls_hook(command):
            yield command


def _calls_hook(command: str) -> bool:
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    return "hook" in words and any(Path(word).stem == NAME for word in words)


def connected_hooks() -> Iterator[tuple[ClientName, Path, str]]:
    """Our hooks in the settings of clients: client, file and command."""
    for name in CLIENTS:
        hooks = _hook_file(name)
        with suppress(MycelError, ValueError, AttributeError):
            text = None if hooks is None else _text_at(hooks[0])
            if hooks is None or text is None:
                continue
            for entries in json.loads(jsonc.plain(text)).get("hooks", {}).values():
                for entry in entries if isinstance(entries, list) else ():
                    for command in _hook_commands(entry):
                        yield name, hooks[0], command


def needs_trust(name: ClientName, path: Path, event: str) -> bool:
    """True if a client only runs hooks that its user trusts, and trusts no hook of this event.

    `event` is our name, which may be one that the client does not know. Codex keeps in its settings
    which hooks are trusted, by file and event.
    """
    if name != "codex":
        return False
    with suppress(MycelError, ValueError):
        text = _text_at(client(name, Path.home(), everywhere=True).path)
        states = tomllib.loads(text or "").get("hooks", {}).get("state", {})
        theirs = next((key for key, own in _EVENTS[name].items() if own == event), event)
        beginning = f"{path}:{re.sub(r'(?<!^)(?=[A-Z])', '_', theirs).lower()}:"
        return not any(
            key.startswith(beginning) and isinstance(state, dict) and state.get("trusted_hash")
            for key, state in states.items()
        )
    return False


def _skill_folder(name: ClientName) -> Path | None:
    home = Path.home()
    match name:
        case "claude-code":
            return home / ".claude" / "skills"
        case "codex":
            return client(name, home, everywhere=True).path.with_name("skills")
        case "opencode":
            return client(name, home, everywhere=True).path.with_name("skills")
        case "copilot":
            return home / ".copilot" / "skills"
        case _:
            return None


# Writing, and taking back.


def write_changes(changes: Iterable[FileChange]) -> list[Path]:
    """Write planned changes, record them, and return the files that changed."""
    record = _record()
    written: list[Path] = []
    for change in _by_file(changes):
        recorded = record.get(str(change.path))
        if change.is_change:
            config_files.replace_text(change.path, change.after)
            written.append(change.path)
        elif recorded is None:
            continue  # The file existed before Mycel was installed, so it belongs to the user.
        before = change.before
        if recorded is not None and recorded["after"] == _digest(before):
            before = recorded["before"]
        elif recorded is not None:
            first = recorded["before"]
            before = _without_ours(change.path, change.client, before or "", first)
        record[str(change.path)] = {
            "client": change.client,
            "before": before,
            "after": _digest(change.after),
        }
    _keep_record(record)
    return written


def _by_file(changes: Iterable[FileChange]) -> list[FileChange]:
    """The changes, with all changes of one file joined."""
    files: dict[Path, FileChange] = {}
    for change in changes:
        first = files.get(change.path, change)
        files[change.path] = change._replace(before=first.before)
    return list(files.values())


def written_files(names: Sequence[ClientName] | None = None) -> list[Path]:
    """The files that an install has written, for all clients or for some."""
    return [
        Path(name) for name, entry in _record().items() if names is None or entry["client"] in names
    ]


def take_back(names: Sequence[ClientName] | None = None) -> list[Restored]:
    """Remove everything that was installed, or the parts of some clients."""
    record = _record()
    restored: list[Restored] = []
    for name, entry in list(record.items()):
        if names is not None and entry["client"] not in names:
            continue
        path = Path(name)
        restored.append(Restored(path, _take_back(path, entry)))
        del record[name]
    _keep_record(record)
    return restored


def _take_back(
    path: Path, entry: dict[str, Any]
) -> Literal["restored", "removed", "our parts removed", "left"]:
    text = _text_at(path)
    if text is None:
        return "left"
    before = entry["before"]
    if _digest(text) == entry["after"]:
        if before is None:
            path.unlink()
            if path.name == "SKILL.md":
                with suppress(OSError):  # Somebody has put more files into the folder.
                    path.parent.rmdir()
                    path.parent.parent.rmdir()
            return "removed"
        config_files.replace_text(path, before)
        return "restored"
    config_files.replace_text(path, _without_ours(path, entry["client"], text, before))
    return "our parts removed"


def _without_ours(path: Path, name: ClientName, text: str, before: str | None) -> str:
    """The text of a file without our parts, even if other parts have changed.

    Every other byte stays. Objects that were made for our parts are removed too; the text `before`
    lacks them.
    """
    program: Client = client(name, Path.cwd(), everywhere=name != "claude-desktop")
    if path == program.path:
        for entry in config_files.registered(program):
            text = config_files.without_entry(program, entry.name, text)
        if not program.is_toml:
            text = _without_empty(text, (program.key,), before)
    hooks = _hook_file(name)
    if hooks is not None and path == hooks[0]:
        with suppress(ValueError, AttributeError, TypeError):
            for event, entries in json.loads(jsonc.plain(text)).get("hooks", {}).items():
                if any(is_ours(entry) for entry in entries):
                    text = _without_hooks(text, event, entries)
                    text = _without_empty(text, ("hooks", event), before)
            text = _without_empty(text, ("hooks",), before)
            if name == "cursor" and set(json.loads(jsonc.plain(text))) == {"version"}:
                text = text if _has(before, ("version",)) else "{}\n"
    return text


def _without_empty(text: str, path: Sequence[str], before: str | None) -> str:
    """The text without an empty member that the text before did not have."""
    with suppress(ValueError):
        value: Any = json.loads(jsonc.plain(text))
        for key in path:
            value = value[key] if isinstance(value, dict) and key in value else None
        if value in ({}, []) and not _has(before, path):
            return jsonc.without_member(text, path)
    return text


def _has(text: str | None, path: Sequence[str]) -> bool:
    """True if a text of JSON has a member at a path of keys."""
    try:
        value: Any = json.loads(jsonc.plain(text or "{}"))
    except ValueError:
        return False
    for key in path:
        if not isinstance(value, dict) or key not in value:
            return False
        value = value[key]
    return True


def _digest(text: str | None) -> str:
    return "" if text is None else sha256(text.encode()).hexdigest()


def _record_path() -> Path:
    return Path.home() / HOME_FOLDER / RECORD


def _record() -> dict[str, Any]:
    with suppress(OSError, ValueError):
        record = orjson.loads(read_bounded(_record_path(), config_files.CONFIG_BYTES_MAX))
        return record if isinstance(record, dict) else {}
    return {}


def _keep_record(record: dict[str, Any]) -> None:
    path = _record_path()
    if not record:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    config_files.replace_text(path, orjson.dumps(record).decode())
    path.chmod(0o600)
