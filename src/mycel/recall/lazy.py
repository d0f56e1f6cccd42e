"""The recall of a store, made when a search first needs it: it brings numpy and a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mycel.search.embedding import Embedder
from mycel.store.database import Store

if TYPE_CHECKING:
    from mycel.recall.index import Recall


class LazyRecall:
    """Makes a `Recall` once. An `embedder` of None is the one inside the package."""

    def __init__(self, store: Store, embedder: Embedder | None = None) -> None:
        self._store: Final = store
        self._embedder: Final = embedder
        self._made: Recall | None = None

    def get(self) -> Recall:
        """The recall of the store."""
        if self._made is None:
            from mycel.recall.index import Recall  # noqa: PLC0415 - as the docstring says

            self._made = Recall(self._store, self._embedder)
        return self._made

    def close(self) -> None:
        """Stop what runs in the background."""
        if self._made is not None:
            self._made.close()

    def save(self) -> None:
        """Store what searches have derived, if enough has gathered (`Recall.save`)."""
        if self._made is not None:
            self._made.save()
