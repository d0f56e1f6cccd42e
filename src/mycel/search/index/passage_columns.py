"""Passages in columns while a corpus is built: one buffer for each field of all passages.

As rows, 100,000 passages are a million small objects. They need several times the memory, and
fragment it so that the process cannot return it. In columns they need some 45 MB while a corpus is
built, and the unused part is freed at once.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mycel.search.index.phrases import PhraseVocabulary
from mycel.store.index.passages import PassageRow

NOWHERE: Final = -1
"""The number of an actor or episode that a passage does not have."""

PassageEntry = tuple[PassageRow, bytes]
"""A passage and its vector, one signed byte per dimension."""

ITEMS: Final = {
    "numbers": "q",
    "types": "i",
    "flags": "B",
    "dates": "i",
    "actors": "i",
    "episodes": "i",
    "positions": "d",
}
"""Fields with one item for each passage, and the code of their arrays."""

_LISTS: Final = {"names": "<u4", "phrases": "<u4", "pieces": "<u2"}
"""Fields with any number of items for each passage, and the type of the items."""


class Interner:
    """Numbers for texts, such as the names of actors; one object for all states of a corpus."""

    def __init__(self) -> None:
        self.numbers: Final[dict[str, int]] = {}

    def number(self, text: str | None) -> int:
        return NOWHERE if text is None else self.numbers.setdefault(text, len(self.numbers))


class Shared(NamedTuple):
    """Data that all states of a corpus share."""

    vocabulary: PhraseVocabulary
    dimensions: int
    """The number of dimensions of the vectors."""
    actors: Interner
    episodes: Interner


class PassageColumns:
    """Passages in columns.

    Arrays are views of the columns: after the first one, none can be added.
    """

    def __init__(self, shared: Shared, rows: Iterable[PassageEntry] = ()) -> None:
        self.shared: Final = shared
        self._items: Final[dict[str, Any]] = {key: array(code) for key, code in ITEMS.items()}
        self._lists: Final = {key: bytearray() for key in _LISTS}
        self._ends: Final = {key: array("q", [0]) for key in _LISTS}
        self._vectors: Final = bytearray()
        for row, vector in rows:
            self.add(row, vector)

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def numbers(self) -> array[int]:
        """The elements."""
        numbers: array[int] = self._items["numbers"]
        return numbers

    def add(self, row: PassageRow, vector: bytes) -> None:
        items = (
            row.element,
            row.type,
            row.flags,
            row.date,
            self.shared.actors.number(row.actor),
            self.shared.episodes.number(row.episode),
            np.inf if row.position is None else row.position,
        )
        for column, item in zip(self._items.values(), items, strict=True):
            column.append(item)
        for key, some in zip(_LISTS, (row.names, row.phrases, row.pieces), strict=True):
            self._lists[key] += some
            self._ends[key].append(len(self._lists[key]))
        self._vectors.extend(vector)

    @property
    def vectors(self) -> NDArray[np.int8]:
        """A row for each passage."""
        return np.frombuffer(self._vectors, np.int8).reshape(len(self), self.shared.dimensions)

    def items(self, key: str) -> NDArray[Any]:
        """A field with one item for each passage."""
        return np.frombuffer(self._items[key], ITEMS[key])

    def lists(self, key: str, start: int = 0, stop: int | None = None) -> tuple[NDArray[Any], ...]:
        """The concatenated items of a field, for all passages or some; and the number for each."""
        ends = self._ends[key][start : None if stop is None else stop + 1]
        counts = np.diff(ends) // np.dtype(_LISTS[key]).itemsize
        return self._cut(key, ends[0], ends[-1]), counts.astype(np.uint32)

    def pieces_of(self, numbers: Sequence[int]) -> dict[int, NDArray[np.uint16]]:
        """The word pieces of those elements that are in the columns."""
        ends = self._ends["pieces"]
        return {
            self._items["numbers"][at]: self._cut("pieces", ends[at], ends[at + 1])
            for at in np.flatnonzero(np.isin(self.items("numbers"), numbers)).tolist()
        }

    def _cut(self, key: str, begin: int, end: int) -> NDArray[Any]:
        return np.frombuffer(memoryview(self._lists[key])[begin:end], _LISTS[key])
