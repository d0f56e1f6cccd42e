"""Ids for nodes that have no key: ULIDs, which sort in the order in which they were made.

A ULID is 48 bits of time in milliseconds and 80 random bits, in 26 digits of Crockford's base 32.
Within one millisecond the random part counts upwards, so that ids stay in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Final

_DIGITS: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS: Final = tuple("".join(pair) for pair in product(_DIGITS, repeat=2))
_SHIFTS: Final = tuple(range(120, -1, -10))
RANDOM_BITS: Final = 80


def ulids(clock_ms: Callable[[], int], random_bits: Callable[[int], int]) -> Iterator[str]:
    """ULIDs without end.

    >>> made = ulids(lambda: 1469918176385, lambda bits: 0)
    >>> next(made), next(made)
    ('01ARYZ6S410000000000000000', '01ARYZ6S410000000000000001')
    """
    time = -1
    number = 0
    while True:
        now = clock_ms()
        if now > time:
            time = now
            # One bit fewer than there is room for, so that counting upwards never runs out of it.
            number = (time << RANDOM_BITS) | random_bits(RANDOM_BITS - 1)
        else:
            number += 1
        yield encoded(number)


def encoded(number: int) -> str:
    """A number of 128 bits in 26 digits.

    >>> encoded(0)
    '00000000000000000000000000'
    """
    return "".join([_PAIRS[(number >> shift) & 1023] for shift in _SHIFTS])
