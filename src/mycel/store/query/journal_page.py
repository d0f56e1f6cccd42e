"""Reads pages of journal rows, for exact copies of a graph."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from mycel.store.file.rows import Row
from mycel.store.log.journal import Kind
from mycel.store.query.reader import Reader

_SIZE: Final = "16 + length(coalesce(before, '')) + length(coalesce(after, ''))"
TRANSACTIONS: Final = (
    "SELECT t.seq, t.first_seq, t.time, a.name, t.message, t.concepts_root, t.edges_root"
    " FROM tx t JOIN actor a ON a.id = t.actor WHERE t.seq > ? ORDER BY t.seq"
)
"""Transactions after a position."""


class JournalPage(NamedTuple):
    """Some transactions with their entries."""

    entries: list[Row]
    """Each entry: seq, kind, element, before, after, purged."""
    transactions: list[tuple[Any, ...]]
    """Each transaction: seq, first_seq, time, actor by name, message, concepts root, edges root."""
    ends: list[Row]
    """The ends of the links that entries write. Each: entry, subject, object."""
    head: int
    """The position of the newest transaction."""
    next: int | None
    """The position after which the next page begins; None for the last page."""


def journal_page(reader: Reader, after: int, limit: int, bytes_max: int) -> JournalPage:
    """Whole transactions after a position: at least one, and then up to a number and a size."""
    head = reader.position
    transactions: list[tuple[Any, ...]] = []
    size, last = 0, after
    for row in reader.fetch_all(f"{TRANSACTIONS} LIMIT ?", (after, limit)):
        (added,) = reader.fetch_one(
            f"SELECT coalesce(sum({_SIZE}), 0) FROM journal WHERE seq > ? AND seq <= ?",
            (last, row[0]),
        )
        if transactions and size + added > bytes_max:
            break
        size += added
        transactions.append(tuple(row))
        last = row[0]
    entries = entries_between(reader, after, last)
    ends = ends_between(reader, after, last)
    return JournalPage(entries, transactions, ends, head, last if last < head else None)


def entries_between(reader: Reader, after: int, last: int) -> list[Row]:
    """The entries after a position, up to another."""
    return reader.fetch_all(
        "SELECT seq, kind, element, before, after, purged FROM journal"
        " WHERE seq > ? AND seq <= ? ORDER BY seq",
        (after, last),
    )


def ends_between(reader: Reader, after: int, last: int) -> list[Row]:
    """The ends of the links that the entries after a position write, up to another."""
    return [
        row
        for table, seq in (("proposition", "seq"), ("proposition_past", "from_seq"))
        for row in reader.fetch_all(
            f"SELECT j.seq, p.subject, p.object FROM journal j JOIN {table} p"
            f" ON p.id = j.element AND p.{seq} = j.seq WHERE j.seq > ? AND j.seq <= ?",
            (after, last),
        )
    ]


def purges_page(reader: Reader, after: int, limit: int) -> list[Row]:
    """The purges after an entry, up to a number. Each: entry, element, record."""
    return reader.fetch_all(
        f"SELECT seq, element, after FROM journal WHERE kind = {Kind.PURGE:d} AND seq > ?"
        " ORDER BY seq LIMIT ?",
        (after, limit),
    )


def journal_end(reader: Reader) -> int:
    """The position of the last transaction; 0 in a file without any."""
    return reader.count("SELECT coalesce(max(seq), 0) FROM tx")
