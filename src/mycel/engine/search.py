"""SEARCH: from words to elements (KIP §5.2). `mycel.search.ranking` defines the scores.

Definitions and other elements of the core capsules are part of every graph. They, and links among
them, are found only by their type, or if nothing else fits.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final, cast

from mycel.engine.empty_result_advice import quoted_names
from mycel.engine.find import moment_value
from mycel.engine.hits import (
    BEGINNING_CHARACTERS_MIN,
    PREDICATES_READ,
    AskedWords,
    ElementHit,
    HitSearch,
    Neighbourhood,
    Passing,
    as_predicate,
    element_name,
    order,
)
from mycel.engine.outcome import Outcome
from mycel.engine.references import close_to
from mycel.engine.sections import in_sections
from mycel.engine.values import Values
from mycel.errors import (
    ConstraintViolation,
    DatabaseBusy,
    DatabaseError,
    DiskFull,
    EmbedderFailed,
    MycelError,
    close_names,
    did_you_mean,
)
from mycel.kip import ast
from mycel.model.names import shorten
from mycel.recall.lazy import SearchIndex
from mycel.search import ranking
from mycel.search.embedding import HYBRID, KEYWORD, MODES, NotReadyError, SearchMode
from mycel.search.kinds import CODE, NOTES, AnswerKind, checked_kind
from mycel.search.ranking import Question
from mycel.store.database import Store
from mycel.store.file.layout import PROPOSITION_TYPE_NUMBER
from mycel.store.query import lookup, summary
from mycel.store.query.filters import Filters, state_reader
from mycel.store.query.reader import Reader
from mycel.store.query.vocabulary import Vocabulary

if TYPE_CHECKING:
    from mycel.recall.answer import RecallQuestion

SEARCH_LIMIT_DEFAULT: Final = 10
SEARCH_LIMIT_MAX: Final = 1_000

_FURNITURE_FILTERS: Final = frozenset(("path", "near", "as_of"))
"""Filters with which definitions are found if nothing else fits; others exclude them."""

WORDS_COMPARED: Final = 3
"""Words of a question without results that are compared with names, one by one."""


def search(
    reader: Reader, node: ast.Search, values: Values, recall: SearchIndex | None = None
) -> Outcome:
    """Run a SEARCH. What was written last is found faster after `fold_text`."""
    question = values.text(node.term, "term of SEARCH")
    limit = SEARCH_LIMIT_DEFAULT
    if node.limit is not None:
        limit = values.positive(node.limit, "LIMIT")
    threshold = _threshold(node, values)
    mode = check_mode(HYBRID if node.mode is None else values.text(node.mode, "MODE of SEARCH"))
    mode = KEYWORD if recall is None else mode
    filters = filters_of(node, values, "SEARCH")
    if node.near is not None:
        filters["near"] = values.text(node.near, "near of SEARCH")
    if node.as_of is not None:
        filters["as_of"] = moment_value(node.as_of, values, "AS OF")
    reader = state_reader(reader, filters)
    if node.kind is not None:
        filters["kind"] = cast(AnswerKind, values.text(node.kind, "KIND of SEARCH"))
    names = [values.text(each, "type of SEARCH") for each in node.types]
    types = [_number(reader, node.element, name) for name in names] or None
    most = min(limit, SEARCH_LIMIT_MAX)
    found_by = partial(find, reader, question, node.element, types=types, filters=filters)
    warnings: list[str] = []
    hits = found_by(limit=most, threshold=threshold, mode=mode, recall=recall, warnings=warnings)
    if not hits:
        found = found_by(limit=1, mode=mode, recall=recall) if threshold else []
        if filters and not found and found_by(limit=1, filters=None):
            warnings.append("Something fits the question, but not the filters of this SEARCH.")
        else:
            warnings += _about_miss(reader, question, node.element, types, found, threshold)
    elif limit > SEARCH_LIMIT_MAX and len(hits) == SEARCH_LIMIT_MAX:
        warnings.append(
            f"SEARCH gives at most {SEARCH_LIMIT_MAX} results; ask for something narrower."
        )
    return Outcome([hit.to_dict() for hit in hits], warnings=tuple(warnings))


def filters_of(node: ast.Search | ast.Nearest, values: Values, statement: str) -> Filters:
    """The filters of a SEARCH or NEAREST that exclude elements."""
    given: Filters = {}
    if node.metadata is not None:
        given["metadata"] = values.mapping(node.metadata, f"METADATA of {statement}")
    for name in ("path", "workspace", "actor", "since", "until"):
        text: ast.Text | None = getattr(node, name)
        if text is not None:
            given[name] = values.text(text, f"{name} of {statement}")
    return given


def _by_keywords(error: NotReadyError | MycelError) -> str:
    """The warning of a search that could not go by meaning."""
    why = "Vectors are still being made."
    if isinstance(error, MycelError):
        why = error.message
    return f"{why} This answer goes by names and words alone."


def _about_miss(
    reader: Reader,
    question: str,
    element: ast.ElementKind,
    types: Sequence[int] | None,
    found: Sequence[ElementHit],
    threshold: float,
) -> Iterator[str]:
    """Yield reasons for an empty result: the threshold, or a misspelled name."""
    if found:
        best = found[0]
        yield (
            f"Nothing reaches the THRESHOLD {threshold}; the best is"
            f" {element_name(best.element)!r} with {best.score:.2f}."
        )
        return
    words = [word for word in question.split() if len(word) > BEGINNING_CHARACTERS_MIN]
    for each in dict.fromkeys((" ".join(question.split()), *words[:WORDS_COMPARED])):
        if close := [name for name in _close(reader, element, types, each) if name != each]:
            yield f"Nothing was found for {shorten(each)!r}. Did you mean {quoted_names(close)}?"
            return


def _close(
    reader: Reader, element: ast.ElementKind, types: Sequence[int] | None, name: str
) -> list[str]:
    """Names that are like a name: of concepts and, for links, of predicates before those."""
    if element == "CONCEPT":
        return [close for each in types or (None,) for close in close_to(reader, each, name)]
    names = summary.definitions(reader, PROPOSITION_TYPE_NUMBER, limit=PREDICATES_READ)
    return close_names(as_predicate(name), names) or close_to(reader, None, name)


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
    recall: SearchIndex | None = None,
    warnings: list[str] | None = None,
    filters: Filters | None = None,
) -> list[ElementHit]:
    """Elements that fit a question: concepts, links, or both; notes and code each best first.

    `types` are numbers of types or predicates; they need an `element`. Modes other than "keyword"
    need `recall`; if it cannot be used, the answer goes by keywords, and `warnings` gets a sentence
    about it.
    """
    asked = Question(question)
    if not asked.text:
        return []
    said: list[str] = []
    filters = filters or {}
    reader = state_reader(reader, filters)
    if not reader.state.is_live and mode != KEYWORD:
        said.append("A search AS OF the past goes by names and words: meaning has no past.")
        mode = KEYWORD
    meant = None
    if mode != KEYWORD and recall is not None:
        meant, mode, warning = _by_meaning(reader, recall, asked, mode)
        said += [warning] if warning else []
    if warnings is not None:
        warnings += said
    search = _Search(
        reader,
        asked,
        element,
        limit=limit,
        threshold=threshold,
        mode=mode,
        meant=meant,
        filters=filters,
    )
    kind = checked_kind(filters.get("kind"))
    if kind is not None or not _has_code(reader):
        hits = search.hits(types, kind)
    else:
        hits = in_sections(asked, search.hits(types, NOTES), search.hits(types, CODE), limit)
    if types is None and not filters.keys() - _FURNITURE_FILTERS:
        hits = search.with_definitions(hits)
    return hits


def _by_meaning(
    reader: Reader, recall: SearchIndex, asked: Question, mode: SearchMode
) -> tuple[RecallQuestion | None, SearchMode, str]:
    """The evidence by meaning, the mode in which the search goes, and a warning."""
    from mycel.recall.answer import RecallQuestion  # noqa: PLC0415 - it brings numpy

    try:
        meant = RecallQuestion(reader, recall, asked, mode)
    except (NotReadyError, EmbedderFailed) as error:
        return None, KEYWORD, _by_keywords(error)
    return meant, mode, meant.warning


def _has_code(reader: Reader) -> bool:
    """True if there are files or symbols, which a bootstrap may have read."""
    return lookup.has_any_of(reader, ("Symbol", "Resource"))


class _Search:
    """One search, with everything but the kind of what it finds."""

    def __init__(
        self,
        reader: Reader,
        asked: Question,
        element: ast.ElementKind | None,
        *,
        limit: int,
        threshold: float,
        mode: SearchMode,
        meant: RecallQuestion | None,
        filters: Filters,
    ) -> None:
        self._reader, self._element = reader, element
        self._words = AskedWords(reader, asked)
        self._limit, self._threshold = limit, threshold
        self._mode, self._meant, self._filters = mode, meant, filters
        centre = filters.get("near")
        self._near = None if centre is None else Neighbourhood(reader, centre)

    @cached_property
    def _furniture(self) -> frozenset[int]:
        return lookup.furniture(self._reader)

    def hits(self, types: Collection[int] | None, kind: AnswerKind | None) -> list[ElementHit]:
        """Elements of some types and of a kind that fit, best first."""
        passing = Passing.of({**self._filters, "kind": kind}, types)
        furniture = frozenset[int]() if types is not None else self._furniture
        return self._near_first(passing, furniture)

    def with_definitions(self, hits: list[ElementHit]) -> list[ElementHit]:
        """Hits of the whole graph, with definitions if nothing else fits or is named."""
        passing = Passing.of(self._filters)
        if not hits:
            return self._near_first(passing, frozenset())
        if self._element == "PROPOSITION" or not all(hit.by_meaning for hit in hits):
            return hits
        furniture = self._furniture
        search = HitSearch(self._reader, self._words, frozenset(), passing, KEYWORD, None)
        named = ranking.WEIGHTS["parts"].least
        definitions = [
            hit
            for hit in search.concepts(self._limit)
            if hit.element.number in furniture and hit.score >= max(named, self._threshold)
        ]
        return [*definitions, *hits][: self._limit]

    def _near_first(self, passing: Passing, without: frozenset[int]) -> list[ElementHit]:
        near = self._near
        if near is None:
            return self._found(passing, without)
        found: dict[int, ElementHit] = {}
        for each in (passing, near.within(passing)):
            found |= {hit.element.number: hit for hit in self._found(each, without)}
        return sorted(map(near.preferred, found.values()), key=order)[: self._limit]

    def _found(self, passing: Passing, without: frozenset[int]) -> list[ElementHit]:
        search = HitSearch(self._reader, self._words, without, passing, self._mode, self._meant)
        hits: list[ElementHit] = []
        if self._element != "PROPOSITION":
            hits += search.concepts(self._limit)
            self._reader.check_deadline()
        if self._element != "CONCEPT":
            hits += search.links(self._limit)
            self._reader.check_deadline()
        best = [hit for hit in sorted(hits, key=order) if hit.score >= self._threshold]
        return [hit._replace(why=search.reasons(hit)) for hit in best[: self._limit]]


def _threshold(node: ast.Search, values: Values) -> float:
    if node.threshold is None:
        return 0.0
    threshold = values.number(node.threshold, "THRESHOLD")
    if not 0 <= threshold <= 1:
        raise ConstraintViolation(
            f"The THRESHOLD is {threshold}; scores are between 0 and 1.",
            hint="0.4: about half of the words; 0.8: a part of the name; 1: the exact name.",
        )
    return threshold


def check_mode(mode: str) -> SearchMode:
    """A mode of SEARCH; raises ConstraintViolation for any other text."""
    if mode not in MODES:
        raise ConstraintViolation(
            f"There is no mode {shorten(mode)!r}.",
            hint=f"The modes are {', '.join(MODES)}. {did_you_mean(mode, list(MODES))}".strip(),
        )
    return mode


def _number(reader: Reader, element: ast.ElementKind, name: str) -> int:
    """The number of a type or predicate that is defined now."""
    vocabulary = Vocabulary(reader)
    if element == "CONCEPT":
        return vocabulary.type_number(name)
    return vocabulary.predicate(name).number
