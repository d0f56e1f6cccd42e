"""The graph as plain objects: elements by number, and nothing else.

Elements are frozen: to change one is to put another in its place, so a copy of the dictionary is a
copy of the graph. Concepts have even numbers and links odd ones, each kind in order of creation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Self

from mycel.model import ids, times
from mycel.model.names import CONCEPT_TYPE, PROPOSITION_TYPE, SYSTEM_ACTOR
from tests.reference import periods
from tests.reference.evidence import status

JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Origin:
    """The creator and the last editor of an element, and the time of its creation."""

    created_us: int = 0
    created_by: str = SYSTEM_ACTOR
    updated_by: str = SYSTEM_ACTOR


@dataclass(frozen=True, slots=True)
class Concept:
    """A concept node."""

    number: int
    type: str
    name: str
    attributes: JsonObject
    metadata: JsonObject
    version: int
    updated_us: int
    origin: Origin = Origin()


@dataclass(frozen=True, slots=True)
class Link:
    """A proposition link; its ends are numbers of elements."""

    number: int
    subject: int
    predicate: str
    object: int
    attributes: JsonObject
    metadata: JsonObject
    version: int
    updated_us: int
    origin: Origin = Origin()
    weight: float = 1.0


Element = Concept | Link


def _moment(value: object) -> int | None:
    return times.from_text(value) if times.is_time(value) else None


@dataclass(slots=True)
class Graph:
    """Every live element, by its number."""

    elements: dict[int, Element] = field(default_factory=dict)
    next_concept: int = ids.FIRST_CONCEPT
    next_link: int = ids.FIRST_LINK

    def copy(self) -> Self:
        return replace(self, elements=dict(self.elements))

    # Looking.

    def concepts(self) -> Iterator[Concept]:
        return (each for each in self.elements.values() if isinstance(each, Concept))

    def links(self) -> Iterator[Link]:
        return (each for each in self.elements.values() if isinstance(each, Link))

    def concept(self, type_name: str, name: str) -> Concept | None:
        """The concept with this type and name."""
        return next((c for c in self.concepts() if (c.type, c.name) == (type_name, name)), None)

    def link(self, subject: int, predicate: str, object_: int) -> Link | None:
        """The link that is stored exactly so."""
        place = (subject, predicate, object_)
        return next((k for k in self.links() if (k.subject, k.predicate, k.object) == place), None)

    def hidden(self) -> set[int]:
        """Archived elements, and every link about them."""
        archived = {
            number
            for number, element in self.elements.items()
            if element.metadata.get("archived_at") is not None
        }
        return archived | self.links_about(archived)

    def outside(self, moment: int) -> set[int]:
        """Elements that do not hold at a time, and links with such an end."""
        found = self.outdated(moment)
        at_them = {k.number for k in self.links() if k.subject in found or k.object in found}
        return found | at_them

    def outdated(self, moment: int) -> set[int]:
        """Elements that do not hold at a time by their own values."""
        found = set()
        for number, element in self.elements.items():
            said = element.attributes | {
                key: value for key, value in element.metadata.items() if value is not None
            }
            begins, ends = (_moment(said.get(key)) for key in ("valid_from", "valid_until"))
            is_over = (begins is not None and begins > moment) or (
                ends is not None and ends <= moment
            )
            if is_over and not periods.holds(element.metadata, moment):
                found.add(number)
        return found

    def links_about(self, numbers: set[int]) -> set[int]:
        """Every link that refers to one of these elements, or to such a link, and so on."""
        found: set[int] = set()
        while True:
            ends = numbers | found
            more = {k.number for k in self.links() if k.subject in ends or k.object in ends}
            if more <= found:
                return found - numbers
            found |= more

    def id_of(self, number: int) -> str:
        """The id of an element as others see it."""
        element = self.elements[number]
        if isinstance(element, Concept):
            return ids.concept_id(number)
        return ids.link_id(number, element.predicate)

    # What is defined.

    def type_names(self) -> list[str]:
        return [c.name for c in self.concepts() if c.type == CONCEPT_TYPE]

    def predicate_names(self) -> list[str]:
        return [c.name for c in self.concepts() if c.type == PROPOSITION_TYPE]

    def is_symmetric(self, predicate: str) -> bool:
        definition = self.concept(PROPOSITION_TYPE, predicate)
        return definition is not None and definition.attributes.get("is_symmetric") is True

    # How it looks from outside.

    def wire(self, number: int) -> JsonObject:
        """The node or link as KIP sends it."""
        element = self.elements[number]
        metadata = dict(element.metadata)
        metadata["_version"] = element.version
        metadata["_updated_at"] = times.to_text(element.updated_us)
        if isinstance(element, Concept):
            return {
                "_type": "ConceptNode",
                "id": self.id_of(number),
                "type": element.type,
                "name": element.name,
                "attributes": element.attributes,
                "metadata": metadata,
            }
        return {
            "_type": "PropositionLink",
            "id": self.id_of(number),
            "subject": self.id_of(element.subject),
            "predicate": element.predicate,
            "object": self.id_of(element.object),
            "attributes": element.attributes,
            "metadata": metadata,
        }

    def facts(self, number: int) -> JsonObject:
        """All that a path can name: the wire form, the weight of a link, and the origin."""
        element, wire = self.elements[number], self.wire(number)
        origin = {
            "_created_at": times.to_text(element.origin.created_us),
            "_created_by": element.origin.created_by,
            "_updated_by": element.origin.updated_by,
        }
        weight: JsonObject = {}
        if isinstance(element, Link):
            weight = {"weight": element.weight, "belief": status(element.metadata)}
        return wire | weight | {"metadata": wire["metadata"] | origin}

    def identity(self, number: int) -> tuple[Any, ...]:
        """The identity of an element: (type, name), or (subject, predicate, object) in full."""
        element = self.elements[number]
        if isinstance(element, Concept):
            return (element.type, element.name)
        return (self.identity(element.subject), element.predicate, self.identity(element.object))

    def state(self) -> dict[tuple[Any, ...], JsonObject]:
        """Everything that two engines should agree on, by natural identity."""
        return {
            self.identity(number): {
                "attributes": element.attributes,
                "metadata": element.metadata,
                "version": element.version,
                **({"weight": element.weight} if isinstance(element, Link) else {}),
            }
            for number, element in self.elements.items()
        }
