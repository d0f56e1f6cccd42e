"""Facts about a graph as a whole, for the primer; each is read at most once, when it is needed.

The types of a domain are the types whose definitions belong to it, and the types of its members.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from mycel.engine.protection_guard import CORE_DOMAIN, MEMBERSHIP
from mycel.model.names import CONCEPT_TYPE, PROPOSITION_TYPE
from mycel.model.values import JsonObject
from mycel.store.file.layout import CONCEPT_TYPE_NUMBER, PROPOSITION_TYPE_NUMBER
from mycel.store.query import summary
from mycel.store.query.reader import Reader

DOMAINS_READ_MAX: Final = 24
"""The maximum number of domains whose contents the primer reads."""

MEMBERS_READ_MAX: Final = 200
"""The maximum number of members of a domain whose types are read."""

KEY_MEMBERS_READ_MAX: Final = 50
KEY_MEMBERS: Final = 5


class Facts:
    """Facts about the graph of one reader."""

    def __init__(self, reader: Reader) -> None:
        self.reader: Final = reader
        self._definitions: dict[tuple[int, str], JsonObject] = {}

    @cached_property
    def totals(self) -> tuple[int, int]:
        return summary.totals(self.reader)

    @cached_property
    def type_names(self) -> list[str]:
        return summary.definitions(self.reader, CONCEPT_TYPE_NUMBER)

    @cached_property
    def predicate_names(self) -> list[str]:
        return summary.definitions(self.reader, PROPOSITION_TYPE_NUMBER)

    @cached_property
    def concepts(self) -> dict[str, summary.Count]:
        """The number of concepts, by type."""
        counts = summary.concepts_by_type(self.reader)
        return {self.reader.type_name(count.number): count for count in counts}

    @cached_property
    def links(self) -> dict[str, summary.Count]:
        """The number of links, by predicate."""
        counts = summary.links_by_predicate(self.reader)
        return {self.reader.predicate_name(count.number): count for count in counts}

    @cached_property
    def shapes(self) -> list[summary.Shape]:
        return summary.shapes(self.reader)

    @cached_property
    def ends(self) -> dict[str, tuple[Counter[str], Counter[str]]]:
        """The types of the concepts at the two ends of each predicate."""
        counters: dict[str, tuple[Counter[str], Counter[str]]] = {}
        for shape in self.shapes:
            pair = counters.setdefault(
                self.reader.predicate_name(shape.predicate), (Counter(), Counter())
            )
            for side, number in zip(pair, (shape.subject_type, shape.object_type), strict=True):
                if number is not None:
                    side[self.reader.type_name(number)] += shape.links
        return counters

    def definition(self, meta: int, name: str) -> JsonObject:
        """The attributes of a definition."""
        key = meta, name
        if key not in self._definitions:
            concept = self.reader.concept_named(meta, name)
            self._definitions[key] = {} if concept is None else concept.attributes
        return self._definitions[key]

    # Facts about domains.

    @cached_property
    def _domain_type(self) -> int | None:
        return self.reader.find_type("Domain")

    @cached_property
    def membership(self) -> int | None:
        return self.reader.find_predicate(MEMBERSHIP)

    @cached_property
    def domain_count(self) -> int:
        if self._domain_type is None:
            return 0
        return summary.count_up_to(self.reader, "concept", "type", self._domain_type, 1 << 62)

    def domains(self, limit: int) -> list[summary.Domain]:
        if self._domain_type is None:
            return []
        # Without this predicate no element belongs to a domain. No predicate has the number 0.
        return summary.domains(self.reader, self._domain_type, self.membership or 0, limit)

    @cached_property
    def _defined_in(self) -> list[tuple[int, int, str]]:
        if self.membership is None:
            return []
        return summary.defined_in(self.reader, self.membership)

    def defined_types(self, domain: int) -> list[str]:
        return self._defined(domain, CONCEPT_TYPE_NUMBER)

    def defined_predicates(self, domain: int) -> list[str]:
        return self._defined(domain, PROPOSITION_TYPE_NUMBER)

    def _defined(self, domain: int, meta: int) -> list[str]:
        return [name for at, kind, name in self._defined_in if (at, kind) == (domain, meta)]

    @cached_property
    def core_types(self) -> frozenset[str]:
        """The types that every graph has."""
        number = self._domain_type
        core = None if number is None else self.reader.concept_named(number, CORE_DOMAIN[1])
        return frozenset(() if core is None else self.defined_types(core.number))

    @cached_property
    def contents(self) -> list[DomainContents]:
        """The domains whose contents the primer reads, with their contents."""
        return [self.contents_of(domain) for domain in self.domains(DOMAINS_READ_MAX)]

    def contents_of(self, domain: summary.Domain) -> DomainContents:
        membership = self.membership or 0
        seen = summary.member_types(self.reader, membership, domain.number, MEMBERS_READ_MAX)
        key = summary.key_members(
            self.reader, membership, domain.number, KEY_MEMBERS_READ_MAX, KEY_MEMBERS
        )
        members = {self.reader.type_name(number) for number, _ in seen}
        types = by_size({*members, *self.defined_types(domain.number)}, self.concepts)
        return DomainContents(
            domain,
            types,
            by_size(
                {*self.defined_predicates(domain.number), *self._predicates_of(members)}, self.links
            ),
            [(self.reader.type_name(number), name) for number, name in key],
        )

    def _predicates_of(self, types: set[str]) -> set[str]:
        """Predicates whose subjects are mostly of these types."""
        return {
            predicate
            for predicate, (subjects, _) in self.ends.items()
            if predicate != MEMBERSHIP and subjects and subjects.most_common(1)[0][0] in types
        }

    @cached_property
    def unclaimed(self) -> DomainContents:
        """Types and predicates that belong to no domain."""
        claimed = {
            name for content in self.contents for name in (*content.types, *content.predicates)
        }
        claimed |= {name for _, _, name in self._defined_in}
        meta = {CONCEPT_TYPE, PROPOSITION_TYPE}
        return DomainContents(
            None,
            by_size(set(self.type_names) - claimed - meta, self.concepts),
            by_size(set(self.predicate_names) - claimed, self.links),
            [],
        )


@dataclass(frozen=True, slots=True)
class DomainContents:
    """The contents of a domain, or types and predicates of no domain; the largest first."""

    domain: summary.Domain | None
    types: list[str]
    predicates: list[str]
    members: list[tuple[str, str]]


def by_size(names: Iterable[str], counts: dict[str, summary.Count]) -> list[str]:
    """Names sorted by the number of their instances or links, the largest first."""
    return sorted(names, key=lambda name: (-counts[name].rows if name in counts else 0, name))
