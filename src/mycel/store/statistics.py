"""How many there are, roughly: counted up to a bound, and from samples.

Enough to tell a good order of joins from a bad one, and cheap on a graph of any size: no question
looks at more than `SAMPLE` rows of an index. Answers are kept until the graph has grown by a
quarter.
"""

from __future__ import annotations

from typing import Any, Final

import apsw

from mycel.plan.catalog import Spread
from mycel.store.rows import only

SAMPLE: Final = 2000


class StoreStatistics:
    """Implements `plan.Statistics` over one connection; made anew for every planning."""

    def __init__(self, connection: apsw.Connection, known: dict[tuple[str, int], Any]) -> None:
        self._connection: Final = connection
        self._known: Final = known

    def concepts(self, type_number: int | None) -> float:
        if type_number is None:
            (last,) = only(self._connection, "SELECT coalesce(max(id), 0) FROM concept")
            return max(float(last) / 2, 1.0)
        key = ("concepts", type_number)
        if key not in self._known:
            self._known[key] = self._count_type(type_number)
        found: float = self._known[key]
        return found

    def links(self, predicate: int | None) -> Spread:
        key = ("links", -1 if predicate is None else predicate)
        if key not in self._known:
            self._known[key] = self._spread(predicate)
        found: Spread = self._known[key]
        return found

    def _count_type(self, number: int) -> float:
        """Exact up to the sample's size; beyond it, from how densely they lie among all."""
        seen, first, last = only(
            self._connection,
            "SELECT count(*), min(id), max(id) FROM"
            f" (SELECT id FROM concept WHERE type = ? LIMIT {SAMPLE})",
            (number,),
        )
        if seen < SAMPLE:
            return float(max(seen, 1))
        (final,) = only(self._connection, "SELECT max(id) FROM concept WHERE type = ?", (number,))
        density = float(seen) / max(last - first, 1)
        return max(density * (final - first), float(seen))

    def _spread(self, predicate: int | None) -> Spread:
        total = self._count_links(predicate)
        where = "" if predicate is None else f"WHERE predicate = {int(predicate)}"
        # The index by predicate lists objects in order: those of a sample, each with its links.
        seen, objects = only(
            self._connection,
            "SELECT count(*), count(DISTINCT object) FROM"
            f" (SELECT object FROM proposition {where} LIMIT {SAMPLE})",
        )
        per_object = max(seen / max(objects, 1), 1.0)
        per_subject = self._per_subject(predicate)
        return Spread(total, max(total / per_subject, 1.0), max(total / per_object, 1.0))

    def _count_links(self, predicate: int | None) -> float:
        (last,) = only(self._connection, "SELECT coalesce(max(id), 0) FROM proposition")
        everything = max(float(last) / 2, 1.0)
        if predicate is None:
            return everything
        (seen,) = only(
            self._connection,
            f"SELECT count(*) FROM (SELECT 1 FROM proposition WHERE predicate = ? LIMIT {SAMPLE})",
            (predicate,),
        )
        if seen < SAMPLE:
            return float(max(seen, 1))
        return max(self._share(predicate) * everything, float(SAMPLE))

    def _share(self, predicate: int) -> float:
        """How many of the links spread over the whole table have this predicate."""
        hits, seen = only(
            self._connection,
            "WITH RECURSIVE at(i, step) AS (SELECT 1, max(max(id) / 400, 2) & ~1 FROM proposition"
            " UNION ALL SELECT i + step, step FROM at WHERE i < (SELECT max(id) FROM proposition))"
            " SELECT total(p.predicate = ?), count(*) FROM at JOIN proposition p ON p.id = at.i",
            (predicate,),
        )
        return float(hits) / max(seen, 1)

    def _per_subject(self, predicate: int | None) -> float:
        """Links per subject, from subjects of a sample of links."""
        where = "" if predicate is None else f"WHERE predicate = {int(predicate)}"
        also = "" if predicate is None else f" AND q.predicate = {int(predicate)}"
        links, subjects = only(
            self._connection,
            "SELECT total(n), count(*) FROM (SELECT (SELECT count(*) FROM (SELECT 1 FROM proposition q"
            f" WHERE q.subject = s.subject{also} LIMIT 200)) AS n FROM (SELECT DISTINCT subject FROM"
            f" (SELECT subject FROM proposition {where} LIMIT 200)) s)",
        )
        return max(float(links) / max(subjects, 1), 1.0)
