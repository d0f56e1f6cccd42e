"""Elements of two copies of a graph, matched with each other.

Up to the commit at which two copies part, they give the same numbers to the same elements. After it
each goes on counting, so the same number means different things. An element that one copy made
after it is matched by its natural key: at the moments at which the copies were merged, and now.
All numbers are told in those of the first copy; an element that it does not have gets a number that
is larger than any of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from mycel.model import ids
from mycel.model.elements import Concept, Element
from mycel.model.state import State
from mycel.store.log.journal import Kind
from mycel.store.query.reader import Reader

NEW: Final = 1 << 60
"""The smallest number of an element that the first copy does not have. It is even, so that concepts
stay even and links odd."""


class Touched(NamedTuple):
    """The elements that a range of the journal is about."""

    numbers: frozenset[int]
    ended: frozenset[int]
    """Those that were removed at some point of it."""
    purged: tuple[int, ...]
    made_from: tuple[int, int]
    """The smallest number of a concept, and of a link, that was made in it."""


def touched(reader: Reader, low: int, high: int) -> Touched:
    """The elements that changed after one entry of the journal, up to another."""
    numbers: set[int] = set()
    ended: set[int] = set()
    purged: list[int] = []
    made_from = [NEW, NEW]
    # A purge leaves the hash of a record that was there, and nothing where none was.
    query = "SELECT kind, element, before IS NULL FROM journal WHERE seq > ? AND seq <= ?"
    for kind, element, is_new in reader.every(query, (low, high)):
        if kind == Kind.PURGE:
            purged.append(element)
        elif kind != Kind.MARK:
            numbers.add(element)
            if kind in (Kind.RETIRE_CONCEPT, Kind.REMOVE_EDGE):
                ended.add(element)
            elif is_new and element < made_from[element & 1]:
                made_from[element & 1] = element
    concepts_from, links_from = made_from
    return Touched(frozenset(numbers), frozenset(ended), tuple(purged), (concepts_from, links_from))


class Alignment:
    """The elements of another copy of a graph, in numbers of this one."""

    def __init__(
        self,
        ours: Reader,
        theirs: Reader,
        made_from: tuple[int, int],
        merged: Sequence[tuple[State, State]] = (),
    ) -> None:
        """`theirs` and `ours` read the states that are matched now.

        `made_from` has the smallest numbers that the other copy has given out since the two
        parted. `merged` has earlier moments of both at which they were matched: theirs, then ours.
        """
        self._ours: Final = ours
        self._theirs: Final = theirs
        self.made_from: Final = made_from
        self._moments: Final = [(theirs.at(one), ours.at(other)) for one, other in merged]
        self._moments.append((theirs, ours))
        self._known: Final[dict[int, int]] = {}
        self._numbers: Final[dict[int, int]] = {}
        """The number in the other copy of each element that has a different one there."""

    def number(self, number: int) -> int:
        """The number here of an element that has a number there."""
        known = self._known.get(number)
        if known is None:
            if number < self.made_from[number & 1]:
                return number
            known = self._match(number)
            if known in self._numbers or (known is not None and known >= NEW):
                known = None
            known = NEW + number if known is None else known
            self._known[number] = known
            self._numbers[known] = number
        return known

    def match_again(self, numbers: Iterable[int]) -> None:
        """Match elements that both had, and of which this copy has lost the number.

        One that was purged here, and added again, has another number.
        """
        old = {number for number in numbers if number < self.made_from[number & 1]}
        for number in sorted(old - self._ours.elements(old).keys()):
            found = self._match(number)
            if found is not None and found not in self._numbers:
                self._known[number] = found
                self._numbers[found] = number

    def _match(self, number: int) -> int | None:
        for theirs, ours in self._moments:
            element = theirs.element(number)
            found = None if element is None else self._like(ours, element)
            if found is None:
                continue
            if found >= self.made_from[found & 1] or theirs is not self._theirs:
                return found
            # It has the key of an element that both had: the same, if that one is gone there.
            return found if theirs.element(found) is None else None
        return None

    def _like(self, ours: Reader, element: Element) -> int | None:
        """The number here of the element with the natural key of one of the other copy."""
        found: Element | None = None
        if isinstance(element, Concept):
            type_number = ours.find_type(element.type)
            if type_number is not None:
                found = ours.concept_named(type_number, element.name)
        else:
            subject, object_ = (self.number(ids.parse_id(end)) for end in element[1:4:2])
            predicate = ours.find_predicate(element.predicate)
            if predicate is not None and max(subject, object_) < NEW:
                found = ours.link(subject, predicate, object_)
        return None if found is None else found.number

    def told(self, element: Element) -> Element:
        """An element of the other copy, with its number and those of its ends told in ours."""
        number = self.number(element.number)
        if isinstance(element, Concept):
            return element if number == element.number else element._replace(number=number)
        return element._replace(
            number=number, subject=self._end(element.subject), object=self._end(element.object)
        )

    def _end(self, id_: str) -> str:
        number = ids.parse_id(id_)
        known = self.number(number)
        if known == number:
            return id_
        if ids.is_concept(known):
            return ids.concept_id(known)
        return ids.proposition_id(known, id_.split(":", 2)[2])

    def there(self, numbers: Iterable[int]) -> dict[int, list[int]]:
        """For numbers of ours, those that the same elements may have in the other copy."""
        found: dict[int, list[int]] = {}
        for number in numbers:
            other = self._numbers.get(number)
            candidates = [] if other is None else [other]
            if number < self.made_from[number & 1] and self._known.get(number, number) == number:
                candidates.append(number)
            if candidates:
                found[number] = candidates
        return found

    def stored(self, reader: Reader, numbers: Iterable[int]) -> dict[int, Element]:
        """The elements with numbers of ours, just as a state of the other copy has them."""
        there = self.there(numbers)
        stored = reader.elements({each for some in there.values() for each in some})
        found = {
            number: next((stored[each] for each in candidates if each in stored), None)
            for number, candidates in there.items()
        }
        return {number: element for number, element in found.items() if element is not None}

    def elements(self, reader: Reader, numbers: Iterable[int]) -> dict[int, Element]:
        """The elements with numbers of ours, as a state of the other copy has them."""
        return {
            number: self.told(element)._replace(number=number)
            for number, element in self.stored(reader, numbers).items()
        }
