"""Notes of claude-mem: the observations, summaries and rules in its SQLite file.

Its tables have gained columns with each version, so every column may be missing. The prompts of
users are not read: `mycel import claude-code` has them, with the answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import orjson

from mycel.errors import DatabaseError
from mycel.imports.note_files import GUIDELINE, NOTE, ImportedNote, NoteItems
from mycel.imports.turns import SourceProblem, utc_time
from mycel.store.file.foreign_tables import ForeignTables

USUAL_FILE: Final = Path(".claude-mem") / "claude-mem.db"
_TITLE_CHARACTERS: Final = 80
_DECISION: Final = "decision"
_SUMMARY: Final = ("investigated", "learned", "completed", "next_steps", "notes")
_TABLES: Final = ("observations", "session_summaries", "directives")
_SWITCHED_OFF: Final = ("inactive", "archived", "deleted")
"""The states of rules that are no longer in force."""


def is_claude_mem(path: Path) -> bool:
    """True for a SQLite file with the tables of claude-mem."""
    return ForeignTables(path).has(_TABLES[0])


def claude_mem_notes(path: Path, project: str = "") -> NoteItems:
    """The notes of a file of claude-mem; of one project, if it is named, and rules of all."""
    values = {"project": project} if project else {}
    try:
        for table in _TABLES:
            for row in ForeignTables(path).rows(table, **values):
                note = _note(table, row)
                if note is None:
                    yield SourceProblem(f"{table}, row {row.get('id')}", "it has no text")
                elif row.get("status") not in _SWITCHED_OFF:
                    yield note
    except DatabaseError as error:
        yield SourceProblem(path.name, error.message.rstrip("."))


def _note(table: str, row: Mapping[str, Any]) -> ImportedNote | None:
    """The note of a row; None if it says nothing."""
    match table:
        case "observations":
            text, type_name, name = _observation_text(row), NOTE, "observation"
            type_name = "Decision" if row.get("type") == _DECISION else NOTE
        case "session_summaries":
            text, type_name, name = _summary_text(row), NOTE, "summary"
        case _:
            text, type_name, name = _text(row, "content"), GUIDELINE, "rule"
    if not text:
        return None
    title = _text(row, "title") or _text(row, "request") or text
    properties = {
        key: value
        for key in ("project", "type", "concepts", "files_read", "files_modified", "files_edited")
        if (value := _list_or_text(row.get(key)))
    }
    if "type" in properties:
        properties["kind"] = properties.pop("type")
    return ImportedNote(
        f"{name}-{row['id']}",
        " ".join(title.split())[:_TITLE_CHARACTERS],
        text,
        type_name,
        (),
        properties,
        utc_time(row.get("created_at_epoch") or row.get("created_at")),
    )


def _observation_text(row: Mapping[str, Any]) -> str:
    facts = _list_or_text(row.get("facts"))
    lines = [f"- {fact}" for fact in facts] if isinstance(facts, list) else [facts]
    parts = (_text(row, "subtitle"), _text(row, "narrative") or _text(row, "text"))
    return "\n\n".join(filter(None, (*parts, "\n".join(lines)))) or _text(row, "title")


def _summary_text(row: Mapping[str, Any]) -> str:
    return "\n\n".join(
        f"{key.replace('_', ' ').capitalize()}: {text}"
        for key in _SUMMARY
        if (text := _text(row, key))
    )


def _text(row: Mapping[str, Any], key: str) -> str:
    value = row.get(key)
    return value.strip() if isinstance(value, str) else ""


def _list_or_text(value: object) -> Any:
    """A column that is a list in JSON, as a list of texts."""
    if not isinstance(value, str) or not value.startswith("["):
        return value.strip() if isinstance(value, str) else ""
    try:
        items = orjson.loads(value)
    except ValueError:
        return value
    return list(_texts_of(items)) if isinstance(items, list) else value


def _texts_of(items: list[Any]) -> Iterator[str]:
    for item in items:
        yield item if isinstance(item, str) else orjson.dumps(item).decode()
