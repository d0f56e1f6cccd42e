"""Makes sources from the argument of a caller: paths, files, rows, tables, frames."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path, PurePath
from typing import Any, Final

from mycel.errors import InvalidValueType, NotFound
from mycel.model.names import kind_of
from mycel.transfer import columnar
from mycel.transfer.columnar import ColumnarSource
from mycel.transfer.delimited import DelimitedSource
from mycel.transfer.formats import (
    DELIMITERS,
    SUFFIXES,
    Format,
    checked_format,
    format_of,
    is_gzip,
    needed_format,
    without_gzip,
)
from mycel.transfer.jsonl import JsonLinesSource, MappingSource
from mycel.transfer.source_rows import RowSource
from mycel.transfer.streams import Stream

_WHAT: Final = (
    "Pass a path of a file or folder, several of them, an open file, dictionaries, or a table of"
    " pyarrow or pandas."
)


def sources_of(
    source: Any,
    *,
    format: Format | None = None,  # noqa: A002 - the word that callers use
    type_name: str | None = None,
    delimiter: str | None = None,
) -> list[RowSource]:
    """The sources of one load; several files, or those of a folder, are several sources."""
    if isinstance(source, (str, os.PathLike)):
        path = Path(os.fsdecode(source))
        source = _files_in(path, format) if path.is_dir() else Stream(path)
    elif hasattr(source, "readline"):
        source = Stream(source)
    if isinstance(source, Stream):
        return [_of_stream(source, format, type_name, delimiter)]
    table = columnar.table_batches(source)
    if table is not None:
        batches, can_reread = table
        return [ColumnarSource(batches, _needed(type_name), can_reread=can_reread)]
    if isinstance(source, (Mapping, bytes)) or not isinstance(source, Iterable):
        raise InvalidValueType(f"A value of type {kind_of(source)} cannot be loaded.", hint=_WHAT)
    if isinstance(source, (list, tuple)) and source and all(map(_is_file, source)):
        files = (
            sources_of(file, format=format, type_name=type_name, delimiter=delimiter)
            for file in source
        )
        return [row_source for file in files for row_source in file]
    return [MappingSource(source, type_name)]


def _files_in(folder: Path, format_: Format | None) -> list[Path]:
    """The loadable files directly in a folder, by name, such as those of an export.

    Raises:
        NotFound: there are none, or the folder cannot be read.
    """
    chosen = None if format_ is None else checked_format(format_)
    try:
        names = sorted(path.name for path in folder.iterdir() if path.is_file())
    except OSError as error:
        raise NotFound(
            f"The folder {str(folder)!r} cannot be read: {error.strerror or error}.",
            hint="Check the path and the permissions.",
        ) from None
    paths = [
        folder / name
        for name in names
        if not name.startswith(".")
        and (file_format := format_of(name))
        and chosen in (None, file_format)
    ]
    if not paths:
        endings = ", ".join(SUFFIXES if chosen is None else (f".{chosen}",))
        raise NotFound(
            f"The folder {str(folder)!r} has no file that can be loaded.",
            hint=f"Name the folder that an export has written, or one with files that end with"
            f" {endings}; files of folders inside of it are not read.",
        )
    return paths


def _is_file(value: object) -> bool:
    return isinstance(value, (str, os.PathLike)) or hasattr(value, "readline")


def _of_stream(
    stream: Stream, choice: Format | None, type_name: str | None, delimiter: str | None
) -> RowSource:
    format_ = needed_format(choice, stream.name)
    if format_ == "jsonl":
        return JsonLinesSource(stream, type_name)
    # A file of one type may be named after the type: `Person.csv`.
    stem = PurePath(without_gzip(stream.name or "")).stem
    type_name = _needed(type_name or (stem if stem.isidentifier() else None), stream.name)
    if format_ in DELIMITERS:
        delimiter = delimiter or DELIMITERS[format_]
        if len(delimiter) != 1 or delimiter in '"\r\n':
            raise InvalidValueType(
                f"{delimiter!r} cannot separate cells.", hint="A delimiter is one character."
            )
        return DelimitedSource(stream, type_name, delimiter)
    if is_gzip(stream.name or ""):
        raise InvalidValueType(f"{stream.name!r} is compressed twice.", hint="Unpack it first.")
    batches = partial(columnar.file_batches, stream, is_parquet=format_ == "parquet")
    return ColumnarSource(batches, type_name, stream=stream)


def _needed(type_name: str | None, file: str | None = None) -> str:
    if not type_name:
        raise InvalidValueType(
            f"The type of the rows of {'this table' if file is None else repr(file)} is not given.",
            hint="Name the node or edge with `type`, or name the file after it: Person.csv.",
        )
    return type_name
