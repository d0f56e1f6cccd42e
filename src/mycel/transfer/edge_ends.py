"""Finds the elements that edges join, by their keys."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from mycel.engine.batch import concepts_there
from mycel.store.write.transaction import Transaction
from mycel.transfer.source_rows import End

KNOWN_MAX: Final = 1 << 17
"""The number of ends that are kept: most edges of a file share ends with earlier ones."""


class EndIds:
    """The ids of existing ends, which must not be removed while this cache is in use."""

    def __init__(self, tx: Transaction) -> None:
        self._tx: Final = tx
        self._known: dict[End, str] = {}

    def ids(self, ends: Iterable[End]) -> dict[End, str]:
        """The ids of those ends that exist."""
        distinct = set(ends)
        ids_by_end = {end: self._known[end] for end in distinct if end in self._known}
        names: dict[str, list[str]] = {}
        links = []
        for end in distinct.difference(ids_by_end):
            if len(end) == 2:
                names.setdefault(end[0], []).append(end[1])
            else:
                links.append(end)
        for (type_name, name), id_ in concepts_there(self._tx, names).items():
            ids_by_end[type_name, name] = id_
            # The natural key follows from type and name, so the store need not read the concept.
            self._tx.remember_end(id_, type_name, name)
        for link in links:
            joined = self._link(*link)
            if joined is not None:
                ids_by_end[link] = joined
        if len(self._known) + len(ids_by_end) > KNOWN_MAX:
            self._known.clear()
        self._known.update(ids_by_end)
        return ids_by_end

    def _link(self, predicate: str, subject: End, object_: End) -> str | None:
        inner = self.ids((subject, object_))
        if len(inner) < 2:
            return None
        link = self._tx.get_edge(inner[subject], predicate, inner[object_])
        return None if link is None else link.id
