"""The text index of a workspace: postings, a row for each term of an element.

The tokenizer of FTS5 makes the terms, so both backends find the same elements.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any, Final

from mycel.store.backend.postgres import text_search
from mycel.store.backend.postgres.text_terms import terms_of
from mycel.text.analysis import AnalysedText

_COUNT: Final = "UPDATE text_total SET elements = elements + ?, terms = terms + ?"


def differences(
    connection: Any, documents: Iterable[tuple[int, AnalysedText | None]], aside: Collection[int]
) -> Iterator[tuple[str, str]] | None:
    """Elements whose postings differ from their text."""
    return _differences(connection, documents, aside)


def _differences(
    connection: Any, documents: Iterable[tuple[int, AnalysedText | None]], aside: Collection[int]
) -> Iterator[tuple[str, str]]:
    sizes = {row[0]: row[1:] for row in connection.execute("SELECT * FROM text_size")}
    stored: dict[int, list[Any]] = {}
    for element, *posting in connection.execute(
        "SELECT element, term, keys, title, body FROM text_posting ORDER BY element, term"
    ):
        stored.setdefault(element, []).append(tuple(posting))
    for number, document in documents:
        size, postings = _postings(document) if document else (None, None)
        if sizes.pop(number, None) != size or stored.pop(number, None) != postings:
            yield f"text {number}", "does not hold the text of the element"
            return
    for number in (sizes.keys() | stored.keys()).difference(aside):
        yield f"text {number}", "holds the text of an element that is not live"
        return
    query = (
        "SELECT 1 FROM text_total t, (SELECT count(*) AS elements,"
        " coalesce(sum(keys + title + body), 0) AS terms FROM text_size) s"
        " WHERE t.elements = s.elements AND t.terms = s.terms"
    )
    if connection.execute(query).fetchall() != [(1,)]:
        yield "text", "does not know how long its documents are"


def _postings(document: AnalysedText) -> tuple[tuple[Any, ...], list[Any] | None]:
    """The lengths of a document's columns, its terms, and its postings by term."""
    places: dict[str, tuple[list[int], list[int], list[int]]] = {}
    lengths = []
    for column, text in enumerate(document):
        terms = terms_of(text)
        lengths.append(len(terms))
        for place, term in enumerate(terms):
            places.setdefault(term, ([], [], []))[column].append(place)
    postings = [(term, *columns) for term, columns in sorted(places.items())]
    return (*lengths, list(places)), postings or None


def merge_some(connection: Any) -> bool:
    """Merge nothing: the server cares for its indexes."""
    return False


def forget_removed(connection: Any) -> None:
    """Do nothing: no traces are left in the tables, and `scrub` rewrites their pages."""


def add(connection: Any, documents: Iterable[tuple[int, AnalysedText]]) -> None:
    """Add documents that the index does not hold yet."""
    sizes: list[tuple[Any, ...]] = []
    postings: list[tuple[Any, ...]] = []
    for number, document in documents:
        size, terms = _postings(document)
        sizes.append((number, *size))
        postings += [(term, number, *columns) for term, *columns in terms or ()]
    connection.executemany("INSERT INTO text_size VALUES (?, ?, ?, ?, ?::text[])", sizes)
    connection.executemany(
        "INSERT INTO text_posting VALUES (?, ?, ?::bigint[], ?::bigint[], ?::bigint[])", postings
    )
    total = (len(sizes), sum(sum(size[1:4]) for size in sizes))
    connection.executemany(_COUNT, [total] if sizes else ())


def remove(connection: Any, elements: Iterable[int]) -> None:
    """Remove elements from the index."""
    rows = [(element,) for element in elements]
    connection.executemany(
        "UPDATE text_total SET elements = elements - 1, terms = text_total.terms - s.count"
        " FROM (SELECT keys + title + body AS count FROM text_size WHERE element = ?) s",
        rows,
    )
    connection.executemany(
        "DELETE FROM text_posting p USING text_size s WHERE s.element = ?"
        " AND p.element = s.element AND p.term = ANY(s.terms)",
        rows,
    )
    connection.executemany("DELETE FROM text_size WHERE element = ?", rows)


size = text_search.size
counts = text_search.counts
numbers = text_search.numbers
ranked = text_search.ranked
scores = text_search.scores
