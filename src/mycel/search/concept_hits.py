"""Concepts that fit a question: candidates by names, words and meaning, ranked, with reasons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from mycel.errors import InternalError
from mycel.model.elements import Concept
from mycel.model.names import shorten
from mycel.search.former_names import FORMERLY, find_former
from mycel.search.hits import AskedWords, ElementHit, Passing, sort_key
from mycel.search.modes import HYBRID, SEMANTIC, SearchMode
from mycel.search.name_match import Fit, fit_names, score_words
from mycel.search.notes_about import end_of, find_notes_about
from mycel.search.outdated import BY_NAME, lower_outdated
from mycel.search.passage_links import MENTION
from mycel.search.weights import ABOUT_SCORE, BARE_FACTOR, BM25_COLUMNS, MATCH_SCORES
from mycel.store.query import lookup
from mycel.store.query.candidates import Candidates
from mycel.store.query.filters import Condition
from mycel.store.query.reader import Reader
from mycel.text.kinds import CODE, is_bare

if TYPE_CHECKING:
    from mycel.search.passage_ranking import PassageRanking, RankedPassage

RERANKED_MORE: Final = 20
"""The number of extra candidates to read from the index, because names change their order."""

NAMED_MAX: Final = 50
"""The maximum number of namesakes that are compared, unless the limit asks for more."""

LINKS_COUNTED: Final = 1_000
"""Incoming links of a concept are counted up to this number; more make no difference."""

BEGINNING_CHARACTERS_MIN: Final = 3
"""A word of this length also finds longer words that begin with it."""

REASONS_MAX: Final = 3
NAME_CHARACTERS: Final = 200
"""The maximum number of characters of the name of a linked element in a reason."""
_REASONS: Final = {
    "words": "words",
    "meaning": "meaning",
    "pieces": "meaning",
    "named": "named in the question",
    "actor": "actor",
    "episode": "episode",
    "time": "time",
    "answer": "answer to a question",
}


class ConceptSearch:
    """One search among the concepts that pass `passing` and are not in `without`.

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
        self._formerly: dict[int, str] = {}

    def hits(self, limit: int) -> list[ElementHit]:
        """Concepts that fit, best first; only the first `limit` are certain to be the best."""
        words, question = self._words, self._words.question
        depth = limit + RERANKED_MORE
        if self._mode == SEMANTIC:
            return self._ranked(self._ranked_passages(depth))
        candidates = self._candidates(self._condition)
        if self._mode == HYBRID:
            scores = self._ranked_passages(depth)
        else:
            scores = self._by_words(candidates, depth)
        numbers = candidates.by_keys(question.keys(), max(limit, NAMED_MAX)) + self._named_from(
            limit
        )
        self._formerly = self._passing(find_former(self._reader, question, is_taken=bool(numbers)))
        may_have_all = self._ranking is None or self._ranking.may_have_all
        if len(scores) >= depth and may_have_all and words.may_be_titled:
            numbers += candidates.titled(question.terms, depth)
        self._about = self._notes_about()
        for number in (*numbers, *self._formerly, *self._about):
            scores.setdefault(number, 0.0)
        last = question.terms[-1] if question.terms else ""
        if len(scores) < limit and len(last) >= BEGINNING_CHARACTERS_MIN:
            begun = words.shares(candidates.by_beginning(last, limit))
            for number, score in score_words(begun, words.usual, "stems").items():
                scores.setdefault(number, score)
        return self._ranked(scores)

    def _candidates(self, condition: Condition) -> Candidates:
        return Candidates(
            self._reader,
            condition,
            self._without,
            columns=BM25_COLUMNS,
            tests=self._words.question.is_about_tests,
            changed=self._words.changed,
        )

    def _by_words(self, candidates: Candidates, depth: int) -> dict[int, float]:
        """Scores of concepts by the words of their texts."""
        words = self._words
        matches = candidates.by_words(words.terms, depth) if words.terms else []
        return score_words(words.shares(matches), words.usual, "words")

    def _notes_about(self) -> dict[int, str]:
        """Notes about nodes that the question names, each with its reason; filters apply."""
        if self._condition.kind == CODE:
            return {}
        return self._passing(find_notes_about(self._reader, self._words.question))

    def _passing(self, reasons: dict[int, str]) -> dict[int, str]:
        """The concepts among these that pass the filters."""
        if not reasons:
            return {}
        passing = self._condition.among(("id",), reasons).passing(self._reader)
        return {number: reasons[number] for number in passing if number not in self._without}

    def _ranked_passages(self, depth: int) -> dict[int, float]:
        """Scores of concepts by their evidence (`weights`), or by meaning alone."""
        if self._ranking is None:
            raise InternalError("A search by meaning needs a ranking of passages.")
        passages = self._ranking.best(self._condition, depth)
        self._passages = {passage.element: passage for passage in passages}
        scores = {passage.element: passage.score for passage in passages}
        if self._condition.has_archived:  # Archived concepts have no passages.
            scores |= self._by_words(self._candidates(self._condition.of_archived()), depth)
        return scores

    def _named_from(self, limit: int) -> list[int]:
        """Concepts whose names begin with the question, as written and in other letter cases."""
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
                attributes = concept.attributes
                fit = fit_names(self._words.question, concept.name, attributes, score)
                if not fit.is_named and is_bare(concept.type, attributes):
                    fit = fit._replace(score=fit.score * BARE_FACTOR)
                if number in self._about:  # Better fits come first.
                    fit = fit._replace(score=max(fit.score, ABOUT_SCORE + fit.score / 100))
                if number in self._formerly and not fit.is_named:
                    fit = fit._replace(score=MATCH_SCORES["alias"].most, is_named=True)
                if fit.score:
                    fits.append((concept, fit))
        name_bearers = [concept.number for concept, fit in fits if fit.is_named]
        linked = lookup.links_towards(self._reader, name_bearers, LINKS_COUNTED)
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
                    *self._former_name(concept.number),
                    *([self._about[concept.number]] if concept.number in self._about else ()),
                ),
            )
            for concept, fit in fits
        ]
        hits = lower_outdated(self._reader, hits, self._condition, self._without)
        return sorted(hits, key=sort_key)

    def _former_name(self, number: int) -> tuple[str, ...]:
        """The reason for a hit whose former name is the question."""
        former = self._formerly.get(number)
        return () if former is None else (f"{FORMERLY}{shorten(former, NAME_CHARACTERS)}",)

    def reasons(self, hit: ElementHit) -> tuple[str, ...]:
        """The strongest reasons for a hit; for a link of a hybrid search, its origin is named."""
        number = hit.element.number
        passage = self._passages.get(number)
        reasons = dict.fromkeys(hit.why)
        for signal in () if passage is None else passage.signals():
            reason = _REASONS.get(signal)
            if reason is None and passage is not None and passage.origin is not None:
                reason = self._way(number, *passage.origin)
            if reason is not None:
                reasons[reason] = None
        code = None if passage is None or passage.about is None else passage.about
        concept = None if code is None else self._reader.concept(code)
        if concept is not None:
            reasons = {f"about {shorten(end_of(concept.name))}": None} | reasons
        return tuple(reasons)[:REASONS_MAX]

    def _way(self, number: int, origin: int, predicate: int) -> str | None:
        """The relation or mention that joins a hit with the origin of the way to it.

        None if both only share a mention, because a reader of the two texts would not see why.
        """
        concept = self._reader.concept(origin)
        if concept is None or self._ranking is None:
            return None
        name = shorten(concept.name, NAME_CHARACTERS)
        if predicate != MENTION:
            way = (origin, predicate, number)
            leads = "from" if lookup.links_between(self._reader, [way]) else "to"
            return f"linked {leads} {name} through {self._reader.predicate_name(predicate)}"
        if number in self._ranking.mentioned_by(origin):
            return f"mentioned by {name}"
        if origin in self._ranking.mentioned_by(number):
            return f"mentions {name}"
        return None

    def _is_by_meaning(self, number: int) -> bool:
        passage = self._passages.get(number)
        return passage is not None and not {"words", "named"} & passage.evidence.keys()
