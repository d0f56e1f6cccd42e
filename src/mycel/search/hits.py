"""Hits: elements that a search found, their order, and the conditions that they have to pass."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple, Self

from mycel.model.elements import Concept, Element
from mycel.model.names import shorten
from mycel.model.values import JsonObject
from mycel.search.question import Question
from mycel.store.query.candidates import Term, counted, has_title, usual_bm25
from mycel.store.query.changed_texts import ChangedTexts
from mycel.store.query.filters import Condition, Filters, condition
from mycel.store.query.reader import Reader
from mycel.text.kinds import CODE, NOTES, RESOURCE, is_code, is_document, is_section
from mycel.text.queries import TextMatch


class ElementHit(NamedTuple):
    """An element that was found, and how well it fits."""

    element: Element
    score: float
    same_case: bool = True
    """True if a name of the element equals the question, with the same letter case."""
    linked: int = 0
    """The number of incoming links; counted only if the name fits."""
    by_meaning: bool = False
    """True if only the meaning fits."""
    why: tuple[str, ...] = ()
    """The reasons for the hit, the strongest first."""
    caveats: tuple[str, ...] = ()
    """Warnings about the element: superseded, expired, of low confidence, its source."""

    @property
    def kind(self) -> Literal["notes", "code"]:
        element = self.element
        if isinstance(element, Concept):
            return CODE if is_code(element.type, element.attributes) else NOTES
        return CODE if element.metadata.get("author") == "bootstrap" else NOTES

    @property
    def is_section(self) -> bool:
        """True for a section of a document that a bootstrap read."""
        element = self.element
        return isinstance(element, Concept) and is_section(element.type, element.attributes)

    @property
    def is_document(self) -> bool:
        """True for the file of a document that a bootstrap read."""
        element = self.element
        if not isinstance(element, Concept) or element.type != RESOURCE:
            return False  # Reading the attributes of each hit costs more than this.
        return is_document(element.type, element.attributes)

    def to_dict(self) -> JsonObject:
        """The element in its wire form, with `_score` and `_why` in its metadata.

        Code also has its `_kind`.
        """
        wire: dict[str, Any] = self.element.to_dict()
        wire.pop("weight", None)  # The wire form of KIP has no weight.
        wire["metadata"] = wire["metadata"] | {"_score": round(self.score, 4)}
        if self.kind == CODE:
            wire["metadata"]["_kind"] = CODE
        if self.why:
            wire["metadata"]["_why"] = list(self.why)
        if self.caveats:
            wire["metadata"]["_caveats"] = list(self.caveats)
        return wire


def sort_key(hit: ElementHit) -> tuple[float, bool, int, int]:
    """The key by which hits are sorted, the best first."""
    return -hit.score, not hit.same_case, -hit.linked, hit.element.number


def element_name(element: Element) -> str:
    """The name of a concept, or the id of a link, in brief."""
    return shorten(element.name if isinstance(element, Concept) else element.id)


class Passing(NamedTuple):
    """The conditions on concepts and on links that come from the filters of a search."""

    concepts: Condition
    links: Condition

    @classmethod
    def of(cls, reader: Reader, filters: Filters, types: Collection[int] | None = None) -> Self:
        """The conditions of some filters, and of types or predicates, in the state of a reader."""
        return cls(
            condition(reader, filters, "concept", types),
            condition(reader, filters, "proposition", types),
        )


class AskedWords:
    """The words of a question, with the number of elements that have each word in a state."""

    def __init__(self, reader: Reader, question: Question) -> None:
        self.question: Final = question
        self._reader: Final = reader
        self.changed: Final = None if reader.state.is_live else ChangedTexts(reader, question.terms)

    @cached_property
    def terms(self) -> list[Term]:
        """The words with their counts, the rarest first.

        A hybrid search of concepts does not need them.
        """
        return counted(self._reader, self.question.terms)

    @cached_property
    def usual(self) -> float:
        """The BM25 score of a text of average length that has each word once."""
        return usual_bm25(self._reader, self.terms)

    @cached_property
    def may_be_titled(self) -> bool:
        """False if no element has all words in its title."""
        return has_title(self._reader, self.question.terms)

    def shares(self, matches: Iterable[TextMatch]) -> Mapping[int, tuple[float, float]]:
        """By element, its share of the words and its BM25 score."""
        terms = len(self.question.terms)
        return {match.number: (match.terms / terms, match.bm25) for match in matches}
