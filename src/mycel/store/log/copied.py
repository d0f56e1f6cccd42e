"""Tables of a filtered copy: its position in the source, and the numbers of its elements there.

    copy_head      the last entry of the source's journal that the copy has, with its commit
    copy_element   the number that each element of the copy has in the source

The tables are no part of the knowledge: no record, root or history depends on them, and `verify`
leaves them out. Only a filtered copy has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from mycel.store.backend.interface import Connection
from mycel.store.file.rows import fetch_all, fetch_first, json_array

PREFIX: Final = "copy_"
"""The prefix of the names of all tables of this module."""

TABLES: Final = """
CREATE TABLE IF NOT EXISTS copy_head (
    id INTEGER PRIMARY KEY, seq INTEGER NOT NULL, commit_id TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS copy_element (
    source INTEGER PRIMARY KEY, number INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS copy_element_number ON copy_element (number);
"""


class CopyHead(NamedTuple):
    """The last entry of the source that a copy has, and the commit that ends there."""

    seq: int
    commit: str


def head(connection: Connection) -> CopyHead | None:
    """The last entry of the source that a copy has; None if it has none yet."""
    if not connection.has_objects("copy_head"):
        return None
    row = fetch_first(connection, "SELECT seq, commit_id FROM copy_head")
    return None if row is None else CopyHead(*row)


def keep_head(connection: Connection, reached: CopyHead) -> None:
    """Store the position up to which a copy follows its source."""
    connection.make(TABLES)
    connection.execute("DELETE FROM copy_head")
    connection.execute("INSERT INTO copy_head VALUES (1, ?, ?)", reached)


def numbers_of(connection: Connection, sources: Iterable[int]) -> dict[int, int]:
    """The numbers in the copy for elements of the source that it has."""
    return _numbers(connection, "source, number", "source", sources)


def sources_of(connection: Connection, numbers: Iterable[int]) -> dict[int, int]:
    """The numbers in the source for elements of the copy, where they are known."""
    return _numbers(connection, "number, source", "number", numbers)


def _numbers(
    connection: Connection, columns: str, key: str, numbers: Iterable[int]
) -> dict[int, int]:
    if not connection.has_objects("copy_element"):
        return {}
    query = f"SELECT {columns} FROM copy_element WHERE {key} IN (SELECT value FROM json_each(?))"
    return dict(fetch_all(connection, query, (json_array(numbers),)))


def keep_numbers(connection: Connection, numbers: Mapping[int, int]) -> None:
    """Store the number in the copy for each element of the source; 0 removes an element."""
    connection.make(TABLES)
    sources = [(source,) for source in numbers]
    connection.executemany("DELETE FROM copy_element WHERE source = ?", sources)
    rows = [(source, number) for source, number in numbers.items() if number]
    connection.executemany("INSERT INTO copy_element VALUES (?, ?)", rows)
