"""Candidates for a search, from the text index: elements by the keys of their names, or by words.

FTS5 takes more than a microsecond for each term of each element that it ranks, and some sixty
nanoseconds for each element that has a term, ranked or not. Both numbers are therefore bounded
(`RANKED_MAX`, `SCANNED_MAX`): the rarest terms of a question are taken until their elements reach
the bound. If even one term is too frequent, only the newest elements that have it are ranked.
Elements that have all terms of a question are found without ranking, which is hardly slower for
many terms than for two.

Filters are part of each query, so a limit counts only elements that pass them. `search.name_match`
computes the score of a candidate from BM25 and the number of terms that it has; `search.weights`
has the weights of the columns.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

from mycel.model import ids
from mycel.model.values import parse_object
from mycel.store.backend.interface import ALL_TEXTS, Connection, Selection
from mycel.store.backend.sqlite.connection import SqliteConnection
from mycel.store.backend.tokens import tokens_of
from mycel.store.file.layout import FTS
from mycel.store.file.rows import json_array
from mycel.store.index import text
from mycel.store.query.changed_texts import ChangedTexts
from mycel.store.query.filters import ALL, Condition
from mycel.store.query.reader import Reader
from mycel.text.analysis import AnalysedText, body_text, terms_of
from mycel.text.bm25 import frequency, rarity
from mycel.text.names import ASIDE_KEY, Standing, called, with_parts
from mycel.text.queries import (
    ColumnWeights,
    TextMatch,
    TextQuery,
    all_of,
    any_of,
    with_keys,
)

RANKED_MAX: Final = 600
"""The maximum number of elements that one query ranks. An element counts once for each term of the
query."""

SCANNED_MAX: Final = 3_000
"""The maximum number of elements that have the terms by which a query ranks.

