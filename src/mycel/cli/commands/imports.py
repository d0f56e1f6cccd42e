"""`mycel import`: bring the memory of other programs into the graph."""

from __future__ import annotations

import shlex
import shutil
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import rich_click as click

from mycel.cli.commands.mcp import knowledge_of, open_or_create
from mycel.cli.console.context import Command, Invocation, pass_session
from mycel.cli.console.output import Output
from mycel.cli.console.progress_bar import counting_bar
from mycel.cli.console.search_index import index_written
from mycel.errors import ConstraintViolation, NotFound
from mycel.model.names import count
from mycel.store.file.plain_files import NoPlainFile, open_given, refusal_of

if TYPE_CHECKING:
    from mycel.imports.kinds import ImportSource, SourceKind
    from mycel.imports.run import ImportResult, Preview
    from mycel.imports.turns import SourceProblem
    from mycel.knowledge.knowledge import Knowledge
    from mycel.knowledge.memory.file_import import MemoryImport

_STANDARD: Final = "-"
_CLIENTS: Final = ("claude-code", "codex", "claude-mem")
WATCH_SECONDS: Final = 2.0
PROBLEMS_PRINTED: Final = 10
KIND_NAMES: Final = (
    *("claude-code", "codex", "chatgpt", "claude", "turns", "server-memory", "basic-memory"),
    *("obsidian", "markdown", "mem0", "claude-mem", "instructions"),
)
"""A copy of the names in `mycel.imports.kinds`, which would load the engine; a test compares
them."""


@click.command("import", cls=Command, context_settings={"allow_extra_args": True})
@click.argument(
    "source",
    metavar="SOURCE",
    help="A file, a folder, or a client: claude-code, codex or claude-mem; - is standard input",
)
@click.option(
    "--from",
    "kind",
    type=click.Choice(KIND_NAMES),
    help="The kind of the source, if it cannot be recognised",
)
@click.option("--preview", is_flag=True, help="Only show a preview")
@click.option("--yes", is_flag=True, help="Import without a preview and a question")
@click.option("--strict", is_flag=True, help="Write nothing if a part cannot be read")
@click.option("--all", "everywhere", is_flag=True, help="The memory of a client in all projects")
@click.option("--watch", is_flag=True, help="Keep running, and import what is added, until Ctrl-C")
@pass_session
def import_(
    session: Invocation,
    *,
    source: str,
    kind: str | None,
    preview: bool,
    yes: bool,
    strict: bool,
    everywhere: bool,
    watch: bool,
) -> None:
    """Import the memory of other programs: conversations, notes, memories.

    Conversations of Claude Code, Codex, ChatGPT and Claude become Events with their turns, which a
    search finds beside notes. Folders of Obsidian and basic-memory, exports of mem0, the file of
    claude-mem, and files such as CLAUDE.md become notes with their links. The file of the MCP
    memory server becomes entities, relations and observations.

    Secrets are replaced before anything is written. Importing a source again writes only what is
    new; what you deleted stays deleted. Parts that cannot be read are named and skipped. On a
    terminal, a preview and a question come first, except for the file of the MCP memory server. The
    database is created if it does not exist.
    """
    from mycel.imports.kinds import recognise, usual_source

    context = click.get_current_context()
    _check_alone(source, () if context is None else context.args)
    out = session.out
    named_kind = cast("SourceKind | None", kind)
    with _readable(source) as path:
        if source in _CLIENTS and not Path(source).exists():
            chosen = usual_source(source, session.root(), everywhere=everywhere)
        else:
            chosen = recognise(path, named_kind)
        if chosen is None or not chosen.files:
            raise NotFound(
                f"{source} has nothing to import here.",
                hint="--all imports what there is of all projects.",
            )
        if not _is_wanted(session, chosen, preview=preview, yes=yes):
            return
        with open_or_create(session) as db:
            knowledge = knowledge_of(session, db, session.root())
            _import_once(out, knowledge, chosen, strict=strict)
            if watch:
                _watch(out, knowledge, chosen)


