"""The entrance of every search: from a question to hits, in two sections.

Definitions and other elements of the core capsules are part of every graph. A search returns them,
and links among them, only if it asks for their type, or if nothing else fits.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Final

from mycel.embedding.embedder import NotReadyError
from mycel.errors import DatabaseBusy, DatabaseError, DiskFull, EmbedderFailed, MycelError
from mycel.kip import ast
from mycel.search.concept_hits import ConceptSearch
from mycel.search.hits import AskedWords, ElementHit, Passing, sort_key
from mycel.search.index.search_index import SearchIndex
from mycel.search.link_hits import LinkSearch
from mycel.search.modes import HYBRID, KEYWORD, SearchMode
from mycel.search.near import NEAR_NODES_MAX, Neighbourhood
from mycel.search.question import Question
from mycel.search.sections import in_sections, once_for_each_document, with_seat
from mycel.search.weights import MATCH_SCORES, SEAT_RANK
from mycel.store.database import Store
from mycel.store.query import lookup
from mycel.store.query.filters import Filters, state_reader
from mycel.store.query.reader import Reader
from mycel.text.kinds import CODE, NOTES, AnswerKind, checked_kind

if TYPE_CHECKING:
    from mycel.search.passage_ranking import PassageRanking

SEARCH_LIMIT_DEFAULT: Final = 10

_CORE_FILTERS: Final = frozenset(("path", "near", "as_of", "for_time", "include_archived"))
"""If a search has no other filters, it may return definitions when nothing else fits."""


def fold_text(store: Store) -> None:
    """Bring the text index up to date, unless a writer is busy; the search also works without."""
    if store.has_pending_text():
        with suppress(DatabaseError, DatabaseBusy, DiskFull):
            store.fold(wait=False)


def find(
    reader: Reader,
    question: str,
    element: ast.ElementKind | None = None,
    *,
    types: Collection[int] | None = None,
    limit: int = SEARCH_LIMIT_DEFAULT,
    threshold: float = 0.0,
    mode: SearchMode = KEYWORD,
    index: SearchIndex | None = None,
    warnings: list[str] | None = None,
    filters: Filters | None = None,
) -> list[ElementHit]:
    """Elements that fit a question: concepts, links, or both; notes and code each best first.

    `types` are numbers of types or predicates; they need an `element`. Modes other than "keyword"
    need an `index`. If it cannot be used, the search uses keywords, and `warnings` gets a sentence
    about it.
    """
    parsed = Question(question)
    if not parsed.text:
        return []
    messages: list[str] = []
    filters = filters or {}
    reader = state_reader(reader, filters)
    if not reader.state.is_live and mode != KEYWORD:
        messages.append("A search AS OF the past goes by names and words: meaning has no past.")
        mode = KEYWORD
    ranking = None
    if mode != KEYWORD and index is not None:
        ranking, mode, warning = _rank_passages(reader, index, parsed, mode)
        messages += [warning] if warning else []
    if warnings is not None:
        warnings += messages
    search = _Search(
        reader,
        parsed,
        element,
        limit=limit,
        threshold=threshold,
        mode=mode,
        ranking=ranking,
        filters=filters,
    )
    kind = checked_kind(filters.get("kind"))
    if kind is not None or not _has_code(reader):
        hits = search.hits(types, kind)
    else:
        hits = in_sections(parsed, search.hits(types, NOTES), search.hits(types, CODE), limit)
    if types is None and not filters.keys() - _CORE_FILTERS:
        hits = search.with_definitions(hits)
    return search.with_reasons(hits)


def _rank_passages(
    reader: Reader, index: SearchIndex, question: Question, mode: SearchMode
) -> tuple[PassageRanking | None, SearchMode, str]:
    """The ranking of passages, the mode that the search really uses, and a warning."""
    from mycel.search.passage_ranking import PassageRanking  # noqa: PLC0415 - it brings numpy

    try:
        ranking = PassageRanking(reader, index, question, mode)
    except (NotReadyError, EmbedderFailed) as error:
        why = error.message if isinstance(error, MycelError) else "Vectors are still being made."
        return None, KEYWORD, f"{why} This answer goes by names and words alone."
    return ranking, mode, ranking.warning


def _has_code(reader: Reader) -> bool:
    """True if there are files or symbols, which a bootstrap may have read."""
    return lookup.has_any_of(reader, ("Symbol", "Resource"))


class _Search:
    """One search, with all its conditions except the types and the kind of hits."""

    def __init__(
        self,
        reader: Reader,
        question: Question,
        element: ast.ElementKind | None,
        *,
        limit: int,
        threshold: float,
        mode: SearchMode,
        ranking: PassageRanking | None,
        filters: Filters,
    ) -> None:
        self._reader, self._element = reader, element
        self._words = AskedWords(reader, question)
        self._limit, self._threshold = limit, threshold
        self._mode, self._ranking, self._filters = mode, ranking, filters
        centre = filters.get("near")
        self._near = None if centre is None else Neighbourhood(reader, centre)
        self._sources: dict[int, ConceptSearch] = {}
        """By element, the search that knows the reasons for its hit."""
        self._link_searches: dict[frozenset[int], LinkSearch] = {}

    @cached_property
    def _core_concepts(self) -> frozenset[int]:
        return lookup.core_concepts(self._reader)

    def hits(self, types: Collection[int] | None, kind: AnswerKind | None) -> list[ElementHit]:
        """Elements of some types and of a kind that fit, best first."""
        passing = Passing.of(self._reader, {**self._filters, "kind": kind}, types)
        core_concepts = frozenset[int]() if types is not None else self._core_concepts
        return self._near_first(passing, core_concepts)

    def with_definitions(self, hits: list[ElementHit]) -> list[ElementHit]:
        """The hits, with definitions if nothing else fits, or fits only by meaning."""
        if hits and (self._element == "PROPOSITION" or not all(hit.by_meaning for hit in hits)):
            return hits
        passing = Passing.of(self._reader, self._filters)
        if not hits:
            return self._near_first(passing, frozenset())
        core_concepts = self._core_concepts
        search = ConceptSearch(self._reader, self._words, frozenset(), passing, KEYWORD, None)
        least = MATCH_SCORES["parts"].least
        definitions = [
            hit
            for hit in search.hits(self._limit)
            if hit.element.number in core_concepts and hit.score >= max(least, self._threshold)
        ]
        return [*definitions, *hits][: self._limit]

    def with_reasons(self, hits: list[ElementHit]) -> list[ElementHit]:
        """The hits of the answer, each with its reasons: finding them reads texts."""
        return [
            hit._replace(why=source.reasons(hit))
            if (source := self._sources.get(hit.element.number)) is not None
            else hit
            for hit in hits
        ]

    def _near_first(self, passing: Passing, without: frozenset[int]) -> list[ElementHit]:
        near = self._near
        if near is None:
            return self._first(self._best(passing, without, self._limit))
        # Any of the neighbourhood may come first, because scores there are raised unequally.
        depth = max(self._limit, NEAR_NODES_MAX)
        hits: dict[int, ElementHit] = {}
        for conditions, limit in ((passing, self._limit), (near.within(passing), depth)):
            hits |= {hit.element.number: hit for hit in self._best(conditions, without, limit)}
        return self._first(sorted(map(near.preferred, hits.values()), key=sort_key))

    def _first(self, hits: list[ElementHit]) -> list[ElementHit]:
        """The first hits, best first; in the mode "hybrid", sections get a place among them."""
        if self._mode == HYBRID and self._limit >= SEAT_RANK:
            hits = with_seat(hits)
        return hits[: self._limit]

    def _best(self, passing: Passing, without: frozenset[int], limit: int) -> list[ElementHit]:
        """Elements that pass, best first; only the first `limit` are certain to be the best."""
        reader, words = self._reader, self._words
        concepts = ConceptSearch(reader, words, without, passing, self._mode, self._ranking)
        hits: list[ElementHit] = []
        if self._element != "PROPOSITION":
            hits += concepts.hits(limit)
            reader.check_deadline()
        if self._element != "CONCEPT":
            hits += self._links(without).hits(passing, limit)
            reader.check_deadline()
        hits = [hit for hit in sorted(hits, key=sort_key) if hit.score >= self._threshold]
        hits = once_for_each_document(words.question, hits)
        self._sources |= {hit.element.number: concepts for hit in hits}
        return hits

    def _links(self, without: frozenset[int]) -> LinkSearch:
        """The search for links, which reads the question once for both sections."""
        if without not in self._link_searches:
            self._link_searches[without] = LinkSearch(self._reader, self._words, without)
        return self._link_searches[without]
