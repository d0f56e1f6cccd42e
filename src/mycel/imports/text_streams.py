"""Lines of JSON Lines and items of a JSON array, one at a time, from files of any size.

Memory holds one line or item. A line or item that is too large, or is no JSON, is reported with its
place. Reading continues after such a line. After such an item it continues only if the end of the
item can be found.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, TextIO

import orjson

from mycel.imports.turns import SourceProblem
from mycel.store.file.plain_files import bounded_lines, open_given

LINE_BYTES_MAX: Final = 64 << 20
"""The maximum number of bytes of a line; a longer line is reported and left out."""
ITEM_CHARACTERS_MAX: Final = 256 << 20
"""The maximum number of characters of an item of an array, such as one conversation of an
export."""
_CHUNK: Final = 1 << 20
_DECODER: Final = json.JSONDecoder()
_BETWEEN: Final = re.compile(r"[\s,]*")
_PARTS: Final = re.compile(r'"(?>(?:[^"\\]++|\\.)*)"|["{}\[\],]', re.DOTALL)
"""A pattern for texts, brackets and commas of JSON. A quote alone begins a text without an end."""
_END_HELP: Final = {
    True: "the file ends inside of it, or it is no JSON",
    False: "the list has no end, or it is no JSON",
}
_AT_END: Final = 16
"""The number of characters at the end of the text read so far in which a value may be
incomplete."""


class JsonItem(NamedTuple):
    """A value of a file, and its place."""

    place: str
    value: Any


def json_lines(path: Path) -> Iterator[JsonItem | SourceProblem]:
    """The values of a file of JSON Lines."""
    with open_given(path) as file:
        for number, line in bounded_lines(file, LINE_BYTES_MAX):
            place = f"{path.name}, line {number}"
            if line is None:
                yield SourceProblem(place, f"it has more than {LINE_BYTES_MAX >> 20} MiB")
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
        size, is_last = _CHUNK, False
        while read is None and not _is_broken(text, at, is_last=is_last):
            if is_last or len(text) - at > ITEM_CHARACTERS_MAX:
                why = "it is too large" if not is_last else _END_HELP[bool(text.strip())]
                yield SourceProblem(f"{name}, item {number + 1}", why)
                return
            more = file.read(size)
            text, at, size, is_last = text[at:] + more, 0, size * 2, not more
            at = _after_space(text, at)
            if text[at : at + 1] == "]":
                return
            read = _read_item(text, at, is_last=is_last)
        number += 1
        if read is not None:
            value, at = read
            yield JsonItem(f"{name}, item {number}", value)
            continue
        yield SourceProblem(f"{name}, item {number}", "it is no JSON")
        rest = _skip_item(file, text, at)
        if rest is None:
            return
        text, at = rest


def _after_space(text: str, at: int) -> int:
    match = _BETWEEN.match(text, at)
    return at if match is None else match.end()


def _begin(text: str, keys: tuple[str, ...]) -> int | None:
    """The position after the bracket that opens the list."""
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


def _is_broken(text: str, at: int, *, is_last: bool) -> bool:
    """True if an item has an error that reading more of the file cannot remove."""
    try:
        _DECODER.raw_decode(text, at)
    except json.JSONDecodeError as error:
        # A value or string that ends with the text read so far may continue in the file.
        end = len(text.rstrip()) if is_last else len(text) - _AT_END
        return error.pos < end and "Unterminated" not in error.msg
    except RecursionError:
        return True
    return False


def _skip_item(file: TextIO, text: str, at: int) -> tuple[str, int] | None:
    """The text read so far, and the position after a broken item; None if the item has no end.

    Brackets are counted outside of strings, and text whose brackets were counted is dropped.
    """
    depth = 0
    while True:
        end = at
        for match in _PARTS.finditer(text, at):
            if match[0] == '"':
                break  # The string continues after the text read so far.
            end = match.end()
            depth += (match[0] in "{[") - (match[0] in "}]")
            if depth <= 0:
                # An item ends before a comma, or before the bracket that ends the list.
                is_behind = match[0] == "," or (match[0] == "]" and depth < 0)
                return text, match.start() if is_behind else end
        more = file.read(_CHUNK)
        if not more or len(text) - end > ITEM_CHARACTERS_MAX:
            return None
        text, at = text[end:] + more, 0


def _read_item(text: str, at: int, *, is_last: bool = False) -> tuple[Any, int] | None:
    try:
        value, end = _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None
    # A number at the end of the text read so far may continue in the file.
    return (value, end) if end < len(text) or is_last else None
