"""The values for lines of a document with their numbers, and for headings with their lines."""

from __future__ import annotations

from typing import NamedTuple


class NumberedLine(NamedTuple):
    """A line and its number in the file."""

    number: int
    text: str


class TextBlock(NamedTuple):
    """A heading and the lines up to the next one. Level 0 is text before the first heading."""

    level: int
    heading: str
    line: int
    """The line of the heading; for text without a heading, its first line."""
    lines: tuple[NumberedLine, ...]
    anchor: str = ""
    """The name that the document itself gives to the heading, for links to it."""
