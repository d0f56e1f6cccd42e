"""The full-text index. Texts of small writes are added later, many at a time.

FTS5 spends about 200 µs on a commit, however little it indexes. A transaction therefore only notes
*which* elements have new text (in its row of `head`). Many elements are then folded into the index
at once: when the state trees fold, and before a search. Noting and folding are part of
transactions, so the index and those rows together always describe the live state.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice, zip_longest
from typing import Final

from mycel.errors import DatabaseCorrupt
from mycel.model import ids
from mycel.model.limits import INTEGER_MAX
from mycel.model.values import parse_object
from mycel.store.backend.interface import Connection
from mycel.store.backend.sqlite.connection import SqliteConnection
from mycel.store.backend.sqlite.text_index import numbers_in
from mycel.store.file.layout import FTS, NEWEST_HEAD
from mycel.store.file.rows import fetch_all, json_array
from mycel.text.analysis import AnalysedText, concept_document, link_document

_READ_TOGETHER: Final = 256
_LIVE_CONCEPTS: Final = (
    "SELECT c.id, c.name, c.attributes FROM json_each(?) j CROSS JOIN concept c"
    " WHERE c.id = j.value"
)
_LIVE_LINKS: Final = (
    "SELECT p.id, '', p.attributes FROM json_each(?) j CROSS JOIN proposition p"
    " WHERE p.id = j.value"
)


def pack(numbers: Collection[int]) -> bytes:
    """The numbers of elements as bytes, for a row of `head`."""
    return b"".join([number.to_bytes(8) for number in sorted(numbers)])


def pending(connection: Connection) -> set[int]:
    """The elements whose present text the index does not have yet."""
    return {number for _, number in pending_by_transaction(connection)}


def pending_by_transaction(connection: Connection) -> list[tuple[int, int]]:
    """The pending elements, each with the transaction that changed it."""
    rows = fetch_all(
        connection,
        "SELECT seq, texts FROM head WHERE coalesce(length(texts), -1) <> 0"
        f" AND seq > (SELECT folded_seq {NEWEST_HEAD})",
    )
    if any(packed is None or len(packed) % 8 for _, packed in rows):
        raise DatabaseCorrupt("A transaction lacks the list of elements whose text is pending.")
    pairs = [
        (seq, int.from_bytes(packed[at : at + 8]))
        for seq, packed in rows
        for at in range(0, len(packed), 8)
    ]
    if any(number > INTEGER_MAX for _, number in pairs):
        raise DatabaseCorrupt("Text is pending of an element with an impossible number.")
    return pairs


def fold(connection: Connection, more: Iterable[int] = ()) -> None:
    """Fold pending texts into the index; the caller updates the head."""
    numbers = sorted(pending(connection).union(more))
    connection.text_index.remove(connection, numbers)
    index(connection, live_documents(connection, numbers))


def index(connection: Connection, documents: Iterable[tuple[int, AnalysedText | None]]) -> None:
    """Add documents that the index does not have yet; a document without text is left out."""
    connection.text_index.add(
        connection, ((number, content) for number, content in documents if content)
    )


def remove(connection: Connection, number: int) -> None:
    """Remove an element from the index at once."""
    connection.text_index.remove(connection, (number,))


def live_documents(
    connection: Connection, numbers: Iterable[int]
) -> Iterator[tuple[int, AnalysedText | None]]:
    """Each element with its document; None if it is not live or has no text."""
    remaining = iter(numbers)
    while batch := list(islice(remaining, _READ_TOGETHER)):
        rows = {}
        for query, chosen in (
            (_LIVE_CONCEPTS, [number for number in batch if ids.is_concept(number)]),
            (_LIVE_LINKS, [number for number in batch if not ids.is_concept(number)]),
        ):
            if chosen:
                for number, name, attributes in fetch_all(connection, query, (json_array(chosen),)):
                    rows[number] = name, attributes
        for number in batch:
            yield number, document(number, *rows[number]) if number in rows else None


def document(number: int, name: str, attributes: str) -> AnalysedText | None:
    """The document of an element; None if it has no text. A link has no name."""
    if ids.is_concept(number):
        return concept_document(name, parse_object(attributes))
    return link_document(parse_object(attributes))


def differences(
    connection: Connection, numbers: Iterable[int], aside: Collection[int]
) -> Iterator[tuple[str, str]]:
    """Differences between the index and a new index of these elements, except those `aside`."""
    documents = live_documents(connection, numbers)
    of_backend = connection.text_index.differences(connection, documents, aside)
    if of_backend is not None:
        yield from of_backend
        return
    fresh = SqliteConnection(":memory:")
    fresh.execute(FTS)
    index(fresh, live_documents(connection, numbers))
    for ours, theirs in zip_longest(_contents(fresh, aside), _contents(connection, aside)):
        if ours != theirs:
            which = ours or theirs or ("", 0)
            yield f"text {which[1]}", "does not hold the text of the element"
            break
    for term in _unreachable(connection):
        yield f"text {term}", "is in the index, but a look-up does not find it"
        break
    sizes = "SELECT id, sz FROM text_docsize ORDER BY id"
    expected = [row for row in fresh.execute(sizes) if row[0] not in aside]
    if expected != [row for row in connection.execute(sizes) if row[0] not in aside]:
        yield "text", "has wrong lengths of documents"
    lengths = [numbers_in(size) for _, size in connection.execute(sizes)]
    averages = connection.execute("SELECT block FROM text_data WHERE id = 1").get
    totals = [len(lengths), *map(sum, zip(*lengths, strict=True))]
    stated = numbers_in(averages or b"")
    if averages is None or list(filter(None, stated)) != list(filter(None, totals)):
        yield "text", "has a wrong average length of documents"


def differences_of(connection: Connection, numbers: Collection[int]) -> Iterator[tuple[str, str]]:
    """The elements among these whose text differs from the index."""
    fresh = SqliteConnection(":memory:")
    fresh.execute(FTS)
    index(fresh, live_documents(connection, numbers))
    query = "SELECT * FROM temp.text_instance WHERE doc IN (SELECT value FROM json_each(?))"
    sides = []
    for source in (fresh, connection):
        with _terms(source, "instance"):
            sides.append(set(fetch_all(source, query, (json_array(numbers),))))
    for row in sorted(sides[0] ^ sides[1])[:1]:
        yield f"text {row[1]}", "does not hold the text of the element"


def _unreachable(connection: Connection) -> Iterator[str]:
    """Terms that a scan of the index finds and a look-up does not."""
    with _terms(connection, "row"):
        for row in fetch_all(connection, "SELECT term, doc, cnt FROM temp.text_row"):
            if fetch_all(connection, "SELECT * FROM temp.text_row WHERE term = ?", row[:1]) != [
                row
            ]:
                yield row[0]


def _contents(
    connection: Connection, aside: Collection[int]
) -> Iterator[tuple[str, int, str, int]]:
    """Every occurrence of every term: term, element, column and place."""
    with _terms(connection, "instance"):
        for row in connection.execute("SELECT * FROM temp.text_instance"):
            if row[1] not in aside:
                yield row


@contextmanager
def _terms(connection: Connection, kind: str) -> Iterator[None]:
    """Provide the terms of the index as a table, `temp.text_KIND`, during the block.

    The table stays if a caller stops early, so each kind of table has a name of its own.
    """
    # A read-only connection could not make a temporary table.
    connection.execute("PRAGMA query_only = 0").fetchall()
    connection.execute(
        f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.text_{kind} USING fts5vocab(main, text, {kind})"
    )
    yield
    connection.execute(f"DROP TABLE temp.text_{kind}")
    connection.execute("PRAGMA query_only = 1").fetchall()
