"""SEARCH: from words to elements (KIP §5.2). `mycel.search.ranking` defines the scores.

Definitions and other elements of the core capsules are part of every graph. They, and links among
them, are found only by their type, or if nothing else fits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

from mycel.engine.empty_result_advice import quoted_names
from mycel.engine.find import moment_value
from mycel.engine.hits import (
    BEGINNING_CHARACTERS_MIN,
    PREDICATES_READ,
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
from mycel.recall.lazy import LazyRecall
from mycel.search import ranking
from mycel.search.embedding import HYBRID, KEYWORD, MODES, Mode, NotReadyError
from mycel.search.ranking import Question
from mycel.store.database import Store
from mycel.store.file.layout import PROPOSITION_TYPE_NUMBER
from mycel.store.query import lookup, summary
from mycel.store.query.filters import Filters, state_reader
from mycel.store.query.reader import Reader
from mycel.store.query.vocabulary import Vocabulary

SEARCH_LIMIT_DEFAULT: Final = 10
SEARCH_LIMIT_MAX: Final = 1_000

WORDS_COMPARED: Final = 3
"""Words of a question without results that are compared with names, one by one."""


def search(
    reader: Reader, node: ast.Search, values: Values, recall: LazyRecall | None = None
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
    name = None if node.type is None else values.text(node.type, "type of SEARCH")
    kind = None if name is None else _kind(reader, node.kind, name)
    most = min(limit, SEARCH_LIMIT_MAX)
    found_by = partial(find, reader, question, node.kind, kind=kind, filters=filters)
    warnings: list[str] = []
    hits = found_by(limit=most, threshold=threshold, mode=mode, recall=recall, warnings=warnings)
    if not hits:
        found = found_by(limit=1, mode=mode, recall=recall) if threshold else []
        if filters and not found and found_by(limit=1, filters=None):
            warnings.append("Something fits the question, but not the filters of this SEARCH.")
        else:
            warnings += _about_miss(reader, question, node.kind, kind, found, threshold)
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
    element_kind: ast.ElementKind,
    kind: int | None,
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
        if close := [name for name in _close(reader, element_kind, kind, each) if name != each]:
            yield f"Nothing was found for {shorten(each)!r}. Did you mean {quoted_names(close)}?"
            return


def _close(reader: Reader, element_kind: ast.ElementKind, kind: int | None, name: str) -> list[str]:
    """Names that are like a name: of concepts and, for links, of predicates before those."""
    if element_kind == "CONCEPT":
        return close_to(reader, kind, name)
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
    element_kind: ast.ElementKind | None = None,
    *,
    kind: int | None = None,
    limit: int = SEARCH_LIMIT_DEFAULT,
    threshold: float = 0.0,
    mode: Mode = KEYWORD,
    recall: LazyRecall | None = None,
    warnings: list[str] | None = None,
    filters: Filters | None = None,
) -> list[ElementHit]:
    """Elements that fit a question, best first: concepts, links, or both.

    `kind` is the number of a type or predicate; it needs an `element_kind`. Modes other than
    "keyword" need `recall`; if it cannot be used, the answer goes by keywords, and `warnings` gets
    a sentence about it.
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
    passing = Passing.of(filters)
    found_by = partial(
        _found, reader, asked, element_kind, kind=kind, limit=limit, threshold=threshold
    )
    centre = filters.get("near")
    near = None if centre is None else Neighbourhood(reader, centre)
    found: dict[int, ElementHit] = {}
    for each in (passing,) if near is None else (passing, near.within(passing)):
        try:
            hits = found_by(passing=each, mode=mode, recall=recall, warnings=said)
        except (NotReadyError, EmbedderFailed) as error:
            said.append(_by_keywords(error))
            hits = found_by(passing=each, mode=KEYWORD, recall=None, warnings=said)
        found |= {hit.element.number: hit for hit in hits}
    if warnings is not None:
        warnings += dict.fromkeys(said)
    if near is None:
        return list(found.values())
    return sorted(map(near.preferred, found.values()), key=order)[:limit]


def _found(
    reader: Reader,
    asked: Question,
    element_kind: ast.ElementKind | None,
    *,
    kind: int | None,
    limit: int,
    threshold: float,
    passing: Passing,
    mode: Mode,
    recall: LazyRecall | None,
    warnings: list[str],
) -> list[ElementHit]:
    furniture = lookup.furniture(reader) if kind is None else frozenset[int]()
    for without in (furniture, frozenset[int]()) if furniture else (furniture,):
        search = HitSearch(reader, asked, without, passing, mode, recall)
        hits: list[ElementHit] = []
        if element_kind != "PROPOSITION":
            hits += search.concepts(kind, limit)
            reader.check_deadline()
        if element_kind != "CONCEPT":
            hits += search.links(kind, limit)
            reader.check_deadline()
        found = [hit for hit in sorted(hits, key=order) if hit.score >= threshold][:limit]
        found = [hit._replace(why=search.reasons(hit)) for hit in found]
        warnings += search.warnings
        if found:
            break
    if found and furniture and all(hit.by_meaning for hit in found):
        # Nothing else is named by the question, so definitions may be.
        search = HitSearch(reader, asked, frozenset(), passing, KEYWORD, None)
        named = ranking.WEIGHTS["parts"].least
        definitions = [
            hit
            for hit in search.concepts(None, limit)
            if hit.element.number in furniture and hit.score >= named
        ]
        found = [*definitions, *found][:limit]
    return found


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


def check_mode(mode: str) -> Mode:
    """A mode of SEARCH; raises ConstraintViolation for any other text."""
    if mode not in MODES:
        raise ConstraintViolation(
            f"There is no mode {shorten(mode)!r}.",
            hint=f"The modes are {', '.join(MODES)}. {did_you_mean(mode, list(MODES))}".strip(),
        )
    return mode


def _kind(reader: Reader, element_kind: ast.ElementKind, name: str) -> int:
    """The number of a type or predicate that is defined now."""
    vocabulary = Vocabulary(reader)
    if element_kind == "CONCEPT":
        return vocabulary.type_number(name)
    return vocabulary.predicate(name).number
