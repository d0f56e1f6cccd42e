"""Whatever a caller hands over, as something that gives rows."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Mapping
from pathlib import Path, PurePath
from typing import Any, Final, Protocol

from mycel.errors import InvalidValueType
from mycel.model.names import kind_of
from mycel.transfer import columnar
from mycel.transfer.columnar import Columnar
from mycel.transfer.delimited import Delimited
from mycel.transfer.formats import DELIMITERS, Format, is_gzip, needed_format, without_gzip
from mycel.transfer.jsonl import JsonLines, Mappings
from mycel.transfer.load_errors import Refused, Unit
from mycel.transfer.load_targets import Targets
from mycel.transfer.source_rows import Row
from mycel.transfer.streams import Stream

_WHAT: Final = (
    "Pass a path, several of them, an open file, dictionaries, or a table of pyarrow or pandas."
)


class Source(Protocol):
    """Something that gives rows."""

    @property
    def name(self) -> str | None:
        """What messages call it."""
        ...

    @property
    def type_name(self) -> str | None:
        """What all of its rows are, if they do not say so themselves."""
        ...

    @property
    def unit(self) -> Unit:
        """What its rows are counted in."""
        ...

    @property
    def can_reread(self) -> bool:
        """Whether `rows` can be asked for once more."""
        ...

    @property
    def position(self) -> int | None:
        """How many bytes have been read, where that is known."""
        ...

    @property
    def total(self) -> int | None:
        """How many there are."""
        ...

    def rows(self, targets: Targets, refused: Refused | None = None) -> Generator[Row, None, None]:
        """All rows, from the first.

        Raises:
            MycelError: one of them is none, or does not fit; with its place. With `refused`, that
                is told of it instead, and the next row follows, if there can be one.
        """
        ...


def sources_of(
    source: Any,
    *,
    format: Format | None = None,  # noqa: A002 - the word that callers use
    type_name: str | None = None,
    delimiter: str | None = None,
) -> list[Source]:
    """What a caller hands over, as sources; several files are one load.

    Raises:
        InvalidValueType: it is nothing that can be loaded, or nothing says what its rows are.
    """
    how = format, type_name, delimiter
    if isinstance(source, (str, os.PathLike)):
        return [_of_stream(Stream(_path(source)), *how)]
    if hasattr(source, "readline"):
        return [_of_stream(Stream(source), *how)]
    table = columnar.table_batches(source)
    if table is not None:
        batches, can_reread = table
        return [Columnar(batches, _needed(type_name), can_reread=can_reread)]
    if isinstance(source, (Mapping, bytes)) or not isinstance(source, Iterable):
        raise InvalidValueType(f"A value of type {kind_of(source)} cannot be loaded.", hint=_WHAT)
    if isinstance(source, (list, tuple)) and source and all(map(_is_file, source)):
        return [each for file in source for each in sources_of(file, **_named(*how))]
    return [Mappings(source, type_name)]


def _named(format_: Format | None, type_name: str | None, delimiter: str | None) -> Any:
    return {"format": format_, "type_name": type_name, "delimiter": delimiter}


def _is_file(value: object) -> bool:
    return isinstance(value, (str, os.PathLike)) or hasattr(value, "readline")


def _path(path: str | os.PathLike[str]) -> Path:
    return Path(os.fsdecode(path))


def _of_stream(
    stream: Stream, named: Format | None, type_name: str | None, delimiter: str | None
) -> Source:
    format_ = needed_format(named, stream.name)
    if format_ == "jsonl":
        return JsonLines(stream, type_name)
    type_name = _needed(type_name or _stem(stream.name))
    if format_ not in DELIMITERS:
        if is_gzip(stream.name or ""):
            raise InvalidValueType(
                f"{stream.name!r} is compressed twice over.", hint="Unpack it first."
            )
        return Columnar(
            lambda: columnar.file_batches(stream, is_parquet=format_ == "parquet"),
            type_name,
            stream=stream,
            can_reread=stream.can_reread,
        )
    return Delimited(stream, type_name, _delimiter(delimiter or DELIMITERS[format_]))


def _delimiter(given: str) -> str:
    if len(given) != 1 or given in '"\r\n':
        raise InvalidValueType(f"{given!r} cannot part cells.", hint="A delimiter is a character.")
    return given


def _stem(name: str | None) -> str | None:
    """What a file of one type is called after: `Person.csv`."""
    stem = None if name is None else PurePath(without_gzip(name)).stem
    return stem if stem and stem.isidentifier() else None


def _needed(type_name: str | None) -> str:
    if not type_name:
        raise InvalidValueType(
            "Nothing says of which type the rows of this table are.",
            hint="Name the node or edge with `type`.",
        )
    return type_name
