"""Concepts that fit a question: candidates by names, words and meaning, ranked, with reasons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from mycel.errors import InternalError
from mycel.model.elements import Concept
from mycel.model.names import shorten
from mycel.search.hits import AskedWords, ElementHit, Passing, sort_key
from mycel.search.modes import HYBRID, SEMANTIC, SearchMode
from mycel.search.name_match import Fit, fit_names, score_words
from mycel.search.notes_about import end_of, find_notes_about
from mycel.search.outdated import BY_NAME, lower_outdated
from mycel.search.weights import ABOUT_SCORE, BM25_COLUMNS
from mycel.store.query import lookup
from mycel.store.query.candidates import Candidates
from mycel.store.query.reader import Reader
from mycel.text.kinds import CODE

if TYPE_CHECKING:
    from mycel.search.passage_ranking import PassageRanking, RankedPassage

RERANKED_MORE: Final = 20
"""Extra candidates read from the index, because names change the order."""

NAMED_MAX: Final = 50
"""Namesakes that are compared, unless the limit asks for more."""

LINKS_COUNTED: Final = 1_000
"""Incoming links of a concept are counted up to here; more make no difference."""

BEGINNING_CHARACTERS_MIN: Final = 3
"""The length from which a word also finds words that begin with it."""

REASONS_MAX: Final = 3
_REASONS: Final = {
    "words": "words",
    "meaning": "meaning",
    "pieces": "meaning",
    "named": "named in the question",
    "link": "linked",
    "shared": "linked",
    "actor": "actor",
    "episode": "episode",
    "time": "time",
    "answer": "answer to a question",
}


class ConceptSearch:
    """One search among concepts that are `passing`, `without` some of them.

    Modes other than "keyword" need a `ranking` of passages.
    """

    def __init__(
        self,
        reader: Reader,
        words: AskedWords,
        without: frozenset[int],
        passing: Passing,
        mode: SearchMode,
        ranking: PassageRanking | None,
    ) -> None:
        self._reader, self._words = reader, words
        self._without, self._condition = without, passing.concepts
        self._mode, self._ranking = mode, ranking
        self._passages: dict[int, RankedPassage] = {}
        self._about: dict[int, str] = {}

    def hits(self, limit: int) -> list[ElementHit]:
        """Concepts that fit, the best first; only the first `limit` are sure to be the best."""
        words, asked = self._words, self._words.question
        wanted = limit + RERANKED_MORE
        if self._mode == SEMANTIC:
            return self._ranked(self._ranked_passages(wanted))
        candidates = Candidates(
            self._reader,
            self._condition,
            self._without,
            columns=BM25_COLUMNS,
            tests=asked.is_about_tests,
            changed=words.changed,
        )
        if self._mode == HYBRID:
            scores = self._ranked_passages(wanted)
        else:
            matches = candidates.by_words(words.terms, wanted) if words.terms else []
            scores = score_words(words.shares(matches), words.usual, "words")
        numbers = candidates.by_keys(asked.keys(), max(limit, NAMED_MAX))
        if len(scores) >= wanted:
            numbers += candidates.titled(words.terms, wanted)
        numbers += self._named_from(limit)
        self._about = self._notes_about()
        for number in (*numbers, *self._about):
            scores.setdefault(number, 0.0)
        last = asked.terms[-1] if asked.terms else ""
        if len(scores) < limit and len(last) >= BEGINNING_CHARACTERS_MIN:
            begun = words.shares(candidates.by_beginning(last, limit))
            for number, score in score_words(begun, words.usual, "stems").items():
                scores.setdefault(number, score)
        return self._ranked(scores)

    def _notes_about(self) -> dict[int, str]:
        """Notes about what the question names that pass the filters, each with its reason."""
        if self._condition.kind == CODE:
            return {}
        notes = find_notes_about(self._reader, self._words.question)
        if not notes:
            return {}
        passing = self._condition.among(("id",), notes).passing(self._reader)
        return {number: notes[number] for number in passing if number not in self._without}

    def _ranked_passages(self, wanted: int) -> dict[int, float]:
        """Scores of concepts by their evidence (`weights`), or by meaning alone."""
        if self._ranking is None:
            raise InternalError("A search by meaning needs a ranking of passages.")
        passages = self._ranking.best(self._condition, wanted)
        self._passages = {passage.element: passage for passage in passages}
        return {passage.element: passage.score for passage in passages}

    def _named_from(self, limit: int) -> list[int]:
        """Concepts whose names begin with the question, as it was written and in other cases."""
        text = self._words.question.text
        return [
            number
            for beginning in dict.fromkeys((text, text.lower(), text.title(), text.upper()))
            for number in lookup.named_from(self._reader, beginning, limit, self._condition)
            if number not in self._without
        ]

    def _ranked(self, scores: Mapping[int, float]) -> list[ElementHit]:
        fits: list[tuple[Concept, Fit]] = []
        elements = self._reader.elements(scores)
        for number, score in scores.items():
            concept = elements.get(number)
            if isinstance(concept, Concept):
                fit = fit_names(self._words.question, concept.name, concept.attributes, score)
                if number in self._about:  # Those that fit better come first.
                    fit = fit._replace(score=max(fit.score, ABOUT_SCORE + fit.score / 100))
                if fit.score:
                    fits.append((concept, fit))
        named = [concept.number for concept, fit in fits if fit.is_named]
        linked = lookup.links_towards(self._reader, named, LINKS_COUNTED)
        hits = [
            ElementHit(
                concept,
                fit.score,
                fit.same_case,
                linked.get(concept.number, 0),
                not fit.is_named
                and concept.number not in self._about
                and self._is_by_meaning(concept.number),
                (
                    *(BY_NAME if fit.is_named else ()),
                    *([self._about[concept.number]] if concept.number in self._about else ()),
                ),
            )
            for concept, fit in fits
        ]
        hits = lower_outdated(self._reader, hits, self._condition, self._without)
        return sorted(hits, key=sort_key)

    def reasons(self, hit: ElementHit) -> tuple[str, ...]:
        """The strongest reasons for a hit, with those of a hybrid search; links by their origin."""
        passage = self._passages.get(hit.element.number)
        reasons = dict.fromkeys(hit.why)
        for signal in () if passage is None else passage.signals():
            reason = _REASONS[signal]
            if passage is not None and passage.origin is not None and signal in ("link", "shared"):
                number, predicate = passage.origin
                origin = self._reader.concept(number)
                known = shorten(origin.name) if origin is not None else "another"
                through = f" through {self._reader.predicate_name(predicate)}" if predicate else ""
                reason = f"linked from {known}{through}"
            reasons[reason] = None
        code = None if passage is None or passage.about is None else passage.about
        concept = None if code is None else self._reader.concept(code)
        if concept is not None:
            reasons = {f"about {shorten(end_of(concept.name))}": None} | reasons
        return tuple(reasons)[:REASONS_MAX]

    def _is_by_meaning(self, number: int) -> bool:
        passage = self._passages.get(number)
        return passage is not None and not {"words", "named"} & passage.evidence.keys()
