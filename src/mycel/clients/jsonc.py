"""JSON with comments: reading it, and changing one member while all other text stays.

VS Code and programs made from it take comments, and a comma after the last member. `plain` turns
both into spaces, so that every place in the plain text is the same place in the original.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

# What is not closed goes on to the end of its line or of the text, so that it is read once.
_STRING = r'"(?>(?:[^"\\\n]++|\\.)*)"?'
_COMMENT = re.compile(rf"{_STRING}|//[^\n]*|/\*(?:.*?\*/|.*+)", re.DOTALL)
_LAST_COMMA = re.compile(rf"{_STRING}|,(?=\s*[}}\]])")
_SPACE = re.compile(r"\s*")
_DECODER = json.JSONDecoder()


class _Object(NamedTuple):
    """The place of an object in a text."""

    members: dict[str, tuple[int, int]]
    """The start and end of each member's value."""
    close: int
    """The place of its closing bracket."""


def plain(text: str) -> str:
    """The text without comments and last commas; spaces are in their place."""
    return _LAST_COMMA.sub(_blanked, _without_comments(text))


def _without_comments(text: str) -> str:
    return _COMMENT.sub(_blanked, text)


def _blanked(found: re.Match[str]) -> str:
    text = found[0]
    is_open = text.startswith("/*") and (len(text) < 4 or not text.endswith("*/"))
    return text if text[0] == '"' or is_open else re.sub(r"[^\n]", " ", text)


def with_member(text: str, path: Sequence[str], value: Any, indent: str) -> str:
    """The text with a member at a path of keys, new or changed; what is above it is made.

    Raises:
        ValueError: the text is no object, or a value on the way is none.
    """
    bare = plain(text)
    at = _after_space(bare, 0)
    for depth, key in enumerate(path):
        found = _object_at(bare, at)
        if key not in found.members:
            for inner in reversed(path[depth + 1 :]):
                value = {inner: value}
            member = f"{json.dumps(key, ensure_ascii=False)}: {_text(value, indent, depth + 1)}"
            return _inserted(text, found, member, indent, depth)
        start, end = found.members[key]
        at = start
    return f"{text[:start]}{_text(value, indent, len(path))}{text[end:]}"


def _text(value: Any, indent: str, depth: int) -> str:
    return json.dumps(value, indent=indent, ensure_ascii=False).replace("\n", f"\n{indent * depth}")


def _inserted(text: str, found: _Object, member: str, indent: str, depth: int) -> str:
    """The text with one more member at the end of an object."""
    inner, outer = f"\n{indent * (depth + 1)}", f"\n{indent * depth}"
    if not found.members:
        before = text[: found.close].rstrip()
        return f"{before}{inner}{member}{outer}{text[found.close :]}"
    end = max(end for _, end in found.members.values())
    rest = _without_comments(text)[end : found.close]
    comma = "" if "," in rest else ","
    # A comment behind the last member stays behind it.
    line = text.find("\n", end + rest.find(",") + 1, found.close)
    if line < 0:
        return (
            f"{text[:end]}{comma}{text[end : found.close].rstrip()}{inner}{member}{outer}"
            + (text[found.close :])
        )
    return f"{text[:end]}{comma}{text[end:line]}{inner}{member}{text[line:]}"


def _object_at(bare: str, start: int) -> _Object:
    if bare[start : start + 1] != "{":
        raise ValueError("There is no object here.")
    members = {}
    at = _after_space(bare, start + 1)
    while bare[at] != "}":
        if bare[at] == ",":
            at = _after_space(bare, at + 1)
        key, at = _DECODER.raw_decode(bare, at)
        value_at = _after_space(bare, _after_space(bare, at) + 1)
        _, at = _DECODER.raw_decode(bare, value_at)
        members[key] = value_at, at
        at = _after_space(bare, at)
    return _Object(members, at)


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return at if match is None else match.end()
