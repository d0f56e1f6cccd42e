"""Approximate counts for the planner: counted up to a bound, and estimated from samples.

The counts are exact enough for a good order of joins, and take a few milliseconds whatever the size
of the graph. The planner decides how long it keeps them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from mycel.plan.catalog import Entries, Spread
from mycel.store.file.rows import fetch_one
from mycel.store.query.reader import Reader

SAMPLE: Final = 2000
PROBES: Final = 500
"""The size of a sample of links."""
HITS_MIN: Final = 20
DEGREE_MAX: Final = 100
"""The number up to which the links of one element, or the elements of one value, are counted."""
VALUES: Final = 200
"""The size of a sample of index values."""

Counted = TypeVar("Counted")


class StoreStatistics:
    """The `plan.Statistics` of one connection, made for each planning."""

    def __init__(self, reader: Reader, counts: dict[tuple[str, int], Any]) -> None:
        self._connection: Final = reader.connection
        self._known: Final = counts

    def concepts(self, type_number: int | None) -> float:
        if type_number is None:
            (last,) = self._numbers("SELECT max(id) FROM concept")
            return max(last / 2, 1.0)
        return self._cached_count("concepts", type_number, self._count_type)

    def links(self, predicate: int | None) -> Spread:
        return self._cached_count("links", -1 if predicate is None else predicate, self._spread)

    def entries(self, slot: int) -> Entries:
        return self._cached_count("entries", slot, self._count_entries)

    def _cached_count(self, measure: str, number: int, count: Callable[[int], Counted]) -> Counted:
        """A count that is made at most once."""
        key = measure, number
        if key not in self._known:
            self._known[key] = count(number)
        total: Counted = self._known[key]
        return total

    def _count_entries(self, slot: int) -> Entries:
        """The numbers of elements and of distinct values in a slot.

        A small slot is counted. For a large slot, the number of elements is taken from the owner's
        instances, and the number of distinct values from a sample.
        """
        seen, values = self._numbers(
            "SELECT count(*), count(DISTINCT value) FROM"
            f" (SELECT value FROM property WHERE slot = {slot} LIMIT {SAMPLE}) s"
        )
        if seen < SAMPLE:
            return Entries(max(seen, 1.0), max(values, 1.0))
        owner, is_link = self._numbers(
            f"SELECT owner, is_link FROM property_slot WHERE slot = {slot}"
        )
        instances = self.links(int(owner)).links if is_link else self.concepts(int(owner))
        total = max(instances, seen)
        met, shared = self._values(slot)
        return Entries(total, met if met < VALUES else max(total / max(shared, 1.0), met))

    def _values(self, slot: int) -> tuple[float, ...]:
        """A sample: the number of distinct values, and the number of elements for each."""
        next_value = f"SELECT min(q.value) FROM property q WHERE q.slot = {slot}"
        return self._numbers(
            f"WITH RECURSIVE at(value, place) AS (SELECT ({next_value}), 1 UNION ALL"
            f" SELECT ({next_value} AND q.value > at.value), place + 1 FROM at"
            f" WHERE at.value IS NOT NULL AND place < {VALUES}) SELECT count(*), avg((SELECT"
            " count(*) FROM (SELECT 1 FROM property q"
            f" WHERE q.slot = {slot} AND q.value = at.value LIMIT {DEGREE_MAX}) d))"
            " FROM at WHERE at.value IS NOT NULL"
        )

    def _count_type(self, number: int) -> float:
        """The number of instances of a type: counted if small, else from the density of ids."""
        seen, first, last = self._numbers(
            "SELECT count(*), min(id), max(id) FROM"
            f" (SELECT id FROM concept WHERE type = {number} LIMIT {SAMPLE}) s"
        )
        if seen < SAMPLE:
            return max(seen, 1.0)
        (final,) = self._numbers(f"SELECT max(id) FROM concept WHERE type = {number}")
        density = seen / max(last - first, 1.0)
        return max(density * (final - first), seen)

    def _spread(self, predicate: int) -> Spread:
        """The number of links of a predicate (-1: any), and of elements at either end.

        Few links are counted. Of many, a sample is read at even distances. It meets an element with
        k links k times as often, so the mean of 1/k gives the number of elements.
        """
        where = "" if predicate < 0 else f"WHERE predicate = {predicate}"
        seen, subjects, objects = self._numbers(
            "SELECT count(*), count(DISTINCT subject), count(DISTINCT object) FROM"
            f" (SELECT subject, object FROM proposition {where} LIMIT {SAMPLE}) s"
        )
        if seen < SAMPLE:
            return Spread(max(seen, 1.0), max(subjects, 1.0), max(objects, 1.0))
        (last,) = self._numbers("SELECT max(id) FROM proposition")
        probed, hits, per_subject, per_object = self._probes(predicate)
        total = max(last / 2 * hits / max(probed, 1.0), seen)
        if hits < HITS_MIN:  # The links are too rare in the sample for an estimate.
            return Spread(total, max(subjects, 1.0), max(objects, 1.0))
        return Spread(total, max(total * per_subject, 1.0), max(total * per_object, 1.0))

    def _probes(self, predicate: int) -> tuple[float, ...]:
        """A sample of links at even distances: its size, how many count, and 1/degree of ends."""
        also = "" if predicate < 0 else f"AND q.predicate = {predicate}"
        counts = "TRUE" if predicate < 0 else f"p.predicate = {predicate}"
        degree = (
            "(SELECT count(*) FROM (SELECT 1 FROM proposition q"
            f" WHERE q.{{end}} = p.{{end}} {also} LIMIT {DEGREE_MAX}) d)"
        )
        return self._numbers(
            "WITH RECURSIVE at(i, step, final) AS ("
            f"SELECT CAST(1 AS BIGINT), CASE WHEN max(id) / {PROBES} > 2 THEN (max(id) / {PROBES})"
            " & ~1"
            " ELSE 2 END, max(id) FROM proposition"
            " UNION ALL SELECT i + step, step, final FROM at WHERE i < final)"
            f" SELECT count(*), sum(CASE WHEN {counts} THEN 1 ELSE 0 END),"
            f" avg(CASE WHEN {counts} THEN 1.0 / {degree.format(end='subject')} END),"
            f" avg(CASE WHEN {counts} THEN 1.0 / {degree.format(end='object')} END)"
            " FROM at CROSS JOIN proposition p WHERE p.id = at.i"
        )

    def _numbers(self, query: str) -> tuple[float, ...]:
        return tuple(float(number or 0) for number in fetch_one(self._connection, query))
