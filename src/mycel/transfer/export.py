"""Writes rows to files: all of them as JSON Lines, or one table per type.

Exported rows can be loaded again: JSON Lines give the same graph, and so do tables, except for
attributes beyond the schema. Types and predicates are not rows; schemas and capsules carry them. A
file is replaced only when the new file is complete.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import IO, Any, Final

import orjson

from mycel.errors import DatabaseError, InvalidValueType
from mycel.model.state import LIVE, State
from mycel.schema.arrow import pyarrow
from mycel.schema.catalog import Catalog
from mycel.store.database import Store
from mycel.store.write.transaction import DEFAULT_WEIGHT
from mycel.transfer import tables
from mycel.transfer.formats import DELIMITERS, Format, checked_format, format_of, is_gzip
from mycel.transfer.graph_rows import EdgeRecord, GraphRows, NodeRecord
from mycel.transfer.load_targets import EdgeTarget, NodeTarget, ReadCatalog, Target, Targets
from mycel.transfer.tables import LossCounts

ROWS_FILE: Final = "graph.jsonl"
"""The file of JSON Lines in a directory."""


@dataclass(frozen=True, slots=True)
class Exported:
    """The outcome of an export."""

    concepts: int
    links: int
    files: tuple[str, ...] = ()
    """The paths of the files that were written; empty for a stream."""
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The wire form."""
        return {
            "concepts": self.concepts,
            "links": self.links,
            "files": list(self.files),
            "warnings": list(self.warnings),
        }


def to_arrow(
    store: Store, type_name: str, *, read_catalog: ReadCatalog, state: State = LIVE
) -> Any:
    """All rows of a node or an edge, of a state, as a `pyarrow.Table`."""
    pyarrow()
    with _graph_rows(store, read_catalog, state, from_the_start=True) as (catalog, targets, rows):
        return tables.table(rows, catalog, targets.find_target(type_name, ()))


@contextmanager
def _graph_rows(
    store: Store, read_catalog: ReadCatalog, state: State, *, from_the_start: bool
) -> Iterator[tuple[Catalog, Targets, GraphRows]]:
    with store.reading(state) as reader:
        catalog = read_catalog(reader)
        targets = Targets(reader, catalog, iter(()))
        yield catalog, targets, GraphRows(reader, targets, from_the_start=from_the_start)


def export(
    store: Store,
    target: str | os.PathLike[str] | IO[Any],
    *,
    read_catalog: ReadCatalog,
    types: Sequence[str] | None = None,
    format: Format | None = None,  # noqa: A002 - the word that callers use
    state: State = LIVE,
) -> Exported:
    """Write the rows of all types, or of some, to a file, a directory or an open file.

    `read_catalog` reads the schema of that state.

    Raises:
        TypeMismatch: there is no such type.
        InvalidValueType: several tables cannot be written to one file.
        DatabaseError: the target cannot be written.
        NotFound: pyarrow is not installed, and the format needs it.
    """
    place = target if hasattr(target, "write") else Path(os.fsdecode(target))
    name = str(place) if isinstance(place, Path) else ""
    chosen = checked_format(format) if format is not None else format_of(name) or "jsonl"
    if chosen in ("parquet", "arrow"):
        pyarrow()  # Imported before a directory is made, because pyarrow may be missing.
    is_chosen = types is not None
    with _graph_rows(store, read_catalog, state, from_the_start=is_chosen) as (
        catalog,
        targets,
        graph_rows,
    ):
        selection = _chosen_targets(targets, graph_rows, types, is_table=chosen != "jsonl")
        exporter = _Exporter(graph_rows, chosen, catalog)
        is_folder = isinstance(place, Path) and (place.is_dir() or format_of(place.name) is None)
        is_new_folder = not Path(name).suffix and not Path(name).exists() and format is None
        if isinstance(place, Path) and chosen == "jsonl" and (place.is_dir() or is_new_folder):
            exporter.write(_create_folder(place) / ROWS_FILE, selection)
        elif chosen == "jsonl" or (len(selection) == 1 and not is_folder):
            exporter.write(place, selection)
        elif isinstance(place, Path):
            exporter.write_each(place, selection)
        else:
            raise InvalidValueType(
                f"{len(selection)} tables do not fit into one file.",
                hint="Name one type, or a directory; JSON Lines hold all types.",
            )
    return exporter.finish()


def _chosen_targets(
    targets: Targets, graph_rows: GraphRows, types: Sequence[str] | None, *, is_table: bool
) -> list[Target]:
    """The targets to export, nodes first; without names, those that have rows."""
    if isinstance(types, str):
        types = [types]
    if types is None:
        nodes, edges = targets.all()
        all_targets: list[Target] = [*nodes, *edges]
        return [
            target
            for target in all_targets
            if (is_table and target.is_typed) or not graph_rows.is_empty(target)
        ]
    selection = dict.fromkeys(targets.find_target(name, ()) for name in types)
    return sorted(selection, key=lambda target: isinstance(target, EdgeTarget))


