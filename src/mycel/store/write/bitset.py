"""A set of element numbers, one bit each."""

from __future__ import annotations

from collections.abc import Iterator


class NumberSet:
    """A set of numbers of elements of one kind, one bit for each number up to the largest."""

    def __init__(self) -> None:
        self._bits = bytearray()

    def add(self, number: int) -> None:
        # Concepts have even numbers and links odd ones, so each kind has a set of its own.
        at, bit = divmod(number >> 1, 8)
        if at >= len(self._bits):
            self._bits.extend(bytes(at + 1 - len(self._bits) + len(self._bits) // 4))
        self._bits[at] |= 1 << bit

    def __contains__(self, number: object) -> bool:
        if not isinstance(number, int):
            return False
        at, bit = divmod(number >> 1, 8)
        return at < len(self._bits) and bool(self._bits[at] >> bit & 1)


class LinkSet(NumberSet):
    """A set of numbers of links, iterated from the oldest link on."""

    def __iter__(self) -> Iterator[int]:
        for at, bits in enumerate(self._bits):
            if bits:
                yield from (at << 4 | bit << 1 | 1 for bit in range(8) if bits >> bit & 1)
