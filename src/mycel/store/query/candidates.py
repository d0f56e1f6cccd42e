"""Candidates for a search, from the text index: elements by the keys of their names, or by words.

FTS5 takes more than a microsecond for each term of each element that it ranks, and some sixty
nanoseconds for each element that has a term, ranked or not. So both are bounded (`RANKED_MAX`,
`SCANNED_MAX`): the rarest terms of a question are taken, as long as the elements that have them are
not more. Where even one term is too frequent, the newest elements with it are ranked. Elements with
all terms of a question are found without ranking, which takes hardly longer for many terms than for
two.

Filters are part of each query, so a limit counts what passes them. `search.name_match`
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
"""Elements that one query ranks, at most; one counts once for each term of the query."""

SCANNED_MAX: Final = 3_000
"""Elements with the terms that one query ranks by, at most; one counts once for each term."""

TITLES_RANKED_MAX: Final = 200
"""Elements that are ranked by their titles, at most."""

COUNTED_MAX: Final = 1_000
"""The number up to which the elements with a term are counted; such a term is frequent."""

SENTENCE_WORDS: Final = 12
"""The usual number of words of a link, read as a sentence."""

_ORDERING: Final = 1e-3
"""The part of BM25 that only orders candidates of equal rarity; it is no weight of a score."""


class Term(NamedTuple):
    """A term of a question."""

    text: str
    elements: int
    """The number of elements that have it, up to `COUNTED_MAX` + 1."""


def counted(reader: Reader, terms: Iterable[str]) -> list[Term]:
    """Terms with the number of elements that have each, the rarest first."""
    terms = list(terms)
    counts = reader.connection.text_index.counts(reader.connection, terms, COUNTED_MAX + 1)
    all_terms = map(Term, terms, counts)
    return sorted(all_terms, key=lambda term: (term.elements, term.text))


def usual_bm25(reader: Reader, terms: Iterable[Term]) -> float:
    """The BM25 score of a text of average length that has each of some terms once."""
    size = reader.connection.text_index.size(reader.connection)
    return sum(rarity(size, term.elements) for term in terms if term.elements)


class TermIndex:
    """BM25 of single terms, also of concepts that are not folded into the index yet."""

    def __init__(self, reader: Reader, columns: ColumnWeights) -> None:
        self._reader, self._columns = reader, columns
        self._pending = pending_concepts(reader)
        self._fresh = None
        if self._pending:
            self._fresh = in_memory(text.live_documents(reader.connection, self._pending))

    def scores(self, term: str, most: int) -> list[tuple[int, float]] | None:
        """BM25 of every element that has a term; None if more than `most` have it."""
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
    """Concepts whose text the index does not hold as it is now."""
    return {number for number in text.pending(reader.connection) if ids.is_concept(number)}


def has_title(reader: Reader, terms: Sequence[str]) -> bool:
    """True if the index has an element with all of some terms in its title."""
    connection = reader.connection
    index = connection.text_index
    return bool(terms) and bool(index.numbers(connection, _titles_with(terms), ALL_TEXTS, 1))


def with_phrase(reader: Reader, phrase: str, limit: int) -> list[int]:
    """The newest elements whose text has the words of a phrase in a row."""
    words = " ".join(terms_of(phrase))
    if not words:
        return []
    connection = reader.connection
    query, newest = any_of((words,)), ALL_TEXTS.newest()
    return connection.text_index.numbers(connection, query, newest, limit)


class Candidates:
    """Concepts or links that may fit a question, as the index knows them at one moment.

    `without` are elements to leave out, `condition` is that of all filters, `columns` weigh titles
    and bodies in BM25. Unless `tests` are
    wanted as much, tests and generated files are found by words where there is room for more.
    Elements that are not folded into the index yet are found too, through a small index of their
    own; how they rank against the others is then an estimate. So are those that have `changed`
    since the state of the reader.
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
        joined, where = "", "text.rowid NOT IN (SELECT value FROM json_each(:without))"
        if condition.few is not None:
            # FTS5 looks each of them up, term by term, sooner than it scans the whole index.
            where += f" AND text.rowid IN ({', '.join(map(str, sorted(condition.few)))})"
        if not reader.state.is_live:
            where += f" AND e.seq <= {reader.state.seq}"
        if condition.sql or not reader.state.is_live:
            # Joined, never asked with IN: FTS5 would look up each of many elements, term by term.
            table = reader.connection.dialect.stored(condition.table)
            joined = f" CROSS JOIN {table} e"
            where = f"e.id = text.rowid AND {where}{condition.sql}"
        if condition.types is not None and not self._is_link:
            # FTS5 skips what is outside of a range without reading it.
            query = (
                "SELECT min(c.id), max(c.id) FROM json_each(?) j"
                " CROSS JOIN concept c WHERE c.type = j.value"
            )
            low, high = reader.fetch_one(query, (json_array(condition.types),))
            where += f" AND text.rowid BETWEEN {low or 0} AND {high or 0}"
        fresh = self._documents(reader, pending.difference(without))
        without = {*without, *pending}
        if changed is not None:
            fresh = chain(fresh, changed.documents(condition, without))
        bindings = {"without": json_array(without), **condition.bindings}
        self._chosen = Selection(reader.tables_text, joined, where, bindings, self._is_link)
        self._fresh = in_memory(fresh) if pending or changed is not None else None

    def by_keys(self, keys: Collection[str], limit: int) -> list[int]:
        """Elements that have one of these keys, until there are enough: definitions first."""
        elements: dict[int, None] = {}
        for standing in Standing if keys else ():
            query = with_keys(keys, standing)
            elements |= dict.fromkeys(self._numbers(query, limit))
            if (fresh := self._fresh) is not None:
                numbers = fresh.text_index.numbers(fresh, query, ALL_TEXTS, limit)
                elements |= dict.fromkeys(numbers)
            if len(elements) >= limit:
                break
        return list(elements)

    def by_words(self, terms: Sequence[Term], limit: int) -> list[TextMatch]:
        """Elements that have some of these terms: best first those with all, then the others."""
        known = [term for term in terms if term.elements]
        matches: dict[int, TextMatch] = {}
        if known:
            together = _affordable(known, SCANNED_MAX)
            numbers = self._with_all(known, limit) if len(together) < len(known) else []
            if len(numbers) < limit:
                query = self._definitions(all_of(term.text for term in together))
                matches = self._ranked(query, limit, together[0].elements, len(together))
            best = max((text_match.bm25 for text_match in matches.values()), default=0.0)
            matches |= {number: TextMatch(number, best, len(known)) for number in numbers}
        if len(matches) < limit and known and not (self._tests and len(terms) == 1):
            some = _affordable(known, RANKED_MAX)
            size = sum(term.elements for term in some)
            matches = self._ranked(any_of(term.text for term in some), limit, size) | matches
            if len(matches) < limit and len(some) < len(known) and self._condition.sql:
                # What passes a filter may have none but the frequent terms.
                every_term = any_of(term.text for term in known)
                matches = self._ranked(every_term, limit, SCANNED_MAX) | matches
        return self._with_fresh(matches, any_of(term.text for term in terms), limit, terms)

    def _with_all(self, terms: Sequence[Term], limit: int) -> list[int]:
        """The newest elements that have all of these terms, not ranked."""
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
        """Elements with words that begin like a term, best first."""
        query = any_of((term,))._replace(is_beginning=True)
        matches = self._ranked(query, limit, SCANNED_MAX)
        return self._with_fresh(matches, query, limit, ())

    def _definitions(self, query: TextQuery) -> TextQuery:
        """A query for the elements that another finds, without tests and generated files."""
        return query if self._tests else query._replace(without_key=ASIDE_KEY)

    def _with_fresh(
        self,
        matches: dict[int, TextMatch],
        query: TextQuery,
        limit: int,
        terms: Sequence[Term],
    ) -> list[TextMatch]:
        if (fresh := self._fresh) is not None:
            # How rare a term is, the whole index says; the small one only orders.
            share = usual_bm25(self._reader, terms) / max(len(terms), 1)
            for match in fresh.text_index.ranked(fresh, query, ALL_TEXTS, self._columns, limit):
                bm25 = share * match.terms + _ORDERING * match.bm25
                matches[match.number] = match._replace(bm25=bm25)
        return sorted(matches.values(), key=lambda match: (-match.bm25, match.number))

    def _ranked(
        self, query: TextQuery, limit: int, size: int, terms: int = 1
    ) -> dict[int, TextMatch]:
        """The best matches by number, at most `size`, each with its number of matching terms.

        If they are too many, only the newest are ranked.
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
        """The numbers of elements that fit a query, the oldest first unless said otherwise."""
        index = self._connection.text_index
        return index.numbers(self._connection, query, chosen or self._chosen, limit, offset)

    def _documents(
        self, reader: Reader, numbers: Iterable[int]
    ) -> Iterator[tuple[int, AnalysedText | None]]:
        """The texts of elements that pass, in the state of the reader."""
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
    """The matches of texts that are in no index, each for itself: BM25 with a fixed usual length.

    How rare a term is, the index of all elements says.
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
    """True if a text has the tokens of a phrase in a row."""
    if len(phrase) == 1:
        return phrase[0] in tokens
    places = range(len(tokens) - len(phrase) + 1) if phrase else ()
    return any(tokens[at : at + len(phrase)] == phrase for at in places)


class Sentence(NamedTuple):
    """A link as a sentence: its subject, predicate and object by name, then its attributes.

    Ends have all their names and aliases; identifiers are also cut into their parts.
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
    """All names of a concept, its aliases too."""
    element_names = called(name, parse_object(attributes))
    return element_names.names + element_names.aliases


def in_memory(documents: Iterable[tuple[int, AnalysedText | None]]) -> Connection:
    """An index of its own for some documents."""
    connection = SqliteConnection(":memory:")
    connection.execute(FTS)
    with connection:
        text.index(connection, documents)
    return connection


def _affordable(terms: Sequence[Term], most: int) -> list[Term]:
    """The rarest terms, as long as not more elements than `most` have them; at least one."""
    total = 0
    selection: list[Term] = []
    for term in terms:
        total += term.elements
        if selection and total > most:
            break
        selection.append(term)
    return selection
