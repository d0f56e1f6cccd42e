"""The passages and vectors of a store, made when a search first needs them: they load numpy.

The embedder is the one given to `mycel.open`, or else the one chosen for the graph (`setting`), or
else the model inside the package. A new choice takes effect at the next search. Vectors of a chosen
embedder are made in the background; for a given embedder, a search waits for them.
"""

from __future__ import annotations

import atexit
import os
from threading import Lock
from typing import TYPE_CHECKING, Final
from weakref import ReferenceType, WeakSet, finalize, ref

from mycel.embedding.embedder import STATIC, Embedder
from mycel.errors import EmbedderFailed, InvalidValueType
from mycel.search.index.setting import chosen
from mycel.store.database import Store

if TYPE_CHECKING:
    from mycel.search.index.passage_index import PassageIndex
    from mycel.search.index.vector_columns import VectorColumns


class SearchIndex:
    """Holds the passages and the vectors of properties of a store, each made when first needed.

    The passages are those of the embedder in use and, if a search falls back to it, those of the
    model inside the package.
    """

    def __init__(self, store: Store, embedder: Embedder | None = None) -> None:
        self._store: Final = store
        self._given: Final = embedder
        self._lock = Lock()
        self._name = STATIC
        self._made: PassageIndex | None = None
        self._instead: PassageIndex | None = None
        self._columns: VectorColumns | None = None
        _ALL.add(self)

    @property
    def is_given(self) -> bool:
        """True if the embedder was given to `mycel.open`; then no choice changes it."""
        return self._given is not None

    @property
    def choice(self) -> str:
        """The name by which the embedder was chosen, or its own name if it was given."""
        return chosen(self._store) if self._given is None else self._given.name

    def get(self) -> PassageIndex:
        """The passages of the store.

        Raises:
            EmbedderFailed: there is no such embedder as was chosen.
        """
        with self._lock:
            return self._current()

    def _current(self) -> PassageIndex:
        name = STATIC if self._given is not None else chosen(self._store)
        if self._made is None or name != self._name:
            from mycel.embedding.choice import embedder_named  # noqa: PLC0415 - it brings numpy
            from mycel.search.index.passage_index import PassageIndex  # noqa: PLC0415 - as the docstring says

            embedder = self._given
            if name != STATIC:
                try:
                    embedder = embedder_named(name)
                except InvalidValueType as error:
                    raise EmbedderFailed(error.message, hint=error.hint) from None
            if self._made is not None:
                self._made.stop()
            self._made = self._watched(
                PassageIndex(self._store, embedder, background=name != STATIC)
            )
            self._name = name
        return self._made

    def instead(self) -> PassageIndex | None:
        """The passages for the model inside the package; None if `get` returns these."""
        if self._given is None and chosen(self._store) == STATIC:
            return None
        with self._lock:
            if self._instead is None:
                from mycel.search.index.passage_index import PassageIndex  # noqa: PLC0415 - as the docstring says

                self._instead = self._watched(PassageIndex(self._store))
            return self._instead

    def _watched(self, index: PassageIndex) -> PassageIndex:
        """The index. Its threads end with this object, and before the interpreter does."""
        _INDEXES.add(index)
        finalize(self, _stop, ref(index))
        return index

    def columns(self) -> VectorColumns:
        """The vectors of properties."""
        with self._lock:
            if self._columns is None:
                from mycel.search.index.vector_columns import VectorColumns  # noqa: PLC0415 - as above

                self._columns = VectorColumns(self._store, self.get)
            return self._columns

    def derive_pending(self) -> bool:
        """Derive passages ahead of a search by meaning, if there was such a search before.

        Returns False if there is nothing to derive.

        Raises:
            EmbedderFailed: the embedder does not work.
        """
        index = self.get()
        with self._store.reading() as reader:
            if not index.has_derived(reader) or not index.pending(reader):
                return False
        index.complete()
        return True

    def reset(self) -> None:
        """Drop the passages in memory; the next search reads or derives them again."""
        self.close()
        self._made = self._instead = self._columns = None

    def close(self) -> None:
        """Stop the threads in the background."""
        for recall in (self._made, self._instead):
            if recall is not None:
                recall.close()

    def save(self) -> None:
        """Store derived passages, if enough have gathered (`PassageIndex.save`)."""
        for index in (self._made, self._instead):
            if index is not None:
                index.save()

    def after_fork(self) -> None:
        """In a forked child, use no object of the parent: its threads may have held locks."""
        self._lock = Lock()
        self._made = self._instead = self._columns = None


_ALL: Final[WeakSet[SearchIndex]] = WeakSet()
_INDEXES: Final[WeakSet[PassageIndex]] = WeakSet()
"""All indexes that may have a thread, even replaced ones, or ones whose graph was not closed."""


def _after_fork_in_child() -> None:
    _INDEXES.clear()
    for search_index in list(_ALL):
        search_index.after_fork()


def _stop(index: ReferenceType[PassageIndex]) -> None:
    if (running := index()) is not None:
        running.stop()


def _close_all() -> None:
    for index in list(_INDEXES):
        index.close()


# If a thread returns from a model while the interpreter ends, it is torn down inside the code of
# the model, which aborts the process.
atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
