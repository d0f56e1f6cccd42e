"""Which elements a load has touched: a bit for each number that the graph has given out."""

from __future__ import annotations


class Marks:
    """A set of element numbers that takes little room however many they are."""

    def __init__(self) -> None:
        self._bits = bytearray()

    def add(self, number: int) -> None:
        # Concepts are even and links odd, and each kind has marks of its own.
        at, bit = divmod(number >> 1, 8)
        if at >= len(self._bits):
            self._bits.extend(bytes(at + 1 - len(self._bits) + len(self._bits) // 4))
        self._bits[at] |= 1 << bit

    def __contains__(self, number: int) -> bool:
        at, bit = divmod(number >> 1, 8)
        return at < len(self._bits) and bool(self._bits[at] >> bit & 1)
