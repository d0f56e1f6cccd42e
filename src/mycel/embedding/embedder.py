"""The interface of embedders, which turn text into vectors.

`mycel.embedding.static` is the one inside the package, and the default.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Protocol

STATIC: Final = "static"
"""The name of the embedder inside the package."""


class Embedder(Protocol):
    """Gives texts of similar meaning similar vectors."""

    @property
    def name(self) -> str:
        """The name of the model. Vectors of different models are never compared."""
        ...

    @property
    def dimensions(self) -> int:
        """The number of dimensions of its vectors."""
        ...

    def embed(self, texts: Sequence[str]) -> Iterable[Sequence[float]]:
        """One vector for each text, in order, each of length one."""
        ...


class NotReadyError(Exception):
    """A thread is still making the vectors that a search by meaning needs."""
