"""BM25 with the constants and in the order of additions of FTS5, so that all backends agree."""

from __future__ import annotations

from math import log
from typing import Final

_SATURATION: Final = 1.2
_LENGTH_SHARE: Final = 0.75
_RARITY_MIN: Final = 1e-6


def rarity(elements: int, with_term: int) -> float:
    """The inverse document frequency of a term that some of the elements have."""
    value = log((elements - with_term + 0.5) / (with_term + 0.5))
    return value if value > 0 else _RARITY_MIN


def frequency(times: float, length: float) -> float:
    """The weight of a term that a text has some times; `length` is its share of the usual length.

    >>> frequency(1, 1.0)
    1.0
    """
    least = _SATURATION * (1 - _LENGTH_SHARE + _LENGTH_SHARE * length)
    return (times * (_SATURATION + 1.0)) / (times + least)
