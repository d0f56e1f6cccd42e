"""`mycel bootstrap`: bring a folder with its sources into the graph."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from mycel.cli.commands.mcp import knowledge_of, open_or_create
from mycel.cli.console.context import Command, Invocation, pass_session
from mycel.cli.console.output import Output
from mycel.cli.console.progress_bar import progress_bar
from mycel.cli.console.project_graph import choose_graph
from mycel.cli.console.search_index import explain_sections, index_written
from mycel.model.names import count

if TYPE_CHECKING:
    from mycel.knowledge.bootstrap import (
        Bootstrap,
        BootstrapProgress,
        BootstrapReport,
        SkippedPath,
        Summary,
    )

_SKIPPED_SHOWN = 10


@click.command(cls=Command)
@click.argument(
    "path",
    metavar="[PATH]",
    type=click.Path(path_type=Path),
    default=".",
    help="The folder of a project; by default the current one",
)
@click.option("--watch", is_flag=True, help="Keep running and follow every change until Ctrl-C")
@click.option(
    "--jobs",
    type=click.IntRange(1, 64),
    default=2,
    metavar="N",
    help="Number of processes that read files",
)
@click.option(
    "--max-size",
    "bytes_max",
    type=click.IntRange(0, 64 << 20),
    default=1 << 20,
    metavar="BYTES",
    help="Files larger than this get a node, but no symbols",
)
@click.option(
    "--authors/--no-authors",
    default=True,
    help="Count who changed each file and folder, from the history of Git; names only",
)
@click.option(
    "--here", is_flag=True, help="Use a graph of the folder's own; it is created if it is missing"
)
@click.option(
    "--into",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="FOLDER",
    help="Use the graph of this folder, for example one above that has several projects",
)
@pass_session
def bootstrap(
    session: Invocation,
    *,
    path: Path,
    watch: bool,
    jobs: int,
    bytes_max: int,
    authors: bool,
    here: bool,
    into: Path | None,
) -> None:
    """Bring a folder into the graph: files, folders, symbols, sections, and their relations.

    Symbols, imports and calls come from sources in the languages that docs/bootstrap.md lists,
    sections and links from documents. Files that .gitignore names are left out. Run the command
    again whenever you like: it reads and writes only what changed, removes what is gone, and keeps
    what others wrote. The database is created if it does not exist.

    The graph of the folder is used, or else the graph of the nearest folder above that has one. A
    Git repository below such a folder is brought in only after you say so: with --here, --into, or
    an answer.
    """
    from mycel.knowledge.bootstrap import Bootstrap
    from mycel.knowledge.bootstrap.file_walk import check_folder

    folder = session.directory = check_folder(path)
    choose_graph(session, folder, here=here, into=into)
    out = session.out
    with open_or_create(session) as db:
        knowledge = knowledge_of(session, db, session.root())
        work = Bootstrap(knowledge, folder, bytes_max=bytes_max, jobs=jobs, authors=authors)
        with _progress(out) as report:
            summary = work.run(report)
        if summary.added or summary.changed:
            index_written(out, db, summary.added + summary.symbols + summary.sections)
        _tell(out, summary)
        if summary.sections:
            explain_sections(out, db)
        if watch:
            _follow(out, work, db.path)


def _follow(out: Output, work: Bootstrap, database: str) -> None:
    from mycel.knowledge.bootstrap.watcher import watch

    out.note(f"Watching {work.folder} (Ctrl-C stops it).")
    sys.stdout.flush()
    # Ctrl-C ends the watch. The uncommitted part of the current run is rolled back.
    with suppress(KeyboardInterrupt):
        for summary in watch(work, database):
            now = datetime.now().astimezone()
            if out.as_json or not summary.is_nothing:
                out.say(f"{now:%H:%M:%S} {summary}", {"event": "changed"} | summary.to_dict())
            if not out.as_json:
                _warn(out, summary.skipped_anew, len(summary.skipped_anew))
            sys.stdout.flush()
    out.note("Stopped watching.")


def _tell(out: Output, summary: Summary) -> None:
    if out.as_json:
        out.object(summary.to_dict())
        return
    out.line(f"{summary}.")
    _warn(out, summary.skipped, summary.skipped_count)
    out.warn(summary.notes)


def _warn(out: Output, skipped: Sequence[SkippedPath], number: int) -> None:
    """Name the first files that were skipped, and count the others."""
    skipped_paths = skipped[:_SKIPPED_SHOWN]
    out.warn(f"Skipped {skipped_path.path}: {skipped_path.why}." for skipped_path in skipped_paths)
    more = number - len(skipped_paths)
    if more:
        out.warn([f"{count(more, 'more file')} skipped; --json names up to 100 of them."])


@contextmanager
def _progress(out: Output) -> Iterator[BootstrapReport | None]:
    names = {"reading": "Reading files", "relating": "Finding relations", "writing": "Writing"}
    with progress_bar(out, "{task.completed:.0f}/{task.total:.0f}") as bar:
        if bar is None:
            yield None
            return
        tasks = {stage: bar.add_task(name, total=0, visible=False) for stage, name in names.items()}

        def show(progress: BootstrapProgress) -> None:
            task = tasks[progress.stage]
            bar.update(task, total=progress.total, completed=progress.done, visible=True)

        yield show
