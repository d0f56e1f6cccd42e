"""Finds the documentation of a source file as a whole, in the form of its language.

Each function takes a source, and returns the lines of its documentation, or None. A comment that
states a licence is no documentation.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Final

from mycel.knowledge.documents.text_lines import NumberedLine

Lines = tuple[NumberedLine, ...]
"""The lines of the documentation, without marks of comments."""

CHARACTERS_MIN: Final = 40
"""The least length of documentation; a shorter text says no more than the file name."""
_HEAD_CHARACTERS: Final = 64 << 10

_PYTHON: Final = re.compile(r"(?>(?:[ \t]*(?:#[^\n]*)?\n)*)[rRuU]?(\"\"\"|''')")
_BLOCK: Final = re.compile(
    r"(?>(?:[ \t]*(?://(?![/!])[^\n]*|#!?[^\n]*|['\"]use \w+['\"];?)?\n)*)\s*/\*([*!]?)"
)
_MARK: Final = re.compile(r"[ \t]*\*?(?!/) ?")
_LICENCE: Final = re.compile(r"copyright|licen[cs]e|spdx", re.IGNORECASE)
_WHOLE_FILE: Final = re.compile(r"@(?:file|module|fileoverview|packageDocumentation|overview)\b")
_NOT_OF_THE_FILE: Final = re.compile(
    r"\s*\n?(?:export|class|function|const|let|var|interface|type|enum|public|abstract|final|static"
    r"|struct|typedef|async|@)\b"
)


def read_module_doc(text: str, read: Callable[[str], Lines | None]) -> Lines | None:
    """The documentation at the top of a source file, if it is not too short."""
    lines = read(text[:_HEAD_CHARACTERS])
    if lines is None or sum(len(line.text) for line in lines) < CHARACTERS_MIN:
        return None
    return lines


def string_doc(text: str) -> Lines | None:
    """The string that a module begins with (Python)."""
    opening = _PYTHON.match(text)
    if opening is None:
        return None
    end = text.find(opening[1], opening.end())
    inside = text[opening.end() : end] if end >= 0 else ""
    return _numbered(inspect.cleandoc(inside).split("\n"), text.count("\n", 0, opening.end()) + 1)


def inner_doc(text: str) -> Lines | None:
    """The lines of `//!` and `/*! */` (Rust)."""
    lines: list[NumberedLine] = []
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        if line.startswith("//!"):
            lines.append(NumberedLine(number, line[3:].removeprefix(" ")))
        elif lines or (line and not line.startswith(("//", "#!"))):
            break
    if lines:
        return tuple(lines)
    match = _BLOCK.match(text)
    return _comment(text, match) if match is not None and match[1] == "!" else None


def package_doc(text: str) -> Lines | None:
    """The comment above `package` (Go)."""
    lines: list[NumberedLine] = []
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.rstrip()
        if line.startswith("package "):
            return tuple(lines) if lines else None
        if line.startswith("//") and not line.startswith(("//go:", "// +build")):
            lines.append(NumberedLine(number, line[2:].removeprefix(" ")))
        elif line.startswith("/*"):
            match = _BLOCK.match(text)
            doc = _comment(text, match) if match is not None else None
            end = text.find("*/")
            is_above = end >= 0 and text[end + 2 :].lstrip().startswith("package ")
            return doc if is_above else None
        else:
            lines = []
    return None


def block_doc(text: str) -> Lines | None:
    """The first `/** */` or `/* */` comment, unless it documents the definition below it."""
    match = _BLOCK.match(text)
    if match is None:
        return None
    end = text.find("*/", match.end())
    if end < 0:
        return None
    inside = text[match.end() : end]
    if not _WHOLE_FILE.search(inside) and _NOT_OF_THE_FILE.match(text, end + 2):
        return None
    return _comment(text, match)


def _comment(text: str, opening: re.Match[str]) -> Lines | None:
    end = text.find("*/", opening.end())
    inside = text[opening.end() : end] if end >= 0 else ""
    if _LICENCE.search(inside[:500]):
        return None
    lines = [_MARK.sub("", line, count=1) for line in inside.split("\n")]
    return _numbered(lines, text.count("\n", 0, opening.end()) + 1)


def _numbered(lines: list[str], first: int) -> Lines:
    return tuple(NumberedLine(*line) for line in enumerate(lines, first))
