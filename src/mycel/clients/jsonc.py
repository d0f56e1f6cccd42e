"""Reads JSON with comments, and changes one member without changing any other text.

VS Code, and programs derived from it, accept comments and a comma after the last member. `plain`
replaces both by spaces, so that positions in the plain text are positions in the original.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

# An unclosed string ends with its line, and an unclosed comment with the text, so that each is
# scanned only once.
_STRING = r'"(?>(?:[^"\\\n]++|\\.)*)"?'
_COMMENT = re.compile(rf"{_STRING}|//[^\n]*|/\*(?:.*?\*/|.*+)", re.DOTALL)
_LAST_COMMA = re.compile(rf"{_STRING}|,(?=\s*[}}\]])")
_SPACE = re.compile(r"\s*")
_DECODER = json.JSONDecoder()


class _Object(NamedTuple):
    """The place of an object in a text."""

    members: dict[str, tuple[int, int]]
    """The start and end of each member's value."""
    keys: dict[str, int]
    """The start of each member."""
    close: int
    """The place of its closing bracket."""


def plain(text: str) -> str:
    """The text with spaces in place of comments and trailing commas."""
    return _LAST_COMMA.sub(_blanked, _without_comments(text))


def _without_comments(text: str) -> str:
    return _COMMENT.sub(_blanked, text)


def _blanked(match: re.Match[str]) -> str:
    text = match[0]
    is_open = text.startswith("/*") and (len(text) < 4 or not text.endswith("*/"))
    return text if text[0] == '"' or is_open else re.sub(r"[^\n]", " ", text)


def with_member(text: str, path: Sequence[str], value: Any, indent: str) -> str:
    """The text with a new or changed member at a path of keys; missing objects on the way are made.

    Raises:
        ValueError: the text, or a value on the way, is no object.
    """
    bare = plain(text)
    at = _after_space(bare, 0)
    for depth, key in enumerate(path):
        parent = _object_at(bare, at)
        if key not in parent.members:
            for inner in reversed(path[depth + 1 :]):
                value = {inner: value}
            member = f"{json.dumps(key, ensure_ascii=False)}: {_text(value, indent, depth + 1)}"
            return _inserted(text, parent, member, indent, depth)
        start, end = parent.members[key]
        at = start
    return f"{text[:start]}{_text(value, indent, len(path))}{text[end:]}"


def without_member(text: str, path: Sequence[str]) -> str:
    """The text without the member at a path of keys; unchanged if there is none.

    Raises:
        ValueError: the text is no object.
    """
    bare = plain(text)
    at = _after_space(bare, 0)
    for key in path[:-1]:
        place = _object_at(bare, at)
        if key not in place.members:
            return text
        at = place.members[key][0]
        if bare[at] != "{":
            return text
    place = _object_at(bare, at)
    if path[-1] not in place.members:
        return text
    spans = [(start, place.members[key][1]) for key, start in place.keys.items()]
    return _cut(text, spans, list(place.keys).index(path[-1]), at, place.close)


def with_item(text: str, path: Sequence[str], value: Any, indent: str) -> str:
    """The text with one more item at the end of the list at a path of keys.

    Raises:
        ValueError: there is no list.
    """
    bare = plain(text)
    at, spans, close = _list_at(bare, path)
    if not spans:
        return f"{text[: at + 1]}{json.dumps(value, ensure_ascii=False)}{text[at + 1 :]}"
    last_start, end = spans[-1]
    line = text.rfind("\n", 0, last_start) + 1
    before = text[line:last_start]
    code = _without_comments(text)
    comma = code.find(",", end, close)
    if before.strip() or "\n" not in text[at:last_start]:
        member = f" {json.dumps(value, ensure_ascii=False)}"
    else:
        dumped = json.dumps(value, indent=indent, ensure_ascii=False)
        member = f"\n{before}" + dumped.replace("\n", f"\n{before}")
    if comma >= 0:
        return f"{text[: comma + 1]}{member},{text[comma + 1 :]}"
    return f"{text[:end]},{member}{text[end:]}"


