"""A graph that is being written: every statement of KML works on one, and it is kept or dropped.

The few primitives here are the only way to change anything, so each rule is in one place.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import replace

from mycel.errors import ConstraintViolation, InvalidIdentifier, SelfEdgeError
from mycel.model import ids
from mycel.model.names import CONCEPT_TYPE, PROPOSITION_TYPE, check_identifier, check_name
from mycel.model.values import check_metadata_keys, object_text
from tests.reference import protection, schema
from tests.reference.graph import (
    Concept,
    Element,
    Graph,
    JsonObject,
    Link,
    Origin,
)
from tests.reference.json_values import identical
from tests.reference.periods import merged
from tests.reference.scopes import check_predicate, check_type

META_TYPES = (CONCEPT_TYPE, PROPOSITION_TYPE)


class Draft:
    """A copy of a graph that is being written, with counts of its changes."""

    def __init__(self, graph: Graph, *, actor: str, time_us: int) -> None:
        self.graph = graph.copy()
        self.actor = actor
        self.time_us = time_us
        self.touched: dict[int, None] = {}
        """The elements that were written, in order."""

    # Creating and changing.

    def put_concept(
        self, type_name: str, name: str, attributes: JsonObject, metadata: JsonObject
    ) -> int:
        """Create a concept, or merge keys into the one with this type and name."""
        check_type(type_name, self.graph)
        check_name(name)
        found = self.graph.concept(type_name, name)
        if found is not None:
            self.merge_keys(found.number, attributes, metadata)
            return found.number
        if type_name in META_TYPES and name not in META_TYPES:
            check_identifier(name, "type or predicate")
            if name.startswith("$"):
                raise InvalidIdentifier(f"{name!r} starts as only the meta-types do.")
        check_metadata_keys(metadata)
        number = self.graph.next_concept
        self.graph.next_concept += ids.ID_STEP
        content = (attributes, metadata, 1, self.time_us)
        self._write(Concept(number, type_name, name, *content, self._origin()), before=None)
        return number

    def put_link(
        self,
        subject: int,
        predicate: str,
        object_: int,
        attributes: JsonObject,
        metadata: JsonObject,
        weight: float | None = None,
    ) -> int:
        """Create a link, or merge keys into the existing one."""
        check_predicate(predicate, self.graph)
        self.check_not_self(subject, object_)
        found = self.graph.link(subject, predicate, object_)
        if found is not None:
            self.merge_keys(found.number, attributes, metadata, weight)
            return found.number
        schema.check_ends(subject, predicate, object_, self.graph)
        check_metadata_keys(metadata)
        number = self.graph.next_link
        self.graph.next_link += ids.ID_STEP
        content = (attributes, metadata, 1, self.time_us)
        link = Link(number, subject, predicate, object_, *content, self._origin())
        link = link if weight is None else replace(link, weight=weight)
        self._write(link, before=None)
        return number

    def _origin(self, before: Origin | None = None) -> Origin:
        if before is None:
            return Origin(self.time_us, self.actor, self.actor)
        return replace(before, updated_by=self.actor)

    def check_not_self(self, subject: int, object_: int) -> None:
        if subject == object_:
            raise SelfEdgeError(f"{self.graph.id_of(subject)} cannot be linked to itself.")

    def merge_keys(
        self,
        number: int,
        attributes: JsonObject,
        metadata: JsonObject,
        weight: float | None = None,
    ) -> bool:
        """Set these keys; all others stay. Says whether anything changed."""
        check_metadata_keys(metadata)
        element = self.graph.elements[number]
        keep = merged if isinstance(element, Link) else operator.or_
        return self.replace(
            number,
            attributes=element.attributes | attributes,
            metadata=keep(element.metadata, metadata),
            weight=weight,
        )

    def replace(
        self,
        number: int,
        *,
        attributes: JsonObject,
        metadata: JsonObject,
        weight: float | None = None,
    ) -> bool:
        """Give an element these attributes and metadata. Says whether anything changed."""
        before = self.graph.elements[number]
        after = replace(before, attributes=attributes, metadata=metadata)
        if weight is not None:
            if not isinstance(after, Link):
                raise ConstraintViolation("Only links have a weight.")
            after = replace(after, weight=weight)
        if after == before and identical(
            [before.attributes, before.metadata], [attributes, metadata]
        ):
            return False
        after = replace(after, origin=self._origin(before.origin))
        protection.check_change(before, after, self.actor, self.graph)
        self._write(replace(after, version=before.version + 1, updated_us=self.time_us), before)
        return True

    def move(self, number: int, subject: int, object_: int) -> None:
        """Give a link other ends. It keeps its number and everything else."""
        before = self.graph.elements[number]
        if isinstance(before, Link):
            after = replace(before, subject=subject, object=object_, version=before.version + 1)
            origin = self._origin(before.origin)
            self._write(replace(after, updated_us=self.time_us, origin=origin), before)

    def _write(self, after: Element, before: Element | None) -> None:
        object_text(after.attributes, "attributes")  # Refuses what cannot be stored.
        object_text(after.metadata, "metadata")
        schema.check_types(before, after, self.graph)
        self.graph.elements[after.number] = after
        self.touched[after.number] = None

    # Removing.

    def remove(self, numbers: Iterable[int]) -> tuple[int, int]:
        """Remove elements with all links that refer to them, and to those, and so on.

        Returns how many concepts and how many links are gone.
        """
        chosen = set(numbers)
        gone = chosen | self.graph.links_about(chosen)
        for number in (*sorted(chosen), *sorted(gone - chosen)):
            protection.check_removal(self.graph.elements[number], self.graph)
        removed = [self.graph.elements[number] for number in gone]
        for number in gone:
            del self.graph.elements[number]
            self.touched.pop(number, None)
        for element in removed:
            self._check_not_in_use(element)
        concepts = sum(isinstance(element, Concept) for element in removed)
        return concepts, len(removed) - concepts

    def _check_not_in_use(self, removed: Element) -> None:
        match removed:
            case Concept(type=type_name, name=name) if type_name == CONCEPT_TYPE:
                used = any(concept.type == name for concept in self.graph.concepts())
            case Concept(type=type_name, name=name) if type_name == PROPOSITION_TYPE:
                used = any(link.predicate == name for link in self.graph.links())
            case _:
                return
        if used:
            raise ConstraintViolation(
                f"{name!r} is still in use.", hint="Remove what uses it first."
            )

    # The end.

    def finish(self) -> list[str]:
        """Warnings about what is missing; raises ConstraintViolation for a strict type."""
        warnings = []
        for number in self.touched:
            element = self.graph.elements[number]
            shortcomings = schema.shortcomings(element, self.graph)
            if not shortcomings:
                continue
            sentence = f"{schema.name_of(element)}: {'; '.join(shortcomings)}."
            if schema.is_strict(element, self.graph):
                raise ConstraintViolation(sentence)
            warnings.append(sentence)
        return warnings
