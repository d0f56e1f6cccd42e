"""Counts and names of the live state, made when first needed and then kept current."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import Final

from mycel.explorer.census import Census
from mycel.explorer.name_index import NameIndex
from mycel.knowledge.uris import uri_of
from mycel.store.query import outline
from mycel.store.query.outline import ConceptLine
from mycel.store.query.reader import Reader
from mycel.syntax.gc_pause import collector_paused


class LiveCounts:
    """The census of the live state and the index of names, made when first needed."""

    def __init__(self) -> None:
        self._lock: Final = threading.Lock()
        self._census: Census | None = None
        self._index: NameIndex | None = None

    def census_if_ready(self) -> Census | None:
        """The census as it was last brought up to date, if it was made."""
        return self._census

    def census(self, reader: Reader) -> Census:
        """The census at the state of a reader, or a newer one."""
        with self._lock:
            return self._current(reader)

    def index(self, reader: Reader) -> tuple[NameIndex, Census]:
        """The index of names, up to date."""
        with self._lock:
            census = self._current(reader)
            if self._index is None:
                lines = census.take_lines() or outline.concepts(reader)
                with collector_paused(True):
                    self._index = NameIndex(_named_lines(reader, lines), census.degrees)
            return self._index, census

    def index_if_ready(self, reader: Reader) -> tuple[NameIndex, Census] | None:
        """The index of names, up to date; None while another thread makes it."""
        if not self._lock.acquire(blocking=self._index is not None):
            return None
        self._lock.release()
        return self.index(reader)

    def _current(self, reader: Reader) -> Census:
        census = self._census
        if census is not None:
            changed = census.follow(reader)
            if changed is not None:
                if self._index is not None:
                    for number, uri, label in _named_lines(reader, changed):
                        self._index.add(number, uri, label, census.degrees)
                return census
        self._index = None
        # Hundreds of thousands of objects are made, and none of them is garbage.
        with collector_paused(True):
            self._census = Census(reader)
        return self._census


def _named_lines(
    reader: Reader, lines: Iterable[ConceptLine]
) -> Iterator[tuple[int, str, str | None]]:
    return (
        (line.number, uri_of(reader.type_name(line.type), line.name), line.label) for line in lines
    )