def without_item(text: str, path: Sequence[str], number: int) -> str:
    """The text without an item of the list at a path of keys.

    Raises:
        ValueError: there is no list.
    """
    at, spans, close = _list_at(plain(text), path)
    return _cut(text, spans, number, at, close)


def _list_at(bare: str, path: Sequence[str]) -> tuple[int, list[tuple[int, int]], int]:
    """The start of a list, the places of its items, and its closing bracket."""
    at = _after_space(bare, 0)
    for key in path:
        members = _object_at(bare, at).members
        if key not in members:
            raise ValueError(f"There is no {key!r} here.")
        at = members[key][0]
    if bare[at : at + 1] != "[":
        raise ValueError("There is no list here.")
    spans: list[tuple[int, int]] = []
    place = _after_space(bare, at + 1)
    while bare[place] != "]":
        _, end = _DECODER.raw_decode(bare, place)
        spans.append((place, end))
        place = _after_space(bare, end)
        if bare[place] == ",":
            place = _after_space(bare, place + 1)
    return at, spans, place


def _cut(text: str, spans: Sequence[tuple[int, int]], number: int, at: int, close: int) -> str:
    """The text without one part of an object or list, its comma and its own lines.

    Comments and all other parts stay as they are.
    """
    (start, end), code = spans[number], _without_comments(text)
    if len(spans) == 1 and not text[at + 1 : start].strip() and not text[end:close].strip():
        return f"{text[: at + 1]}{text[close:]}"
    line = text.rfind("\n", 0, start) + 1
    has_line = line > at and not text[line:start].strip()
    comma = code.find(",", end, spans[number + 1][0] if number + 1 < len(spans) else close)
    if comma >= 0:
        if has_line:
            return f"{text[: line - 1]}{text[end:comma]}{text[comma + 1 :]}"
        return f"{text[:start]}{text[end:comma]}{text[comma + 1 :].lstrip(' ')}"
    if number == 0:
        return f"{text[: line - 1 if has_line else start]}{text[end:]}"
    comma = code.find(",", spans[number - 1][1], start)
    between = text[comma + 1 : line - 1 if has_line else start]
    # If an object on one line was split for this part, join it again.
    was_one_line = "\n" not in text[at : spans[number - 1][1]]
    if was_one_line and not text[end:close].strip() and not between.strip():
        return f"{text[:comma]}{text[close:]}"
    return f"{text[:comma]}{between if has_line or between.strip() else ''}{text[end:]}"


def _text(value: Any, indent: str, depth: int) -> str:
    return json.dumps(value, indent=indent, ensure_ascii=False).replace("\n", f"\n{indent * depth}")


def _inserted(text: str, parent: _Object, member: str, indent: str, depth: int) -> str:
    """The text with one more member at the end of an object."""
    inner, outer = f"\n{indent * (depth + 1)}", f"\n{indent * depth}"
    if not parent.members:
        before = text[: parent.close].rstrip()
        return f"{before}{inner}{member}{outer}{text[parent.close :]}"
    end = max(end for _, end in parent.members.values())
    rest = _without_comments(text)[end : parent.close]
    comma = "" if "," in rest else ","
    # A comment after the last member stays after it.
    line = text.find("\n", end + rest.find(",") + 1, parent.close)
    if line < 0:
        return (
            f"{text[:end]}{comma}{text[end : parent.close].rstrip()}{inner}{member}{outer}"
            + (text[parent.close :])
        )
    return f"{text[:end]}{comma}{text[end:line]}{inner}{member}{text[line:]}"


def _object_at(bare: str, start: int) -> _Object:
    if bare[start : start + 1] != "{":
        raise ValueError("There is no object here.")
    members, keys = {}, {}
    at = _after_space(bare, start + 1)
    while bare[at] != "}":
        if bare[at] == ",":
            at = _after_space(bare, at + 1)
        key_at = at
        key, at = _DECODER.raw_decode(bare, at)
        keys[key] = key_at
        value_at = _after_space(bare, _after_space(bare, at) + 1)
        _, at = _DECODER.raw_decode(bare, value_at)
        members[key] = value_at, at
        at = _after_space(bare, at)
    return _Object(members, keys, at)


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return at if match is None else match.end()
