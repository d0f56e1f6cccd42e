"""The sources that can be imported, and how a file or folder is recognised as one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, get_args

from mycel.errors import ConstraintViolation, NotFound
from mycel.imports.claude_mem import USUAL_FILE, is_claude_mem
from mycel.imports.note_files import RULES, markdown_files
from mycel.imports.text_streams import json_items, json_lines
from mycel.imports.turns import SourceProblem
from mycel.model.names import shorten

SourceKind = Literal[
    "claude-code",
    "codex",
    "chatgpt",
    "claude",
    "turns",
    "server-memory",
    "basic-memory",
    "obsidian",
    "markdown",
    "mem0",
    "claude-mem",
    "instructions",
]
KINDS: Final[tuple[SourceKind, ...]] = get_args(SourceKind)
CONVERSATIONS: Final = frozenset(("claude-code", "codex", "chatgpt", "claude", "turns"))
INSTRUCTION_FILES: Final = frozenset(
    ("claude.md", "agents.md", "memory.md", "gemini.md", "copilot-instructions.md", ".cursorrules")
)
EXPORT_FILE: Final = "conversations.json"
_LOOKED_AT: Final = 20
"""The number of lines, and of files, that are read to recognise a source."""


class ImportSource(NamedTuple):
    """A source: its kind and files."""

    kind: SourceKind
    path: Path
    files: tuple[Path, ...]
    """The files, in the order in which they are read; a folder of notes counts as one of them."""
    project: str = ""
    """The project whose notes are read, if a file has several projects; empty for all."""

    @property
    def size(self) -> int:
        """The bytes of all files; for a folder of notes, those of its Markdown files."""
        return sum(file.stat().st_size for file in self.each_file())

    def each_file(self) -> Iterator[Path]:
        """The files that are read; for a folder of notes, its Markdown files."""
        for path in self.files:
            yield from markdown_files(path)


def usual_source(kind: str, root: Path, *, everywhere: bool = False) -> ImportSource | None:
    """The memory of a client at its usual place, for one project or for all."""
    if kind == "claude-code":
        home = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
        folder = home / "projects"
        if not everywhere:
            folder /= re.sub(r"[^A-Za-z0-9]", "-", str(root))
        return ImportSource("claude-code", folder, _sessions(folder))
    if kind == "codex":
        folder = Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex") / "sessions"
        files = _sessions(folder)
        if not everywhere:
            files = tuple(file for file in files if _is_of_project(file, root))
        return ImportSource("codex", folder, files)
    if kind == "claude-mem":
        file = Path.home() / USUAL_FILE
        files = (file,) if file.is_file() else ()
        return ImportSource("claude-mem", file, files, "" if everywhere else root.name)
    return None


def _sessions(folder: Path) -> tuple[Path, ...]:
    return tuple(sorted(path for path in folder.rglob("*.jsonl") if path.is_file()))


def _is_of_project(file: Path, root: Path) -> bool:
    """True if a session of Codex was in the folder of a project."""
    for value in _first_values(file):
        payload = value.get("payload")
        cwd = payload.get("cwd") if isinstance(payload, dict) else None
        if isinstance(cwd, str):
            return Path(cwd).is_relative_to(root)
    return False


def recognise(path: Path, kind: SourceKind | None = None) -> ImportSource:
    """The source at a path; without a given kind, the kind is recognised.

    Raises:
        NotFound: nothing is at the path.
        ConstraintViolation: the source is of no known kind.
    """
    if not path.exists():
        raise NotFound(
            f"There is no file or folder {str(path)!r}.",
            hint=f"Name one, or a client: claude-code or codex. Kinds: {', '.join(KINDS)}.",
        )
    known_kind = kind or _kind_of(path)
    if known_kind is None:
        raise ConstraintViolation(
            f"{shorten(str(path), 400)!r} is no source that can be recognised.",
            hint=f"Say what it is with --from: {', '.join(KINDS)}. For rows of your own there is"
            " `mycel load`.",
        )
    if not path.is_dir():
        return ImportSource(known_kind, path, (path,))
    if known_kind in ("claude-code", "codex", "turns"):
        return ImportSource(known_kind, path, _sessions(path))
    if known_kind in ("chatgpt", "claude") and (path / EXPORT_FILE).is_file():
        return ImportSource(known_kind, path, (path / EXPORT_FILE,))
    if known_kind == "instructions":
        files = (file for file in sorted(path.iterdir()) if _is_instructions(file))
        return ImportSource(known_kind, path, tuple(files))
    return ImportSource(known_kind, path, (path,))


def _kind_of(path: Path) -> SourceKind | None:
    if path.is_dir():
        return _kind_of_folder(path)
    name = path.name.lower()
    if _is_instructions(path):
        return "instructions"
    if is_claude_mem(path):
        return "claude-mem"
    if name.endswith((".md", ".markdown")):
        return "markdown"
    if not name.endswith(".jsonl"):
        values = _first_items(path)
        for value in values:
            if "mapping" in value:
                return "chatgpt"
            if "chat_messages" in value:
                return "claude"
            if "memory" in value:
                return "mem0"
            if _is_turn(value):
                return "turns"
    for value in _first_values(path):
        known_kind = _kind_of_line(value)
        if known_kind is not None:
            return known_kind
    return None


def _is_instructions(file: Path) -> bool:
    """True for instructions of agents, and for the rules of Cursor."""
    return file.name.lower() in INSTRUCTION_FILES or file.suffix == RULES


def _kind_of_folder(path: Path) -> SourceKind | None:
    if (path / ".obsidian").is_dir():
        return "obsidian"
    if (path / EXPORT_FILE).is_file():
        return _kind_of(path / EXPORT_FILE)
    for file in _sessions(path)[:_LOOKED_AT]:
        for value in _first_values(file):
            known_kind = _kind_of_line(value)
            if known_kind in ("claude-code", "codex", "turns"):
                return known_kind
    notes = [file for _, file in zip(range(_LOOKED_AT), path.rglob("*.md"), strict=False)]
    if any(_has_permalink(file) for file in notes):
        return "basic-memory"
    if notes:
        return "markdown"
    return "instructions" if any(path.glob(f"*{RULES}")) else None


def _has_permalink(path: Path) -> bool:
    with path.open(encoding="utf-8", errors="replace") as file:
        return "\npermalink:" in file.read(2_000)


def _kind_of_line(value: Mapping[str, Any]) -> SourceKind | None:
    kind = value.get("type")
    if kind in ("entity", "relation") or value.keys() & {"entities", "relations"}:
        return "server-memory"
    if kind in ("session_meta", "response_item", "turn_context", "event_msg"):
        return "codex"
    if "sessionId" in value or (kind in ("user", "assistant", "summary") and "uuid" in value):
        return "claude-code"
    if "memory" in value:
        return "mem0"
    return "turns" if _is_turn(value) else None


def _is_turn(value: Mapping[str, Any]) -> bool:
    has_text = any(isinstance(value.get(key), str) for key in ("text", "content", "message"))
    return has_text and bool(value.keys() & {"speaker", "role", "author", "who", "sender"})


def _first_values(path: Path) -> Iterator[Mapping[str, Any]]:
    try:
        for _, item in zip(range(_LOOKED_AT), json_lines(path), strict=False):
            if not isinstance(item, SourceProblem) and isinstance(item.value, dict):
                yield item.value
    except (OSError, ValueError):
        return


def _first_items(path: Path) -> Iterator[Mapping[str, Any]]:
    try:
        keys = ("results", "memories", "turns", "messages")
        for _, item in zip(range(3), json_items(path, keys), strict=False):
            if not isinstance(item, SourceProblem) and isinstance(item.value, dict):
                yield item.value
    except (OSError, ValueError):
        return
