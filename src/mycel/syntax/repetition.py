"""Repetition in regular expressions over long texts, in little memory.

Python keeps about a hundred bytes for each repetition of a group until the atomic group around it
ends: a string of 60 MB of escapes would take 3 GB. With repetition in portions, Python keeps bytes
only for the repetitions of one portion and for each portion.
"""

from __future__ import annotations

from typing import Final

PORTION: Final = 1000


def repeated(item: str, *, once: bool = False) -> str:
    """A pattern for any number of an item, or for at least one, without backtracking.

    The item must not match the empty text.
    """
    return rf"(?>(?:(?>(?:{item}){{1,{PORTION}}})){'+' if once else '*'})"
