"""Hits of a search: candidates from the text index and from recall, ranked, with their reasons.

A link is read as a sentence: the names of its ends around its predicate, then the texts in its
attributes. The index holds only the attributes of links, so candidates come from three sides (texts
of links, links at concepts that match, links of predicates with such a name) and are then ranked as
sentences.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Self

from mycel.engine.caveats import ElementValues, find_caveats
from mycel.engine.notes_about import ABOUT_SCORE, find_notes_about
from mycel.errors import InternalError
from mycel.graph.traversal import Bounds, traverse
from mycel.model import ids
from mycel.model.elements import Concept, Element
from mycel.model.names import shorten
from mycel.model.values import JsonObject
from mycel.search import ranking
from mycel.search.embedding import SearchMode
from mycel.search.kinds import CODE, NOTES, is_code
from mycel.search.ranking import Fit, Question
from mycel.store.file.layout import PROPOSITION_TYPE_NUMBER
from mycel.store.query import lookup
from mycel.store.query.candidates import (
    Candidates,
    TextMatch,
    counted,
    matches_in,
    sentences,
    usual_bm25,
)
from mycel.store.query.changed_texts import ChangedTexts
from mycel.store.query.filters import ALL, Condition, Filters, condition
from mycel.store.query.reader import Reader
from mycel.store.query.refs import Ref, missing
from mycel.store.query.successors import successors

if TYPE_CHECKING:
    from mycel.recall.answer import RecallQuestion
    from mycel.recall.evidence import PassageEvidence

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

PREDICATES_MATCHED: Final = 10
PREDICATES_READ: Final = 5_000


NEAR_COST_MAX: Final = 3.0
NEAR_NODES_MAX: Final = 200
"""The largest neighbourhood: elements up to this cost from the centre, and at most this many."""

NEAR_SHARE: Final = 0.5
"""A hit at the centre gains this share of what its score lacks to 1; at the rim half of it."""

_PREDICATES: Final = ALL._replace(types=frozenset((PROPOSITION_TYPE_NUMBER,)))

NAMED_FACTOR_MIN: Final = 0.9
"""The least factor of what is outdated, if its name fits."""
BELOW_SUCCESSOR: Final = 0.99
"""The score of what is superseded, as a share of that of its successor, at most."""
SUCCESSIONS_FOLLOWED: Final = 3

REASONS_MAX: Final = 3
_BY_NAME: Final = ("name",)
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


class ElementHit(NamedTuple):
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
    caveats: tuple[str, ...] = ()
    """Reasons for care: superseded by another, expired, of low confidence, its source."""

    @property
    def kind(self) -> Literal["notes", "code"]:
        """The kind of the element."""
        element = self.element
        if isinstance(element, Concept):
            return CODE if is_code(element.type, element.attributes) else NOTES
        return CODE if element.metadata.get("author") == "bootstrap" else NOTES

    def to_dict(self) -> JsonObject:
        """The element in its wire form, with `_score` and `_why` in its metadata.

        Code also has its `_kind`.
        """
        wire: dict[str, Any] = self.element.to_dict()
        wire.pop("weight", None)  # A link of KIP has none.
        wire["metadata"] = wire["metadata"] | {"_score": round(self.score, 4)}
        if self.kind == CODE:
            wire["metadata"]["_kind"] = CODE
        if self.why:
            wire["metadata"]["_why"] = list(self.why)
        if self.caveats:
            wire["metadata"]["_caveats"] = list(self.caveats)
        return wire


def element_name(element: Element) -> str:
    return shorten(element.name if isinstance(element, Concept) else element.id)


class Neighbourhood:
    """The elements near another one, which a search prefers: their scores are raised."""

    def __init__(self, reader: Reader, centre: Ref) -> None:
        """Traverse from the centre in both directions; raises NotFound if it is not there."""
        number = reader.number(centre)
        if reader.element(number) is None:
            raise missing(centre)
        bounds = Bounds(NEAR_COST_MAX, NEAR_NODES_MAX, direction="both")
        reached = traverse(reader, number, bounds).nodes
        self._costs = {each.element.number: each.cost for each in reached}
        self._name = element_name(reached[0].element)

    def within(self, passing: Passing) -> Passing:
        """The conditions, and that an element or an end of a link is near."""
        return Passing(
            passing.concepts.among(("id",), self._costs),
            passing.links.among(("id", "subject", "object"), self._costs),
        )

    def preferred(self, hit: ElementHit) -> ElementHit:
        """A hit with a higher score if it is near: half of what is missing to 1 at the centre."""
        places = [hit.element.number]
        if not isinstance(hit.element, Concept):
            places += hit.element.ends
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
    def of(cls, filters: Filters, types: Collection[int] | None = None) -> Self:
        """The conditions of some filters, and of types or predicates."""
        return cls(condition(filters, "concept", types), condition(filters, "proposition", types))


class AskedWords:
    """The words of a question, and how many elements of a state have each."""

    def __init__(self, reader: Reader, asked: Question) -> None:
        self.question: Final = asked
        self.terms: Final = counted(reader, asked.terms)
        self.usual: Final = usual_bm25(reader, self.terms)
        self.changed: Final = None if reader.state.is_live else ChangedTexts(reader, asked.terms)


class HitSearch:
    """One search among what is `passing`, `without` some elements and the links among them."""

    def __init__(
        self,
        reader: Reader,
        words: AskedWords,
        without: frozenset[int],
        passing: Passing,
        mode: SearchMode,
        recall: RecallQuestion | None,
    ) -> None:
        self._reader, self._passing = reader, passing
        self._asked, self._without = words.question, without
        self._mode, self._recall = mode, recall
        self._recalled_by: dict[int, PassageEvidence] = {}
        self._about: dict[int, str] = {}
        self._terms, self._usual, self._changed = words.terms, words.usual, words.changed

    # Concepts.

    def concepts(self, limit: int) -> list[ElementHit]:
        """Concepts that fit, the best first; only the first `limit` are sure to be the best."""
        asked = self._asked
        wanted = limit + RERANKED_MORE
        if self._mode == "semantic":
            return self._ranked(self._recalled(wanted))
        candidates = Candidates(
            self._reader,
            self._passing.concepts,
            self._without,
            tests=asked.is_about_tests,
            changed=self._changed,
        )
        if self._mode == "hybrid":
            scores = self._recalled(wanted)
        else:
            scores = self._by_words(candidates, wanted)
        numbers = candidates.by_keys(asked.keys(), max(limit, NAMED_MAX))
        if len(scores) >= wanted:
            numbers += candidates.titled(self._terms, wanted)
        numbers += self._named_from(limit)
        self._about = self._notes_about()
        for number in (*numbers, *self._about):
            scores.setdefault(number, 0.0)
        last = asked.terms[-1] if asked.terms else ""
        if len(scores) < limit and len(last) >= BEGINNING_CHARACTERS_MIN:
            begun = _shares(candidates.by_beginning(last, limit), len(asked.terms))
            for number, score in ranking.by_words(begun, self._usual, "stems").items():
                scores.setdefault(number, score)
        return self._ranked(scores)

    def _notes_about(self) -> dict[int, str]:
        """Notes about what the question names that pass the filters, each with its reason."""
        if self._passing.concepts.kind == CODE:
            return {}
        notes = find_notes_about(self._reader, self._asked)
        if not notes:
            return {}
        passing = self._passing.concepts.among(("id",), notes).passing(self._reader)
        return {number: notes[number] for number in passing if number not in self._without}

    def _recalled(self, wanted: int) -> dict[int, float]:
        """Scores of concepts by the stages of `recall.weights`, or by meaning alone."""
        if self._recall is None:
            raise InternalError("A search by meaning needs a recall.")
        found = self._recall.found(self._passing.concepts, wanted)
        self._recalled_by = {each.element: each for each in found}
        return {each.element: each.score for each in found}

    def _named_from(self, limit: int) -> list[int]:
        """Concepts whose names begin with the question, as it was written and in other cases."""
        text = self._asked.text
        return [
            number
            for beginning in dict.fromkeys((text, text.lower(), text.title(), text.upper()))
            for number in lookup.named_from(self._reader, beginning, limit, self._passing.concepts)
            if number not in self._without
        ]

    def _by_words(self, candidates: Candidates, wanted: int) -> dict[int, float]:
        """Scores of elements that have words of the question."""
        found = candidates.by_words(self._terms, wanted) if self._terms else []
        return ranking.by_words(_shares(found, len(self._terms)), self._usual, "words")

    def _ranked(self, scores: Mapping[int, float]) -> list[ElementHit]:
        fits: list[tuple[Concept, Fit]] = []
        elements = self._reader.elements(scores)
        for number, score in scores.items():
            concept = elements.get(number)
            if isinstance(concept, Concept):
                found = ranking.fit(self._asked, concept.name, concept.attributes, score)
                if number in self._about:  # Those that fit better come first.
                    raised = ABOUT_SCORE + found.score / 100
                    found = found._replace(score=max(found.score, raised))
                if found.score:
                    fits.append((concept, found))
        named = [concept.number for concept, found in fits if found.is_named]
        linked = lookup.links_towards(self._reader, named, LINKS_COUNTED)
        hits = [
            ElementHit(
                concept,
                found.score,
                found.same_case,
                linked.get(concept.number, 0),
                not found.is_named
                and concept.number not in self._about
                and self._is_by_meaning(concept.number),
                (
                    *(_BY_NAME if found.is_named else ()),
                    *([self._about[concept.number]] if concept.number in self._about else ()),
                ),
            )
            for concept, found in fits
        ]
        return sorted(self._with_caveats(hits), key=order)

    def _with_caveats(self, hits: list[ElementHit]) -> list[ElementHit]:
        """Hits with what supersedes them, each with its caveats and a lower score for them."""
        found = self._with_successors(hits)
        values = {
            number: ElementValues(hit.element.metadata, hit.element.attributes)
            for number, hit in found.items()
        }
        caveats = find_caveats(self._reader, values, lambda concept: shorten(concept.name, 200))
        scores = {
            # Whoever asks for something by its name wants to see it.
            number: hit.score
            * max(caveats.factor(number), NAMED_FACTOR_MIN if hit.why[:1] == _BY_NAME else 0)
            for number, hit in found.items()
        }
        for _ in range(SUCCESSIONS_FOLLOWED):
            for old, others in caveats.successors.items():
                least = min((scores[each] for each in others if each in scores), default=1.0)
                scores[old] = min(scores[old], least * BELOW_SUCCESSOR)
        return [
            hit._replace(score=scores[number], caveats=caveats.texts(number))
            for number, hit in found.items()
        ]

    def _with_successors(self, hits: list[ElementHit]) -> dict[int, ElementHit]:
        """Hits by number, and what supersedes them: it has at least the score of the hit."""
        found = {hit.element.number: hit for hit in hits}
        fresh = [number for number in found if ids.is_concept(number)]
        for _ in range(SUCCESSIONS_FOLLOWED):
            newer = successors(self._reader, fresh)
            fresh = []
            for old, number in ((old, each) for old, others in newer.items() for each in others):
                heir = found.get(number) or self._heir(number, found[old])
                if heir is not None and heir.score <= found[old].score:
                    found[number] = heir._replace(score=found[old].score)
                    fresh.append(number)
        return found

    def _heir(self, number: int, hit: ElementHit) -> ElementHit | None:
        """The hit of what supersedes another hit, if it passes the filters."""
        passing = self._passing.concepts.among(("id",), (number,))
        if number in self._without or not passing.passing(self._reader):
            return None
        concept = self._reader.concept(number)
        if concept is None:
            return None
        why = (f"supersedes {element_name(hit.element)}",)
        return ElementHit(concept, hit.score, same_case=False, why=why)

    def reasons(self, hit: ElementHit) -> tuple[str, ...]:
        """The strongest reasons for a hit, with those of a hybrid search; links by their origin."""
        found = self._recalled_by.get(hit.element.number)
        reasons = dict.fromkeys(hit.why)
        for stage in () if found is None else found.stages():
            reason = _REASONS[stage]
            if found is not None and found.origin is not None and stage in ("link", "shared"):
                number, predicate = found.origin
                origin = self._reader.concept(number)
                known = shorten(origin.name) if origin is not None else "another"
                through = f" through {self._reader.predicate_name(predicate)}" if predicate else ""
                reason = f"linked from {known}{through}"
            reasons[reason] = None
        return tuple(reasons)[:REASONS_MAX]

    def _is_by_meaning(self, number: int) -> bool:
        found = self._recalled_by.get(number)
        return found is not None and not {"words", "named"} & found.evidence.keys()

    # Links.

    def links(self, limit: int) -> list[ElementHit]:
        """Links that fit, the best first."""
        terms, most = self._terms, max(2 * limit, LINKS_RANKED_MAX)
        candidates = islice(dict.fromkeys(self._link_candidates(most)), most)
        found = [
            each
            for each in sentences(self._reader, candidates)
            if not self._without.issuperset(each.ends)
        ]
        texts = [(each.link, each.text) for each in found]
        ranked = matches_in(self._reader, texts, terms) if terms else []
        scores = ranking.by_words(_shares(ranked, len(terms)), self._usual, "words")
        asked = as_predicate(self._asked.text)
        for each in found:
            if as_predicate(each.predicate) == asked:
                scores[each.link] = ranking.WEIGHTS["name"].most
        best = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[:limit]
        links = ((self._reader.proposition(number), score) for number, score in best)
        hits = [ElementHit(link, score) for link, score in links if link is not None]
        return self._with_caveats(hits)

    def _link_candidates(self, most: int) -> Iterator[int]:
        """Links that may fit, the likeliest first."""
        reader = self._reader
        passing = self._passing.links
        own = Candidates(reader, passing, changed=self._changed)
        yield from self._by_words(own, most // 3)
        named = set(self._predicates())
        if passing.types is not None:
            named &= passing.types
        numbers = self._ends()
        around = [
            link
            for number in numbers
            for link in lookup.links_around(reader, number, None, LINKS_PER_CONCEPT, passing)
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
        candidates = Candidates(self._reader, ALL, self._without, changed=self._changed)
        numbers = candidates.by_keys(self._asked.keys(), CONCEPTS_FOLLOWED)
        if self._terms:
            matched = candidates.by_titles(self._terms, CONCEPTS_FOLLOWED)
            numbers += [each.number for each in matched]
        return list(dict.fromkeys(numbers))[:CONCEPTS_FOLLOWED]

    def _predicates(self) -> list[int]:
        """The numbers of predicates whose names have words of the question."""
        if not self._terms:
            return []
        definitions = Candidates(self._reader, _PREDICATES, changed=self._changed)
        matched = definitions.by_titles(self._terms, PREDICATES_MATCHED)
        found = (self._reader.concept(each.number) for each in matched)
        numbers = (self._reader.find_predicate(each.name) for each in found if each)
        return [number for number in numbers if number is not None]


def _shares(found: Iterable[TextMatch], terms: int) -> dict[int, tuple[float, float]]:
    return {each.number: (each.terms / terms, each.bm25) for each in found}


def order(hit: ElementHit) -> tuple[float, bool, int, int]:
    return -hit.score, not hit.same_case, -hit.linked, hit.element.number


def as_predicate(name: str) -> str:
    return "_".join(ranking.folded(name).replace("_", " ").split())
