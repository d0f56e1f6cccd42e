"""Elements of a graph as goals in its filtered copy, and of the copy as goals in the graph.

The two graphs number elements differently; the copy stores pairs of numbers (`store.log.copied`).
An element without a pair is identified by its key. If the other graph does not have it yet, it gets
a number beyond all numbers of that graph, until it is created.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from mycel.history.state_steps import GONE, Goal
from mycel.model import ids
from mycel.model.elements import Concept, Element, Proposition
from mycel.model.values import own_metadata
from mycel.store.query.alignment import NEW
from mycel.store.query.reader import Reader
from mycel.store.write.bulk import ConceptRow, PropositionRow
from mycel.store.write.transaction import Transaction

Pairs = Callable[[Iterable[int]], Mapping[int, int]]
"""Maps the numbers of elements in the graph that is read to those in the graph that is written."""


class GoalMaker:
    """Makes goals in one graph from elements of the other one."""

    def __init__(self, reads: Reader, writes: Reader, pairs: Pairs) -> None:
        self._reads: Final = reads
        self._writes: Final = writes
        self._pairs: Final = pairs
        self.numbers: Final[dict[int, int]] = {}
        """By element that was looked up, its number in the written graph; `NEW` or more if it
        does not exist there."""

    def goals(self, targets: Mapping[int, Element | None]) -> list[Goal]:
        """The goals for elements, from their new versions; None for an element to remove."""
        coming = [element for element in targets.values() if element is not None]
        self._find({number for element in coming for number in (element.number, *element.ends)})
        # An element to remove is identified by its pair alone: the other graph may have the key for
        # another element.
        going = [source for source, element in targets.items() if element is None]
        self.numbers.update(dict.fromkeys(going, GONE) | dict(self._pairs(going)))
        now = self._writes.elements(
            number for source in targets if (number := self.numbers[source]) < NEW
        )
        goals = []
        for source, element in targets.items():
            then = None if element is None else self._renumbered(element, self.numbers[source])
            live = now.get(self.numbers[source])
            if live is not None or then is not None:
                goals.append(Goal(str(source), live, then))
        return goals

    def collect_pairs(
        self, targets: Mapping[int, Element | None], numbers: Mapping[int, int]
    ) -> dict[int, int]:
        """The pairs after the write; 0 for removed elements. `numbers` are those of `attempt`."""
        pairs = {}
        for source, element in targets.items():
            number = self.numbers[source]
            number = numbers.get(number, number)
            pairs[source] = GONE if element is None or number >= NEW else number
        return pairs

    def _find(self, sources: Iterable[int]) -> None:
        missing = [source for source in sources if source not in self.numbers]
        pairs = self._pairs(missing)
        live = self._writes.elements(pairs.values())
        later = []
        for source in missing:
            number = pairs.get(source)
            if number is not None and number in live:
                self.numbers[source] = number
            else:
                later.append(source)
        elements = self._reads.elements(later)
        for source in sorted(later, key=lambda number: number & 1):  # Links after concepts.
            self.numbers[source] = NEW + source
            element = elements.get(source)
            if element is not None:
                self._find(element.ends)
                self.numbers[source] = self._number_by_key(element) or NEW + source

    def _number_by_key(self, element: Element) -> int | None:
        writes = self._writes
        if isinstance(element, Concept):
            type_number = writes.find_type(element.type)
            if type_number is None:
                return None
            concept = writes.concept_named(type_number, element.name)
            return None if concept is None else concept.number
        predicate = writes.find_predicate(element.predicate)
        subject, object_ = (self.numbers[end] for end in element.ends)
        if predicate is None or subject >= NEW or object_ >= NEW:
            return None
        link = writes.link_between(subject, predicate, object_)
        return None if link is None else link.number

    def in_place(self, element: Element | None) -> Element | None:
        """An element of `goals`, with the numbers of the written graph."""
        if element is None:
            return None
        self._find({element.number, *element.ends})
        return self._renumbered(element, self.numbers[element.number])

    def _renumbered(self, element: Element, number: int) -> Element:
        if isinstance(element, Concept):
            return element._replace(number=number)
        subject, object_ = (
            _id_like(id_, self.numbers[end])
            for id_, end in zip((element.subject, element.object), element.ends, strict=True)
        )
        return element._replace(number=number, subject=subject, object=object_)


def define_used(tx: Transaction, elements: Iterable[Element | None]) -> None:
    """Define the types and predicates of elements, if they are not defined yet."""
    types, predicates = set(), set()
    for element in elements:
        if isinstance(element, Concept):
            types.add(element.type)
        elif element is not None:
            predicates.add(element.predicate)
    for name in sorted(types - tx.defined_types().keys()):
        tx.define_type(name)
    for name in sorted(predicates - tx.defined_predicates().keys()):
        tx.define_predicate(name)


def create_all(tx: Transaction, elements: Mapping[int, Element | None]) -> None:
    """Create concepts, and the links between them, in bulk, unless their keys exist already.

    Everything else, such as links on links, is left to the goals, which are applied afterwards.
    """
    define_used(tx, elements.values())
    concepts = [concept for concept in elements.values() if isinstance(concept, Concept)]
    ids_of = dict(
        zip(
            (concept.id for concept in concepts),
            tx.put_concepts(
                ConceptRow(
                    concept.type, concept.name, concept.attributes, own_metadata(concept.metadata)
                )
                for concept in concepts
            ),
            strict=True,
        )
    )
    tx.put_propositions(
        PropositionRow(
            ids_of[link.subject],
            link.predicate,
            ids_of[link.object],
            link.attributes,
            own_metadata(link.metadata),
            link.weight,
        )
        for link in elements.values()
        if isinstance(link, Proposition) and {link.subject, link.object} <= ids_of.keys()
    )


def same_content(one: Element | None, other: Element | None) -> bool:
    """True if two elements of one graph have the same content; versions may differ."""
    if isinstance(one, Concept) and isinstance(other, Concept):
        return (one.type, one.name) == (other.type, other.name) and _content(one) == _content(other)
    if isinstance(one, Proposition) and isinstance(other, Proposition):
        ends = (one.predicate, one.ends, one.weight), (other.predicate, other.ends, other.weight)
        return ends[0] == ends[1] and _content(one) == _content(other)
    return one is other


def _content(element: Element) -> tuple[str, str]:
    return element.attributes_json, element.metadata_json


def _id_like(id_: str, number: int) -> str:
    if number & 1:
        return ids.link_id(number, id_.split(":", 2)[2])
    return ids.concept_id(number)