class _Exporter:
    """Writes targets, and counts what it writes."""

    def __init__(self, graph_rows: GraphRows, format_: Format, catalog: Catalog) -> None:
        self._unloading: Final = graph_rows
        self._format: Final[Format] = format_
        self._catalog: Final = catalog
        self._lost: Final = LossCounts()
        self._counts: Final = {"concepts": 0, "links": 0}
        self._files: Final[list[str]] = []

    def finish(self) -> Exported:
        warnings = () if self._format == "jsonl" else tuple(self._lost.warnings())
        return Exported(**self._counts, files=tuple(self._files), warnings=warnings)

    def write_each(self, directory: Path, targets: Sequence[Target]) -> None:
        """Write a file for each target, named after the target."""
        _create_folder(directory)
        for target in targets:
            self.write(directory / f"{target.label}.{self._format}", [target])

    def write(self, place: Path | Any, targets: Sequence[Target]) -> None:
        """Write one file with all targets; a file of a table has only one target."""
        if not isinstance(place, Path):
            self._write(place, targets)
            return
        with _replacing(place) as file:
            self._write(file, targets)
        self._files.append(str(place))

    def _write(self, file: Any, targets: Sequence[Target]) -> None:
        if self._format == "jsonl":
            for target in targets:
                for chunk in self._chunks(target):
                    _say(file, b"".join(self._line(target, row) for row in chunk))
        elif self._format in DELIMITERS:
            self._write_csv(file, targets[0])
        else:
            self._write_arrow(file, targets[0])

    def _chunks(self, target: Target) -> Iterator[list[Any]]:
        for chunk in self._unloading.rows(target):
            self._counts[_what(target)] += len(chunk)
            yield chunk

    # JSON Lines.

    def _line(self, target: Target, row: NodeRecord | EdgeRecord) -> bytes:
        payload: dict[str, Any]
        if isinstance(row, NodeRecord):
            payload = {"type": target.label}
            if not isinstance(target, NodeTarget) or not target.key:
                payload["id" if target.is_typed else "name"] = row.name
        else:
            subject, object_ = getattr(target, "subject", None), getattr(target, "object", None)
            payload = {
                "edge": target.label,
                "from": self._unloading.end(subject, row.subject),
                "to": self._unloading.end(object_, row.object),
            }
        payload["data"] = row.attributes
        if row.metadata:
            payload["metadata"] = row.metadata
        if isinstance(row, EdgeRecord) and row.weight != DEFAULT_WEIGHT:
            payload["weight"] = row.weight
        return orjson.dumps(payload, option=orjson.OPT_APPEND_NEWLINE)

    # Tables.

    def _write_csv(self, file: Any, target: Target) -> None:
        # An edge is identified by its ends, and a node by its key if it has one.
        is_named = isinstance(target, EdgeTarget) or bool(target.key)
        columns = tables.columns(self._unloading, target)[is_named:]
        getters = [tables.getter(target, name) for name in columns]
        page = io.StringIO()
        delimiter = DELIMITERS[self._format]
        writer = csv.writer(page, delimiter=delimiter, lineterminator="\n")
        # The writer quotes line feeds, but an unquoted carriage return would end a row.
        quoting = csv.writer(page, csv.unix_dialect, delimiter=delimiter)
        writer.writerow(columns)
        for chunk in self._chunks(target):
            for row in chunk:
                self._lost.note(target, row)
                self._lost.empty += target.is_typed and "" in row.attributes.values()
                cells = [_text(get(row)) for get in getters]
                has_return = any("\r" in cell for cell in cells)
                (quoting if has_return else writer).writerow(cells)
            _say(file, page.getvalue().encode())
            page.seek(0)
            page.truncate()
        _say(file, page.getvalue().encode())

    def _write_arrow(self, file: Any, target: Target) -> None:
        pa = pyarrow()
        schema = tables.table_schema(self._unloading, self._catalog, target)
        if self._format == "parquet":
            from pyarrow import parquet  # noqa: PLC0415 - part of an extra

            opened = parquet.ParquetWriter(file, schema)
        else:
            opened = pa.ipc.new_file(file, schema)
        with opened:
            for batch in tables.batches(self._unloading, schema, target, self._lost):
                self._counts[_what(target)] += batch.num_rows
                opened.write_batch(batch)


def _what(target: Target) -> str:
    return "concepts" if isinstance(target, NodeTarget) else "links"


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _say(file: Any, text: bytes) -> None:
    """Write to a file that takes bytes, or to one that takes text."""
    if text:
        file.write(text.decode() if isinstance(file, io.TextIOBase) else text)


@contextmanager
def _replacing(path: Path) -> Iterator[Any]:
    """A file that replaces the one at `path` when it is written in full."""
    # The name is unique, because the same file may be written twice at the same time.
    draft = path.with_name(f".{path.name}.{token_hex(8)}")
    try:
        with draft.open("xb") as file:
            try:
                if is_gzip(path.name):
                    with gzip.GzipFile(fileobj=file, mode="wb", mtime=0) as packed:
                        yield packed
                else:
                    yield file
                file.flush()
                os.fsync(file.fileno())
            except BaseException:
                draft.unlink(missing_ok=True)
                raise
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise _cannot(path, error) from None


def _create_folder(directory: Path) -> Path:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _cannot(directory, error) from None
    return directory


def _cannot(path: Path, error: OSError) -> DatabaseError:
    return DatabaseError(
        f"{str(path)!r} cannot be written: {error.strerror or error}.",
        hint="Check the path, the disk and the permissions.",
    )
