"""Finds elements by the time and author of their versions, and authors by their changes."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

from mycel.store.file.rows import json_array, text_array
from mycel.store.log.journal import Kind
from mycel.store.query.reader import Reader

_AUTHOR: Final = "(SELECT tx.actor FROM tx WHERE tx.seq >= v.{seq} ORDER BY tx.seq LIMIT 1)"
"""A query for the author of the transaction that wrote a version."""


_NAMED: Final = "SELECT id FROM actor WHERE name IN (SELECT value FROM json_each(:names))"


class WritingSpan(NamedTuple):
    """The conditions on a version: a range of the journal, and its author."""

    after: int
    """The entry after which the version was written."""
    until: int
    """The last entry that may have written the version."""
    actors: Collection[str] | None = None
    """The actors, one of whom wrote the version; None for anybody."""


class AuthorCount(NamedTuple):
    """An actor, with the number of transactions and changes in a span."""

    name: str
    commits: int
    changes: int
    time_us: int
    """The time of the actor's last transaction."""


def authors(reader: Reader, after: int, until: int) -> list[AuthorCount]:
    """The actors of the transactions in a span; actors with the most changes come first."""
    rows = reader.execute(
        "SELECT a.name, count(*), sum(tx.seq - tx.first_seq), max(tx.time) FROM tx"
        " JOIN actor a ON a.id = tx.actor WHERE tx.seq > ? AND tx.seq <= ?"
        " GROUP BY tx.actor, a.name ORDER BY 3 DESC, 1",
        (after, until),
    )
    return [AuthorCount(*row) for row in rows]


def written_in(reader: Reader, numbers: Collection[int], span: WritingSpan) -> set[int]:
    """The elements among these with a version that was written in a span."""
    elements: set[int] = set()
    for table, group in (
        ("concept", [number for number in numbers if not number & 1]),
        ("proposition", [number for number in numbers if number & 1]),
    ):
        rows = reader.execute(
            "SELECT j.value FROM json_each(:numbers) j"
            f" WHERE EXISTS (SELECT 1 FROM {table} v WHERE {_fits(span, 'seq')})"
            f" OR EXISTS (SELECT 1 FROM {table}_past v WHERE {_fits(span, 'from_seq')})",
            _bindings(span) | {"numbers": json_array(group)},
        )
        elements.update(number for (number,) in rows)
    return elements


def writers(reader: Reader, numbers: Collection[int]) -> dict[int, dict[str, int]]:
    """The actors who wrote versions of some elements, each with the time of the last version."""
    actors: dict[int, dict[str, int]] = {number: {} for number in numbers}
    for table, odd in (("concept", 0), ("proposition", 1)):
        rows = reader.execute(
            "SELECT v.id, a.name, max(tx.time) FROM ("
            f"SELECT id, seq FROM {table} WHERE id IN (SELECT value FROM json_each(:numbers))"
            f" UNION ALL SELECT id, from_seq FROM {table}_past"
            " WHERE id IN (SELECT value FROM json_each(:numbers))) v"
            " JOIN tx ON tx.seq = (SELECT min(t.seq) FROM tx t WHERE t.seq >= v.seq)"
            " JOIN actor a ON a.id = tx.actor GROUP BY v.id, a.name",
            {"numbers": json_array([number for number in numbers if number & 1 == odd])},
        )
        for number, name, time_us in rows:
            actors[number][name] = time_us
    return actors


def concepts_written(reader: Reader, span: WritingSpan) -> list[int]:
    """All concepts with an entry of the journal in a span; the last changed comes first.

    Concepts that are not part of the reader's state are included.
    """
    by = "" if span.actors is None else f" AND tx.actor IN ({_NAMED})"
    rows = reader.execute(
        "SELECT j.element FROM tx CROSS JOIN journal j"
        " WHERE j.seq BETWEEN tx.first_seq AND tx.seq AND tx.seq > :after AND tx.first_seq <="
        " :until AND j.seq <= :until"
        f" AND j.element & 1 = 0 AND j.kind NOT IN ({Kind.MARK:d}, {Kind.PURGE:d})"
        f"{by} GROUP BY j.element ORDER BY max(j.seq) DESC",
        _bindings(span),
    )
    return [number for (number,) in rows]


def _fits(span: WritingSpan, seq: str) -> str:
    """The condition on a row of a version; the column `seq` has the entry that wrote it."""
    by = "" if span.actors is None else f" AND {_AUTHOR.format(seq=seq)} IN ({_NAMED})"
    return f"v.id = j.value AND v.{seq} > :after AND v.{seq} <= :until{by}"


def _bindings(span: WritingSpan) -> dict[str, object]:
    return {"after": span.after, "until": span.until, "names": text_array(span.actors or ())}
