"""Rebuilds the state from the journal alone, in a new file, and compares it with the original.

The journal is applied as in a clone: the roots are compared after each transaction, so the first
transaction that differs is named. At the end, every live row, every past version and every name is
compared.

A purged entry still has the hashes of its records, and the entry of the purge has the key of the
element. The roots of every moment can thus be computed without the content.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import closing
from itertools import zip_longest
from pathlib import Path
from typing import Final

from mycel.errors import DatabaseCorrupt
from mycel.store.backend.interface import Connection
from mycel.store.backend.sqlite.connection import SqliteConnection
from mycel.store.file import layout
from mycel.store.file.layout import CONCEPT_COLUMNS, PROPOSITION_COLUMNS
from mycel.store.file.rows import Row
from mycel.store.log.journal import Head
from mycel.store.log.purge_entries import KnownPurges
from mycel.store.log.registry import Registry
from mycel.store.log.trees import StateTrees
from mycel.store.query.journal_page import (
    TRANSACTIONS,
    ends_between,
    entries_between,
    purges_page,
)
from mycel.store.query.reader import Reader
from mycel.store.write.journal_copy import CopiedPage, copy_page

_READ_TOGETHER: Final = 5_000
"""The number of positions of the journal that are read at a time."""


def _with_actors(table: str, columns: str) -> dict[str, str]:
    """Queries for the live and the past rows of a table, with the names of actors."""
    columns = columns.replace("id, ", "e.id, ", 1).replace(" name", " e.name")
    columns = columns.replace("created_by", "a.name")
    live, past = columns.format(seq="seq"), columns.format(seq="from_seq")
    return {
        table: (
            f"SELECT {live} FROM {table} e JOIN actor a ON a.id = created_by ORDER BY e.id, seq"
        ),
        f"{table}_past": (
            f"SELECT {past}, to_seq, tombstoned_at, b.name, tombstoned_reason FROM {table}_past e"
            " JOIN actor a ON a.id = created_by LEFT JOIN actor b ON b.id = tombstoned_by"
            " ORDER BY e.id, from_seq"
        ),
    }


_COMPARED: Final = {
    "type": "SELECT id, name FROM type ORDER BY id",
    "predicate": "SELECT id, name FROM predicate ORDER BY id",
    **_with_actors("concept", CONCEPT_COLUMNS),
    **_with_actors("proposition", PROPOSITION_COLUMNS),
}


def replay_problems(reader: Reader) -> Iterator[tuple[str, str]]:
    """Rebuild the state of a snapshot from its journal, and report where the two differ."""
    with (
        tempfile.TemporaryDirectory(prefix="mycel-replay-") as directory,
        closing(SqliteConnection(str(Path(directory) / "replay.db"))) as rebuilt,
    ):
        for pragma in ("journal_mode = off", "synchronous = off", "cache_size = -65536"):
            rebuilt.execute(f"PRAGMA {pragma}").fetchall()
        rebuilt.execute(layout.CREATE)
        rebuilt.execute("BEGIN")
        try:
            head = _rebuild(reader, rebuilt)
        except DatabaseCorrupt as error:
            transaction = error.data.get("transaction")
            yield "journal" if transaction is None else f"tx {transaction}", error.message
            return
        rebuilt.execute("COMMIT")
        if head.frontier.root() != Head.read(reader.connection).frontier.root():
            yield "head", "does not have the root of the journal"
        yield from _differences(rebuilt, reader.connection)


def _rebuild(reader: Reader, rebuilt: Connection) -> Head:
    purges = KnownPurges()
    for row in purges_page(reader, 0, reader.position):
        purges.add(*row)
    return copy_page(rebuilt, Registry(), StateTrees(rebuilt), _whole_journal(reader), purges)


def _whole_journal(reader: Reader) -> CopiedPage:
    """The journal as one page that can be read once, in the order of its entries."""
    ends: dict[int, tuple[int, int]] = {}

    def entries() -> Iterator[Row]:
        for after in range(0, reader.position, _READ_TOGETHER):
            last = after + _READ_TOGETHER
            ends.clear()
            ends.update(
                (seq, (subject, object_))
                for seq, subject, object_ in ends_between(reader, after, last)
            )
            yield from entries_between(reader, after, last)

    return CopiedPage(entries(), reader.execute(TRANSACTIONS, (0,)), ends)


def _differences(rebuilt: Connection, source: Connection) -> Iterator[tuple[str, str]]:
    """The first row of each table that differs in the two states."""
    for table, query in _COMPARED.items():
        ours, theirs = (connection.execute(query) for connection in (rebuilt, source))
        for one, other in zip_longest(ours, theirs):
            if one != other:
                which = (one or other or ("",))[0]
                yield f"{table} {which}", "differs from the state rebuilt from the journal"
                break
