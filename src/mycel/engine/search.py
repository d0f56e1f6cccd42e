"""SEARCH: from words to elements (KIP §5.2).

Every result has a score between 0 and 1, so that THRESHOLD means the same for every question:

    1.00           a concept's name, or a link's predicate, is what was asked for
    0.97           one of a concept's `aliases` is
    0.80 to 0.95   a concept's name begins with it; the more of the name it is, the higher
    up to 0.80     the text has words of it: 0.8 × c × (0.5 + 0.5 × b), where c is the share of the
                   question's words that the element has, and b its BM25 score beside the best one
    up to 0.40     the same where a word only begins like the last word of the question

A concept's text is its name and the texts in its attributes. A link is read as a sentence: the
names of its ends around its predicate, then the texts in its attributes. The index holds only the
attributes of links, so candidates come from three sides (texts of links, links of predicates with
such a name, links at concepts that match) and are then ranked as sentences.

Names are compared without regard to case. Those that *begin* with the question are looked up as it
was written, in lower case, in upper case and with capitals.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple
from unicodedata import normalize

from mycel.engine.advice import close_names, close_to, quoted_names
from mycel.engine.outcome import Outcome
from mycel.engine.values import Values
from mycel.errors import (
    ConstraintViolation,
    DatabaseBusy,
    DatabaseError,
    DiskFull,
    did_you_mean,
)
from mycel.kip import ast
from mycel.model.elements import Concept, Element
from mycel.model.names import shorten
from mycel.model.values import JsonObject
from mycel.search.analysis import QUESTION_CHARACTERS_MAX, match_expression, prepare
from mycel.search.embedding import MODES
from mycel.store import lookup, survey, text
from mycel.store.database import Store
from mycel.store.layout import PROPOSITION_TYPE_NUMBER
from mycel.store.lookup import Match, Table
from mycel.store.reader import Reader
from mycel.store.vocabulary import Vocabulary

SEARCH_LIMIT_DEFAULT: Final = 10
SEARCH_LIMIT_MAX: Final = 1_000

RERANKED_MORE: Final = 20
"""How many more than asked for are taken from the index, because names change the order."""

BEGINNING_CHARACTERS_MIN: Final = 3
"""How long a word must be for words that only begin like it to be found."""

LINKS_PER_SOURCE: Final = 200
"""How many links of one predicate, or at one concept, are looked at."""

CONCEPTS_FOLLOWED: Final = 20
"""At how many concepts that match a question about links are looked for."""

WORDS_COMPARED: Final = 3
"""How many words of a question that finds nothing are compared with names, each on its own."""

PREDICATES_MATCHED: Final = 10
PREDICATES_READ: Final = 5_000

EXACT, ALIAS, PREFIX, PREFIX_SPAN, WORDS, BEGINNINGS = 1.0, 0.97, 0.8, 0.15, 0.8, 0.4

_TABLE: Final[dict[ast.ElementKind, Table]] = {"CONCEPT": "concept", "PROPOSITION": "proposition"}


class Hit(NamedTuple):
    """An element that was found, and how well it fits."""

    element: Element
    score: float

    def to_dict(self) -> JsonObject:
        """The element in its wire form, with `metadata._score`."""
        wire: dict[str, Any] = self.element.to_dict()
        wire.pop("weight", None)  # A link of KIP has none.
        wire["metadata"] = wire["metadata"] | {"_score": round(self.score, 4)}
        return wire


def search(reader: Reader, node: ast.Search, values: Values) -> Outcome:
    """Run a SEARCH. What was written last is found faster after `fold_text`.

    Raises:
        TypeMismatch: the type or predicate is not defined.
        ConstraintViolation: no such mode, or a threshold that no score can have.
    """
    question = values.text(node.term, "term of SEARCH")
    limit = SEARCH_LIMIT_DEFAULT
    if node.limit is not None:
        limit = values.positive(node.limit, "LIMIT")
    threshold = _threshold(node, values)
    _check_mode(node, values)
    name = None if node.type is None else values.text(node.type, "type of SEARCH")
    kind = None if name is None else _kind(reader, node.kind, name)
    most = min(limit, SEARCH_LIMIT_MAX)
    found = find(reader, question, node.kind, kind=kind, limit=most)
    hits = [hit for hit in found if hit.score >= threshold]
    warnings: tuple[str, ...] = ()
    if not hits:
        warnings = tuple(_about_miss(reader, question, node.kind, kind, found, threshold))
    elif limit > SEARCH_LIMIT_MAX and len(hits) == SEARCH_LIMIT_MAX:
        said = f"SEARCH gives at most {SEARCH_LIMIT_MAX} results; ask for something narrower."
        warnings = (said,)
    return Outcome([hit.to_dict() for hit in hits], warnings=warnings)


def _about_miss(
    reader: Reader,
    question: str,
    element_kind: ast.ElementKind,
    kind: int | None,
    found: Sequence[Hit],
    threshold: float,
) -> Iterator[str]:
    """Why a search gives nothing: the threshold, or a name that is only nearly right."""
    if found:
        best = found[0]
        shown = best.element.name if isinstance(best.element, Concept) else best.element.id
        yield (
            f"Nothing reaches the THRESHOLD {threshold}; the best is {shorten(shown)!r} with"
            f" {best.score:.2f}."
        )
        return
    words = [word for word in question.split() if len(word) > BEGINNING_CHARACTERS_MIN]
    for each in dict.fromkeys((" ".join(question.split()), *words[:WORDS_COMPARED])):
        if close := _close(reader, element_kind, kind, each):
            yield f"Nothing was found for {shorten(each)!r}. Did you mean {quoted_names(close)}?"
            return


def _close(reader: Reader, element_kind: ast.ElementKind, kind: int | None, name: str) -> list[str]:
    """Names that are like a name: of concepts and, for links, of predicates before those."""
    if element_kind == "CONCEPT":
        return close_to(reader, kind, name)
    names = survey.definitions(reader.connection, PROPOSITION_TYPE_NUMBER, limit=PREDICATES_READ)
    return close_names(_as_predicate(name), names) or close_to(reader, None, name)


def fold_text(store: Store) -> None:
    """Let the index catch up with what was written, if nobody minds; a search manages without."""
    with store.reading() as reader:
        pending = bool(text.pending(reader.connection))
    if pending:
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
) -> list[Hit]:
    """Elements that fit a question, best first: concepts, links, or both.

    `kind` is the number of a type or predicate; it needs an `element_kind`.
    """
    asked = " ".join(normalize("NFC", question[:QUESTION_CHARACTERS_MAX]).split())
    asked = asked.encode(errors="ignore").decode().replace("\0", "")
    hits: list[Hit] = []
    if asked and element_kind != "PROPOSITION":
        hits += _concepts(reader, asked, kind, limit)
        reader.check_deadline()
    if asked and element_kind != "CONCEPT":
        hits += _links(reader, asked, kind, limit)
        reader.check_deadline()
    hits.sort(key=lambda hit: (-hit.score, hit.element.number))
    return [hit for hit in hits if hit.score >= threshold][:limit]


def _threshold(node: ast.Search, values: Values) -> float:
    if node.threshold is None:
        return 0.0
    threshold = values.number(node.threshold, "THRESHOLD")
    if not 0 <= threshold <= 1:
        raise ConstraintViolation(
            f"The THRESHOLD is {threshold}; scores are between 0 and 1.",
            hint="0.4 wants about half of the words, 0.8 a name that begins so, 1 the very name.",
        )
    return threshold


def _check_mode(node: ast.Search, values: Values) -> None:
    if node.mode is None:
        return
    mode = values.text(node.mode, "MODE of SEARCH")
    if mode not in MODES:
        raise ConstraintViolation(
            f"There is no mode {shorten(mode)!r}.",
            hint=f"The modes are {', '.join(MODES)}. {did_you_mean(mode, list(MODES))}".strip(),
        )


def _kind(reader: Reader, element_kind: ast.ElementKind, name: str) -> int:
    """The number of a type or predicate that is defined now."""
    vocabulary = Vocabulary(reader.connection)
    if element_kind == "CONCEPT":
        return vocabulary.type_number(name)
    return vocabulary.predicate(name).number


# Concepts.


def _concepts(reader: Reader, asked: str, kind: int | None, limit: int) -> list[Hit]:
    scores = _by_words(reader, asked, "concept", kind, limit)
    for beginning in dict.fromkeys((asked, asked.lower(), asked.title(), asked.upper())):
        for number in lookup.named_from(reader.connection, beginning, kind, limit):
            scores.setdefault(number, 0.0)
    expression = match_expression(asked)
    if len(scores) < limit and expression is not None and _may_begin_a_word(expression):
        found = lookup.matches(reader.connection, f"{expression} *", "concept", kind, limit)
        for number, score in _scaled(found, BEGINNINGS).items():
            scores.setdefault(number, score)
    return [
        Hit(concept, max(score, _by_name(concept, asked)))
        for number, score in scores.items()
        if (concept := reader.concept(number)) is not None
    ]


def _may_begin_a_word(expression: str) -> bool:
    """Whether the last term is long enough that words which begin like it mean something."""
    return len(expression.rsplit('"', 2)[1]) >= BEGINNING_CHARACTERS_MIN


def _by_words(
    reader: Reader, asked: str, table: Table, kind: int | None, limit: int
) -> dict[int, float]:
    """Scores of elements that have words of the question.

    Those that have all of them are the best, and much cheaper to find where words are frequent.
    """
    expression = match_expression(asked)
    if expression is None:
        return {}
    wanted = limit + RERANKED_MORE
    every_word = expression.replace('" OR "', '" AND "')  # No term holds a quotation mark.
    found = lookup.matches(reader.connection, every_word, table, kind, wanted)
    if len(found) < wanted and every_word != expression:
        found = lookup.matches(reader.connection, expression, table, kind, wanted)
    return _scaled(found, WORDS)


def _scaled(found: Iterable[Match], most: float) -> dict[int, float]:
    found = list(found)
    best = max((each.bm25 for each in found), default=0.0) or 1.0
    return {
        each.number: most * each.coverage * (0.5 + 0.5 * max(0.0, each.bm25) / best)
        for each in found
    }


def _by_name(concept: Concept, asked: str) -> float:
    wanted, name = _folded(asked), _folded(concept.name)
    if name == wanted:
        return EXACT
    aliases = concept.attributes.get("aliases")
    if isinstance(aliases, list) and any(
        isinstance(alias, str) and _folded(alias) == wanted for alias in aliases
    ):
        return ALIAS
    if name.startswith(wanted):
        return PREFIX + PREFIX_SPAN * len(wanted) / len(name)
    return 0.0


def _folded(name: str) -> str:
    return " ".join(normalize("NFC", name).casefold().split())


# Links.


def _links(reader: Reader, asked: str, kind: int | None, limit: int) -> list[Hit]:
    expression = match_expression(asked)
    connection, registry = reader.connection, reader.registry
    named = {number for number in _predicates(reader, asked) if kind in (None, number)}
    candidates = dict.fromkeys(_candidates(reader, asked, kind, named, limit))

    def predicate_name(number: int) -> str:
        return registry.predicates.name(connection, number)

    scores = dict.fromkeys(candidates, 0.0)
    if expression is not None:
        documents = ((link, lookup.link_text(connection, link, predicate_name)) for link in scores)
        scores |= _scaled(lookup.rank(documents, expression, len(candidates)), WORDS)
    wanted = _as_predicate(asked)
    hits = []
    for number, score in scores.items():
        link = reader.proposition(number)
        if link is None:
            continue
        exact = _as_predicate(link.predicate) == wanted
        if exact or score:
            hits.append(Hit(link, EXACT if exact else score))
    return hits


def _candidates(
    reader: Reader, asked: str, kind: int | None, named: set[int], limit: int
) -> Iterable[int]:
    connection = reader.connection
    yield from _by_words(reader, asked, "proposition", kind, limit)
    concepts = sorted(
        _concepts(reader, asked, None, CONCEPTS_FOLLOWED),
        key=lambda hit: (-hit.score, hit.element.number),
    )
    for hit in concepts[:CONCEPTS_FOLLOWED]:
        number = hit.element.number
        for predicate in named:  # First those that fit on both counts.
            yield from lookup.links_at(connection, number, predicate, LINKS_PER_SOURCE)
        yield from lookup.links_at(connection, number, kind, LINKS_PER_SOURCE // 2)
    for predicate in sorted(named):
        yield from lookup.links_with(connection, predicate, max(limit, LINKS_PER_SOURCE))


def _predicates(reader: Reader, asked: str) -> list[int]:
    """The numbers of predicates whose names have words of the question, the best first."""
    expression = match_expression(asked)
    if expression is None:
        return []
    connection, registry = reader.connection, reader.registry
    names = survey.definitions(connection, PROPOSITION_TYPE_NUMBER, limit=PREDICATES_READ)
    documents = (
        (registry.predicate_number(connection, name), prepare(name.replace("_", " ")))
        for name in names
    )
    return [found.number for found in lookup.rank(documents, expression, PREDICATES_MATCHED)]


def _as_predicate(name: str) -> str:
    return "_".join(_folded(name).replace("_", " ").split())