def _is_wanted(session: Invocation, source: ImportSource, *, preview: bool, yes: bool) -> bool:
    """Show the preview if an option asks for it, or on a terminal; True if the import may start."""
    from mycel.imports.run import preview_source

    asks = sys.stdin.isatty() and sys.stdout.isatty() and not yes and not session.as_json
    if source.kind == "server-memory" and preview:
        raise ConstraintViolation(
            "The file of the memory server has no preview.", hint="Import it into a new --db."
        )
    if source.kind == "server-memory" or not (preview or asks):
        return True
    with counting_bar(session.out, "Reading") as bar:
        shown_preview = preview_source(source, lambda read: bar(read, 0) if bar else None)
    _show_preview(session.out, shown_preview)
    if preview:
        return False
    return click.confirm("Import this?", default=True)


def _show_preview(out: Output, preview: Preview) -> None:
    wire = preview.to_dict()
    turns = "turns" in wire
    pairs = [
        ("source", f"{preview.source.kind}, {count(wire['files'], 'file')}"),
        ("size", f"{preview.source.size:,} bytes"),
        *([("conversations", f"{preview.conversations:,}")] if turns else []),
        ("turns" if turns else "notes", f"{preview.items:,}"),
        ("time", f"{preview.first_time} to {preview.last_time}" if preview.first_time else ""),
        ("secrets", _secrets(preview.secrets)),
    ]
    out.fields(pairs, wire)
    _warn_of_problems(out, preview.problems.count, preview.problems.first)


def _secrets(kinds: dict[str, int]) -> str:
    counts = ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items()))
    return f"{sum(kinds.values())} are replaced ({counts})" if kinds else ""


def _import_once(out: Output, knowledge: Knowledge, source: ImportSource, *, strict: bool) -> None:
    from mycel.imports.run import import_source

    if source.kind == "server-memory":
        from mycel.knowledge.memory.file_import import import_memory

        with out.waiting("Importing…"):
            outcome = import_memory(knowledge.db, source.files[0], strict=strict)
        index_written(out, knowledge.db, outcome.entities_created)
        _tell_memory(out, outcome)
        return
    with counting_bar(out, "Importing") as bar:
        result = import_source(
            knowledge, source, strict=strict, progress=lambda read: bar(read, 0) if bar else None
        )
    index_written(out, knowledge.db, result.written)
    _tell(out, result)


def _tell(out: Output, result: ImportResult) -> None:
    wire = result.to_dict()
    if out.as_json:
        out.object(wire)
        return
    noun = "turn" if "turns" in wire else "note"
    deleted = f", {result.deleted} stay deleted" if result.deleted else ""
    archived = f", {result.archived} archived: files are gone" if result.archived else ""
    text = f"{count(result.written, noun)} written, {result.known} known{deleted}{archived}."
    if "turns" in wire:
        text += f" {count(result.conversations, 'new conversation')}."
    text += f" {count(result.links, 'link')}."
    if result.secrets:
        text += f" Secrets: {_secrets(result.secrets)}."
    out.line(text)
    _warn_of_problems(out, result.problems.count, result.problems.first)


def _warn_of_problems(out: Output, number: int, problems: list[SourceProblem]) -> None:
    first = problems[:PROBLEMS_PRINTED]
    out.warn(f"Skipped {problem.place}: {problem.why}." for problem in first)
    if number > len(first):
        out.warn([f"{count(number - len(first), 'more part')} skipped."])


def _watch(out: Output, knowledge: Knowledge, source: ImportSource) -> None:
    """Import the additions to the files, until Ctrl-C."""
    from mycel.imports.kinds import recognise, usual_source
    from mycel.imports.run import import_source

    out.note("Watching; Ctrl-C ends it.")
    states_before = _states(source)
    while True:
        time.sleep(WATCH_SECONDS)
        if source.path.is_dir():
            is_usual = source.kind in _CLIENTS and usual_source(source.kind, source.path)
            present_source = recognise(source.path, source.kind)
            first_files = set(source.files)
            added = () if is_usual and source.kind == "codex" else present_source.files
            files = (*source.files, *(file for file in added if file not in first_files))
            source = source._replace(files=files)
        states = _states(source)
        changed = tuple(
            Path(name) for name, state in states.items() if states_before.get(name) != state
        )
        is_gone = bool(states_before.keys() - states.keys())
        states_before = states
        folders = any(file.is_dir() for file in source.files)
        if not (changed or (is_gone and folders)):
            continue
        part = source if folders else source._replace(files=changed)
        result = import_source(knowledge, part)
        if result.written or result.archived or out.as_json:
            _tell(out, result)


