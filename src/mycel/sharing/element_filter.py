"""Elements that a token may see, by the patterns of its scopes.

A concept is visible if a pattern covers its URI. A link is visible if both of its ends are, so that
no link names a hidden element. Definitions of types and predicates are never copied: a copy defines
those that it uses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from mycel.knowledge.uris import uri_of
from mycel.model.elements import Concept, Element
from mycel.model.names import META_TYPES
from mycel.sharing.scopes import Pattern
from mycel.store.query.reader import Reader


class ElementFilter:
    """The elements that some patterns cover."""

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        self.patterns: Final = tuple(sorted(patterns))

    def covers(self, concept: Concept) -> bool:
        """True if a pattern covers a concept."""
        if concept.type in META_TYPES:
            return False
        uri = uri_of(concept.type, concept.name)
        return any(pattern.covers(uri) for pattern in self.patterns)

    def select(self, reader: Reader, numbers: Iterable[int]) -> dict[int, Element]:
        """The elements among these that exist and are visible, by number."""
        elements = reader.elements(numbers)
        with_ends = dict(elements)
        while (
            missing := {end for element in with_ends.values() for end in element.ends}
            - with_ends.keys()
        ):
            more = reader.elements(missing)
            with_ends |= more
            if len(more) < len(missing):  # An end does not exist, so the link is not visible.
                break
        is_visible: dict[int, bool] = {}

        def sees(number: int) -> bool:
            if number not in is_visible:
                element = with_ends.get(number)
                is_visible[number] = False  # Stops if links ever form a circle of ends.
                if isinstance(element, Concept):
                    is_visible[number] = self.covers(element)
                elif element is not None:
                    is_visible[number] = all(map(sees, element.ends))
            return is_visible[number]

        return {number: element for number, element in elements.items() if sees(number)}
