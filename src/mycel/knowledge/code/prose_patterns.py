r"""Comments and strings of a source, found as text.

A pattern for each language knows its raw strings (`r"\"` of Rust is closed, that of Python is not),
texts of several lines, characters beside lifetimes and digit separators, and regular expressions.
An unclosed string or comment extends to the end of its line, or to the end. The fields of f-strings
and templates are code.
"""

from __future__ import annotations

import re
from typing import Final

_LINE_COMMENT: Final = rb"//[^\n]*+"
_COMMENT: Final = rb"/\*(?:.*?\*/|.*+)"
_NESTED_COMMENT: Final = (
    rb"/\*(?>(?:[^/*]++|/(?!\*)|\*(?!/)|/\*(?:.*?\*/|.*+))*)(?:\*/)?"
)  # fmt: skip
_STRING: Final = rb'"(?>(?:[^"\\\n]++|\\.)*)"?'
_SINGLE: Final = rb"'(?>(?:[^'\\\n]++|\\.)*)'?"
_TRIPLE: Final = rb'"""(?>(?:[^"\\]++|\\.|"(?!""))*)(?:""")?'
_TRIPLE_SINGLE: Final = rb"'''(?>(?:[^'\\]++|\\.|'(?!''))*)(?:''')?"
_CHARACTER: Final = rb"'(?>(?:[^'\\\n]|\\[^\n]){1,10})'"
_REGEX: Final = (
    rb"(?:(?<=[(,=:\[!&|?{;+])|(?<=[(,=:\[!&|?{;+] )|(?<=\breturn )|(?<=\btypeof )|(?<=\bcase ))"
    rb"/(?![/*])(?>(?:[^/\\\[\n]++|\\[^\n]|\[(?>(?:[^\]\\\n]++|\\[^\n])*)\])+)/\w*+"
)
# A field of a template may have strings, braces and a template of its own.
_INNER_TEMPLATE: Final = rb"`(?>(?:[^`\\]++|\\.)*)`?"
_TEMPLATE: Final = (
    rb"`(?>(?:[^`\\$]++|\\.|\$(?!\{)|\$\{(?>(?:[^{}`]++|\{[^{}]*+\}|" + _INNER_TEMPLATE + rb")*)\}?"
    rb")*)`?"
)

RUST_PROSE: Final = b"|".join(
    (
        _LINE_COMMENT,
        _NESTED_COMMENT,
        rb'(?<!\w)[bc]?r(?P<hashes>#*+)"(?:.*?"(?P=hashes)|.*+)',
        rb'"(?>(?:[^"\\]++|\\.)*)"?',
        rb"'(?:[^'\\\n\x80-\xff]|[\x80-\xff]{2,4}|\\(?:[^xu\n]|x\w\w|u\{\w{1,8}\}))'",
    )
)
C_PROSE: Final = b"|".join(
    (
        rb"//(?>(?:[^\\\n]++|\\.?)*)",  # A backslash continues the comment on the next line.
        _COMMENT,
        rb'(?<!\w)(?:u8|[uUL])?R"(?P<mark>[^()\\\s"]{0,16}+)\((?:.*?\)(?P=mark)"|.*+)',
        _STRING,
        rb"(?:(?<!\w)|(?<!\w[uUL])(?<=[uUL])|(?<=\bu8))" + _CHARACTER,
    )
)
GO_PROSE: Final = b"|".join((_LINE_COMMENT, _COMMENT, rb"`[^`]*+`?", _STRING, _CHARACTER))
JAVA_PROSE: Final = b"|".join((_LINE_COMMENT, _COMMENT, _TRIPLE, _STRING, _CHARACTER))
JAVASCRIPT_PROSE: Final = b"|".join(
    (_LINE_COMMENT, _COMMENT, _REGEX, _TEMPLATE, _SINGLE, _STRING)
)  # fmt: skip
PYTHON_PROSE: Final = (
    rb"#[^\n]*+|(?<!\w)[bBfFrRtTuU]{0,2}(?:"
    + b"|".join((_TRIPLE, _TRIPLE_SINGLE, _SINGLE, _STRING))
    + rb")"
)

_C: Final = re.compile(C_PROSE, re.DOTALL)
_GO: Final = re.compile(GO_PROSE, re.DOTALL)
_JAVA: Final = re.compile(JAVA_PROSE, re.DOTALL)
_JAVASCRIPT: Final = re.compile(JAVASCRIPT_PROSE, re.DOTALL)
_PYTHON: Final = re.compile(PYTHON_PROSE, re.DOTALL)
_RUST: Final = re.compile(RUST_PROSE, re.DOTALL)
_PATTERNS: Final = {
    "python": _PYTHON,
    "javascript": _JAVASCRIPT,
    "typescript": _JAVASCRIPT,
    "tsx": _JAVASCRIPT,
    "rust": _RUST,
    "go": _GO,
    "java": _JAVA,
    "c": _C,
    "cpp": _C,
}
_NO_BREAK: Final = re.compile(rb"[^\n]")
_FORMATTED: Final = re.compile(rb"(?:[fFtT][rR]?|[rR][fFtT])[\"']")
_FIELD: Final = re.compile(rb"\{\{|\{((?>(?:[^{}]++|\{[^{}]*+\})*))\}")
_TEMPLATE_FIELD: Final = re.compile(rb"\\.|\$\{((?>(?:[^{}]++|\{[^{}]*+\})*))\}", re.DOTALL)


def blank_prose(language: str, source: bytes) -> bytes | None:
    """The source with spaces for comments and strings, except fields; None if it is no code."""
    pattern = _PATTERNS.get(language)
    if pattern is None:
        return None
    if pattern is _PYTHON:
        return pattern.sub(_blank_python, source)
    return pattern.sub(_blank_template if pattern is _JAVASCRIPT else _blank, source)


def _blank(prose: re.Match[bytes]) -> bytes:
    return _NO_BREAK.sub(b" ", prose[0])


def _blank_python(prose: re.Match[bytes]) -> bytes:
    is_formatted = _FORMATTED.match(prose[0]) is not None
    return _blank_around("python", _FIELD, prose[0]) if is_formatted else _blank(prose)


def _blank_template(prose: re.Match[bytes]) -> bytes:
    is_template = prose[0].startswith(b"`")
    if not is_template:
        return _blank(prose)
    return _blank_around("javascript", _TEMPLATE_FIELD, prose[0])


def _blank_around(language: str, fields: re.Pattern[bytes], text: bytes) -> bytes:
    """A text with spaces for all but the code in its fields."""
    kept: list[bytes] = []
    at = 0
    for field in fields.finditer(text):
        if field[1] is not None:
            kept += (
                _NO_BREAK.sub(b" ", text[at : field.start(1)]),
                blank_prose(language, field[1]) or b"",
            )
            at = field.end(1)
    return b"".join((*kept, _NO_BREAK.sub(b" ", text[at:])))
