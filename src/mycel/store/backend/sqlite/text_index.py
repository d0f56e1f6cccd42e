"""The text index of a file: a table of FTS5."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Final
from weakref import WeakSet

import apsw

from mycel.store.backend.interface import Selection
from mycel.text.analysis import AnalysedText
from mycel.text.names import LINK_KEY
from mycel.text.queries import ColumnWeights, TextMatch, TextQuery

MERGED_PAGES: Final = 64
"""The number of pages that one call merges in some milliseconds."""
ADDITION_PAGES: Final = 16
"""The pages that an addition always merges; it merges more for each page that it fills."""
LEVELS: Final = 3
"""The pages that are merged for each page of new text, which moves up about this many levels."""
PAGE_BYTES: Final = 4_000
_DELETE: Final = "DELETE FROM text WHERE rowid = ?"
_INSERT: Final = "INSERT INTO text (rowid, keys, title, body) VALUES (?, ?, ?, ?)"
_MERGE: Final = "INSERT INTO text (text, rank) VALUES ('merge', ?)"
_KNOW_HITS: Final[WeakSet[apsw.Connection]] = WeakSet()


def differences(
    connection: Any, documents: Iterable[tuple[int, AnalysedText | None]], aside: Collection[int]
) -> Iterator[tuple[str, str]] | None:
    """None: the caller compares an index of FTS5 with a new one."""
    return None


def merge_some(connection: Any) -> bool:
    """Merge a few pages of the index; False if there was nothing to merge.

    FTS5 reports one changed row for the statement itself, and more only if it merged pages.
    """
    if connection.execute("SELECT 1 FROM text_config WHERE k = 'automerge'").get is None:
        # New files are made with this option.
        connection.execute("INSERT INTO text (text, rank) VALUES ('automerge', 0)")
    before = connection.total_changes()
    connection.execute(_MERGE, (MERGED_PAGES,))
    changes: int = connection.total_changes() - before
    return changes > 1


def forget_removed(connection: Any) -> None:
    """Merge the whole index, which drops the traces of removed documents."""
    connection.execute("INSERT INTO text (text) VALUES ('optimize')")


def add(connection: Any, documents: Iterable[tuple[int, AnalysedText]]) -> None:
    """Add documents that the index does not hold yet, and merge a part of it in proportion."""
    length = 0

    def rows() -> Iterator[tuple[int, str, str, str]]:
        nonlocal length
        for number, document in documents:
            length += sum(map(len, document))
            yield number, *document

    connection.executemany(_INSERT, rows())
    if length:
        connection.execute(_MERGE, (ADDITION_PAGES + LEVELS * length // PAGE_BYTES,))


def remove(connection: Any, numbers: Iterable[int]) -> None:
    """Remove elements from the index."""
    connection.executemany(_DELETE, ((number,) for number in numbers))


def size(connection: Any) -> int:
    """The number of elements in the index.

    FTS5 stores it as the first number in the record of its averages. Counting would take long.
    """
    record = connection.execute("SELECT block FROM text_data WHERE id = 1").get
    return next(iter(numbers_in(record)), 0) if record is not None else 0


def numbers_in(blob: bytes) -> list[int]:
    """The numbers in a record of FTS5: seven bits a byte, the last of each without its top bit.

    SQLite's encoding differs from the ninth byte on; lengths of texts never get that long.
    """
    decoded, current = [], 0
    for byte in blob:
        current = current << 7 | byte & 127
        if byte < 128:
            decoded.append(current)
            current = 0
    return decoded


def counts(connection: Any, phrases: Sequence[str], most: int) -> list[int]:
    """The number of elements that have each of these phrases, up to `most`."""
    query = "SELECT count(*) FROM (SELECT 1 FROM text WHERE text MATCH ? LIMIT ?)"
    return [connection.execute(query, (f'"{phrase}"', most)).get for phrase in phrases]


def numbers(
    connection: Any,
    query: TextQuery,
    chosen: Selection,
    limit: int | None = None,
    offset: int = 0,
) -> list[int]:
    """The numbers of elements that fit a query, in order."""
    order = "DESC" if chosen.is_newest_first else "ASC"
    tail = f"ORDER BY text.rowid {order} LIMIT {_limit(limit)} OFFSET {offset}"
    return [number for (number,) in _rows(connection, "text.rowid", query, chosen, tail)]


def ranked(
    connection: Any,
    query: TextQuery,
    chosen: Selection,
    columns: ColumnWeights,
    limit: int | None = None,
) -> list[TextMatch]:
    """The elements that fit a query, best first, with their BM25 scores."""
    if connection not in _KNOW_HITS:  # Only once: FTS5 would keep every registration.
        connection.register_fts5_function("hits", _hits)
        _KNOW_HITS.add(connection)
    tail = f"AND rank MATCH 'bm25({_weights(columns)})' ORDER BY rank LIMIT {_limit(limit)}"
    rows = _rows(connection, "text.rowid, -rank, hits(text)", query, chosen, tail)
    mark = int(chosen.is_link is True)
    return [TextMatch(number, bm25, hits - mark) for number, bm25, hits in rows]


def scores(connection: Any, phrase: str, columns: ColumnWeights) -> list[tuple[int, float]]:
    """The BM25 score of every element that has a phrase."""
    query = f"SELECT rowid, -bm25(text, {_weights(columns)}) FROM text WHERE text MATCH ?"
    rows: list[tuple[int, float]] = connection.execute(query, (f'"{phrase}"',)).fetchall()
    return rows


def _weights(columns: ColumnWeights) -> str:
    return f"0.0, {columns.title!r}, {columns.body!r}"


def _rows(
    connection: Any, cells: str, query: TextQuery, chosen: Selection, tail: str
) -> Iterable[Any]:
    if not query.phrases:
        return ()
    kind = "" if chosen.is_link is None else f" AND text.rowid & 1 = {int(chosen.is_link)}"
    statement = (
        f"{chosen.before}SELECT {cells} FROM text{chosen.joined}"
        f" WHERE text MATCH :expression{kind} AND {chosen.where} {tail}"
    )
    bindings = {**chosen.bindings, "expression": _expression(query, chosen.is_link)}
    rows: Iterable[Any] = connection.execute(statement, bindings)
    return rows


def _limit(limit: int | None) -> int:
    return -1 if limit is None else limit


def _expression(query: TextQuery, is_link: bool | None) -> str:
    """The query in the syntax of FTS5. Phrases are quoted, so no text in them is an operator."""
    beginning = " *" if query.is_beginning else ""
    expression = (" AND " if query.has_all else " OR ").join(
        f'"{phrase}"{beginning}' for phrase in query.phrases
    )
    if query.column is not None:
        expression = f"{query.column} : ({expression})"
    if query.without_key:
        expression = f'({expression}) NOT keys : "{query.without_key}"'
    mark = f'keys : "{LINK_KEY}"'
    if is_link is not None:
        expression = f"{mark} AND ({expression})" if is_link else f"({expression}) NOT {mark}"
    return expression


def _hits(api: apsw.FTS5ExtensionApi, *_: Any) -> int:
    """The number of a query's phrases that a row has. Computed only for rows of the result."""
    return sum(bool(api.phrase_columns(phrase)) for phrase in range(api.phrase_count))
