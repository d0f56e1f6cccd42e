"""`mycel load` and `mycel export`: rows of files into the graph, and out of it again."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import rich_click as click

from mycel.cli.console.context import Command, Invocation, pass_session
from mycel.cli.console.output import Output
from mycel.cli.console.parameters import moment
from mycel.cli.console.progress_bar import progress_bar
from mycel.cli.console.search_index import index_written
from mycel.model.names import count

if TYPE_CHECKING:
    from mycel.transfer.load import Loaded, LoadedType, Progress

# A copy of a value in `mycel.transfer`, which `mycel --help` does not load.
_FORMATS = ("jsonl", "csv", "tsv", "parquet", "arrow")
_MODES = ("append", "merge", "overwrite")
_STANDARD = "-"


@click.command(cls=Command)
@click.argument(
    "files",
    metavar="FILE...",
    nargs=-1,
    required=True,
    help="What to load; all of them are one load. - is standard input, as JSON Lines unless"
    " --format says otherwise",
)
@click.option(
    "--type",
    metavar="T",
    help="The node or edge that all rows are of; for tables by default the name of the file",
)
@click.option(
    "--mode",
    type=click.Choice(_MODES),
    default="append",
    help="What happens to rows that exist: append refuses them, merge updates them, overwrite"
    " replaces them and removes other elements of the loaded types",
)
@click.option(
    "--format", type=click.Choice(_FORMATS), help="The format, if file names do not tell it"
)
@click.option("--delimiter", metavar="C", help="The character between the cells of a line")
@pass_session
def load(session: Invocation, /, files: tuple[str, ...], **options: Any) -> None:
    """Load rows of JSON Lines, CSV, TSV, Parquet or Arrow: all of them, or none.

    A line of JSON says what it is: {"type": "Person", "data": {…}} is a node, and {"edge": "Knows",
    "from": key, "to": key, "data": {…}} an edge; edges may come before the nodes that they join.
    Other files are tables of one type each, with a column for every property; edges have the
    columns src and dst. Names that end with .gz are unpacked. Schema and constraints hold as for
    every other write, and an error names the line.
    """
    sources = [_standard_input() if file == _STANDARD else file for file in files]
    if _STANDARD in files:
        options["format"] = options["format"] or "jsonl"
    out = session.out
    with session.open() as db:
        with _progress(out) as progress:
            loaded = db.load(sources, progress=progress, **options)
        index_written(out, db, loaded.concepts)
    _tell(out, loaded)


def _standard_input() -> Any:
    return getattr(sys.stdin, "buffer", sys.stdin)


def _tell(out: Output, loaded: Loaded) -> None:
    if out.as_json:
        out.object(loaded.to_dict())
        return
    out.list(
        loaded.types,
        ("type", "rows", "created", "updated", "unchanged", "removed"),
        _row,
        lambda loaded_type: loaded_type._asdict(),
        empty="There were no rows.",
    )
    out.warn(loaded.warnings)


def _row(loaded_type: LoadedType) -> tuple[object, ...]:
    # Counts of 0 are left out.
    counts = (loaded_type.created, loaded_type.updated, loaded_type.unchanged, loaded_type.removed)
    return loaded_type.name, loaded_type.rows, *(number or None for number in counts)


@contextmanager
def _progress(out: Output) -> Iterator[Callable[[Progress], object] | None]:
    with progress_bar(out, "{task.fields[rows]:,} rows") as bar:
        if bar is None:
            yield None
            return
        task = bar.add_task("Loading", total=None, rows=0)

        def show(progress: Progress) -> None:
            bar.update(
                task,
                total=progress.bytes_total,
                completed=progress.bytes_read or 0,
                rows=progress.rows,
            )

        yield show


def _is_file_name(word: str) -> bool:
    """True if a word ends in the suffix of a format. No name of a type does."""
    return word.rpartition(".")[2].lower() in _FORMATS and "." in word


@click.command(cls=Command)
@click.argument(
    "types",
    metavar="[TYPE...]",
    nargs=-1,
    help="Nodes and edges to export; by default all that have rows",
)
@click.option(
    "--output",
    metavar="PATH",
    help="A file, written whole or not at all; for several tables a directory",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(_FORMATS),
    help="By default what the name of the output says, or else jsonl",
)
@click.option("--as-of", type=moment, metavar="SEQ|TIME", help="The rows at this moment")
@pass_session
def export(
    session: Invocation,
    *,
    types: tuple[str, ...],
    output: str | None,
    format_: Any,
    as_of: int | str | None,
) -> None:
    """Export rows as JSON Lines, or each type as a table: CSV, TSV, Parquet or Arrow.

    All rows are of one moment, nodes first, and `mycel load` takes them back. The core content of
    every graph is left out unless its type is named. Types and predicates are no rows: `mycel
    schema infer` and `mycel capsule export` give those.
    """
    out = session.out
    if output is None and format_ in ("parquet", "arrow"):
        raise click.UsageError("Tables of this format are no text: give an --output.")
    if output is None and (file := next(filter(_is_file_name, types), None)) is not None:
        raise click.UsageError(f"{file!r} is no type. To write a file: --output {file}.")
    target: Any = _StandardOutput(out) if output is None else output
    with session.open(reading=True) as db:
        state = db if as_of is None else db.as_of(as_of)
        exported = state.export(target, types=types or None, format=format_)
    message = f"{count(exported.concepts, 'concept')}, {count(exported.links, 'link')}"
    if output is None:
        if not out.as_json:
            out.note(f"{message}.")
    else:
        out.say(f"Wrote {', '.join(exported.files)}: {message}.", exported.to_dict())
    if not out.as_json:
        out.warn(exported.warnings)


class _StandardOutput:
    """Standard output as a binary file that notices when its reader is gone."""

    def __init__(self, out: Output) -> None:
        self._out = out

    def write(self, text: bytes) -> None:
        self._out.write(text.decode())
