r"""Patterns for comments and strings of a source: forms that several languages share.

The pattern of each language (`Syntax.prose`) knows its raw strings (`r"\"` is closed in Rust, but
not in Python), its strings of several lines and its regular expressions. It tells character
literals from lifetimes and digit separators. An unclosed string or comment extends to the end of
its line, or of the file. The fields of f-strings and templates are code.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

LINE_COMMENT: Final = rb"//[^\n]*+"
COMMENT: Final = rb"/\*(?:.*?\*/|.*+)"
STRING: Final = rb'"(?>(?:[^"\\\n]++|\\.)*)"?'
SINGLE: Final = rb"'(?>(?:[^'\\\n]++|\\.)*)'?"
TRIPLE: Final = rb'"""(?>(?:[^"\\]++|\\.|"(?!""))*)(?:""")?'
TRIPLE_SINGLE: Final = rb"'''(?>(?:[^'\\]++|\\.|'(?!''))*)(?:''')?"
CHARACTER: Final = rb"'(?>(?:[^'\\\n]|\\[^\n]){1,10})'"


class ProseFields(NamedTuple):
    """The strings of a language that have code in fields, such as f-strings."""

    opening: re.Pattern[bytes]
    """The opening quote of the string, with its prefix."""
    field: re.Pattern[bytes]
    """A pattern of a field, with its code as a group; or of text that is skipped."""


_NO_BREAK: Final = re.compile(rb"[^\n]")


def blank_prose(pattern: re.Pattern[bytes], fields: ProseFields | None, source: bytes) -> bytes:
    """The source with comments and strings replaced by spaces, except code in fields of strings."""

    def blank(prose: re.Match[bytes]) -> bytes:
        text = prose[0]
        if fields is None or fields.opening.match(text) is None:
            return _NO_BREAK.sub(b" ", text)
        parts: list[bytes] = []
        at = 0
        for field in fields.field.finditer(text):
            if field[1] is not None:
                parts += (_NO_BREAK.sub(b" ", text[at : field.start(1)]), blank_all(field[1]))
                at = field.end(1)
        return b"".join((*parts, _NO_BREAK.sub(b" ", text[at:])))

    def blank_all(code: bytes) -> bytes:
        return pattern.sub(blank, code)

    return blank_all(source)
