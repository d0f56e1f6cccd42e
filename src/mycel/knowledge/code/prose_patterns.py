"""Comments and strings of a source, found as text.

An unclosed string or comment extends to the end of its line, or to the end.
"""

from __future__ import annotations

import re
from typing import Final

C_PROSE: Final = (
    rb'//[^\n]*+|/\*(?:.*?\*/|.*+)|r#+"(?:.*?"#+|.*+)|b?"(?>(?:[^"\\]|\\.)*)"?'
    rb"|'(?:[^'\\\n]|\\[^\n]{1,9})'"
)
JAVASCRIPT_PROSE: Final = (
    rb"//[^\n]*+|/\*(?:.*?\*/|.*+)"
    rb"|'(?>(?:[^'\\\n]|\\.)*)'?|\"(?>(?:[^\"\\\n]|\\.)*)\"?"
)
PYTHON_PROSE: Final = (
    rb"#[^\n]*+|(?<!\w)[bBfFrRuU]{0,2}(?:\"\"\"(?:.*?\"\"\"|.*+)|'''(?:.*?'''|.*+)"
    rb"|'(?>(?:[^'\\\n]|\\.)*)'?|\"(?>(?:[^\"\\\n]|\\.)*)\"?)"
)
_C: Final = re.compile(C_PROSE, re.DOTALL)
_JAVASCRIPT: Final = re.compile(JAVASCRIPT_PROSE, re.DOTALL)
_PYTHON: Final = re.compile(PYTHON_PROSE, re.DOTALL)
_PATTERNS: Final = {
    "python": _PYTHON,
    "javascript": _JAVASCRIPT,
    "typescript": _JAVASCRIPT,
    "tsx": _JAVASCRIPT,
    "rust": _C,
    "go": _C,
    "java": _C,
    "c": _C,
    "cpp": _C,
}
_NO_BREAK: Final = re.compile(rb"[^\n]")


def blank_prose(language: str, source: bytes) -> bytes | None:
    """The source with spaces for comments and strings, except f-strings; None if it is no code."""
    pattern = _PATTERNS.get(language)
    return None if pattern is None else pattern.sub(_blank, source)


def _blank(prose: re.Match[bytes]) -> bytes:
    text = prose[0]
    is_code = text[:1] in b"fFrR" and b"f" in text[:2].lower()
    return text if is_code else _NO_BREAK.sub(b" ", text)
