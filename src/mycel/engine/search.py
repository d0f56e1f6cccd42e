"""SEARCH: from words to elements (KIP §5.2). `mycel.search.ranking` defines the scores.

Candidates come from the text index by the keys of names, by titles and by words, and are ranked by
all that is known of each. A link is read as a sentence: the names of its ends around its predicate,
then the texts in its attributes. The index holds only the attributes of links, so candidates come
from three sides (texts of links, links at concepts that match, links of predicates with such a
name) and are then ranked as sentences.

Definitions and other elements of the core capsules are part of every graph. They, and links among
them, are found only by their type, or if nothing else fits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from mycel.engine.empty_result_advice import quoted_names
from mycel.engine.outcome import Outcome
from mycel.engine.references import close_to
from mycel.engine.values import Values
from mycel.errors import (
    ConstraintViolation,
    DatabaseBusy,
    DatabaseError,
    DiskFull,
    EmbedderFailed,
    InternalError,
    MycelError,
    close_names,
    did_you_mean,
)
from mycel.graph.traversal import Bounds, traverse
from mycel.kip import ast
from mycel.model import ids
from mycel.model.elements import Concept, Element
from mycel.model.names import shorten
from mycel.model.values import JsonObject
from mycel.recall.lazy import LazyRecall
from mycel.search import ranking
from mycel.search.embedding import HYBRID, KEYWORD, MODES, Mode, NotReadyError
from mycel.search.ranking import Fit, Question
from mycel.store.database import Store
from mycel.store.file.layout import PROPOSITION_TYPE_NUMBER
from mycel.store.query import lookup, summary
from mycel.store.query.candidates import Candidates, Match, best_of, counted, sentences
from mycel.store.query.filters import Condition, Filters, condition
from mycel.store.query.reader import Reader
from mycel.store.query.refs import Ref
from mycel.store.query.vocabulary import Vocabulary

if TYPE_CHECKING:
    from mycel.recall.stages import Found

SEARCH_LIMIT_DEFAULT: Final = 10
SEARCH_LIMIT_MAX: Final = 1_000

RERANKED_MORE: Final = 20
"""Extra candidates read from the index, because names change the order."""

NAMED_MAX: Final = 50
"""Namesakes that are compared, unless the limit asks for more."""

LINKS_COUNTED: Final = 1_000
"""Incoming links of a concept are counted up to here; more make no difference."""

BEGINNING_CHARACTERS_MIN: Final = 3
"""The length from which a word also finds words that begin with it."""

LINKS_RANKED_MAX: Final = 60
"""Links that are read and ranked, unless the limit asks for more."""

LINKS_PER_CONCEPT: Final = 50
CONCEPTS_FOLLOWED: Final = 20
"""Concepts matching the question whose links are read."""

WORDS_COMPARED: Final = 3
"""Words of a question without results that are compared with names, one by one."""

PREDICATES_MATCHED: Final = 10
PREDICATES_READ: Final = 5_000


NEAR_COST_MAX: Final = 3.0
NEAR_NODES_MAX: Final = 200
"""So many elements, up to this cost from the centre, are near."""

NEAR_SHARE: Final = 0.5
"""A hit at the centre gains this share of what its score lacks to 1; at the rim half of it."""

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


class Hit(NamedTuple):
    """An element that was found, and how well it fits."""

    element: Element
    score: float
    same_case: bool = True
    """True if one of its names equals the question, case included."""
    linked: int = 0
    """The number of incoming links, if its name fits."""
    by_meaning: bool = False
    """True if nothing but its meaning fits."""
    why: tuple[str, ...] = ()
    """Reasons why it was found, the strongest first."""

    def to_dict(self) -> JsonObject:
        """The element in its wire form, with `_score` and `_why` in its metadata."""
        wire: dict[str, Any] = self.element.to_dict()
        wire.pop("weight", None)  # A link of KIP has none.
        wire["metadata"] = wire["metadata"] | {"_score": round(self.score, 4)}
        if self.why:
            wire["metadata"]["_why"] = list(self.why)
        return wire


def search(
    reader: Reader, node: ast.Search, values: Values, recall: LazyRecall | None = None
) -> Outcome:
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
    mode = check_mode(HYBRID if node.mode is None else values.text(node.mode, "MODE of SEARCH"))
    mode = KEYWORD if recall is None else mode
    name = None if node.type is None else values.text(node.type, "type of SEARCH")
    kind = None if name is None else _kind(reader, node.kind, name)
    most = min(limit, SEARCH_LIMIT_MAX)
    filters = _filters(node, values)
    found_by = partial(find, reader, question, node.kind, kind=kind, filters=filters)
    warnings: list[str] = []
    hits = found_by(limit=most, threshold=threshold, mode=mode, recall=recall, warnings=warnings)
    if not hits:
        found = found_by(limit=1) if threshold else []
        warnings += _about_miss(reader, question, node.kind, kind, found, threshold)
        if filters and not found and found_by(limit=1, filters=None):
            warnings.append("Something fits the question, but not the filters of this SEARCH.")
    elif limit > SEARCH_LIMIT_MAX and len(hits) == SEARCH_LIMIT_MAX:
        warnings.append(
            f"SEARCH gives at most {SEARCH_LIMIT_MAX} results; ask for something narrower."
        )
    return Outcome([hit.to_dict() for hit in hits], warnings=tuple(warnings))


def _filters(node: ast.Search, values: Values) -> Filters:
    """The filters of a SEARCH."""
    given: Filters = {}
    if node.metadata is not None:
        given["metadata"] = values.mapping(node.metadata, "METADATA of SEARCH")
    for name in ("path", "actor", "since", "until", "near"):
        text: ast.Text | None = getattr(node, name)
        if text is not None:
            given[name] = values.text(text, f"{name} of SEARCH")
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
    found: Sequence[Hit],
    threshold: float,
) -> Iterator[str]:
    """Yield reasons for an empty result: the threshold, or a misspelled name."""
    if found:
        best = found[0]
        yield (
            f"Nothing reaches the THRESHOLD {threshold}; the best is {_name(best.element)!r} with"
            f" {best.score:.2f}."
        )
        return
    words = [word for word in question.split() if len(word) > BEGINNING_CHARACTERS_MIN]
    for each in dict.fromkeys((" ".join(question.split()), *words[:WORDS_COMPARED])):
        if close := [name for name in _close(reader, element_kind, kind, each) if name != each]:
            yield f"Nothing was found for {shorten(each)!r}. Did you mean {quoted_names(close)}?"
            return


def _name(element: Element) -> str:
    return shorten(element.name if isinstance(element, Concept) else element.id)


def _close(reader: Reader, element_kind: ast.ElementKind, kind: int | None, name: str) -> list[str]:
    """Names that are like a name: of concepts and, for links, of predicates before those."""
    if element_kind == "CONCEPT":
        return close_to(reader, kind, name)
    names = summary.definitions(reader, PROPOSITION_TYPE_NUMBER, limit=PREDICATES_READ)
    return close_names(_as_predicate(name), names) or close_to(reader, None, name)


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
) -> list[Hit]:
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
    passing = Passing.of(filters)
    found_by = partial(
        _found, reader, asked, element_kind, kind=kind, limit=limit, threshold=threshold
    )
    centre = filters.get("near")
    near = None if centre is None else Neighbourhood(reader, centre)
    found: dict[int, Hit] = {}
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
    return sorted(map(near.preferred, found.values()), key=_order)[:limit]


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
) -> list[Hit]:
    furniture = lookup.furniture(reader) if kind is None else frozenset[int]()
    for without in (furniture, frozenset[int]()) if furniture else (furniture,):
        search = _Search(reader, asked, without, passing, mode, recall)
        hits: list[Hit] = []
        if element_kind != "PROPOSITION":
            hits += search.concepts(kind, limit)
            reader.check_deadline()
        if element_kind != "CONCEPT":
            hits += search.links(kind, limit)
            reader.check_deadline()
        found = [hit for hit in sorted(hits, key=_order) if hit.score >= threshold][:limit]
        found = [hit._replace(why=search.reasons(hit)) for hit in found]
        warnings += search.warnings
        if found:
            break
    if found and furniture and all(hit.by_meaning for hit in found):
        # Nothing else is named by the question, so definitions may be.
        search = _Search(reader, asked, frozenset(), passing, KEYWORD, None)
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
    """A mode of SEARCH.

    Raises:
        ConstraintViolation: there is no such mode.
    """
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


class Neighbourhood:
    """The elements near another one, which a search prefers: their scores are raised."""

    def __init__(self, reader: Reader, centre: Ref) -> None:
        """Traverse from the centre in both directions.

        Raises:
            NotFound, InvalidId: the centre is not there.
        """
        number = reader.number(centre)
        bounds = Bounds(NEAR_COST_MAX, NEAR_NODES_MAX, direction="both")
        reached = traverse(reader, number, bounds).nodes
        self._costs = {each.element.number: each.cost for each in reached}
        self._name = _name(reached[0].element)

    def within(self, passing: Passing) -> Passing:
        """The conditions, and that an element or an end of a link is near."""
        return Passing(
            passing.concepts.among(("id",), self._costs),
            passing.links.among(("id", "subject", "object"), self._costs),
        )

    def preferred(self, hit: Hit) -> Hit:
        """A hit with a higher score if it is near: half of what is missing to 1 at the centre."""
        places = [hit.element.number]
        if not isinstance(hit.element, Concept):
            places += (ids.parse_id(end) for end in (hit.element.subject, hit.element.object))
        costs = [self._costs[each] for each in places if each in self._costs]
        if not costs:
            return hit
        closeness = 1 - min(costs) / (2 * NEAR_COST_MAX)
        score = hit.score + (1 - hit.score) * NEAR_SHARE * closeness
        return hit._replace(score=score, why=(*hit.why, f"near {self._name}"))


class Passing(NamedTuple):
    """The conditions of a search's filters, on concepts and on links."""

    concepts: Condition
    links: Condition

    @classmethod
    def of(cls, filters: Filters) -> Self:
        """The conditions of some filters."""
        return cls(condition(filters, "concept"), condition(filters, "proposition"))


