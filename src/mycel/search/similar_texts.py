"""Texts with much the same content, by the words they share.

The fewer elements have a word, the more it weighs. The similarity is the weight of the shared
words, divided by the weight of the lighter text: a short note that says a part of a long one is
similar to it. Texts of one template, which differ only in numbers, dates, identifiers or names,
say different things. The rarest words give the candidates, from the text index, without vectors.
`benchmarks/recall/similar.py` measures it: none of 180 notes that say different things is taken for
a repetition, and 31 of 33 repetitions in other words are found.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from math import log
from typing import Final, NamedTuple

from mycel.model.elements import Concept
from mycel.search.index.passages import prose
from mycel.search.weights import BM25_COLUMNS
from mycel.store.query import lookup
from mycel.store.query.candidates import Candidates, Term, counted
from mycel.store.query.filters import condition
from mycel.store.query.reader import Reader
from mycel.text.analysis import STOP_WORDS, terms_of
from mycel.text.kinds import NOTES

TERMS_MIN: Final = 6
"""A text with fewer words says too little to be compared, except with one of the same words."""
SAME_TERMS_MIN: Final = 3
"""A text with fewer words is not compared at all."""
TERMS_MAX: Final = 100
SHARED_MIN: Final = 5
RAREST: Final = 12
"""The number of words of a note that select candidates: the rarest ones."""
COMPARED_MAX: Final = 8
SIMILARITY_MIN: Final = 0.3
TEXT_CHARACTERS_MAX: Final = 4_000
_WORD: Final = re.compile(r"\w+(?:[-.:/@_]\w+)*")


class SimilarText(NamedTuple):
    """A concept whose text is similar to another one."""

    other: Concept
    similarity: float


class SimilarTexts:
    """Finds the closest text of a concept among all that are not archived."""

    def __init__(
        self, reader: Reader, without: Collection[int], is_compared: Callable[[Concept], bool]
    ) -> None:
        """Exclude the elements `without`, and concepts for which `is_compared` is False."""
        # An archived element does not pass.
        passing = condition(reader, {"kind": NOTES}, "concept")
        hidden = {*without, *lookup.core_concepts(reader)}
        self._index: Final = Candidates(reader, passing, hidden, columns=BM25_COLUMNS)
        self._reader: Final = reader
        self._total: Final = max(lookup.concepts_at_most(reader), 1)
        self._is_compared: Final = is_compared
        self._counts: Final[dict[str, Term]] = {}

    def closest(self, note: Concept) -> SimilarText | None:
        """The closest other text, if it is close enough."""
        return next(iter(self.similar(note)), None)

    def similar(self, note: Concept) -> list[SimilarText]:
        """Up to `COMPARED_MAX` other texts that are close enough, the closest first."""
        terms = _terms(note)
        if len(terms) < SAME_TERMS_MIN:
            return []
        counted = self._counted_terms(terms)
        weights = self._weights(counted)
        # The index does not count the latest writes, so even a word without elements may occur in
        # texts.
        uncounted = [term for term in counted if not term.elements]
        rarest = uncounted[:RAREST] + counted[len(uncounted) :][:RAREST]
        # One more than is compared, because the text itself may be among the results.
        words = self._index.by_rarest_words(rarest, COMPARED_MAX + 1)
        numbers = [word.number for word in words if word.number != note.number][:COMPARED_MAX]
        similar = [
            SimilarText(other, similarity)
            for other in self._reader.elements(numbers).values()
            if isinstance(other, Concept) and self._is_compared(other)
            if (similarity := _similarity(terms, _terms(other), weights, self._total))
            >= SIMILARITY_MIN
            and not have_one_template(_text(note), _text(other))
        ]
        return sorted(similar, key=lambda text: (-text.similarity, -text.other.number))

    def similarity(self, note: Concept, other: Concept) -> float:
        """The similarity of two texts, from 0 to 1."""
        terms = _terms(note)
        weights = self._weights(self._counted_terms(terms))
        return _similarity(terms, _terms(other), weights, self._total)

    def _weights(self, terms: Iterable[Term]) -> dict[str, float]:
        return {term.text: log(1 + self._total / (term.elements + 0.5)) for term in terms}

    def _counted_terms(self, terms: set[str]) -> list[Term]:
        """Terms with their counts, the rarest first. Each is counted once for all texts."""
        unknown = terms - self._counts.keys()
        self._counts.update((term.text, term) for term in counted(self._reader, unknown))
        terms_seen = [self._counts[term] for term in terms]
        return sorted(terms_seen, key=lambda term: (term.elements, term.text))


def have_one_template(one: str, other: str) -> bool:
    """True for texts that differ only in numbers, dates, identifiers and names.

    >>> have_one_template("Release 1.2 went out on 3 May.", "Release 1.3 went out on 9 June.")
    True
    >>> have_one_template("Up to 10 users pay 10 EUR.", "Up to 10 users pay 12 EUR.")
    True
    >>> have_one_template("Release 1.2 went out on 3 May.", "Release 1.2 was published on 3 May.")
    False
    """
    (frame, things), (other_frame, other_things) = map(_divide, (one, other))
    if frame != other_frame:
        return False
    counts, other_counts = Counter(things), Counter(other_things)
    if counts == other_counts:
        return things != other_things  # The same in other places.
    return not (counts <= other_counts or counts >= other_counts)


def _divide(text: str) -> tuple[list[str], list[str]]:
    """The ordinary words of a text, and the words that name a single thing.

    These have a digit, a sign or a capital letter.
    """
    frame: list[str] = []
    things: list[str] = []
    for word in _WORD.findall(text):
        is_plain = word.isalpha() and (word.islower() or word.lower() in STOP_WORDS)
        (frame if is_plain else things).append(word.lower())
    return frame, things


def _text(note: Concept) -> str:
    name = note.attributes.get("name")
    text = f"{name if isinstance(name, str) else ''}\n{prose(note.attributes)}"
    return text[:TEXT_CHARACTERS_MAX]


def _terms(note: Concept) -> set[str]:
    return set(terms_of(_text(note))[:TERMS_MAX])


def _similarity(one: set[str], other: set[str], weights: dict[str, float], total: int) -> float:
    """The weight of the shared words, as a part of the lighter text; 1 for the same words."""
    if set(map(str.casefold, one)) == set(map(str.casefold, other)):
        return 1.0
    shared = one & other
    if len(shared) < SHARED_MIN or min(len(one), len(other)) < TERMS_MIN:
        return 0.0
    unknown = log(1 + total / 1.5)  # Words that only the other note has were not counted.
    weight = [sum(weights.get(term, unknown) for term in terms) for terms in (shared, one, other)]
    return weight[0] / min(weight[1:])
