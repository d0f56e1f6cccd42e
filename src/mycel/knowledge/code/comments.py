"""Documentation in comments above a definition, cut to the first paragraph.

The search reads the text before a node and not its siblings, because decorators, attributes and
`template<…>` may come between.
"""

from __future__ import annotations

import re
from typing import Final

DOC_CHARS_MAX: Final = 600
_COMMENT_BYTES_MAX: Final = 8 << 10
_LINES_BETWEEN_MAX: Final = 12

# If code stands before the definition on its line, the comment above belongs to that code.
_OTHER_CODE: Final = (b"{", b"}", b";", b"=")
_BETWEEN: Final = (b"#[", b"@", b"template")
_MARKER: Final = re.compile(r"^\s*(?:/\*\*?!?|\*(?!/)|//[/!]?)?[ \t]?")
_TAG: Final = re.compile(r"^[@\\](?!brief)\w+")
_RULE: Final = re.compile(r"[\W_]*")


def comment_above(source: bytes, start: int) -> str:
    """The comment, with its markers, that ends on the line before `start`; "" for none."""
    floor = max(0, start - _COMMENT_BYTES_MAX)
    end = source.rfind(b"\n", floor, start)
    if any(mark in source[max(end + 1, floor) : start] for mark in _OTHER_CODE):
        return ""
    for _ in range(_LINES_BETWEEN_MAX):
        if end < 0:
            return ""
        begin = max(floor, source.rfind(b"\n", floor, end) + 1)
        line = source[begin:end].strip()
        if line.endswith(b"*/"):
            return _block(source, end)
        if line.startswith(b"//"):
            return _lines(source, begin, end)
        if not line.startswith(_BETWEEN):
            return ""
        end = begin - 1
    return ""


def first_paragraph(comment: str) -> str:
    r"""The words of a comment up to the first empty line or tag.

    >>> first_paragraph("/** Opens it.\n *\n * More.\n */")
    'Opens it.'
    """
    words: list[str] = []
    for raw in comment.splitlines():
        line = _MARKER.sub("", raw, count=1).strip().removesuffix("*/").strip()
        line = line.removeprefix("@brief ").removeprefix("\\brief ")
        if _TAG.match(line):
            break
        if _RULE.fullmatch(line):
            if words:
                break
            continue
        words.append(line)
    return shortened(" ".join(words))


def shortened(text: str, limit: int = DOC_CHARS_MAX) -> str:
    """A text on one line, cut to a limit of characters."""
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def _block(source: bytes, end: int) -> str:
    begin = source.rfind(b"/*", max(0, end - _COMMENT_BYTES_MAX), end)
    return source[begin:end].decode("utf-8", "replace") if begin >= 0 else ""


def _lines(source: bytes, begin: int, end: int) -> str:
    """The run of line comments that ends at the given line."""
    floor = max(0, end - _COMMENT_BYTES_MAX)
    while begin > floor:
        above = source.rfind(b"\n", floor, begin - 1) + 1
        if not source[above:begin].lstrip().startswith(b"//") or above >= begin:
            break
        begin = above
    return source[begin:end].decode("utf-8", "replace")
