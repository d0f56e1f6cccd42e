"""How many there are, roughly: counted up to a bound, and from samples.

Enough to tell a good order of joins from a bad one, and cheap on a graph of any size: no question
looks at more than `SAMPLE` rows of an index. Whoever plans decides how long
answers are kept.
"""

from __future__ import annotations

from typing import Any, Final

import apsw

from mycel.plan.catalog import Spread
from mycel.store.rows import only

SAMPLE: Final = 2000
SUBJECTS: Final = 200
"""Of how many subjects the links are counted, and up to how many."""


class StoreStatistics:
    """Implements `plan.Statistics` over one connection; made anew for every planning."""

    def __init__(self, connection: apsw.Connection, known: dict[tuple[str, int], Any]) -> None:
        self._connection: Final = connection
        self._known: Final = known

    def concepts(self, type_number: int | None) -> float:
        if type_number is None:
            (last,) = self._numbers("SELECT max(id) FROM concept")
            return max(last / 2, 1.0)
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
        seen, first, last = self._numbers(
            "SELECT count(*), min(id), max(id) FROM"
            f" (SELECT id FROM concept WHERE type = {number} LIMIT {SAMPLE})"
        )
        if seen < SAMPLE:
            return max(seen, 1.0)
        (final,) = self._numbers(f"SELECT max(id) FROM concept WHERE type = {number}")
        density = seen / max(last - first, 1.0)
        return max(density * (final - first), seen)

    def _spread(self, predicate: int | None) -> Spread:
        total = self._count_links(predicate)
        where = "" if predicate is None else f"WHERE predicate = {predicate}"
        # The index by predicate lists objects in order: those of a sample, each with its links.
        seen, objects = self._numbers(
            "SELECT count(*), count(DISTINCT object) FROM"
            f" (SELECT object FROM proposition {where} LIMIT {SAMPLE})"
        )
        per_object = max(seen / max(objects, 1.0), 1.0)
        per_subject = self._per_subject(predicate)
        return Spread(total, max(total / per_subject, 1.0), max(total / per_object, 1.0))

    def _count_links(self, predicate: int | None) -> float:
        (last,) = self._numbers("SELECT max(id) FROM proposition")
        everything = max(last / 2, 1.0)
        if predicate is None:
            return everything
        (seen,) = self._numbers(
            "SELECT count(*) FROM"
            f" (SELECT 1 FROM proposition WHERE predicate = {predicate} LIMIT {SAMPLE})"
        )
        if seen < SAMPLE:
            return max(seen, 1.0)
        return max(self._share(predicate) * everything, float(SAMPLE))

    def _share(self, predicate: int) -> float:
        """How many of some links spread over the whole table have this predicate."""
        hits, seen = self._numbers(
            "WITH RECURSIVE at(i, step, final) AS (SELECT 1, max(max(id) / 400, 2) & ~1, max(id)"
            " FROM proposition UNION ALL SELECT i + step, step, final FROM at WHERE i < final)"
            f" SELECT total(p.predicate = {predicate}), count(*)"
            " FROM at JOIN proposition p ON p.id = at.i"
        )
        return hits / max(seen, 1.0)

    def _per_subject(self, predicate: int | None) -> float:
        """Links per subject, from the subjects of a sample of links."""
        where = "" if predicate is None else f"WHERE predicate = {predicate}"
        also = "" if predicate is None else f"AND q.predicate = {predicate}"
        sample = f"SELECT subject FROM proposition {where} LIMIT {SUBJECTS}"
        links = f"SELECT 1 FROM proposition q WHERE q.subject = s.subject {also} LIMIT {SUBJECTS}"
        found, subjects = self._numbers(
            f"SELECT total((SELECT count(*) FROM ({links}))), count(*)"
            f" FROM (SELECT DISTINCT subject FROM ({sample})) s"
        )
        return max(found / max(subjects, 1.0), 1.0)

    def _numbers(self, query: str) -> tuple[float, ...]:
        return tuple(float(number or 0) for number in only(self._connection, query))
