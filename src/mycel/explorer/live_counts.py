"""The census and the name index of the live state, made when needed and then kept current."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from mycel.api.graph import Graph
from mycel.explorer.census import Census
from mycel.explorer.name_index import NameIndex
from mycel.knowledge.uris import uri_of
from mycel.model.allowance import using
from mycel.store.query import outline
from mycel.store.query.outline import ConceptLine
from mycel.store.query.reader import Reader
from mycel.syntax.gc_pause import collector_paused


class LiveCounts:
    """The census of the live state and the index of names, for any number of threads."""

    def __init__(self, db: Graph) -> None:
        self._db: Final = db
        self._lock: Final = threading.Lock()
        self._indexing: Final = threading.Lock()
        self._census: Census | None = None
        self._index: NameIndex | None = None
        self._unindexed: Final[dict[int, ConceptLine]] = {}
        """The nodes that changed since the index was last updated."""

    def census_if_ready(self) -> Census | None:
        """The census as of its last update; None if it was never made."""
        return self._census

    @contextmanager
    def counted(self) -> Iterator[tuple[Census, Reader]]:
        """The census at this moment, and a reader of the same state; others wait meanwhile.

        This work has no allowance of a request, because all other requests wait for it. With one, a
        server would pause it to let other requests run, or stop it when its client leaves.
        """
        with using(None), self._lock, self._db.reading() as reader:
            yield self._current(reader), reader

    def index(self) -> tuple[NameIndex, Census]:
        """The index of names at this moment.

        It is made outside of the lock, so that requests for counts do not wait for it.
        """
        while True:
            if self._index is None:
                self._make_index()
            with self.counted() as (census, reader):
                if self._index is not None:  # Otherwise too much has changed meanwhile.
                    for number, uri, label in _label_concepts(reader, self._unindexed.values()):
                        self._index.add(number, uri, label, census.degrees)
                    self._unindexed.clear()
                    return self._index, census

    def _make_index(self) -> None:
        with self._indexing:
            if self._index is not None:
                return
            with self.counted() as (census, reader):
                names = list(
                    _label_concepts(reader, census.take_lines() or outline.concepts(reader))
                )
                # From here on, changed nodes are collected until the index exists.
                self._unindexed.clear()
            name_index = NameIndex(names, census.degrees)
            name_index.folders(census.folders, "")
            with self._lock:
                if self._census is census:
                    self._index = name_index

    def index_if_ready(self) -> tuple[NameIndex, Census] | None:
        """The index of names at this moment; None while another thread makes it or the census."""
        is_busy = self._indexing.locked() or self._lock.locked()
        return None if self._index is None and is_busy else self.index()

    def _current(self, reader: Reader) -> Census:
        census = self._census
        if census is not None:
            try:
                changed = census.follow(reader)
            except BaseException:  # The update may be half done, for example at a deadline.
                self._census = self._index = None
                raise
            if changed is not None:
                if self._index is not None or self._indexing.locked():
                    self._unindexed.update((line.number, line) for line in changed)
                return census
        self._census = self._index = None
        # This makes hundreds of thousands of objects and no garbage, so collection is paused.
        with collector_paused(True):
            self._census = Census(reader)
        return self._census


def _label_concepts(
    reader: Reader, lines: Iterable[ConceptLine]
) -> Iterator[tuple[int, str, str | None]]:
    return (
        (line.number, uri_of(reader.type_name(line.type), line.name), line.label) for line in lines
    )
