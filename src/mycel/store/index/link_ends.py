"""The table `link_end`: predicates that have links, not only concepts, at an end.

Any element may be an end of a link, and nearly always it is a concept. If only concepts are
possible at an end, a plan reads one table instead of two. `link_end` has a row for each predicate
and side that has, or once had, a link there. Rows are never removed, so a missing row is true for
every past moment too, and the number of rows tells whether a plan is still valid
(`Reader.definitions`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mycel.store.backend.interface import Connection
from mycel.store.file.layout import OBJECT_SIDE, SUBJECT_SIDE
from mycel.store.file.rows import fetch_all, fetch_first
from mycel.store.index.write_cache import WriteCache
from mycel.store.log.journal import Kind

LinkEnd = tuple[int, int]
"""The number of a predicate, and a side (subject or object)."""

FOUND: Final = " UNION ".join(
    f"SELECT predicate, {side} AS side FROM {table} WHERE {column} & 1 = 1"
    for table in ("proposition", "proposition_past")
    for column, side in (("subject", SUBJECT_SIDE), ("object", OBJECT_SIDE))
)
"""A query for the predicates and sides that have, or had, links as ends, from the links
themselves."""


def read(connection: Connection) -> set[LinkEnd]:
    """The predicates and sides that have links as ends."""
    return set(fetch_all(connection, "SELECT predicate, side FROM link_end"))


def note(
    connection: Connection, memory: WriteCache, predicate: int, subject: int, object_: int
) -> None:
    """Add the ends of a new link that are links, if the table lacks them."""
    if memory.link_ends is None:
        memory.link_ends = read(connection)
    for side, end in ((SUBJECT_SIDE, subject), (OBJECT_SIDE, object_)):
        if end & 1 and (predicate, side) not in memory.link_ends:
            connection.execute("INSERT INTO link_end VALUES (?, ?)", (predicate, side))
            memory.link_ends.add((predicate, side))


def problems(connection: Connection) -> Iterator[tuple[str, str]]:
    """Report differences between the table and all present and past links.

    A purged link may have left its row in the table.
    """
    rows = read(connection)
    ends: set[LinkEnd] = set(fetch_all(connection, FOUND))
    for predicate, side in sorted(ends - rows):
        yield f"link_end {predicate} {side}", "is missing, although a link is at this end"
    purged = "SELECT 1 FROM journal WHERE kind = ? AND element & 1 = 1"
    if fetch_first(connection, purged, (int(Kind.PURGE),)) is None:
        for predicate, side in sorted(rows - ends):
            yield f"link_end {predicate} {side}", "exists, although no link was ever at this end"
