"""SEARCH: elements for words (KIP §5.2). `mycel.search` finds and ranks them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final, cast

from mycel.engine.empty_result_advice import quoted_names
from mycel.engine.find import moment_value
from mycel.engine.outcome import Outcome
from mycel.engine.references import close_to
from mycel.engine.values import Values
from mycel.errors import ConstraintViolation, close_names
from mycel.kip import ast
from mycel.model.names import shorten
from mycel.search.concept_hits import BEGINNING_CHARACTERS_MIN
from mycel.search.hits import ElementHit, element_name
from mycel.search.index.search_index import SearchIndex
from mycel.search.link_hits import as_predicate
from mycel.search.modes import HYBRID, KEYWORD, check_mode
from mycel.search.search import SEARCH_LIMIT_DEFAULT, find
from mycel.store.file.layout import PROPOSITION_TYPE_NUMBER
from mycel.store.query import summary
from mycel.store.query.filters import Filters, state_reader
from mycel.store.query.reader import Reader
from mycel.store.query.vocabulary import Vocabulary
from mycel.text.kinds import AnswerKind

SEARCH_LIMIT_MAX: Final = 1_000

WORDS_COMPARED: Final = 3
"""The number of words of a question without results that are compared with names."""

PREDICATES_READ: Final = 5_000
"""If a question has no results, its words are compared with the names of at most this many
predicates."""


def search(
    reader: Reader, node: ast.Search, values: Values, index: SearchIndex | None = None
) -> Outcome:
    """Run a SEARCH. `fold_text` makes recent writes faster to find."""
    question = values.text(node.term, "term of SEARCH")
    limit = SEARCH_LIMIT_DEFAULT
    if node.limit is not None:
        limit = values.positive(node.limit, "LIMIT")
    threshold = _threshold(node, values)
    mode = check_mode(HYBRID if node.mode is None else values.text(node.mode, "MODE of SEARCH"))
    mode = KEYWORD if index is None else mode
    filters = filters_of(node, values, "SEARCH")
    if node.near is not None:
        filters["near"] = values.text(node.near, "near of SEARCH")
    if node.for_time is not None:
        filters["for_time"] = values.text(node.for_time, "time after FOR TIME")
    if node.include_archived:
        filters["include_archived"] = True
    if node.as_of is not None:
        filters["as_of"] = moment_value(node.as_of, values, "AS OF")
    reader = state_reader(reader, filters)
    if node.kind is not None:
        filters["kind"] = cast(AnswerKind, values.text(node.kind, "KIND of SEARCH"))
    names = [values.text(type_name, "type of SEARCH") for type_name in node.types]
    types = [_number(reader, node.element, name) for name in names] or None
    most = min(limit, SEARCH_LIMIT_MAX)
    found_by = partial(find, reader, question, node.element, types=types, filters=filters)
    warnings: list[str] = []
    hits = found_by(limit=most, threshold=threshold, mode=mode, index=index, warnings=warnings)
    if not hits:
        element_hits = found_by(limit=1, mode=mode, index=index) if threshold else []
        if filters and not element_hits and found_by(limit=1, filters=None):
            warnings.append("Elements fit the question, but not the filters of this SEARCH.")
        else:
            warnings += _about_miss(reader, question, node.element, types, element_hits, threshold)
    elif limit > SEARCH_LIMIT_MAX and len(hits) == SEARCH_LIMIT_MAX:
        warnings.append(f"SEARCH returns at most {SEARCH_LIMIT_MAX} results; narrow the question.")
    return Outcome([hit.to_dict() for hit in hits], warnings=tuple(warnings))


def filters_of(node: ast.Search | ast.Nearest, values: Values, statement: str) -> Filters:
    """The filters of a SEARCH or NEAREST that exclude elements."""
    filters: Filters = {}
    if node.metadata is not None:
        filters["metadata"] = values.mapping(node.metadata, f"METADATA of {statement}")
    for name in ("path", "workspace", "actor", "since", "until"):
        text: ast.Text | None = getattr(node, name)
        if text is not None:
            filters[name] = values.text(text, f"{name} of {statement}")
    return filters


def _about_miss(
    reader: Reader,
    question: str,
    element: ast.ElementKind,
    types: Sequence[int] | None,
    hits: Sequence[ElementHit],
    threshold: float,
) -> Iterator[str]:
    """Yield reasons for an empty result: the threshold, or a misspelled name."""
    if hits:
        best = hits[0]
        yield (
            f"Nothing reaches the THRESHOLD {threshold}; the best is"
            f" {element_name(best.element)!r} with {best.score:.2f}."
        )
        return
    words = [word for word in question.split() if len(word) > BEGINNING_CHARACTERS_MIN]
    for phrase in dict.fromkeys((" ".join(question.split()), *words[:WORDS_COMPARED])):
        if close := [name for name in _close(reader, element, types, phrase) if name != phrase]:
            yield f"Nothing was found for {shorten(phrase)!r}. Did you mean {quoted_names(close)}?"
            return


def _close(
    reader: Reader, element: ast.ElementKind, types: Sequence[int] | None, name: str
) -> list[str]:
    """Names similar to a name: first of predicates if links are searched, then of concepts."""
    if element == "CONCEPT":
        return [
            close for type_name in types or (None,) for close in close_to(reader, type_name, name)
        ]
    names = summary.definitions(reader, PROPOSITION_TYPE_NUMBER, limit=PREDICATES_READ)
    return close_names(as_predicate(name), names) or close_to(reader, None, name)


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


def _number(reader: Reader, element: ast.ElementKind, name: str) -> int:
    """The number of a type or predicate that is defined now."""
    vocabulary = Vocabulary(reader)
    if element == "CONCEPT":
        return vocabulary.type_number(name)
    return vocabulary.predicate(name).number
