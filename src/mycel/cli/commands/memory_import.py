"""`mycel import`: what another program remembers, into the graph."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from mycel.cli.commands.mcp import open_or_create
from mycel.cli.console.context import Command, Invocation, pass_session
from mycel.cli.console.output import Output
from mycel.errors import NotFound
from mycel.model.names import count
from mycel.store.file.plain_files import NoPlainFile, open_given, refusal_of

if TYPE_CHECKING:
    from mycel.knowledge.memory.file_import import MemoryImport

_STANDARD = "-"


@click.command("import", cls=Command)
@click.argument(
    "file",
    metavar="FILE",
    help="The memory server's memory.jsonl, or memory.json; - is standard input",
)
@pass_session
def import_(session: Invocation, *, file: str) -> None:
    """Import the file of the MCP memory server: its entities, relations and observations.

    All of it is one transaction. Existing entities get the observations that they lack, so
    importing a file twice changes nothing. Invalid lines are skipped and named. The database is
    created if it does not exist. Afterwards `mycel mcp --compat memory` offers the tools of that
    server on this graph.
    """
    from mycel.knowledge.memory.file_import import import_memory

    out = session.out
    with _readable(file) as path, open_or_create(session) as db, out.waiting("Importing…"):
        done = import_memory(db, path)
    _tell(out, done)


@contextmanager
def _readable(file: str) -> Iterator[Path]:
    """A file that can be read twice. Standard input cannot, so it is copied.

    Raises:
        NotFound: it cannot be read.
    """
    if file == _STANDARD:
        with tempfile.TemporaryDirectory(prefix="mycel-import-") as folder:
            path = Path(folder) / "standard input"
            with path.open("wb") as copy:
                shutil.copyfileobj(getattr(sys.stdin, "buffer", sys.stdin), copy)
            yield path
        return
    try:
        with open_given(file) as given:
            if not given.seekable():
                raise NoPlainFile("a pipe")
    except (OSError, ValueError) as error:
        raise NotFound(
            refusal_of(file, error),
            hint="The memory server keeps it where MEMORY_FILE_PATH says, or else beside its own"
            " code, as memory.jsonl.",
        ) from None
    yield Path(file)


def _tell(out: Output, done: MemoryImport) -> None:
    if out.as_json:
        out.object(done.to_dict())
        return
    entities = (
        f"{count(done.entities_created, 'entity')} created, {done.entities_updated} updated"
        f" ({count(done.observations_added, 'observation')} added),"
        f" {done.entities_unchanged} unchanged"
    )
    relations = (
        f"{count(done.relations_created, 'relation')} created, {done.relations_unchanged} unchanged"
    )
    out.line(f"{entities}.\n{relations}.")
    out.warn(f"Skipped {skipped_line.place}: {skipped_line.why}." for skipped_line in done.skipped)
    more = done.skipped_count - len(done.skipped)
    if more:
        out.warn([f"{count(more, 'more line')} skipped."])