def _states(source: ImportSource) -> dict[str, tuple[int, int]]:
    """The size and time of change of each file that is watched."""
    states: dict[str, tuple[int, int]] = {}
    for path in source.files:
        for file in path.rglob("*.md") if path.is_dir() else (path,):
            with suppress(FileNotFoundError):  # The file was removed meanwhile.
                status = file.stat()
                states[str(file)] = status.st_size, status.st_mtime_ns
    return states


def _check_alone(source: str, others: Sequence[str]) -> None:
    """Refuse a second source.

    Raises:
        click.UsageError: there is one.
    """
    if others:
        hint = _with_kind(source, others[0]) if source in KIND_NAMES else "Import one at a time."
        raise click.UsageError(f"Got unexpected extra argument ({others[0]}). {hint}")


def _with_kind(kind: str, path: str = "PATH") -> str:
    return f"Write `mycel import {shlex.quote(path)} --from {kind}`."


@contextmanager
def _readable(file: str) -> Iterator[Path]:
    """A file that can be read twice, or a folder. Standard input and archives are copied.

    Raises:
        NotFound: the file cannot be read.
    """
    path = Path(file)
    if file == _STANDARD:
        with tempfile.TemporaryDirectory(prefix="mycel-import-") as folder:
            path = Path(folder) / "standard input"
            with path.open("wb") as copy:
                shutil.copyfileobj(getattr(sys.stdin, "buffer", sys.stdin), copy)
            yield path
        return
    if path.is_dir() or (file in _CLIENTS and not path.exists()):
        yield path
        return
    try:
        with open_given(file) as stream:
            if not stream.seekable():
                raise NoPlainFile("a pipe")
            is_archive = stream.read(4) == b"PK\x03\x04"
    except (OSError, ValueError) as error:
        if file in KIND_NAMES:
            raise NotFound(
                f"{file} is a kind of source, not a source.", hint=_with_kind(file)
            ) from None
        raise NotFound(
            refusal_of(file, error),
            hint=f"Name a file, a folder, or a client: {', '.join(_CLIENTS)}. The memory server"
            " keeps its file where MEMORY_FILE_PATH says.",
        ) from None
    if not is_archive:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="mycel-import-") as folder:
        yield _unpacked(path, Path(folder))


def _unpacked(archive: Path, folder: Path) -> Path:
    """Unpack the conversations of a zipped export."""
    from mycel.imports.kinds import EXPORT_FILE

    try:
        with zipfile.ZipFile(archive) as packed:
            name = next((n for n in packed.namelist() if n.rpartition("/")[2] == EXPORT_FILE), None)
            if name is None:
                raise ConstraintViolation(
                    f"{archive.name} has no {EXPORT_FILE}.",
                    hint="Unpack it, and name the folder or file.",
                )
            size, free = packed.getinfo(name).file_size, shutil.disk_usage(folder).free
            if size > free // 2:
                raise ConstraintViolation(
                    f"{name} in {archive.name} is unpacked to {size:,} bytes; {folder.parent} has"
                    f" {free:,} free.",
                    hint="Set TMPDIR to a folder with more room, or name the unpacked file.",
                )
            with packed.open(name) as inside, (folder / EXPORT_FILE).open("wb") as copy:
                shutil.copyfileobj(inside, copy)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError) as error:
        raise NotFound(
            f"{archive.name} cannot be unpacked: {error}.", hint="Unpack it yourself."
        ) from None
    return folder / EXPORT_FILE


def _tell_memory(out: Output, outcome: MemoryImport) -> None:
    if out.as_json:
        out.object(outcome.to_dict())
        return
    entities = (
        f"{count(outcome.entities_created, 'entity')} created, {outcome.entities_updated} updated"
        f" ({count(outcome.observations_added, 'observation')} added),"
        f" {outcome.entities_unchanged} unchanged"
    )
    relations = (
        f"{count(outcome.relations_created, 'relation')} created,"
        f" {outcome.relations_unchanged} unchanged"
    )
    out.line(f"{entities}.\n{relations}.")
    out.warn(f"Skipped {line.place}: {line.why}." for line in outcome.skipped)
    more = outcome.skipped_count - len(outcome.skipped)
    if more:
        out.warn([f"{count(more, 'more line')} skipped."])
