"""Elements of two copies of a graph, matched with each other.

Up to the commit at which two copies part, they give the same numbers to the same elements. After
it, each copy assigns numbers on its own, and may also give the number of a removed element to a new
one. The same number may therefore mean different elements.

A merge keeps the pairs of numbers that its elements have in both copies (`log.merges`). An element
without such a pair is matched by its natural key: at the moments at which both had merged the same
third copy, and now. An element that one copy has purged and the other still has is matched first;
otherwise a newer element with its key could be taken for it. The result uses the numbers of the
first copy. An element that this copy does not have gets a number above all of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, NamedTuple

from mycel.model import ids
from mycel.model.elements import Concept, Element
from mycel.model.names import META_TYPES
from mycel.model.state import State
from mycel.store.log.journal import Kind
from mycel.store.query.history import is_scrubbed
from mycel.store.query.lineage import Lineage
from mycel.store.query.merges import match
from mycel.store.query.natural_keys import element_key
from mycel.store.query.purges import keys_ever, purged_lives
from mycel.store.query.reader import Reader

NEW: Final = 1 << 60
"""The smallest number of an element that the first copy does not have. It is even, so that concepts
stay even and links odd."""


class Touched(NamedTuple):
    """The elements that a range of journal entries is about."""

    numbers: frozenset[int]
    ended: frozenset[int]
    """The elements that were removed at some point of this range."""
    purged: Mapping[int, int]
    """The elements that were purged, each with its last purge entry."""
    made_from: tuple[int, int]
    """The smallest numbers of a concept and of a link that were created in this range."""


def touched(reader: Reader, low: int, high: int) -> Touched:
    """The elements with entries after one position of the journal, up to another."""
    numbers: set[int] = set()
    ended: set[int] = set()
    purged: dict[int, int] = {}
    made_from = [NEW, NEW]
    # A purged entry has the hash of a record, or nothing if there was no record.
    query = (
        "SELECT seq, kind, element, before IS NULL FROM journal WHERE seq > ? AND seq <= ?"
        " ORDER BY seq"
    )
    for seq, kind, element, is_new in reader.fetch_all(query, (low, high)):
        if kind == Kind.PURGE:
            purged[element] = seq
        elif kind != Kind.MARK:
            numbers.add(element)
            if kind in (Kind.RETIRE_CONCEPT, Kind.REMOVE_EDGE):
                ended.add(element)
            elif is_new and element < made_from[element & 1]:
                made_from[element & 1] = element
    concepts_from, links_from = made_from
    return Touched(frozenset(numbers), frozenset(ended), purged, (concepts_from, links_from))


class PurgedKeys(NamedTuple):
    """The keys that only one of two copies has purged, each with the entry of its first purge."""

    theirs: Mapping[bytes, int]
    ours: Mapping[bytes, int]


class _Moment(NamedTuple):
    """States of both copies, each right after it had merged the same third copy."""

    theirs: Reader
    ours: Reader
    theirs_seq: int
    ours_seq: int


class Alignment:
    """Numbers in one copy of a graph for the elements of another copy."""

    def __init__(
        self,
        ours: Reader,
        theirs: Reader,
        related: Lineage,
        since: Touched,
        purged: PurgedKeys | None = None,
        renamed: Mapping[str, str] | None = None,
    ) -> None:
        """`theirs` and `ours` read the two states whose elements are matched.

        `since` has the elements of the other copy that changed since the two parted. `purged` has
        the keys that only one copy has purged: an element with such a key now is a new one.
        `renamed` maps the name of a type or predicate in the other copy to its name in this copy.
        """
        self.shared: Final = related.shared
        self._ours: Final = ours
        self._theirs: Final = theirs
        self._since: Final = since
        self._purged: Final = purged
        self._renamed: Final = renamed or {}
        old = {number for number in since.numbers if number < since.made_from[number & 1]}
        readers = [reader for reader in (ours, theirs) if not is_scrubbed(reader, self.shared)]
        # An element that one copy has purged since is absent only from that copy's past.
        before = {
            number for reader in readers for number in reader.at(State(self.shared)).elements(old)
        }
        self._revived: Final = old - before if readers else frozenset()
        """Elements with numbers from before the parting that did not exist at the parting."""
        self._moments: Final = [
            _Moment(theirs.at(State(one)), ours.at(State(other)), one, other)
            for one, other in related.met
        ]
        self._keys_at: Final[dict[int, Mapping[bytes | None, int]]] = {}
        """Elements by key, for each past state that was read, by the `id()` of its reader."""
        self._parted: Final[set[int]] = set()
        """Elements of this copy that must not be matched with a live element of the other one."""
        self._keyless: Final[set[int]] = set()
        """Elements of the other copy that are matched by merges and numbers only, never by key."""
        self.renewed: Final[set[int]] = set()
        """Numbers in this copy for parted elements that the other copy creates again."""
        self._merges: Final = related.into_ours, related.into_theirs
        self._known: Final[dict[int, int]] = {}
        self._numbers: Final[dict[int, int]] = {}
        """The number in the other copy of each element that has a different number there."""
        if purged is not None:
            self._keep_purged()

    def _keep_purged(self) -> None:
        """First match the elements that the other copy has purged, by the pairs that merges keep.

        An element with the same key that was added there after the purge is another element, even
        if it had this key at a moment at which both copies had merged the same third copy.
        """
        for number in self._since.purged:
            here = self.number_here(number)
            # An element that was restored in the other copy has a new number there.
            if here is not None and self._known_there(here) == number:
                self._known[number] = here
                self._numbers[here] = number

    def is_old(self, number: int) -> bool:
        """True if both copies had the element under this number when they parted."""
        return number < self._since.made_from[number & 1] and number not in self._revived

    def number(self, number: int) -> int:
        """The number in this copy for an element of the other copy."""
        our_number = self._known.get(number)
        if our_number is None:
            if self.is_old(number) and number not in self._parted:
                return number
            our_number = number if self.is_old(number) else self._match(number)
            if our_number in self._parted and self._theirs.element(number) is not None:
                our_number = NEW + number
                self.renewed.add(our_number)
            elif our_number in self._numbers or (our_number is not None and our_number >= NEW):
                our_number = None
            our_number = NEW + number if our_number is None else our_number
            self._known[number] = our_number
            self._numbers[our_number] = number
        return our_number

    def numbers(self, changed: Collection[int]) -> set[int]:
        """The numbers in this copy for elements that changed in the other one.

        If the other copy gave the number of a removed element to a new one, both are included.
        """
        # The surest matches come first: live elements before removed ones, and elements that a
        # merge has paired before elements that share only a key.
        live_numbers = self._theirs.elements(changed).keys()
        surest_first = sorted(
            changed,
            key=lambda number: (
                number not in live_numbers,
                self.number_here(number) is None,
                number,
            ),
        )
        return {*map(self.number, surest_first), *filter(self.is_old, surest_first)}

    def part(self, numbers: Iterable[int]) -> set[int]:
        """Do not match these elements with live elements of the other copy.

        Returns the numbers in the other copy that merges, or equal numbers, would match with them.
        """
        self._parted.update(numbers)
        return self.candidates_there(self._parted)

    def ignore_keys(self, our_numbers: Iterable[int], their_numbers: Iterable[int]) -> None:
        """Match these elements of both copies by merges and numbers only, never by key."""
        self._parted.update(our_numbers)
        self._keyless.update(their_numbers)

    def candidates_there(self, numbers: Iterable[int]) -> set[int]:
        """Numbers in the other copy that merges, or equal numbers, match with these elements."""
        numbers = {*numbers}
        matches = map(self._known_there, numbers)
        old = {*filter(self.is_old, numbers)}
        return old.union(number for number in matches if number is not None)

    def learn(self, there: int, here: int) -> None:
        """Match two elements that are one element of a third copy, unless either has a match."""
        if there == here and self.is_old(there):
            return
        if here in self._parted and self._theirs.element(there) is not None:
            return
        is_free = there not in self._known and here not in self._numbers
        if is_free and self.number_here(there) is None and self._known_there(here) is None:
            self._keep(there, here)

    def match_again(self, mine: Touched) -> None:
        """Match elements that both copies had, where equal numbers are not enough.

        An element that was purged here and added again has another number. An element that either
        copy removed may have got another number in a merge, or lost its own to another element.
        `mine` has the elements of this copy that changed since the two parted.
        """
        old = {*filter(self.is_old, self._since.numbers)}
        lost = old - self._ours.elements(old).keys()
        removed = {*filter(self.is_old, self._since.ended | mine.ended)}
        unknown = (lost | removed) - self._known.keys()
        for number in sorted(unknown, key=lambda number: (number & 1, number)):
            is_sure = number not in mine.purged or self._purged is not None
            here = self._match(number, is_sure=is_sure, purge=mine.purged.get(number))
            if here is not None and here not in self._numbers:
                self._known[number] = here
                self._numbers[here] = number

    def _match(self, number: int, *, is_sure: bool = False, purge: int | None = None) -> int | None:
        """The number in this copy for an element of the other copy; None if there is no match.

        A merge knows the pair, or both have the same key, in the past or now. With `is_sure`, only
        a merge or a key of the past matches. `purge` is the entry that purged the number here: an
        element of this copy with the same key that is older than that entry is another element.
        """
        by_merge = self.number_here(number)
        # A merge may have given the number of an element removed here to another element.
        if by_merge is not None and not (
            self._is_taken(by_merge, number) and self._theirs.element(by_merge) is not None
        ):
            return by_merge
        if number in self._keyless:
            return None
        for moment in self._moments:
            element = moment.theirs.element(number)
            candidate = self._like(moment.ours, element)
            if candidate is None or self._is_taken(candidate, number) or element is None:
                continue
            if purge is not None and self._began(candidate) < purge:
                continue
            if not self._is_apart(element, candidate, moment.theirs_seq, moment.ours_seq):
                return candidate
        if is_sure:
            return None
        element = self._theirs.element(number)
        candidate = None if element is None else self._like(self._ours, element)
        if element is None or candidate is None:
            return None
        if self._is_taken(candidate, number):
            return candidate if self._purged is None and candidate in self._since.purged else None
        ends = self._theirs.position, self._ours.position
        return None if self._is_apart(element, candidate, *ends) else candidate

    def _began(self, here: int) -> int:
        """The first entry about an element of this copy since the parting; 0 if there is none."""
        query = "SELECT min(seq) FROM journal WHERE seq > ? AND element = ?"
        (first,) = self._ours.fetch_one(query, (self.shared, here))
        return int(first or 0)

    def _is_apart(self, element: Element, candidate: int, theirs_seq: int, ours_seq: int) -> bool:
        """True if two elements with one key are different because one copy has purged that key.

        Only purges up to the given entries are considered. The copy that purged the key added its
        element after the purge, so it differs from the element that the other copy still has.
        Definitions are never apart, because names identify them.
        """
        if self._purged is None or not any(self._purged):
            return False
        if isinstance(element, Concept) and element.type in META_TYPES:
            return False
        theirs, ours = self._purged
        mine = keys_ever(self._ours, candidate, ours_seq) if theirs else ()
        others = keys_ever(self._theirs, element.number, theirs_seq) if ours else ()
        return any(theirs.get(key, theirs_seq + 1) <= theirs_seq for key in mine) or any(
            ours.get(key, ours_seq + 1) <= ours_seq for key in others
        )

    def keys_ever(self, number: int) -> set[bytes]:
        """All keys that an element of the other copy has had."""
        return keys_ever(self._theirs, number, self._theirs.position)

    def number_here(self, number: int) -> int | None:
        """The number in this copy for an element of the other copy, by the newest merge."""
        return self._newest_match(number, is_there=True)

    def _known_there(self, number: int) -> int | None:
        """The number in the other copy for an element of this copy, by the newest merge."""
        return self._newest_match(number, is_there=False)

    def match_purged(self, mine: Touched) -> None:
        """Match elements that one copy has purged, by their keys at moments when both had them.

        The record of a purge keeps the keys of the element and the entries at which they began.
        """
        if not self._moments:
            return
        for life in purged_lives(self._theirs, self.shared):
            for moment in self._moments:
                here = self._with_key(moment.ours, mine.numbers, life.key_at(moment.theirs_seq))
                if here is not None and not self._is_known(life.number, here):
                    self._keep(life.number, here)
        for life in purged_lives(self._ours, self.shared):
            for moment in self._moments:
                numbers = self._since.numbers
                their_number = self._with_key(moment.theirs, numbers, life.key_at(moment.ours_seq))
                if their_number is not None and not self._is_known(their_number, life.number):
                    self._keep(their_number, life.number)

    def _is_known(self, there: int, here: int) -> bool:
        """True if a merge, or equal numbers, already match one of two elements."""
        return (
            there in self._known
            or here in self._numbers
            or self.number_here(there) is not None
            or self._known_there(here) is not None
            or self.is_old(there)
        )

    def _keep(self, there: int, here: int) -> None:
        self._known[there] = here
        self._numbers[here] = there

    def _with_key(self, state: Reader, numbers: Collection[int], key: bytes | None) -> int | None:
        """The element of a past state that has a key, among those that changed since the parting.

        Each state is read once: there are few moments, and few elements with purges.
        """
        if key is None:
            return None
        numbers_by_key = self._keys_at.get(id(state))
        if numbers_by_key is None:
            elements = state.elements(numbers).items()
            numbers_by_key = {
                element_key(element, state.element): number for number, element in elements
            }
            self._keys_at[id(state)] = numbers_by_key
        return numbers_by_key.get(key)

    def _newest_match(self, number: int, *, is_there: bool) -> int | None:
        into_ours, into_theirs = self._merges
        matches = (
            match(self._ours, number, into_ours, of_source=is_there),
            match(self._theirs, number, into_theirs, of_source=not is_there),
        )
        times = [
            (merges[pair[0]], pair[1])
            for merges, pair in zip(self._merges, matches, strict=True)
            if pair is not None
        ]
        return max(times)[1] if times else None

    def matches(self) -> dict[int, int]:
        """The number in this copy of each element that has a different number in the other copy."""
        return {there: here for here, there in self._numbers.items()}

    def _is_taken(self, candidate: int, number: int) -> bool:
        """True if a candidate for a match belongs to another element of the other copy."""
        return (
            candidate in self._parted
            or self._known_there(candidate) not in (None, number)
            or (
                candidate not in (number, *self._numbers)
                and self.is_old(candidate)
                and self._known.get(candidate, candidate) == candidate
            )
        )

    def _like(self, ours: Reader, element: Element | None) -> int | None:
        """The number in this copy of the element with the natural key of `element`."""
        twin: Element | None = None
        if element is None:
            return None
        if isinstance(element, Concept):
            type_number = self._find_kind(ours.find_type, element.type)
            if type_number is not None:
                twin = ours.concept_named(type_number, element.name)
        else:
            subject, object_ = map(self.number, element.ends)
            predicate = self._find_kind(ours.find_predicate, element.predicate)
            if predicate is not None and max(subject, object_) < NEW:
                twin = ours.link_between(subject, predicate, object_)
        return None if twin is None else twin.number

    def _find_kind(self, find: Callable[[str], int | None], name: str) -> int | None:
        """The number in this copy of a type or predicate that the other copy names so."""
        number = find(self._renamed.get(name, name))
        return find(name) if number is None else number

    def translate(self, element: Element) -> Element:
        """An element of the other copy, with the numbers of this copy for itself and its ends."""
        number = self.number(element.number)
        if isinstance(element, Concept):
            return element if number == element.number else element._replace(number=number)
        return element._replace(
            number=number, subject=self._end(element.subject), object=self._end(element.object)
        )

    def _end(self, id_: str) -> str:
        number = ids.parse_id(id_)
        our_number = self.number(number)
        if our_number == number:
            return id_
        if ids.is_concept(our_number):
            return ids.concept_id(our_number)
        return ids.link_id(our_number, id_.split(":", 2)[2])

    def numbers_there(self, numbers: Iterable[int]) -> dict[int, list[int]]:
        """For numbers of this copy: the possible numbers of the same elements in the other copy."""
        by_number: dict[int, list[int]] = {}
        for number in numbers:
            other = self._numbers.get(number)
            candidates = [] if other is None else [other]
            if self.is_old(number) and self._known.get(number, number) == number:
                candidates.append(number)
            if candidates:
                by_number[number] = candidates
        return by_number

    def stored(self, reader: Reader, numbers: Iterable[int]) -> dict[int, Element]:
        """Elements by their numbers in this copy, exactly as a state of the other copy has them."""
        candidates_of = self.numbers_there(numbers)
        stored = reader.elements({number for some in candidates_of.values() for number in some})
        by_number = {
            number: next(
                (stored[candidate] for candidate in candidates if candidate in stored), None
            )
            for number, candidates in candidates_of.items()
        }
        return {number: element for number, element in by_number.items() if element is not None}

    def elements(self, reader: Reader, numbers: Iterable[int]) -> dict[int, Element]:
        """Elements of a state of the other copy, with the numbers of this copy."""
        return {
            number: self.translate(element)._replace(number=number)
            for number, element in self.stored(reader, numbers).items()
        }
