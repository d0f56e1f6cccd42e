"""Reads links for traversals: weights in whole units, cheapest first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from mycel.model import ids
from mycel.model.state import ORDINARY, Visibility
from mycel.sql.state_tables import StateTables
from mycel.store.file.layout import OPEN_END, PROPOSITION_TYPE_NUMBER
from mycel.store.file.rows import Row, fetch_all, json_array
from mycel.store.log.journal import Kind, newest
from mycel.store.log.topological import all_about
from mycel.store.query.history import time_of_state
from mycel.store.query.reader import Reader

UNITS_PER_COST: Final = 1_000_000_000
"""The number of units in a weight of 1."""

_UNITS: Final = f"CAST(round(weight * {UNITS_PER_COST}.0) AS BIGINT)"
_ENDS: Final = (
    "SELECT subject, object FROM json_each(?1) j CROSS JOIN proposition p WHERE p.id = j.value"
    " UNION SELECT subject, object FROM json_each(?1) j CROSS JOIN proposition_past q"
    " WHERE q.id = j.value AND q.to_seq > ?2"
)
"""The ends of links: of live ones, and of versions that have ended since a position."""


_TURNED: Final = (
    "SELECT DISTINCT h.element FROM json_each(?1) j CROSS JOIN hidden h"
    f" WHERE h.element = j.value AND (h.from_seq > ?2 OR (h.to_seq > ?2 AND h.to_seq < {OPEN_END}))"
)
"""The elements that became hidden, or were restored, since a position."""


class NearLinks:
    """The links that leave an element, or reach it, in the reader's state."""

    def __init__(
        self,
        reader: Reader,
        predicates: frozenset[int] | None,
        *,
        against: bool,
        visibility: Visibility = ORDINARY,
    ) -> None:
        near, far = ("object", "subject") if against else ("subject", "object")
        where = f"q.{near} = ?1"
        if predicates is not None:
            numbers = ", ".join(map(str, sorted(predicates))) or "NULL"
            where += f" AND q.predicate IN ({numbers})"
        halves = reader.tables_of(visibility).link_halves()
        query = " UNION ALL ".join(
            f"SELECT {_UNITS}, q.predicate, q.{far} FROM {table} WHERE {where}{in_force}"
            for table, in_force in halves
        )
        self._query: Final = f"{query} ORDER BY 1, 2, 3"
        self._connection: Final = reader.connection

    def of(self, number: int) -> list[Row]:
        """Each link of an element: its units, predicate and other end; sorted by these."""
        return fetch_all(self._connection, self._query, (number,))


class OutdatedLinks:
    """The links at an element that do not hold now, or whose other end does not."""

    def __init__(self, reader: Reader) -> None:
        self._connection: Final = reader.connection
        self._now_us: Final = time_of_state(reader)
        tables = replace(reader.tables, valid_at="?2")
        self._queries: Final = {
            against: _outdated_query(tables, against=against) for against in (False, True)
        }

    def of(self, number: int, *, against: bool) -> set[tuple[int, int]]:
        """The predicate and other end of each link."""
        rows = fetch_all(self._connection, self._queries[against], (number, self._now_us))
        return {(predicate, other) for predicate, other in rows}


def _outdated_query(tables: StateTables, *, against: bool) -> str:
    near, far = ("object", "subject") if against else ("subject", "object")
    holds = " AND ".join(tables.shown_tests("q.id", f"q.{far}"))
    return " UNION ALL ".join(
        f"SELECT q.predicate, q.{far} FROM {table} WHERE q.{near} = ?1{in_force} AND NOT ({holds})"
        for table, in_force in replace(tables, valid_at=None).link_halves()
    )


def has_lifetimes(reader: Reader) -> bool:
    """True if the time of an element is, or once was, limited."""
    (has_rows,) = reader.fetch_one("SELECT EXISTS (SELECT 1 FROM lifetime)")
    return bool(has_rows)


def symmetric_predicates(reader: Reader) -> frozenset[int]:
    """The numbers of predicates whose links hold in both directions."""
    return frozenset(
        reader.column(
            f"SELECT n.id FROM {reader.tables.concepts('c')}"
            f" JOIN predicate n ON n.name = c.name WHERE c.type = {PROPOSITION_TYPE_NUMBER}"
            " AND json_type(c.attributes, '$.is_symmetric') = 'true'"
        )
    )


def sizes_max(reader: Reader) -> tuple[int, int]:
    """The largest numbers of concepts and of links that ever existed."""
    concepts, links = newest(reader.connection, "next_concept, next_proposition")
    return concepts // ids.ID_STEP, links // ids.ID_STEP


def changed_ends(reader: Reader, since: int, until: int) -> frozenset[int] | None:
    """The elements at which a link changed between two positions of the journal.

    None if that is not known: a purge leaves no trace of the links that it removed.
    """
    query = "SELECT kind, element FROM journal WHERE seq > ? AND seq <= ?"
    entries = reader.fetch_all(query, (since, until))
    if any(kind == Kind.PURGE for kind, _ in entries):
        return None
    numbers = {number for _, number in entries}
    links = {number for number in numbers if not ids.is_concept(number)}
    # Archiving or restoring an element does the same to its links.
    turned = reader.column(_TURNED, (json_array(numbers), since))
    links.update(all_about(turned, reader.touching))
    if not links:
        return frozenset()
    rows = reader.fetch_all(_ENDS, (json_array(links), since))
    return frozenset(end for ends in rows for end in ends)


def every_link(reader: Reader) -> Iterator[Row]:
    """Subject, object, predicate and units of all live links, hidden ones excepted."""
    tests = reader.tables_of(ORDINARY).link_tests("proposition")
    where = "".join(f" WHERE {test}" for test in tests)
    return reader.execute(f"SELECT subject, object, predicate, {_UNITS} FROM proposition{where}")
