"""Values that a writer keeps from one transaction to the next.

It is valid as long as no other process writes to the file and nothing is rolled back; otherwise the
writer clears it. A load that links its own concepts takes a seventh longer without it.
"""

from __future__ import annotations

from typing import Final

from mycel.model.limits import TRANSACTION_SAVED_ELEMENTS_MAX
from mycel.store.index.slots import KnownSlots

KEPT_MAX: Final = 1 << 14
"""The number of elements that are kept after a transaction."""


class WriteCache:
    """Live elements and their natural keys, which names concern no guard, what is indexed."""

    def __init__(self) -> None:
        self.keys: Final[dict[int, bytes]] = {}
        """Natural keys of live elements."""
        self.ends: Final[dict[str, tuple[int, bytes]]] = {}
        """Inner ids and keys of elements that links were put on, by the ids that people use."""
        self.free_types: Final[set[str]] = set()
        """Types whose elements concern no guard."""
        self.free_predicates: Final[set[str]] = set()
        self.slots: KnownSlots | None = None
        """The slots of the index of properties; None if they have to be read."""
        self.link_ends: set[tuple[int, int]] | None = None
        """Predicates and sides that have links as ends; None if not read yet."""
        self.has_lifetimes: bool | None = None
        """True if the tables of lifetimes have rows; None if not read yet."""

    def remember(self, number: int, key: bytes) -> None:
        """The natural key of an element that is live."""
        self.bound()
        self.keys[number] = key

    def remember_end(self, ref: str, number: int, key: bytes) -> None:
        """A live element by its id, with its natural key."""
        self.bound()
        self.ends[ref] = (number, key)

    def bound(self) -> None:
        """Clear what has grown too large during a long transaction."""
        if len(self.keys) >= TRANSACTION_SAVED_ELEMENTS_MAX:
            self.keys.clear()
        if len(self.ends) >= TRANSACTION_SAVED_ELEMENTS_MAX:
            self.ends.clear()

    def forget_element(self, number: int) -> None:
        """An element is gone, or has another key."""
        self.keys.pop(number, None)
        self.ends.clear()

    def forget_definitions(self) -> None:
        """A definition has changed: whom names concern has to be asked again."""
        self.free_types.clear()
        self.free_predicates.clear()

    def forget(self) -> None:
        """Forget everything: it may have come from a transaction that was rolled back."""
        self.keys.clear()
        self.ends.clear()
        self.slots = self.link_ends = self.has_lifetimes = None
        self.forget_definitions()

    def shrink(self) -> None:
        """After a load, give back what it took."""
        if len(self.keys) > KEPT_MAX or len(self.ends) > KEPT_MAX:
            self.keys.clear()
            self.ends.clear()