class _Search:
    """One search among what is `passing`, `without` some elements and the links among them."""

    def __init__(
        self,
        reader: Reader,
        asked: Question,
        without: frozenset[int],
        passing: Passing,
        mode: Mode,
        recall: LazyRecall | None,
    ) -> None:
        self._reader, self._passing = reader, passing
        self._asked, self._without = asked, without
        self._mode, self._recall = mode, recall
        self._recalled_by: dict[int, Found] = {}
        self.warnings: list[str] = []
        self._terms = counted(self._reader, asked.terms)

    # Concepts.

    def concepts(self, kind: int | None, limit: int) -> list[Hit]:
        """Concepts that fit, the best first; only the first `limit` are sure to be the best."""
        asked = self._asked
        wanted = limit + RERANKED_MORE
        if self._mode == "semantic":
            return self._ranked(self._recalled(kind, wanted))
        candidates = Candidates(
            self._reader,
            "concept",
            kind,
            self._without,
            condition=self._passing.concepts,
            tests=asked.is_about_tests,
        )
        if self._mode == "hybrid":
            scores = self._recalled(kind, wanted)
        else:
            scores = self._by_words(candidates, wanted)
        numbers = candidates.by_keys(asked.keys(), max(limit, NAMED_MAX))
        if len(scores) >= wanted:
            numbers += candidates.titled(self._terms, wanted)
        numbers += self._named_from(kind, limit)
        for number in numbers:
            scores.setdefault(number, 0.0)
        last = asked.terms[-1] if asked.terms else ""
        if len(scores) < limit and len(last) >= BEGINNING_CHARACTERS_MIN:
            begun = _shares(candidates.by_beginning(last, limit), len(asked.terms))
            for number, score in ranking.by_words(begun, "stems").items():
                scores.setdefault(number, score)
        return self._ranked(scores)

    def _recalled(self, kind: int | None, wanted: int) -> dict[int, float]:
        """Scores of concepts by the stages of `recall.weights`, or by meaning alone."""
        from mycel.recall.answer import recalled  # noqa: PLC0415 - it brings numpy

        if self._recall is None:
            raise InternalError("A search by meaning needs a recall.")
        found, warning = recalled(
            self._reader,
            self._recall,
            self._asked,
            self._mode,
            kind,
            wanted,
            condition=self._passing.concepts,
        )
        if warning:
            self.warnings.append(warning)
        self._recalled_by = {each.element: each for each in found}
        return {each.element: each.score for each in found}

    def _named_from(self, kind: int | None, limit: int) -> list[int]:
        """Concepts whose names begin with the question, as it was written and in other cases."""
        text = self._asked.text
        return [
            number
            for beginning in dict.fromkeys((text, text.lower(), text.title(), text.upper()))
            for number in lookup.named_from(
                self._reader, beginning, kind, limit, self._passing.concepts
            )
            if number not in self._without
        ]

    def _by_words(self, candidates: Candidates, wanted: int) -> dict[int, float]:
        """Scores of elements that have words of the question."""
        found = candidates.by_words(self._terms, wanted) if self._terms else []
        return ranking.by_words(_shares(found, len(self._terms)), "words")

    def _ranked(self, scores: Mapping[int, float]) -> list[Hit]:
        fits: list[tuple[Concept, Fit]] = []
        elements = self._reader.elements(scores)
        for number, score in scores.items():
            concept = elements.get(number)
            if isinstance(concept, Concept):
                found = ranking.fit(self._asked, concept.name, concept.attributes, score)
                if found.score:
                    fits.append((concept, found))
        named = [concept.number for concept, found in fits if found.is_named]
        linked = lookup.links_towards(self._reader, named, LINKS_COUNTED)
        hits = [
            Hit(
                concept,
                found.score,
                found.same_case,
                linked.get(concept.number, 0),
                not found.is_named and self._is_by_meaning(concept.number),
                ("name",) if found.is_named else (),
            )
            for concept, found in fits
        ]
        return sorted(hits, key=_order)

    def reasons(self, hit: Hit) -> tuple[str, ...]:
        """The strongest reasons for a hit, with those of a hybrid search; links by their origin."""
        found = self._recalled_by.get(hit.element.number)
        reasons = dict.fromkeys(hit.why)
        for stage in () if found is None else found.stages():
            reason = _REASONS[stage]
            if found is not None and found.via is not None and stage in ("link", "shared"):
                origin = self._reader.concept(found.via[0])
                known = shorten(origin.name) if origin is not None else "another"
                through = f" through {found.via[1]}" if found.via[1] else ""
                reason = f"linked from {known}{through}"
            reasons[reason] = None
        return tuple(reasons)[:REASONS_MAX]

    def _is_by_meaning(self, number: int) -> bool:
        found = self._recalled_by.get(number)
        return found is not None and not {"words", "named"} & found.evidence.keys()

    # Links.

    def links(self, kind: int | None, limit: int) -> list[Hit]:
        """Links that fit, the best first."""
        terms, most = self._terms, max(2 * limit, LINKS_RANKED_MAX)
        candidates = islice(dict.fromkeys(self._link_candidates(kind, most)), most)
        found = [
            each
            for each in sentences(self._reader, candidates)
            if not self._without.issuperset(each.ends)
        ]
        ranked = best_of(((each.link, each.text) for each in found), terms, most) if terms else []
        scores = ranking.by_words(_shares(ranked, len(terms)), "words")
        asked = _as_predicate(self._asked.text)
        for each in found:
            if _as_predicate(each.predicate) == asked:
                scores[each.link] = ranking.WEIGHTS["name"].most
        best = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[:limit]
        links = ((self._reader.proposition(number), score) for number, score in best)
        return [Hit(link, score) for link, score in links if link is not None]

    def _link_candidates(self, kind: int | None, most: int) -> Iterator[int]:
        """Links that may fit, the likeliest first."""
        reader = self._reader
        passing = self._passing.links
        own = Candidates(reader, "proposition", kind, condition=passing)
        yield from self._by_words(own, most // 3)
        named = {number for number in self._predicates() if kind in (None, number)}
        numbers = self._ends()
        around = [
            link
            for number in numbers
            for link in lookup.links_around(reader, number, kind, LINKS_PER_CONCEPT, passing)
        ]
        ends = set(numbers)
        fitting = [(each.predicate in named) + (each.other in ends) for each in around]
        for wanted in (2, 1):
            yield from (
                each.link for each, fits in zip(around, fitting, strict=True) if fits == wanted
            )
        for predicate in sorted(named):
            for number in numbers[:5]:
                near = lookup.links_around(reader, number, predicate, LINKS_PER_CONCEPT, passing)
                yield from (each.link for each in near)
        yield from (each.link for each in around)
        for predicate in sorted(named):
            yield from lookup.links_with(reader, predicate, most, passing)

    def _ends(self) -> list[int]:
        """Concepts whose names have words of the question, the best first."""
        candidates = Candidates(self._reader, "concept", None, self._without)
        numbers = candidates.by_keys(self._asked.keys(), CONCEPTS_FOLLOWED)
        if self._terms:
            matched = candidates.by_titles(self._terms, CONCEPTS_FOLLOWED)
            numbers += [each.number for each in matched]
        return list(dict.fromkeys(numbers))[:CONCEPTS_FOLLOWED]

    def _predicates(self) -> list[int]:
        """The numbers of predicates whose names have words of the question."""
        if not self._terms:
            return []
        definitions = Candidates(self._reader, "concept", PROPOSITION_TYPE_NUMBER)
        matched = definitions.by_titles(self._terms, PREDICATES_MATCHED)
        found = (self._reader.concept(each.number) for each in matched)
        numbers = (self._reader.find_predicate(each.name) for each in found if each)
        return [number for number in numbers if number is not None]


def _shares(found: Iterable[Match], terms: int) -> dict[int, tuple[float, float]]:
    return {each.number: (each.terms / terms, each.bm25) for each in found}


def _order(hit: Hit) -> tuple[float, bool, int, int]:
    return -hit.score, not hit.same_case, -hit.linked, hit.element.number


def _as_predicate(name: str) -> str:
    return "_".join(ranking.folded(name).replace("_", " ").split())
