"""What turns text into vectors, when somebody brings it along.

Mycel ships none. Without one, every mode of a search is keyword search, and no mode is refused:
what a model asks for stays valid wherever it runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Protocol

KEYWORD: Final = "keyword"
MODES: Final = (KEYWORD, "semantic", "hybrid")
"""The modes of SEARCH. The last two are `KEYWORD` as long as there is no embedder."""


class Embedder(Protocol):
    """Gives texts of similar meaning similar vectors."""

    @property
    def name(self) -> str:
        """Which model it is. Vectors of different models are never compared."""
        ...

    @property
    def dimensions(self) -> int:
        """How long its vectors are."""
        ...

    def embed(self, texts: Sequence[str]) -> Iterable[Sequence[float]]:
        """One vector for each text, in order, each of length one."""
        ...
