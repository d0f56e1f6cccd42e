"""Formats of files, from the caller or from the name of the file."""

from __future__ import annotations

from pathlib import PurePath
from typing import Final, Literal, TypeAlias, get_args

from mycel.errors import InvalidValueType, did_you_mean
from mycel.model.names import quote_value

Format: TypeAlias = Literal["jsonl", "csv", "tsv", "parquet", "arrow"]

FORMATS: Final[tuple[Format, ...]] = get_args(Format)
GZIP: Final = ".gz"
SUFFIXES: Final[dict[str, Format]] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
}
DELIMITERS: Final = {"csv": ",", "tsv": "\t"}

_SAY: Final = f"Name the format: {', '.join(FORMATS)}."


def checked_format(name: object) -> Format:
    """A format that a caller named."""
    for format_ in FORMATS:
        if name == format_:
            return format_
    close = did_you_mean(name, list(FORMATS)) if isinstance(name, str) else ""
    raise InvalidValueType(f"{quote_value(name)} is not a format.", hint=f"{close} {_SAY}".strip())


def format_of(name: str) -> Format | None:
    """The format by the ending of a file name.

    >>> format_of("people.csv.gz"), format_of("People.PARQUET"), format_of("people")
    ('csv', 'parquet', None)
    """
    return SUFFIXES.get(PurePath(without_gzip(name)).suffix.lower())


def is_gzip(name: str) -> bool:
    """True if a file is compressed, by its name."""
    return name.lower().endswith(GZIP)


def without_gzip(name: str) -> str:
    """The name of the unpacked file."""
    return name[: -len(GZIP)] if is_gzip(name) else name


def needed_format(choice: object, name: str | None) -> Format:
    """The format of a file, from the caller or from its name."""
    if choice is not None:
        return checked_format(choice)
    format_ = None if name is None else format_of(name)
    if format_ is None:
        source_name = "The source" if name is None else repr(name)
        raise InvalidValueType(
            f"{source_name} does not have the name of a format as its ending.", hint=_SAY
        )
    return format_
