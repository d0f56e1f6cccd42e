"""UPSERT: blocks in order, handles, and metadata that inner levels inherit (KIP §4.1)."""

from __future__ import annotations

from mycel.errors import (
    ConstraintViolation,
    DuplicateExists,
    NotFound,
    UnknownReference,
    VersionConflict,
)
from mycel.kip import ast
from mycel.model.names import SYSTEM_ACTOR
from mycel.model.records import canonical_weight
from tests.reference.draft import Draft
from tests.reference.graph import JsonObject
from tests.reference.parameters import Parameters
from tests.reference.patterns import Patterns
from tests.reference.protection import is_foundation_link
from tests.reference.scopes import check_predicate, check_type


def upsert(draft: Draft, capsule: ast.Capsule, parameters: Parameters) -> JsonObject:
    """Run every UPSERT of a capsule."""
    concepts: dict[int, None] = {}
    links: dict[int, None] = {}
    blocks = 0
    for statement in capsule.upserts:
        run = _Upsert(draft, statement, parameters)
        for block in statement.blocks:
            run.block(block)
        concepts |= run.concepts
        links |= run.links
        blocks += sum(1 for _ in statement.blocks)
    return {
        "blocks": blocks,
        "upsert_concept_nodes": [draft.graph.id_of(number) for number in concepts],
        "upsert_proposition_links": [draft.graph.id_of(number) for number in links],
    }


