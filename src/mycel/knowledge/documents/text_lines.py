"""Lines of a document with their numbers, and headings with the lines below them."""

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
    """The number of the line of the heading; of a text without one, of its first line."""
    lines: tuple[NumberedLine, ...]
    anchor: str = ""
    """The name that the document gives to the heading, to refer to it."""
