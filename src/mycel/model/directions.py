"""The directions in which links are followed."""

from __future__ import annotations

from typing import Final, Literal, get_args

Way = Literal["out", "in"]
"""Along a link, from its subject, or against it."""

Direction = Literal["out", "in", "both"]

DIRECTIONS: Final[tuple[Direction, ...]] = get_args(Direction)


def ways_of(direction: Direction) -> tuple[Way, ...]:
    """The ways that a direction stands for.

    >>> ways_of("both"), ways_of("in")
    (('out', 'in'), ('in',))
    """
    return ("out", "in") if direction == "both" else (direction,)