An element counts once for each term.
"""

TITLES_RANKED_MAX: Final = 200
"""The maximum number of elements that are ranked by their titles."""

COUNTED_MAX: Final = 1_000
"""The number at which counting the elements of a term stops; a term with more is frequent."""

LISTED_MAX: Final = 200
"""The maximum number of excluded elements that are written into the text of a statement, where they
cost less than as a parameter.
"""

SENTENCE_WORDS: Final = 12
"""The usual number of words in the sentence of a link."""

_ORDERING: Final = 1e-3
"""A weight of BM25 that orders candidates of equal rarity, and is too small to change a score."""


class Term(NamedTuple):
    """A term of a question."""

    text: str
    elements: int
    """The number of elements that have the term, up to `COUNTED_MAX` + 1."""


def counted(reader: Reader, terms: Iterable[str]) -> list[Term]:
    """Terms with the number of elements that have each; the rarest term comes first."""
    terms = list(terms)
    counts = reader.connection.text_index.counts(reader.connection, terms, COUNTED_MAX + 1)
    all_terms = map(Term, terms, counts)
    return sorted(all_terms, key=lambda term: (term.elements, term.text))


def usual_bm25(reader: Reader, terms: Iterable[Term]) -> float:
    """The BM25 score of an average text that has each of these terms once."""
    size = reader.connection.text_index.size(reader.connection)
    return sum(rarity(size, term.elements) for term in terms if term.elements)


class TermIndex:
    """BM25 scores of single terms, also of concepts that the index does not hold yet."""

    def __init__(self, reader: Reader, columns: ColumnWeights) -> None:
        self._reader, self._columns = reader, columns
        self._pending = pending_concepts(reader)
        self._fresh = None
        if self._pending:
            self._fresh = in_memory(text.live_documents(reader.connection, self._pending))

    def scores(self, term: str, most: int) -> list[tuple[int, float]] | None:
        """The BM25 score of every element that has a term; None if these are more than `most`."""
        connection = self._reader.connection
        index = connection.text_index
        if index.counts(connection, (term,), most + 1) > [most]:
            return None
        scores = index.scores(connection, term, self._columns)
        if (fresh := self._fresh) is not None:
            scores = [pair for pair in scores if pair[0] not in self._pending]
            scores += fresh.text_index.scores(fresh, term, self._columns)
        return scores


def pending_concepts(reader: Reader) -> set[int]:
    """Concepts whose present text is not in the index yet."""
    return {number for number in text.pending(reader.connection) if ids.is_concept(number)}


def has_title(reader: Reader, terms: Sequence[str]) -> bool:
    """True if the index has an element with all of these terms in its title."""
    connection = reader.connection
    index = connection.text_index
    return bool(terms) and bool(index.numbers(connection, _titles_with(terms), ALL_TEXTS, 1))


def with_phrase(reader: Reader, phrase: str, limit: int) -> list[int]:
    """The newest elements whose text has the words of a phrase one after another."""
    words = " ".join(terms_of(phrase))
    if not words:
        return []
    connection = reader.connection
    query, newest = any_of((words,)), ALL_TEXTS.newest()
    return connection.text_index.numbers(connection, query, newest, limit)


class Candidates:
    """Concepts or links that may fit a question, as the index knows them at one moment.

    `without` are elements to leave out, `condition` has all filters, `columns` has the weights of
    titles and bodies in BM25. Tests and generated files come last in a search by words, unless
    `tests` is true. Pending elements, whose present text is not in the index yet, are found through
    a small index in memory (`_fresh`), and so are elements that have `changed` since the state of
    the reader. Their rank among the others is an estimate.
    """

    def __init__(
        self,
        reader: Reader,
        condition: Condition = ALL,
        without: Collection[int] = (),
        *,
        columns: ColumnWeights,
        tests: bool = True,
        changed: ChangedTexts | None = None,
    ) -> None:
        self._reader, self._columns = reader, columns
        self._connection = reader.connection
        self._condition = condition
        self._tests = tests
        self._is_link = condition.table == "proposition"
        unread = text.pending(reader.connection)
        pending = {number for number in unread if ids.is_concept(number) != self._is_link}
        fresh = self._documents(reader, pending.difference(without))
        joined, where, unlisted = "", "0 = 0", {*without, *pending}
        if 0 < len(without) <= LISTED_MAX:
            where = f"text.rowid NOT IN ({', '.join(map(str, sorted(without)))})"
            unlisted = pending
        if unlisted:
            where += " AND text.rowid NOT IN (SELECT value FROM json_each(:without))"
        if condition.few is not None:
            # FTS5 looks up each of these numbers, which is faster than a scan of the whole index.
            where += f" AND text.rowid IN ({', '.join(map(str, sorted(condition.few)))})"
        if not reader.state.is_live:
            where += f" AND e.seq <= {reader.state.seq}"
        if condition.sql or not reader.state.is_live:
            # A join: with IN, FTS5 would look up each of many elements, term by term.
            table = reader.connection.dialect.stored(condition.table)
            joined = f" CROSS JOIN {table} e"
            where = f"e.id = text.rowid AND {where}{condition.sql}"
        if condition.types is not None and not self._is_link:
            # FTS5 skips numbers outside of a range without reading their rows.
            query = (
                "SELECT min(c.id), max(c.id) FROM json_each(?) j"
                " CROSS JOIN concept c WHERE c.type = j.value"
            )
            low, high = reader.fetch_one(query, (json_array(condition.types),))
            where += f" AND text.rowid BETWEEN {low or 0} AND {high or 0}"
        if changed is not None:
            fresh = chain(fresh, changed.documents(condition, {*without, *pending}))
        bindings = {"without": json_array(unlisted), **condition.bindings}
        self._chosen = Selection(reader.tables_text, joined, where, bindings, self._is_link)
        self._fresh = in_memory(fresh) if pending or changed is not None else None

    def by_keys(self, keys: Collection[str], limit: int) -> list[int]:
        """Elements that have one of these keys, up to a limit: definitions come first."""
        elements: dict[int, None] = {}
        # Most questions are no name: this one query then ends the search.
        if not keys or not (self._fresh or self._numbers(with_keys(keys, *Standing), 1)):
            return []
        for standing in Standing:
            query = with_keys(keys, standing)
            elements |= dict.fromkeys(self._numbers(query, limit))
            if (fresh := self._fresh) is not None:
                numbers = fresh.text_index.numbers(fresh, query, ALL_TEXTS, limit)
                elements |= dict.fromkeys(numbers)
            if len(elements) >= limit:
                break
        return list(elements)

    def by_words(self, terms: Sequence[Term], limit: int) -> list[TextMatch]:
        """Elements that have some of these terms, the best first.

        Those with all terms are found first, then the others.
        """
        indexed_terms = [term for term in terms if term.elements]
        matches: dict[int, TextMatch] = {}
        if indexed_terms:
            together = _affordable(indexed_terms, SCANNED_MAX)
            numbers = (
                self._with_all(indexed_terms, limit) if len(together) < len(indexed_terms) else []
            )
            if len(numbers) < limit:
                query = self._definitions(all_of(term.text for term in together))
                matches = self._ranked(query, limit, together[0].elements, len(together))
            best = max((text_match.bm25 for text_match in matches.values()), default=0.0)
            matches |= {number: TextMatch(number, best, len(indexed_terms)) for number in numbers}
        if len(matches) < limit and indexed_terms and not (self._tests and len(terms) == 1):
            some = _affordable(indexed_terms, RANKED_MAX)
            size = sum(term.elements for term in some)
            matches = self._ranked(any_of(term.text for term in some), limit, size) | matches
            if len(matches) < limit and len(some) < len(indexed_terms) and self._condition.sql:
                # Elements that pass a filter may have only frequent terms.
                every_term = any_of(term.text for term in indexed_terms)
                matches = self._ranked(every_term, limit, SCANNED_MAX) | matches
        return self._with_fresh(matches, any_of(term.text for term in terms), limit, terms)

    def by_rarest_words(self, terms: Sequence[Term], limit: int) -> list[TextMatch]:
        """Elements that have some of the rarest of these terms, the best first, in one query.

        `by_words` asks up to four, so that elements with all terms, and those with only frequent
        ones, are found too.
        """
        indexed_terms = [term for term in terms if term.elements]
        matches: dict[int, TextMatch] = {}
        if indexed_terms:
            some = _affordable(indexed_terms, RANKED_MAX)
            size = sum(term.elements for term in some)
            matches = self._ranked(any_of(term.text for term in some), limit, size)
        return self._with_fresh(matches, any_of(term.text for term in terms), limit, terms)

    def _with_all(self, terms: Sequence[Term], limit: int) -> list[int]:
        """The newest elements that have all of these terms, without ranking."""
        query = self._definitions(all_of(term.text for term in terms))
        return self._numbers(query, limit, self._chosen.newest())

    def titled(self, terms: Sequence[str], limit: int) -> list[int]:
        """Some elements that have all of these terms in their titles, the oldest first."""
        if not terms:
            return []
        return self._numbers(self._definitions(_titles_with(terms)), limit)

    def by_titles(self, terms: Sequence[Term], limit: int) -> list[TextMatch]:
        """Elements that have some of these terms in their titles, best first."""
        some = _affordable([term for term in terms if term.elements], SCANNED_MAX // 2)
        matches: dict[int, TextMatch] = {}
        if some:
            size = sum(term.elements for term in some)
            query = any_of(term.text for term in some)._replace(column="title")
            matches = self._ranked(query, limit, size, RANKED_MAX // TITLES_RANKED_MAX)
        query = any_of(term.text for term in terms)._replace(column="title")
        return self._with_fresh(matches, query, limit, terms)

    def by_beginning(self, term: str, limit: int) -> list[TextMatch]:
        """Elements with words that begin with a term, best first."""
        query = any_of((term,))._replace(is_beginning=True)
        matches = self._ranked(query, limit, SCANNED_MAX)
        return self._with_fresh(matches, query, limit, ())

    def _definitions(self, query: TextQuery) -> TextQuery:
        """The same query, without tests and generated files unless `tests` is true."""
        return query if self._tests else query._replace(without_key=ASIDE_KEY)

    def _with_fresh(
        self,
        matches: dict[int, TextMatch],
        query: TextQuery,
        limit: int,
        terms: Sequence[Term],
    ) -> list[TextMatch]:
        if (fresh := self._fresh) is not None:
            # The whole index gives the rarity of a term; the small index gives the order.
            share = usual_bm25(self._reader, terms) / max(len(terms), 1)
            for match in fresh.text_index.ranked(fresh, query, ALL_TEXTS, self._columns, limit):
                bm25 = share * match.terms + _ORDERING * match.bm25
                matches[match.number] = match._replace(bm25=bm25)
        return sorted(matches.values(), key=lambda match: (-match.bm25, match.number))

    def _ranked(
        self, query: TextQuery, limit: int, size: int, terms: int = 1
    ) -> dict[int, TextMatch]:
        """The best matches by number, each with the number of terms that it has.

        `size` is the expected number of matches. If it is too large, only the newest are ranked.
        """
        chosen, ranked = self._chosen, max(limit, RANKED_MAX // terms)
        if size > ranked:
            floor = self._numbers(query, 1, chosen.newest(), ranked)
            chosen = chosen.narrowed(f"text.rowid > {next(iter(floor), 0)}")
        index = self._connection.text_index
        matches = index.ranked(self._connection, query, chosen, self._columns, limit)
        return {match.number: match for match in matches}

    def _numbers(
        self, query: TextQuery, limit: int, chosen: Selection | None = None, offset: int = 0
    ) -> list[int]:
        """The numbers of elements that fit a query, oldest first unless `chosen` says otherwise."""
        index = self._connection.text_index
        return index.numbers(self._connection, query, chosen or self._chosen, limit, offset)

    def _documents(
        self, reader: Reader, numbers: Iterable[int]
    ) -> Iterator[tuple[int, AnalysedText | None]]:
        """The texts of these elements in the state of the reader, if they pass the filters."""
        name = "''" if self._is_link else "e.name"
        passing = self._condition
        query = (
            f"{reader.tables_text}SELECT e.id, {name}, e.attributes FROM json_each(:numbers) j"
            f" CROSS JOIN {passing.table} e WHERE e.id = j.value{passing.sql}"
        )
        bindings = {"numbers": json_array(numbers), **passing.bindings}
        for number, name, attributes in reader.execute(query, bindings):
            yield number, text.document(number, name, attributes)


def _titles_with(terms: Sequence[str]) -> TextQuery:
    return all_of(terms)._replace(column="title")


def matches_in(
    reader: Reader, texts: Sequence[tuple[int, str]], terms: Sequence[Term]
) -> list[TextMatch]:
    """Matches of texts that are in no index, by BM25 with a fixed average length.

    The rarity of a term comes from the index of all elements.
    """
    size = reader.connection.text_index.size(reader.connection)
    phrases = [(tokens_of(term.text), rarity(size, term.elements)) for term in terms]
    matches = []
    for number, body in texts:
        tokens = tokens_of(body)
        has = [value for phrase, value in phrases if _contains(tokens, phrase)]
        if has:
            weight = frequency(1, len(body.split()) / SENTENCE_WORDS)
            matches.append(TextMatch(number, sum(weight * value for value in has), len(has)))
    return matches


def _contains(tokens: Sequence[str], phrase: Sequence[str]) -> bool:
    """True if a text has the tokens of a phrase one after another."""
    if len(phrase) == 1:
        return phrase[0] in tokens
    places = range(len(tokens) - len(phrase) + 1) if phrase else ()
    return any(tokens[at : at + len(phrase)] == phrase for at in places)


class Sentence(NamedTuple):
    """A link as a sentence: its subject, predicate and object by name, then its attributes.

    The sentence has all names and aliases of the ends. Identifiers are also split into their parts.
    """

    link: int
    predicate: str
    ends: tuple[int, int]
    text: str


def sentences(reader: Reader, links: Iterable[int]) -> Iterator[Sentence]:
    """Links as sentences, by number."""
    among = "IN (SELECT value FROM json_each(?))"
    query = "SELECT p.id, p.predicate, p.subject, p.object, p.attributes FROM proposition p"
    then = reader.tables_text
    rows = reader.fetch_all(f"{then}{query} WHERE p.id {among}", (json_array(links),))
    ends = {end for _, _, *pair, _ in rows for end in pair}
    query = f"{then}SELECT c.id, c.name, c.attributes FROM concept c WHERE c.id {among}"
    names = {
        number: _names(*rest) for number, *rest in reader.fetch_all(query, (json_array(ends),))
    }
    for link, predicate, subject, object_, attributes in rows:
        name = reader.predicate_name(predicate)
        # The end of a link may be another link, which has no name.
        words = with_parts((*names.get(subject, ()), name, *names.get(object_, ())))
        text_ = body_text(words, parse_object(attributes))
        yield Sentence(link, name, (subject, object_), text_)


def _names(name: str, attributes: str) -> tuple[str, ...]:
    """All names and aliases of a concept."""
    element_names = called(name, parse_object(attributes))
    return element_names.names + element_names.aliases


def in_memory(documents: Iterable[tuple[int, AnalysedText | None]]) -> Connection:
    """A text index in memory that holds only these documents."""
    connection = SqliteConnection(":memory:")
    connection.execute(FTS)
    with connection:
        text.index(connection, documents)
    return connection


def _affordable(terms: Sequence[Term], most: int) -> list[Term]:
    """The rarest terms that at most `most` elements have together; at least one term."""
    total = 0
    selection: list[Term] = []
    for term in terms:
        total += term.elements
        if selection and total > most:
            break
        selection.append(term)
    return selection