class _Upsert:
    """One UPSERT: its handles, and the elements that it has written so far."""

    def __init__(self, draft: Draft, statement: ast.Upsert, parameters: Parameters) -> None:
        self.draft = draft
        self.parameters = parameters
        self.metadata = parameters.mapping(statement.metadata)
        self.handles: dict[str, int] = {}
        self.concepts: dict[int, None] = {}
        self.links: dict[int, None] = {}

    def block(self, block: ast.ConceptBlock | ast.PropositionBlock) -> None:
        if block.handle is not None and block.handle.name in self.handles:
            raise DuplicateExists(f"The handle ?{block.handle.name} is defined twice.")
        metadata = self.metadata | self.parameters.mapping(block.metadata)
        if isinstance(block, ast.ConceptBlock):
            number = self.concept_block(block, metadata)
        else:
            number = self.proposition_block(block, metadata)
        if block.handle is not None:
            self.handles[block.handle.name] = number

    def concept_block(self, block: ast.ConceptBlock, metadata: JsonObject) -> int:
        found = self.find_concept(block.matcher)
        self.expect(block.expect_version, found)
        attributes = self.parameters.mapping(block.attributes)
        if found is None:
            type_name, name = self.identity(block.matcher)
            found = self.draft.put_concept(type_name, name, attributes, metadata)
        else:
            self.draft.merge_keys(found, attributes, self.inherited(block, metadata))
        self.concepts[found] = None
        for entry in block.propositions or ():
            self.set_proposition(found, entry, metadata)
        return found

    def set_proposition(self, subject: int, entry: ast.SetProposition, outer: JsonObject) -> None:
        predicate = self.parameters.text(entry.predicate)
        check_predicate(predicate, self.draft.graph)
        object_ = self.existing(entry.target)
        metadata = outer | self.parameters.mapping(entry.metadata)
        if entry.metadata is None and self.is_foundation(subject, predicate, object_):
            metadata = {}
        weight = self.weight(entry.weight)
        link = self.draft.put_link(subject, predicate, object_, {}, metadata, weight)
        self.links[link] = None

    def proposition_block(self, block: ast.PropositionBlock, metadata: JsonObject) -> int:
        attributes = self.parameters.mapping(block.attributes)
        if isinstance(block.target, ast.LinkById):
            number = self.existing(block.target)
            weight = self.weight(block.weight)
            self.expect(block.expect_version, number)
            self.draft.merge_keys(number, attributes, self.inherited(block, metadata), weight)
        else:
            place = self.place(block.target)
            weight = self.weight(block.weight)
            self.draft.check_not_self(place[0], place[2])
            found = self.draft.graph.link(*place)
            self.expect(block.expect_version, found.number if found else None)
            if found is not None and self.is_foundation(*place):
                metadata = self.inherited(block, metadata)
            number = self.draft.put_link(*place, attributes, metadata, weight)
        self.links[number] = None
        return number

    def is_foundation(self, subject: int, predicate: str, object_: int) -> bool:
        """True for a link of the foundation, which takes no metadata of an UPSERT around it."""
        link = self.draft.graph.link(subject, predicate, object_)
        return (
            self.draft.actor != SYSTEM_ACTOR
            and link is not None
            and is_foundation_link(link, self.draft.graph)
        )

    def inherited(
        self, block: ast.ConceptBlock | ast.PropositionBlock, metadata: JsonObject
    ) -> JsonObject:
        """Metadata for an element that exists: none if the block says nothing about it."""
        says_something = block.attributes is not None or block.metadata is not None
        if isinstance(block, ast.PropositionBlock):
            says_something = says_something or block.weight is not None
        return metadata if says_something else {}

    def weight(self, node: ast.Number | None) -> float | None:
        return None if node is None else canonical_weight(self.parameters.number(node))

    # What blocks refer to.

    def identity(self, matcher: ast.ConceptMatcher) -> tuple[str, str]:
        if matcher.type is None or matcher.name is None:
            raise UnknownReference("A concept is named by its type and name, or by its id.")
        return self.parameters.text(matcher.type), self.parameters.text(matcher.name)

    def find_concept(self, matcher: ast.ConceptMatcher) -> int | None:
        """The concept a matcher means; None if its type and name are still free."""
        if matcher.id is not None:
            return self.existing(matcher)
        type_name, name = self.identity(matcher)
        check_type(type_name, self.draft.graph)
        concept = self.draft.graph.concept(type_name, name)
        return concept.number if concept else None

    def place(self, pattern: ast.LinkPattern) -> tuple[int, str, int]:
        """The place of a link, there or not: its predicate is defined, and its ends exist."""
        if not isinstance(pattern.predicate, ast.Literal | ast.Placeholder):
            raise UnknownReference("A link that is written has exactly one predicate.")
        predicate = self.parameters.text(pattern.predicate)
        check_predicate(predicate, self.draft.graph)
        return self.existing(pattern.subject), predicate, self.existing(pattern.object)

    def existing(self, endpoint: ast.Endpoint) -> int:
        """The element that an endpoint means; raises NotFound if there is none."""
        patterns = Patterns(self.draft.graph, self.parameters)
        match endpoint:
            case ast.Variable(name):
                if name not in self.handles:
                    raise UnknownReference(f"No block before this one defines the handle ?{name}.")
                return self.handles[name]
            case ast.ConceptMatcher(id=None):
                check_type(self.identity(endpoint)[0], self.draft.graph)
                found = patterns.concepts(endpoint)
            case ast.ConceptMatcher():
                found = patterns.concepts(endpoint)
            case ast.LinkById():
                found = patterns.link_by_id(endpoint)
            case ast.LinkPattern():
                subject, predicate, object_ = self.place(endpoint)
                found = [
                    step.link
                    for step in patterns.single_steps(predicate)
                    if (step.subject, step.object) == (subject, object_) and step.link is not None
                ]
        if not found:
            raise NotFound(f"There is no {patterns.shown(endpoint)}.")
        return found[0]

    def expect(self, version: ast.Number | None, found: int | None) -> None:
        """Raise VersionConflict unless the element has this version; 0 means that there is none."""
        if version is None:
            return
        expected = self.parameters.whole(version)
        if expected < 0:
            raise ConstraintViolation(f"There is no version {expected}.")
        actual = 0 if found is None else self.draft.graph.elements[found].version
        if expected != actual:
            raise VersionConflict(f"Expected version {expected}, but it is {actual}.")
