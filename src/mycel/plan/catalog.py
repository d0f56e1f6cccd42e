"""Protocols for the facts about the graph that binding and planning need."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple, Protocol

from mycel.kip import ast


class CommandValues(Protocol):
    """The values of one command, with parameters in place of placeholders."""

    def value(self, node: ast.Value) -> Any:
        """The JSON value of a node."""

    def text(self, node: ast.Text, what: str) -> str:
        """A string; `what` names it in an error."""


class PredicateFacts(NamedTuple):
    """Facts about the predicate of a pattern."""

    number: int
    is_symmetric: bool
    leads_from_links: bool = True
    """True if a link may be the subject; if not, every subject is a concept."""
    leads_to_links: bool = True


class PropertySlot(NamedTuple):
    """The index of a property."""

    number: int
    is_unique: bool


class DefinedNames(Protocol):
    """The defined names, and the facts about them that plans depend on."""

    def type_number(self, name: str) -> int:
        """The number of a defined type. Raises TypeMismatch, with the closest names."""

    def predicate(self, name: str) -> PredicateFacts:
        """The facts of a defined predicate. Raises TypeMismatch, with the closest names."""

    def symmetric_predicates(self) -> tuple[int, ...]:
        """The numbers of all symmetric predicates."""

    def has_hidden(self) -> bool:
        """True if elements may be archived."""

    def slots(self, owner: int, *, link: bool) -> Mapping[str, PropertySlot]:
        """The indexed properties of a type's concepts, or of a predicate's links."""

    def moments(self, owner: int, *, link: bool, lists: bool) -> Collection[str]:
        """The properties that a schema declares as DateTime, or with `lists` as [DateTime]."""

    def ends(self, predicate: int) -> tuple[int, int] | None:
        """The types at the ends of a predicate, if a schema declares it."""


class Spread(NamedTuple):
    """The number of links, and of different elements at each end."""

    links: float
    subjects: float
    objects: float


class Entries(NamedTuple):
    """The number of elements in an index, and of their different values."""

    elements: float
    values: float


class Statistics(Protocol):
    """Rough counts, for the order of joins."""

    def concepts(self, type_number: int | None) -> float:
        """Concepts of a type, or of all types."""

    def links(self, predicate: int | None) -> Spread:
        """Links with a predicate, or all of them."""

    def entries(self, slot: int) -> Entries:
        """The size of an index."""
