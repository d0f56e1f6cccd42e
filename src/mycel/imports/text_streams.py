"""Lines of JSON Lines and items of a JSON array, one at a time, from files of any size.

Memory holds one line or item. A line or item that is too large or no JSON is named by its place.
Behind a line the file goes on; behind an item that cannot be read nobody knows where the next one
begins, so reading ends.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple, TextIO

import orjson

from mycel.imports.turns import SourceProblem
from mycel.store.file.plain_files import open_given

LINE_BYTES_MAX: Final = 64 << 20
"""The longest line that is read; a longer one is named and left out."""
ITEM_CHARACTERS_MAX: Final = 256 << 20
"""The longest item of an array, such as one conversation of an export."""
_CHUNK: Final = 1 << 20
_DECODER: Final = json.JSONDecoder()
_BETWEEN: Final = re.compile(r"[\s,]*")


class JsonItem(NamedTuple):
    """A value of a file, and its place."""

    place: str
    value: Any


def json_lines(path: Path, offset: int = 0) -> Iterator[JsonItem | SourceProblem]:
    """The values of a file of JSON Lines, from a position in bytes on."""
    with open_given(path) as file:
        if offset:
            file.seek(offset)
        yield from _lines_of(file, path.name)


def _lines_of(file: BinaryIO, name: str) -> Iterator[JsonItem | SourceProblem]:
    number = 0
    while line := file.readline(LINE_BYTES_MAX + 1):
        number += 1
        place = f"{name}, line {number}"
        if len(line) > LINE_BYTES_MAX:
            while line and not line.endswith(b"\n"):
                line = file.readline(LINE_BYTES_MAX)
            yield SourceProblem(place, f"it has more than {LINE_BYTES_MAX >> 20} MiB")
            continue
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if not line.strip():
            continue
        try:
            yield JsonItem(place, orjson.loads(line))
        except ValueError as error:
            yield SourceProblem(place, f"it is no JSON: {error}")


def json_items(path: Path, keys: tuple[str, ...] = ()) -> Iterator[JsonItem | SourceProblem]:
    """The items of an array: the whole file, or a list under one of these keys of an object."""
    with open_given(path) as raw:
        import io  # noqa: PLC0415 - only arrays are read as text.

        text = io.TextIOWrapper(raw, encoding="utf-8-sig", errors="replace")
        yield from _items_of(text, path.name, keys)


def _items_of(file: TextIO, name: str, keys: tuple[str, ...]) -> Iterator[JsonItem | SourceProblem]:
    text = file.read(_CHUNK)
    start = _begin(text, keys)
    if start is None:
        yield SourceProblem(name, "it is no list of conversations")
        return
    text, at, number = text[start:], 0, 0
    while True:
        at = _after_space(text, at)
        if text[at : at + 1] == "]":
            return
        read = _read_item(text, at)
        size = _CHUNK
        while read is None:
            if len(text) - at > ITEM_CHARACTERS_MAX:
                yield SourceProblem(f"{name}, item {number + 1}", "it is too large")
                return
            more = file.read(size)
            text, at, size = text[at:] + more, 0, size * 2
            if not more:
                why = "the file ends inside of it" if text.strip() else "the list has no end"
                read = _read_item(text, 0, is_last=True)
                if read is None:
                    yield SourceProblem(f"{name}, item {number + 1}", f"{why}, or it is no JSON")
                    return
            else:
                at = _after_space(text, at)
                if text[at : at + 1] == "]":
                    return
                read = _read_item(text, at)
        value, at = read
        number += 1
        yield JsonItem(f"{name}, item {number}", value)


def _after_space(text: str, at: int) -> int:
    match = _BETWEEN.match(text, at)
    return at if match is None else match.end()


def _begin(text: str, keys: tuple[str, ...]) -> int | None:
    """The position behind the bracket that opens the list."""
    stripped = text.lstrip()
    if stripped.startswith("["):
        return len(text) - len(stripped) + 1
    for key in keys if stripped.startswith("{") else ():
        at = text.find(f'"{key}"')
        colon = -1 if at < 0 else _after_space(text, at + len(key) + 2)
        if text[colon : colon + 1] == ":":
            bracket = _after_space(text, colon + 1)
            if text[bracket : bracket + 1] == "[":
                return bracket + 1
    return None


def _read_item(text: str, at: int, *, is_last: bool = False) -> tuple[Any, int] | None:
    try:
        value, end = _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None
    # A number at the end of what was read may go on.
    return (value, end) if end < len(text) or is_last else None
