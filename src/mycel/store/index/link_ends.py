"""Which predicates lead from links, or to links, rather than between concepts.

Any element may stand at either end of a link, and nearly always it is a concept. A plan that knows
it reads the end as one: no look at two tables, no branch for each row. So the table `link_end` has
a row for each predicate and side at which a link stands, or ever stood. Rows never go, so one that
is missing says something about every moment of the past as well, and how many there are tells
whether a plan still holds (`Reader.definitions`).

Files of older formats, opened for reading only, do not have the table until somebody else opens
them for writing: there every end may be a link.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import apsw

from mycel.store.file.layout import OBJECT_SIDE, SUBJECT_SIDE
from mycel.store.file.rows import every, first, has_table
from mycel.store.index.write_cache import Memory
from mycel.store.log.journal import Kind

LinkEnd = tuple[int, int]
"""The number of a predicate, and a side."""

FOUND: Final = " UNION ".join(
    f"SELECT predicate, {side} AS side FROM {table} WHERE {column} & 1"
    for table in ("proposition", "proposition_past")
    for column, side in (("subject", SUBJECT_SIDE), ("object", OBJECT_SIDE))
)
"""A query for the ends at which links stand, or stood, in the rows there are."""


def are_known(connection: apsw.Connection) -> bool:
    """Whether a file says at which ends links stand."""
    return has_table(connection, "link_end")


def read(connection: apsw.Connection) -> set[LinkEnd] | None:
    """At which ends links stand; None if any may be one."""
    if not are_known(connection):
        return None
    return set(every(connection, "SELECT predicate, side FROM link_end"))


def note(
    connection: apsw.Connection, memory: Memory, predicate: int, subject: int, object_: int
) -> None:
    """A link is written with a link at an end; most times that has been so before."""
    if memory.link_ends is None:
        memory.link_ends = read(connection) or set()
    for side, end in ((SUBJECT_SIDE, subject), (OBJECT_SIDE, object_)):
        if end & 1 and (predicate, side) not in memory.link_ends:
            connection.execute("INSERT INTO link_end VALUES (?, ?)", (predicate, side))
            memory.link_ends.add((predicate, side))


def problems(connection: apsw.Connection) -> Iterator[tuple[str, str]]:
    """Where the table differs from the links there are and were.

    A link that was purged has left a row behind it, perhaps.
    """
    known = read(connection)
    if known is None:
        return
    found: set[LinkEnd] = set(every(connection, FOUND))
    for predicate, side in sorted(found - known):
        yield f"link_end {predicate} {side}", "is missing, although a link stands there"
    purged = "SELECT 1 FROM journal WHERE kind = ? AND element & 1"
    if first(connection, purged, (int(Kind.PURGE),)) is None:
        for predicate, side in sorted(known - found):
            yield f"link_end {predicate} {side}", "is there, although no link ever stood there"
