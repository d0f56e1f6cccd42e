"""Values that a writer keeps from one transaction to the next.

They are valid until another process writes to the file or a transaction is rolled back; then the
writer clears them. Without them, a load that links its own concepts takes a seventh longer.
"""

from __future__ import annotations

from typing import Final

from mycel.model.limits import TRANSACTION_SAVED_ELEMENTS_MAX
from mycel.store.index.slots import KnownSlots

KEPT_MAX: Final = 1 << 14
"""The maximum number of elements that are kept after a transaction."""


class WriteCache:
    """The cache: live elements with their keys, types that no guard checks, and slots."""

    def __init__(self) -> None:
        self.keys: Final[dict[int, bytes]] = {}
        """Natural keys of live elements."""
        self.ends: Final[dict[str, tuple[int, bytes]]] = {}
        """Numbers and natural keys of elements that were ends of links, by id."""
        self.free_types: Final[set[str]] = set()
        """Types that no guard checks."""
        self.free_predicates: Final[set[str]] = set()
        self.slots: KnownSlots | None = None
        """The slots of the index of properties; None if they are not read yet."""
        self.link_ends: set[tuple[int, int]] | None = None
        """Predicates and sides that have links as ends; None if they are not read yet."""
        self.has_lifetimes: bool | None = None
        """True if the tables of lifetimes have rows; None if not known yet."""

    def remember(self, number: int, key: bytes) -> None:
        """Keep the natural key of a live element."""
        self.bound()
        self.keys[number] = key

    def remember_end(self, ref: str, number: int, key: bytes) -> None:
        """Keep the number and natural key of a live element, by its id."""
        self.bound()
        self.ends[ref] = (number, key)

    def bound(self) -> None:
        """Clear parts that have grown too large during a long transaction."""
        if len(self.keys) >= TRANSACTION_SAVED_ELEMENTS_MAX:
            self.keys.clear()
        if len(self.ends) >= TRANSACTION_SAVED_ELEMENTS_MAX:
            self.ends.clear()

    def forget_element(self, number: int) -> None:
        """Forget an element that was removed or has another key."""
        self.keys.pop(number, None)
        self.ends.clear()

    def forget_definitions(self) -> None:
        """Forget which types no guard checks: a definition has changed."""
        self.free_types.clear()
        self.free_predicates.clear()

    def forget(self) -> None:
        """Forget everything, because values may come from a rolled-back transaction."""
        self.keys.clear()
        self.ends.clear()
        self.slots = self.link_ends = self.has_lifetimes = None
        self.forget_definitions()

    def shrink(self) -> None:
        """Free most of the memory after a load."""
        if len(self.keys) > KEPT_MAX or len(self.ends) > KEPT_MAX:
            self.keys.clear()
            self.ends.clear()
