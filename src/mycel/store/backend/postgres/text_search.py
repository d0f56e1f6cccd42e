"""Searches the postings of a workspace, with the same results and scores as FTS5.

A phrase is found by its terms: in the same column, each term stands one place after the term before
it. BM25 is computed here, from the same numbers as in FTS5 and in its order of additions, because
the scores of both backends have to be equal.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from mycel.store.backend.interface import ALL_TEXTS, Selection
from mycel.store.backend.postgres.text_terms import terms_of
from mycel.store.file.rows import json_array, text_array
from mycel.text.bm25 import frequency, rarity
from mycel.text.queries import Column, ColumnWeights, TextMatch, TextQuery, any_of

_LAST: Final = "\U0010ffff"


class _Phrase(NamedTuple):
    """A phrase of a query, split into its terms."""

    place: int
    """The position of the phrase in the query."""
    terms: tuple[str, ...]
    column: Column | None
    is_beginning: bool

    @property
    def is_term(self) -> bool:
        """True if the phrase is a single term, which has one row of postings for each element."""
        return len(self.terms) == 1 and not self.is_beginning


class _Words:
    """The bound values of a statement, each under a name of its own."""

    def __init__(self, bindings: Any) -> None:
        self.bindings: Final = dict(bindings)

    def bind(self, value: Any) -> str:
        """Bind a value, and return its mark."""
        name = f"text{len(self.bindings)}"
        self.bindings[name] = value
        return f":{name}"


def size(connection: Any) -> int:
    """The number of elements in the index."""
    return int(connection.execute("SELECT elements FROM text_total").get)


def counts(connection: Any, phrases: Sequence[str], most: int) -> list[int]:
    """The number of elements that have each of these phrases, up to `most`."""
    return [count for _, count in sorted(_counts(connection, _phrases(any_of(phrases)), most))]


def numbers(
    connection: Any,
    query: TextQuery,
    chosen: Selection,
    limit: int | None = None,
    offset: int = 0,
) -> list[int]:
    """The numbers of elements that fit a query, in order."""
    if not query.phrases:
        return []
    words = _Words(chosen.bindings)
    elements_query = _elements(query, words)
    kind = "" if chosen.is_link is None else f" AND text.rowid & 1 = {int(chosen.is_link)}"
    order = "DESC" if chosen.is_newest_first else "ASC"
    at_most = "" if limit is None else f" LIMIT {limit}"
    statement = (
        f"{chosen.before}SELECT text.rowid FROM ({elements_query}) text{chosen.joined}"
        f" WHERE {chosen.where}{kind} ORDER BY text.rowid {order}{at_most} OFFSET {offset}"
    )
    return [number for (number,) in connection.execute(statement, words.bindings)]


def ranked(
    connection: Any,
    query: TextQuery,
    chosen: Selection,
    columns: ColumnWeights,
    limit: int | None = None,
) -> list[TextMatch]:
    """The elements that fit a query, best first, with their BM25 scores."""
    elements = numbers(connection, query, chosen._replace(is_newest_first=False))
    matches = _scored(connection, query, elements, columns)
    return sorted(matches, key=lambda match: -match.bm25)[:limit]


def scores(connection: Any, phrase: str, columns: ColumnWeights) -> list[tuple[int, float]]:
    """The BM25 score of every element that has a phrase."""
    query = any_of((phrase,))
    elements = numbers(connection, query, ALL_TEXTS)
    return [(match.number, match.bm25) for match in _scored(connection, query, elements, columns)]


def _scored(
    connection: Any, query: TextQuery, elements: Sequence[int], columns: ColumnWeights
) -> Iterator[TextMatch]:
    """The elements of a query with their BM25 scores, in the order of the elements."""
    if not elements:
        return
    phrases = _phrases(query)
    total, length = connection.execute("SELECT elements, terms FROM text_total").fetchone()
    usual = length / total
    rarities = {place: rarity(total, count) for place, count in _counts(connection, phrases, None)}
    sizes = dict(
        connection.execute(
            "SELECT element, keys + title + body FROM text_size WHERE element = ANY(?)",
            (json_array(elements),),
        )
    )
    had: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for place, number, title, body in _occurrences(connection, phrases, elements):
        had[number].append((place, title * columns.title + body * columns.body))
    for element in elements:
        score, length = 0.0, sizes[element] / usual
        for place, times in sorted(had[element]):
            score += rarities[place] * frequency(times, length)
        yield TextMatch(element, score, len(had[element]))


def _phrases(query: TextQuery) -> list[_Phrase]:
    return [
        _Phrase(place, tuple(terms_of(phrase)), query.column, query.is_beginning)
        for place, phrase in enumerate(query.phrases)
    ]


# SQL.


def _elements(query: TextQuery, words: _Words) -> str:
    """A query for the numbers of fitting elements, each once, in a column `rowid`."""
    phrases = _phrases(query)
    if query.has_all:
        first, *others = phrases
        conditions = [
            f"EXISTS (SELECT 1 FROM ({_rows_of(other, words)}) x WHERE x.element = f.rowid)"
            for other in others
        ]
        elements_query = f"SELECT q.element AS rowid FROM ({_rows_of(first, words)}) q"
    else:
        conditions = []
        parts = []
        if single := [phrase for phrase in phrases if phrase.is_term]:
            terms = words.bind(text_array({phrase.terms[0] for phrase in single}))
            once = "DISTINCT " if len(single) > 1 else ""
            parts.append(
                f"SELECT {once}p.element AS rowid FROM text_posting p"
                f" WHERE p.term = ANY({terms}){_in_column(query.column)}"
            )
        parts += [
            f"SELECT q.element AS rowid FROM ({_rows_of(phrase, words)}) q"
            for phrase in phrases
            if not phrase.is_term
        ]
        elements_query = " UNION ".join(parts)
    if query.without_key:
        (key,) = terms_of(query.without_key)
        conditions.append(
            f"NOT EXISTS (SELECT 1 FROM text_posting p WHERE p.term = {words.bind(key)}"
            f" AND p.element = f.rowid{_in_column('keys')})"
        )
    if not conditions:
        return elements_query
    return f"SELECT f.rowid FROM ({elements_query}) f WHERE {' AND '.join(conditions)}"


def _in_column(column: Column | None) -> str:
    """The condition that a term occurs in a column."""
    return "" if column is None else f" AND cardinality(p.{column}) > 0"


def _rows_of(phrase: _Phrase, words: _Words) -> str:
    """A query for the elements that have a phrase, with its number of places in title and body."""
    if not phrase.terms:  # The tokenizer found no word in the phrase.
        return "SELECT 0::bigint AS element, 0 AS title, 0 AS body WHERE FALSE"
    last = len(phrase.terms) - 1
    tests = [f"p{place}.element = p0.element" for place in range(1, last + 1)]
    for place, term in enumerate(phrase.terms):
        mark = words.bind(term)
        if place == last and phrase.is_beginning:
            tests.append(f"p{place}.term >= {mark} AND p{place}.term < {words.bind(term + _LAST)}")
        else:
            tests.append(f"p{place}.term = {mark}")
    columns = {name: _count_in(name, last) for name in ("keys", "title", "body")}
    if phrase.column is not None:
        columns = dict.fromkeys(columns, "0") | {phrase.column: columns[phrase.column]}
    if phrase.is_beginning:  # A prefix matches several terms, so it has no single place.
        columns = {name: f"sum({count})" for name, count in columns.items()}
    cells = ", ".join(f"{count} AS {name}" for name, count in columns.items())
    tables = " CROSS JOIN ".join(f"text_posting p{place}" for place in range(last + 1))
    group = " GROUP BY p0.element" if phrase.is_beginning else ""
    rows = f"SELECT p0.element, {cells} FROM {tables} WHERE {' AND '.join(tests)}{group}"
    return f"SELECT element, title, body FROM ({rows}) r WHERE keys + title + body > 0"


def _count_in(column: str, last: int) -> str:
    """SQL for the number of places in a column at which the terms of a phrase follow each other."""
    if not last:
        return f"cardinality(p0.{column})"
    following = " AND ".join(f"s + {at} = ANY(p{at}.{column})" for at in range(1, last + 1))
    return f"(SELECT count(*) FROM unnest(p0.{column}) s WHERE {following})"


def _counts(
    connection: Any, phrases: Sequence[_Phrase], most: int | None
) -> Iterator[tuple[int, int]]:
    """The number of elements that have each phrase, up to `most`."""
    at_most = "" if most is None else f" LIMIT {most}"
    single = [phrase for phrase in phrases if phrase.is_term]
    if single:
        query = (
            "SELECT u.place, (SELECT count(*) FROM (SELECT 1 FROM text_posting p"
            f" WHERE p.term = u.term{_in_column(single[0].column)}{at_most}) x)"
            " FROM unnest(?::bigint[], ?::text[]) u(place, term)"
        )
        yield from connection.execute(query, _places(single))
    for phrase in phrases:
        if not phrase.is_term:
            words = _Words({})
            query = f"SELECT count(*) FROM ({_rows_of(phrase, words)}{at_most}) x"
            yield phrase.place, connection.execute(query, words.bindings).get


def _occurrences(
    connection: Any, phrases: Sequence[_Phrase], elements: Iterable[int]
) -> Iterator[tuple[int, int, int, int]]:
    """For each phrase and element: the number of places in title and body."""
    among = json_array(elements)
    single = [phrase for phrase in phrases if phrase.is_term]
    if single:
        column = single[0].column
        title, body = (
            f"cardinality(p.{name})" if column in (None, name) else "0"
            for name in ("title", "body")
        )
        query = (
            f"SELECT u.place, p.element, {title}, {body}"
            " FROM unnest(?::bigint[], ?::text[]) u(place, term) CROSS JOIN text_posting p"
            f" WHERE p.term = u.term AND p.element = ANY(?){_in_column(column)}"
        )
        yield from connection.execute(query, (*_places(single), among))
    for phrase in phrases:
        if not phrase.is_term:
            words = _Words({})
            query = (
                f"SELECT element, title::bigint, body::bigint FROM ({_rows_of(phrase, words)}) x"
                f" WHERE x.element = ANY({words.bind(among)})"
            )
            for row in connection.execute(query, words.bindings):
                yield (phrase.place, *row)


def _places(phrases: Sequence[_Phrase]) -> tuple[Any, Any]:
    places = json_array(phrase.place for phrase in phrases)
    return places, text_array(phrase.terms[0] for phrase in phrases)
