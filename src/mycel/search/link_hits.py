"""Links that fit a question.

A link is read as a sentence: the names of its ends around its predicate, then the texts in its
attributes. The index holds only the attributes of links, so candidates come from three sides (texts
of links, links at concepts that match, links of predicates with such a name) and are then ranked as
sentences.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from typing import Final

from mycel.search.hits import AskedWords, ElementHit, Passing
from mycel.search.name_match import score_words
from mycel.search.outdated import lower_outdated
from mycel.search.weights import BM25_COLUMNS, MATCH_SCORES
from mycel.store.file.layout import PROPOSITION_TYPE_NUMBER
from mycel.store.query import lookup
from mycel.store.query.candidates import Candidates, matches_in, sentences
from mycel.store.query.filters import ALL, Condition
from mycel.store.query.reader import Reader
from mycel.text.names import folded

LINKS_RANKED_MAX: Final = 60
"""The number of links that are read and ranked, unless the limit asks for more."""

LINKS_PER_CONCEPT: Final = 50
CONCEPTS_FOLLOWED: Final = 20
"""The number of concepts matching the question whose links are read."""

PREDICATES_MATCHED: Final = 10

_PREDICATES: Final = ALL._replace(types=frozenset((PROPOSITION_TYPE_NUMBER,)))


class LinkSearch:
    """One search among links; a link is left out if both its ends are in `without`."""

    def __init__(self, reader: Reader, words: AskedWords, without: frozenset[int]) -> None:
        self._reader, self._words = reader, words
        self._without = without

    def hits(self, passing: Passing, limit: int) -> list[ElementHit]:
        """Links that fit and pass `passing`, the best first."""
        words, most = self._words, max(2 * limit, LINKS_RANKED_MAX)
        candidates = islice(dict.fromkeys(self._candidates(passing.links, most)), most)
        rows = [
            sentence
            for sentence in sentences(self._reader, candidates)
            if not self._without.issuperset(sentence.ends)
        ]
        texts = [(sentence.link, sentence.text) for sentence in rows]
        ranked = matches_in(self._reader, texts, words.terms) if words.terms else []
        scores = score_words(words.shares(ranked), words.usual, "words")
        predicate = as_predicate(words.question.text)
        for sentence in rows:
            if as_predicate(sentence.predicate) == predicate:
                scores[sentence.link] = MATCH_SCORES["name"].most
        best = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[:limit]
        links = ((self._reader.link(number), score) for number, score in best)
        hits = [ElementHit(link, score) for link, score in links if link is not None]
        return lower_outdated(self._reader, hits, passing.concepts, self._without)

    def _candidates(self, passing: Condition, most: int) -> Iterator[int]:
        """Links that may fit, the likeliest first."""
        reader, words = self._reader, self._words
        own = Candidates(reader, passing, columns=BM25_COLUMNS, changed=words.changed)
        if words.terms:
            matches = words.shares(own.by_words(words.terms, most // 3))
            yield from score_words(matches, words.usual, "words")
        predicates = set(self._predicates)
        if passing.types is not None:
            predicates &= passing.types
        numbers = self._ends
        around = [
            link
            for number in numbers
            for link in lookup.links_around(reader, number, None, LINKS_PER_CONCEPT, passing)
        ]
        ends = set(numbers)
        fitting = [(link.predicate in predicates) + (link.other in ends) for link in around]
        for level in (2, 1):
            yield from (
                link.link for link, fits in zip(around, fitting, strict=True) if fits == level
            )
        for predicate in sorted(predicates):
            for number in numbers[:5]:
                near = lookup.links_around(reader, number, predicate, LINKS_PER_CONCEPT, passing)
                yield from (link.link for link in near)
        yield from (link.link for link in around)
        for predicate in sorted(predicates):
            yield from lookup.links_with(reader, predicate, most, passing)

    @cached_property
    def _ends(self) -> list[int]:
        """Concepts whose names have words of the question, the best first."""
        words = self._words
        candidates = Candidates(
            self._reader, ALL, self._without, columns=BM25_COLUMNS, changed=words.changed
        )
        numbers = candidates.by_keys(words.question.keys(), CONCEPTS_FOLLOWED)
        if words.terms:
            matched = candidates.by_titles(words.terms, CONCEPTS_FOLLOWED)
            numbers += [match.number for match in matched]
        return list(dict.fromkeys(numbers))[:CONCEPTS_FOLLOWED]

    @cached_property
    def _predicates(self) -> list[int]:
        """The numbers of predicates whose names have words of the question."""
        words = self._words
        if not words.terms:
            return []
        definitions = Candidates(
            self._reader, _PREDICATES, columns=BM25_COLUMNS, changed=words.changed
        )
        matched = definitions.by_titles(words.terms, PREDICATES_MATCHED)
        concepts = (self._reader.concept(match.number) for match in matched)
        numbers = (self._reader.find_predicate(concept.name) for concept in concepts if concept)
        return [number for number in numbers if number is not None]


def as_predicate(name: str) -> str:
    """A name in the spelling of predicates: lower case with underscores."""
    return "_".join(folded(name).replace("_", " ").split())
