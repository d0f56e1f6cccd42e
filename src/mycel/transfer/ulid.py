"""Ids for nodes without a key: ULIDs, which sort in the order of their creation.

A ULID is 48 bits of time in milliseconds and 80 random bits, in 26 digits of Crockford's base 32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count, product
from typing import Final

_DIGITS: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS: Final = tuple("".join(pair) for pair in product(_DIGITS, repeat=2))
_SHIFTS: Final = tuple(range(120, -1, -10))
RANDOM_BITS: Final = 80


def ulids(time_ms: int, random_bits: Callable[[int], int]) -> Iterator[str]:
    """An endless series of ULIDs of one millisecond: the first is random, the others count upwards.

    >>> made = ulids(1469918176385, lambda bits: 0)
    >>> next(made), next(made)
    ('01ARYZ6S410000000000000000', '01ARYZ6S410000000000000001')
    """
    # One bit is left free, so that counting upwards never reaches the bits of the time.
    return map(encoded, count((time_ms << RANDOM_BITS) | random_bits(RANDOM_BITS - 1)))


def encoded(number: int) -> str:
    """A number of 128 bits in 26 digits.

    >>> encoded(0)
    '00000000000000000000000000'
    """
    return "".join([_PAIRS[(number >> shift) & 1023] for shift in _SHIFTS])
