"""The full-text index, kept in step without being touched by every small write.

FTS5 spends about 200 µs on a commit, however little it indexes. So a transaction only notes *which*
elements have new text (`text_pending`), and many are folded into the index at once: when the state
trees fold, and before a search. Noting and folding are part of the transaction, so the index and the
pending list together always describe the live state.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import zip_longest
from typing import Final

import apsw

from mycel.model import ids
from mycel.model.values import parse_object
from mycel.search.analysis import document_text
from mycel.store.layout import FTS

_DELETE: Final = "DELETE FROM text WHERE rowid = ?"
_INSERT: Final = "INSERT INTO text (rowid, body) VALUES (?, ?)"


def note(connection: apsw.Connection, numbers: Iterable[int]) -> None:
    """Remember that the text of these elements has changed."""
    for number in numbers:
        connection.execute("INSERT OR IGNORE INTO text_pending VALUES (?)", (number,))


def has_pending(connection: apsw.Connection) -> bool:
    """Whether the index lacks anything."""
    return connection.execute("SELECT 1 FROM text_pending LIMIT 1").fetchone() is not None


def fold(connection: apsw.Connection) -> None:
    """Bring the index up to date with the live state."""
    numbers = [number for (number,) in connection.execute("SELECT id FROM text_pending").fetchall()]
    connection.executemany(_DELETE, ((number,) for number in numbers))
    index(connection, ((number, live_text(connection, number)) for number in numbers))
    connection.execute("DELETE FROM text_pending")


def index(connection: apsw.Connection, documents: Iterable[tuple[int, str]]) -> None:
    """Add documents that the index does not hold yet; one without text is left out."""
    connection.executemany(_INSERT, (each for each in documents if each[1]))


def remove(connection: apsw.Connection, number: int) -> None:
    """Take an element out of the index at once."""
    connection.execute(_DELETE, (number,))
    connection.execute("DELETE FROM text_pending WHERE id = ?", (number,))


def search(connection: apsw.Connection, expression: str, limit: int) -> list[tuple[int, float]]:
    """The best matches for an FTS5 expression: element and score, best first."""
    rows = connection.execute(
        "SELECT rowid, -bm25(text) FROM text WHERE text MATCH ? ORDER BY rank, rowid LIMIT ?",
        (expression, limit),
    )
    return [(number, score) for number, score in rows]


def live_text(connection: apsw.Connection, number: int) -> str:
    """What should be indexed of an element: nothing, if it is not live."""
    if ids.is_concept(number):
        query = "SELECT name, attributes FROM concept WHERE id = ?"
    else:
        query = "SELECT '', attributes FROM proposition WHERE id = ?"
    row = connection.execute(query, (number,)).fetchone()
    return "" if row is None else document_text(row[0], parse_object(row[1]))


def differences(
    connection: apsw.Connection, documents: Iterable[tuple[int, str]], pending: Collection[int]
) -> Iterator[tuple[str, str]]:
    """Where the index differs from one made afresh of `documents`; pending elements aside."""
    fresh = apsw.Connection(":memory:")
    fresh.execute(FTS)
    index(fresh, documents)
    stored = _contents(connection, pending)
    for ours, theirs in zip_longest(_contents(fresh, pending), stored):
        if ours != theirs:
            which = ours or theirs or ("", 0)
            yield f"text {which[1]}", "does not hold the text of the element"
            break
    sizes = "SELECT id, sz FROM text_docsize ORDER BY id"
    wanted = [row for row in fresh.execute(sizes) if row[0] not in pending]
    if wanted != [row for row in connection.execute(sizes) if row[0] not in pending]:
        yield "text", "does not know how long its documents are"
    averages = "SELECT block FROM text_data WHERE id = 1"
    if not pending and fresh.execute(averages).get != connection.execute(averages).get:
        yield "text", "does not know how long documents are on average"


def _contents(
    connection: apsw.Connection, pending: Collection[int]
) -> Iterator[tuple[str, int, str, int]]:
    """Every occurrence of every term: term, element, column, place."""
    connection.execute("PRAGMA query_only = 0").fetchall()  # For a temporary table only.
    connection.execute(
        "CREATE VIRTUAL TABLE IF NOT EXISTS temp.text_terms USING fts5vocab(main, text, instance)"
    )
    for row in connection.execute("SELECT * FROM temp.text_terms"):
        if row[1] not in pending:
            yield row
    connection.execute("DROP TABLE temp.text_terms")
    connection.execute("PRAGMA query_only = 1").fetchall()


def integrity_problems(connection: apsw.Connection) -> list[tuple[str, str]]:
    """What FTS5 itself finds wrong with its index; needs a connection that may write."""
    try:
        connection.execute("INSERT INTO text (text) VALUES ('integrity-check')")
    except apsw.Error as error:
        return [("text", f"is damaged: {error}")]
    return []
