"""Places in a text, and excerpts that show them.

Offsets count characters; lines and columns count from one. An excerpt is one line of the text with
carets under the span. Tabs, control characters and lone surrogates are replaced and long lines cut,
so that an excerpt can be printed and sent as JSON.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple, Self
from unicodedata import category, east_asian_width

EXCERPT_CHARACTERS_MAX: Final = 96
"""The maximum number of characters of a line in an excerpt."""

_ELLIPSIS = "…"


END_BITS: Final = 32
"""The bits of a span that hold its end."""
_END_MASK: Final = (1 << END_BITS) - 1


class Span(int):
    """From `start` up to, not including, `end`: offsets in characters.

    Both are in one number, because every node of a tree has a span: a tuple of two numbers takes
    three times the memory.

    >>> Span(3, 5)
    Span(start=3, end=5)
    """

    __slots__ = ()

    def __new__(cls, start: int, end: int) -> Self:
        return int.__new__(cls, start << END_BITS | end)

    @property
    def start(self) -> int:
        return self >> END_BITS

    @property
    def end(self) -> int:
        return self & _END_MASK

    def __iter__(self) -> Iterator[int]:
        yield self.start
        yield self.end

    def __bool__(self) -> bool:
        """True: an empty span at the beginning of a text, whose number is 0, is a span too."""
        return True

    def __repr__(self) -> str:
        return f"Span(start={self.start}, end={self.end})"

    def __reduce__(self) -> tuple[type[Self], tuple[int, int]]:
        return type(self), (self.start, self.end)


NOWHERE: Final = Span(0, 0)
"""The span of a node that was not read from a text."""


class Position(NamedTuple):
    """A line and a column, both counted from one."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Source:
    """A text that a command or a file was read from."""

    text: str

    def position(self, offset: int) -> Position:
        r"""The line and column of an offset; an offset beyond the end counts as the end.

        >>> Source("one\ntwo").position(5)
        Position(line=2, column=2)
        """
        offset = min(max(offset, 0), len(self.text))
        start = self.text.rfind("\n", 0, offset) + 1
        return Position(self.text.count("\n", 0, start) + 1, offset - start + 1)

    def excerpt(self, span: Span) -> str:
        r"""The line on which the span begins, with carets under the part of the span on that line.

        >>> print(Source("FIND(?x)\nWHER { }").excerpt(Span(9, 13)))
        2 | WHER { }
          | ^^^^
        """
        line, column = self.position(span.start)
        start = min(max(span.start, 0), len(self.text)) - (column - 1)
        stop = self.text.find("\n", start)
        full = self.text[start : stop if stop >= 0 else len(self.text)].removesuffix("\r")
        before, marked, after = _window(full, column - 1, max(span.end - span.start, 1))
        gutter = str(line)
        excerpt = f"{before}{marked}{after}"
        carets = " " * _width(before) + "^" * max(_width(marked), 1)
        return f"{gutter} | {excerpt}\n{' ' * len(gutter)} | {carets}"


def _window(line: str, column: int, length: int) -> tuple[str, str, str]:
    """The part of a line around `column`: before the span, the span, and after it."""
    low, high = 0, len(line)
    if high > EXCERPT_CHARACTERS_MAX:
        low = max(min(column - EXCERPT_CHARACTERS_MAX // 2, high - EXCERPT_CHARACTERS_MAX), 0)
        high = low + EXCERPT_CHARACTERS_MAX
    end = min(column + length, high)
    before = (_ELLIPSIS if low else "") + _printable(line[low:column])
    after = _printable(line[max(end, column) : high]) + (_ELLIPSIS if high < len(line) else "")
    return before, _printable(line[column:end]), after


def _printable(text: str) -> str:
    """The text, with plain characters for those that would move the caret or cannot be sent."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_visible, text))


def _visible(character: str) -> str:
    if character == "\t":
        return " "
    # Control characters, surrogates and unassigned code points; format characters such as the byte
    # order mark and direction marks would be invisible, or reverse the line.
    return "\N{REPLACEMENT CHARACTER}" if category(character)[0] == "C" else character


def _width(text: str) -> int:
    """Columns of a terminal: East Asian wide characters take two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(
        2
        if east_asian_width(character) in "WF"
        else 0
        if category(character) in {"Mn", "Me"}
        else 1
        for character in text
    )
