"""A preview of a source, and its import.

Each batch of an import is one transaction. An interrupted import keeps the batches that it wrote,
and the next run continues after them, because turns and notes are recognised by their ids.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

from mycel.errors import ConstraintViolation
from mycel.imports import exports, note_files, transcripts
from mycel.imports.claude_mem import claude_mem_notes
from mycel.imports.kinds import CONVERSATIONS, ImportSource, SourceKind
from mycel.imports.note_files import ImportedNote, NoteItems
from mycel.imports.note_writer import BATCH_NOTES, NoteWriter
from mycel.imports.turn_writer import BATCH_TURNS, TurnWriter
from mycel.imports.turns import ImportCounts, SourceProblem, Turn, TurnItems
from mycel.knowledge.knowledge import Knowledge
from mycel.model.client_names import importing
from mycel.model.names import count
from mycel.text.redaction import redact

T = TypeVar("T")

PROBLEMS_SHOWN: Final = 100
"""The maximum number of problems that are listed; all are counted."""

ImportProgress = Callable[[int], object]
"""A function that is called with the number of turns or notes read so far."""

_TURN_READERS: Final[dict[SourceKind, Callable[[Path], TurnItems]]] = {
    "claude-code": transcripts.transcript_turns,
    "codex": transcripts.transcript_turns,
    "chatgpt": exports.chatgpt_turns,
    "claude": exports.claude_turns,
    "turns": exports.plain_turns,
}
_NOTE_READERS: Final[dict[SourceKind, Callable[[Path], NoteItems]]] = {
    "basic-memory": note_files.markdown_notes,
    "obsidian": note_files.markdown_notes,
    "markdown": note_files.markdown_notes,
    "instructions": note_files.instruction_notes,
    "mem0": note_files.mem0_notes,
}


@dataclass(slots=True)
class Problems:
    """The parts of a source that cannot be read."""

    count: int = 0
    first: list[SourceProblem] = field(default_factory=list)

    def add(self, problem: SourceProblem) -> None:
        self.count += 1
        if len(self.first) < PROBLEMS_SHOWN:
            self.first.append(problem)

    def to_dict(self) -> dict[str, Any]:
        return {"count": self.count, "first": [problem._asdict() for problem in self.first]}


@dataclass(slots=True)
class Preview:
    """The content of a source, before it is imported."""

    source: ImportSource
    conversations: int = 0
    items: int = 0
    """Turns or notes."""
    first_time: str | None = None
    last_time: str | None = None
    secrets: Counter[str] = field(default_factory=Counter)
    problems: Problems = field(default_factory=Problems)

    def to_dict(self) -> dict[str, Any]:
        is_talk = self.source.kind in CONVERSATIONS
        return {
            "source": self.source.kind,
            "path": str(self.source.path),
            "files": sum(1 for _ in self.source.each_file()),
            "bytes": self.source.size,
            **({"conversations": self.conversations} if is_talk else {}),
            ("turns" if is_talk else "notes"): self.items,
            "from": self.first_time,
            "to": self.last_time,
            "secrets": dict(self.secrets),
            "problems": self.problems.to_dict(),
        }


@dataclass(slots=True)
class ImportResult(ImportCounts):
    """The result of an import."""

    source: ImportSource = field(kw_only=True)
    problems: Problems = field(default_factory=Problems)

    def to_dict(self) -> dict[str, Any]:
        is_talk = self.source.kind in CONVERSATIONS
        return {
            "source": self.source.kind,
            ("turns" if is_talk else "notes"): {
                "written": self.written,
                "known": self.known,
                "deleted": self.deleted,
                **({} if is_talk else {"archived": self.archived}),
            },
            **({"conversations": self.conversations} if is_talk else {}),
            "links": self.links,
            "secrets": dict(self.secrets),
            "problems": self.problems.to_dict(),
        }


def preview_source(source: ImportSource, progress: ImportProgress = lambda _count: None) -> Preview:
    """Read a source without writing to the graph."""
    preview = Preview(source)
    conversations: set[str] = set()
    for item in _items(source):
        if isinstance(item, SourceProblem):
            preview.problems.add(item)
            continue
        preview.items += 1
        preview.secrets += redact(item.text).kinds
        if isinstance(item, Turn):
            conversations.add(item.conversation)
        if item.time is not None:
            preview.first_time = min(preview.first_time or item.time, item.time)
            preview.last_time = max(preview.last_time or item.time, item.time)
        if preview.items % BATCH_TURNS == 0:
            progress(preview.items)
    preview.conversations = len(conversations)
    return preview


def import_source(
    knowledge: Knowledge,
    source: ImportSource,
    *,
    strict: bool = False,
    progress: ImportProgress = lambda _count: None,
) -> ImportResult:
    """Write the new items of a source. With `strict`, nothing is written if a part is unreadable.

    The file of the memory server has an importer of its own (`knowledge.memory.file_import`).

    Raises:
        ConstraintViolation: a part cannot be read, with `strict`.
    """
    if strict:
        problems = preview_source(source).problems
        if problems.count:
            first = problems.first[0]
            raise ConstraintViolation(
                f"{count(problems.count, 'part')} cannot be read; the first: {first.place}:"
                f" {first.why}.",
                hint="Nothing was written. Without --strict the rest is imported.",
            )
    with importing(source.kind):
        if source.kind in CONVERSATIONS:
            return _import_turns(knowledge, source, progress)
        return _import_notes(knowledge, source, progress)


def _items(source: ImportSource) -> Iterator[Turn | ImportedNote | SourceProblem]:
    for path in source.files:
        yield from _items_of(source, path)


def _items_of(source: ImportSource, path: Path) -> Iterator[Turn | ImportedNote | SourceProblem]:
    if source.kind in CONVERSATIONS:
        return _TURN_READERS[source.kind](path)
    if source.kind == "claude-mem":
        return claude_mem_notes(path, source.project)
    return _NOTE_READERS[source.kind](path)


def _import_turns(
    knowledge: Knowledge, source: ImportSource, progress: ImportProgress
) -> ImportResult:
    outcome = ImportResult(source=source)
    writer = TurnWriter(knowledge.db, knowledge.workspace, source.kind, outcome)
    read = 0
    for batch in _batches(_items(source), Turn, BATCH_TURNS, outcome.problems):
        writer.write(batch)
        read += len(batch)
        progress(read)
    return outcome


def _import_notes(
    knowledge: Knowledge, source: ImportSource, progress: ImportProgress
) -> ImportResult:
    outcome = ImportResult(source=source)
    writer = NoteWriter(knowledge, source.kind, outcome)
    # Links name notes by their titles, so titles are read first.
    writer.announce(item for item in _items(source) if isinstance(item, ImportedNote))
    read = 0
    for path in source.files:
        writer.enter(path)
        problems = outcome.problems.count
        for batch in _batches(_items_of(source, path), ImportedNote, BATCH_NOTES, outcome.problems):
            writer.write(batch)
            read += len(batch)
            progress(read)
        if path.is_dir():
            writer.archive_gone(note_files.note_paths(path))
        elif source.kind == "instructions" and outcome.problems.count == problems:
            writer.archive_gone()
    return outcome


def _batches(
    items: Iterable[object], kind: type[T], size: int, problems: Problems
) -> Iterator[list[T]]:
    """The turns or notes among items, some at a time; problems are noted."""
    batch: list[T] = []
    for item in items:
        if isinstance(item, SourceProblem):
            problems.add(item)
        elif isinstance(item, kind):
            batch.append(item)
        if len(batch) >= size:
            yield batch
            batch = []
    if batch:
        yield batch
