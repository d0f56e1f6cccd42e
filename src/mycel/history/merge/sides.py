"""The states of a merge: the target, the source and their common ancestors, in one numbering."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache, cached_property, partial
from typing import Any, Final

from mycel.history.merge.values import equal_values
from mycel.history.merge.versions import Base, Place, Values, base_of, values_of
from mycel.migration.schema_in_force import read as schema_at
from mycel.model.elements import Concept, Element, Proposition
from mycel.model.names import CONCEPT_TYPE, META_TYPES, PROPOSITION_TYPE
from mycel.model.state import State
from mycel.schema.catalog import Catalog
from mycel.schema.definitions import merge_policies
from mycel.store.log.marks import MERGE, Mark
from mycel.store.log.topological import all_about
from mycel.store.query import origins
from mycel.store.query.alignment import NEW, Alignment, PurgedKeys, Touched, touched
from mycel.store.query.bulk import instances
from mycel.store.query.commits import commit_at
from mycel.store.query.creations import Creations, creations_of, shared_creations
from mycel.store.query.diff import ABSENT
from mycel.store.query.history import check_kept
from mycel.store.query.lineage import has_content, lineage, merge_commits, parents
from mycel.store.query.lookup import ever_about, find_by_name
from mycel.store.query.origins import UNKNOWN_ORIGIN, Origin
from mycel.store.query.purges import Purges, keys_ever, purges_since
from mycel.store.query.reader import Reader

ReadElements = Callable[[Iterable[int]], Mapping[int, Element]]


class MergeTarget:
    """The parts of a merge's target that are the same for every source."""

    def __init__(self, reader: Reader) -> None:
        self.reader: Final = reader
        self.declared: Final = cache(partial(_policies, reader))
        """The policies of the definition of a type or predicate, by attribute."""

    def ours(self, numbers: Iterable[int]) -> Mapping[int, Element]:
        return self.reader.elements(number for number in numbers if number < NEW)

    def on(self, number: int) -> Iterable[int]:
        """The links of the target that have an element as an end."""
        return self.reader.touching(number) if number < NEW else ()

    def ever_on(self, number: int) -> Iterable[int]:
        """The links of the target that have, or had, an element as an end."""
        return ever_about(self.reader, number) if number < NEW else ()

    def holder(self, concept: Concept) -> int | None:
        """The number of the target's concept with a type and name."""
        holder = self.reader.find_concept(concept.type, concept.name)
        return None if holder is None else holder.number

    def namesakes(self, concept: Concept) -> Iterable[int]:
        """The concepts of the target with a name, of any type, oldest first."""
        return sorted(number for number, _, _ in find_by_name(self.reader, (concept.name,)))

    def link_at(self, link: Proposition) -> int | None:
        """The number of the target's link with this predicate and these ends."""
        subject, object_ = link.ends
        if max(subject, object_) >= NEW:
            return None
        twin = self.reader.find_link(subject, link.predicate, object_)
        return None if twin is None else twin.number

    def users(self, number: int) -> Iterable[int]:
        """The elements of the target that use the type or predicate of a definition."""
        definition = self.reader.concept(number)
        if definition is None:
            return ()
        is_type = definition.type == CONCEPT_TYPE
        find = self.reader.find_type if is_type else self.reader.find_predicate
        defined = find(definition.name)
        if defined is None:
            return ()
        return instances.numbers(self.reader, "concept" if is_type else "proposition", defined)


class BranchSides(MergeTarget):
    """The states of a merge with another copy of the graph."""

    def __init__(self, ours: Reader, theirs: Reader, others: Sequence[Reader] = ()) -> None:
        super().__init__(ours)
        self.lineage: Final = lineage(ours, theirs, others)
        self._theirs: Final = theirs
        shared = self.lineage.shared
        check_kept(ours, State(shared))
        for copy, seq in self.lineage.bases:
            check_kept(copy, State(seq))
        since = touched(theirs, shared, theirs.position)
        seen = self.lineage.visible, self.lineage.seen
        into_ours, into_theirs = self.lineage.into_ours, self.lineage.into_theirs
        self._our_purges: Final = _unseen((ours, theirs), seen, shared, into_ours)
        self._their_purges: Final = _unseen((theirs, ours), seen[::-1], shared, into_theirs)
        self._made_from: Final = since.made_from
        purged = PurgedKeys(self._their_purges.keys, self._our_purges.keys)
        self._alignment: Final = Alignment(
            ours, theirs, self.lineage, since, purged, _renamed(*self._schemas[1:])
        )
        changed = since.numbers
        if [base.copy for base in self.lineage.bases] == [theirs]:
            changed = touched(theirs, self.lineage.seen, theirs.position).numbers
        self._through: Final = {
            id(copy): (_matched(ours, copy, seq), _matched(theirs, copy, seq))
            for copy, seq in self.lineage.bases
            if copy not in (ours, theirs)
        }
        self._touched_here: Final = touched(ours, shared, ours.position)
        self._creations: Final = _creations(ours, theirs, self._touched_here, since, shared)
        parted = self._part_purged()
        for there, here in shared_creations(*reversed(self._creations)):
            self._alignment.learn(there, here)
        self._alignment.match_purged(self._touched_here)
        self._alignment.match_again(self._touched_here)
        # All elements are matched before the first number is looked up.
        self._alignment.numbers(since.numbers | parted)
        maybe_changed = {*self._alignment.numbers(changed), *self._alignment.renewed}
        self._bases: Final[list[ReadElements]] = []
        for copy, seq in self.lineage.bases:
            # `own` has the elements that the ancestor had changed, because the source may lack
            # these changes.
            reading, own = self._ancestor(copy, seq)
            self._bases.append(reading)
            maybe_changed |= own
        self.touched: Final = frozenset(maybe_changed)
        """The elements that may differ between the base and the source."""
        self.commits: Final = (
            commit_at(ours, ours.position),
            commit_at(theirs, theirs.position),
        )
        """The commits to merge: ours and theirs."""

    def _part_purged(self) -> set[int]:
        """Part elements of the target that a merge made of two, of which the source purged one.

        The contents of the two cannot be told apart. The element is therefore purged here, with all
        links about it, and the other half is taken again from the source. Returns the known numbers
        of the other halves.
        """
        our_creations, their_creations = self._creations
        purged_there = our_creations.numbers(their_creations.unknown_purges(our_creations))
        doomed = {
            number
            for number in purged_there
            if self._theirs.elements(
                self._alignment.candidates_there({number})
                | their_creations.numbers(our_creations.by_number[number])
            )
        }
        about = {*doomed, *all_about(doomed, self.ever_on)}
        # If it has the key of a purged element of the other copy, it was added after the purge.
        purged_here = their_creations.numbers(our_creations.unknown_purges(their_creations))
        self._alignment.ignore_keys(
            purged_there - about - _definitions(self.reader, purged_there),
            purged_here - _definitions(self._theirs, purged_here),
        )
        if not about:
            return set()
        creations = {one for number in about for one in our_creations.by_number.get(number, ())}
        their_numbers = self._alignment.part(about) | their_creations.numbers(creations)
        return {*self._theirs.elements(their_numbers)}

    def _ancestor(self, copy: Reader, seq: int) -> tuple[ReadElements, set[int]]:
        """A reader of a common ancestor, and the elements that the ancestor had changed.

        For an ancestor of the source, the set is empty: these elements are known already.
        """
        ours, before = self.reader, copy.at(State(seq))
        if copy is ours:
            own = touched(ours, self.lineage.shared, seq).numbers
            return lambda numbers: before.elements(number for number in numbers if number < NEW), {
                *own
            }
        if copy is self._theirs:
            return lambda numbers: self._alignment.elements(before, numbers), set()
        (with_ours, changed), (with_theirs, _) = self._through[id(copy)]
        purged = purges_since(ours, with_ours.shared).numbers

        def read(numbers: Iterable[int]) -> Mapping[int, Element]:
            number_list = list(numbers)
            elements = with_ours.elements(before, (n for n in number_list if n < NEW))
            # An element that the target lacks has a number that follows from its number in the
            # source.
            their_elements = with_theirs.stored(before, (n - NEW for n in number_list if n >= NEW))
            for number, other in their_elements.items():
                if with_ours.number(other.number) not in purged:
                    element = self._alignment.translate(
                        with_theirs.translate(other)._replace(number=number)
                    )
                    elements[number + NEW] = element._replace(number=number + NEW)
            return elements

        return read, {number for number in with_ours.numbers(changed) if number < NEW}

    @property
    def has_news(self) -> bool:
        """True if the source has entries, other than marks, that the target has not seen."""
        return has_content(self._theirs, self.lineage.seen)

    def matches(self, created: Iterable[int], joined: Mapping[int, int]) -> Mapping[int, int]:
        """Pairs of numbers of elements, in the source and in the plan, which no merge has kept yet.

        `created` has the plan's numbers of elements that the merge creates. `joined` has links that
        are joined with another link.
        """
        aligned = self._alignment
        pairs = aligned.matches().items()
        matches = {there: here for there, here in pairs if aligned.number_here(there) != here}
        new = aligned.stored(self._theirs, created)
        one = aligned.stored(self._theirs, joined)
        matches |= {element.number: here for here, element in new.items()}
        return matches | {element.number: joined[here] for here, element in one.items()}

    def creations(
        self, created: Iterable[int], joined: Mapping[int, int]
    ) -> tuple[Mapping[int, set[bytes]], set[bytes]]:
        """The creations that elements of the plan get from the source.

        The second result has the creations of purged elements that the target never had. `created`
        and `joined` are as in `matches`.
        """
        our_creations, their_creations = self._creations
        reached = {*created}
        gains: dict[int, set[bytes]] = {}
        by_number = dict(their_creations.by_number)
        matches = self._alignment.matches().items()
        # A restored old element with another key may get another number too.
        moved = {there for there, here in matches if there != here}
        old = self._alignment.stored(self._theirs, (here for here in created if here < NEW))
        moved |= {element.number for element in old.values()}
        moved -= by_number.keys()
        if moved:
            by_number |= creations_of(self._theirs, moved)
        for there, creations in by_number.items():
            number = self._alignment.number(there)
            here = joined.get(number, number)
            # A restored element, which was purged here, gets another number.
            new = creations - (
                set() if here in reached else our_creations.by_number.get(here, set())
            )
            if new and (here < NEW or here in reached):
                gains.setdefault(here, set()).update(new)
        passed_on = their_creations.purged - our_creations.purged
        return gains, passed_on.difference(*gains.values())

    def marks(self, source: str) -> Sequence[Mark]:
        """The marks of the commit's parents in other copies: the source, and its own parents."""
        merged = {mark.commit for _, mark in parents(self.reader)}
        marks = [Mark(MERGE, source, self.commits[1]), *(mark for _, mark in parents(self._theirs))]
        return tuple(mark for mark in marks if mark.commit not in merged)

    @property
    def purged_keys(self) -> frozenset[bytes]:
        """The keys that the source has purged, also by its marks, and the target has not."""
        keys_view = purges_since(self._theirs, self.lineage.seen, self.lineage.shared).keys.keys()
        our_keys = purges_since(self.reader, self.lineage.shared, self.lineage.shared).keys
        return frozenset(keys_view - our_keys.keys())

    @property
    def bases(self) -> tuple[str, ...]:
        """The commits of the common ancestors."""
        return tuple(commit_at(copy, seq) for copy, seq in self.lineage.bases if seq)

    def theirs(self, numbers: Iterable[int]) -> Mapping[int, Element]:
        """The elements of the source, by their numbers in the plan."""
        return self._alignment.elements(self._theirs, numbers)

    def definition(self, meta_type: str, name: str) -> Concept | None:
        """The definition of a type or predicate in the source."""
        concept = self._theirs.find_concept(meta_type, name)
        element = None if concept is None else self._alignment.translate(concept)
        return element if isinstance(element, Concept) else None

    def on_theirs(self, number: int) -> Iterable[int]:
        """The links of the source that have an element as an end."""
        numbers = self._alignment.numbers_there((number,)).get(number, ())
        links = {link for n in numbers for link in self._theirs.touching(n)}
        return map(self._alignment.number, sorted(links))

    def base(self, numbers: Iterable[int]) -> Mapping[int, Base]:
        """The elements in the base, by their numbers in the plan."""
        unrenewed = [number for number in numbers if number not in self._alignment.renewed]
        states = [reading(unrenewed) for reading in self._bases]
        shared: Mapping[int, Element] = {}
        if len(states) > 1:
            fork = self.reader.at(State(self.lineage.shared))
            shared = fork.elements(n for n in unrenewed if n < NEW)
        bases = {
            number: base_of([state.get(number) for state in states], shared.get(number))
            for number in unrenewed
        }
        if self.lineage.third is not None:
            self._add_third(bases)
        return {number: base for number, base in bases.items() if base is not None}

    def _add_third(self, bases: dict[int, Base | None]) -> None:
        """Add values that both sides took from a third copy to the base.

        These are the values that were equal on both sides right after each had merged that copy.
        """
        our_state, their_state = self.lineage.third or (State(0), State(0))
        here = self.reader.at(our_state).elements(n for n in bases if n < NEW)
        their_elements = self._alignment.elements(self._theirs.at(their_state), bases)
        for number in here.keys() & their_elements.keys():
            one, other = values_of(here[number]), values_of(their_elements[number])
            base = bases[number]
            values = {} if base is None else dict(base.values)
            values |= {
                place: value
                for place, value in one.items()
                if equal_values(value, other.get(place, ABSENT))
            }
            bases[number] = Base(None, values)

    def schemas(self) -> tuple[Catalog, Catalog, Catalog]:
        """The schemas in force in the base, the target and the source."""
        return self._schemas

    @cached_property
    def _schemas(self) -> tuple[Catalog, Catalog, Catalog]:
        copy, seq = self.lineage.bases[0]
        if len(self.lineage.bases) > 1:
            copy, seq = self.reader, self.lineage.shared
        return schema_at(copy.at(State(seq))), schema_at(self.reader), schema_at(self._theirs)

    def origin(self, side: str, number: int, place: Place) -> Origin:
        """The origin of a value on one side."""
        if side == "ours":
            return origin_of(self.reader, number, place)
        their_numbers = self._alignment.numbers_there((number,)).get(number, [])
        return next(
            (
                origin_of(self._theirs, n, place)
                for n in their_numbers
                if self._theirs.element(n) is not None
            ),
            UNKNOWN_ORIGIN,
        )

    def written_once(self, numbers: Iterable[int]) -> Mapping[int, Origin]:
        """The origins of elements that the source has written only once since the base."""
        stored = self._alignment.stored(self._theirs, numbers)
        their_numbers = [element.number for element in stored.values()]
        by_number = origins.written_once(self._theirs, their_numbers, self.lineage.seen)
        return {
            here: by_number[element.number]
            for here, element in stored.items()
            if element.number in by_number
        }

    def purged_here(self, numbers: Iterable[int]) -> frozenset[int]:
        """The elements of the source, among these, that the target has purged."""

        def keys(number: int) -> set[bytes]:
            # If both had the element, or a merge has matched it, its number identifies it.
            return self._alignment.keys_ever(number - NEW) if number >= NEW else set()

        elements = self.theirs(numbers)
        purged_numbers = purged_among(self._our_purges, elements, keys)
        our_creations, their_creations = self._creations
        doomed = their_creations.numbers(our_creations.unknown_purges(their_creations))
        purged_numbers |= {self._alignment.number(n) for n in doomed}
        # A purge also removes links that referred to the element before a relink.
        about = all_about(purged_numbers | self._our_purges.numbers, self._ever_on_theirs)
        return frozenset((*purged_numbers, *about)) & elements.keys()

    def _ever_on_theirs(self, number: int) -> Iterable[int]:
        """The links of the source that have, or had, an element as an end."""
        their_numbers = self._alignment.numbers_there((number,)).get(number, ())
        links = {link for n in their_numbers for link in ever_about(self._theirs, n)}
        return map(self._alignment.number, sorted(links))

    @property
    def purged_there(self) -> Iterable[int]:
        """The elements of the target that the source has purged."""
        our_creations, their_creations = self._creations
        doomed = our_creations.numbers(their_creations.unknown_purges(our_creations))
        if not self._their_purges.numbers and not self._their_purges.keys and not doomed:
            return ()
        aligned = self._alignment
        purged = {aligned.number(number) for number in self._their_purges.numbers} | doomed
        # Without elements that another merge has restored in the source.
        purged -= aligned.stored(self._theirs, purged).keys()
        numbers = purged | {*self._purged_by_key()}
        # If an element was removed before the fork, or here, past versions exist under both
        # numbers.
        old = (
            number for number in self._their_purges.numbers if number < self._made_from[number & 1]
        )
        numbers |= {number for number in old if self.reader.element(number) is None}
        return [
            number for number in sorted(numbers) if number < NEW and self.reader.was_ever(number)
        ]

    def _purged_by_key(self) -> Iterable[int]:
        """The elements that only the target has, and that have keys which the source has purged."""
        if not self._their_purges.keys:
            return
        reader, changed = self.reader, self._touched_here
        old = [number for number in changed.numbers if number < changed.made_from[number & 1]]
        shared = reader.at(State(self.lineage.shared)).elements(old)
        shared_by_both = {*shared, *self._alignment.matches().values()}
        for number in changed.numbers - shared_by_both:
            keys = keys_ever(reader, number, reader.position)
            if not keys.isdisjoint(self._their_purges.keys):
                yield number


def _definitions(reader: Reader, numbers: Iterable[int]) -> set[int]:
    """The elements among these that define a type or predicate, which others use by name."""
    elements = reader.elements(numbers).values()
    return {
        element.number
        for element in elements
        if isinstance(element, Concept) and element.type in META_TYPES
    }


def _matched(reader: Reader, copy: Reader, seq: int) -> tuple[Alignment, frozenset[int]]:
    """A state of a third copy, matched with a side, and the elements that changed there.

    Matches come from merges up to the state of the side's reader.
    """
    related = lineage(reader, copy)
    shared, seen = related.shared, (related.visible, related.seen)
    since = touched(copy, shared, seq)
    here = _unseen((reader, copy), seen, shared, related.into_ours)
    their_purges = _unseen((copy, reader), seen[::-1], shared, related.into_theirs)
    state = copy.at(State(seq))
    aligned = Alignment(reader, state, related, since, PurgedKeys(their_purges.keys, here.keys))
    since_here = touched(reader, shared, reader.position)
    for number, other in shared_creations(*_creations(state, reader, since, since_here, shared)):
        aligned.learn(number, other)
    aligned.match_purged(since_here)
    aligned.match_again(since_here)
    aligned.numbers(since.numbers)
    return aligned, since.numbers


def _creations(
    one: Reader, other: Reader, of_one: Touched, of_other: Touched, shared: int
) -> tuple[Creations, Creations]:
    """The creations in two copies.

    An element that one copy has removed since the parting may have come back from a third copy,
    under another number. To match it, the other copy needs its creation from before the parting.
    """
    creations = Creations(one, shared), Creations(other, shared)
    for these, those, since in zip(creations, reversed(creations), (of_one, of_other), strict=True):
        if these.came_by_merges:
            those.add_old(since.ended)
    return creations


def _renamed(ours: Catalog, theirs: Catalog) -> Mapping[str, str]:
    """Names of types and edges in their schema that have another name in ours; with that name."""
    names = {type_name.identity: type_name.kip_name for type_name in ours.types}
    our_names = {type_name.kip_name: names.get(type_name.identity) for type_name in theirs.types}
    return {there: here for there, here in our_names.items() if here is not None and here != there}


def _unseen(
    copies: tuple[Reader, Reader], seen: tuple[int, int], shared: int, merges: Collection[int]
) -> Purges:
    """The purges of the first copy that the second one has not merged.

    Three kinds are left out: keys that the second copy has purged itself (an element with such a
    key was added later), purges that the first copy got from the second one by a merge, and purges
    that both got from a third copy. `seen` has, for each copy, the last entry that the other copy
    has, with everything before it. `merges` has the last entries of merges of the second copy.
    """
    first, second = copies
    meanwhile = purges_since(second, seen[1], shared).keys
    ever = purges_since(second, shared, shared).keys
    commits = merge_commits(first, seen[0])

    def counts(entry: int, key: bytes) -> bool:
        by = next((by for by, entries in commits.items() if entry in entries), None)
        return by not in merges and key not in (meanwhile if by is None else ever)

    # Elements that the first copy has not merged began in the second copy after the last merge. A
    # key that a purged element had only before that merge is free: another element may have it now.
    return purges_since(first, seen[0], max((shared, *merges)), counts)


def purged_among(
    purges: Purges, elements: Mapping[int, Element], keys: Callable[[int], set[bytes]]
) -> frozenset[int]:
    """The elements among these that were purged, with all links that refer to them.

    An element is purged by its number or by its keys; `keys` returns the keys of an element.
    """
    if not purges.numbers and not purges.keys:
        return frozenset()
    purged_numbers = {
        number
        for number in elements
        if number in purges.numbers or not keys(number).isdisjoint(purges.keys)
    }
    links = {number: element.ends for number, element in elements.items() if element.ends}
    doomed = purged_numbers | purges.numbers
    while (
        more := {link for link, ends in links.items() if not doomed.isdisjoint(ends)}
        - purged_numbers
    ):
        purged_numbers |= more
        doomed |= more
    return frozenset(purged_numbers)


def _policies(reader: Reader, name: str) -> Mapping[str, str]:
    """The merge policies in the definition of a type or predicate, by attribute."""
    for meta_type in (CONCEPT_TYPE, PROPOSITION_TYPE):
        definition = reader.find_concept(meta_type, name)
        if definition is not None:
            return dict(merge_policies(definition.attributes))
    return {}


def origin_of(reader: Reader, number: int, place: Place) -> Origin:
    """The origin of the value at a place of an element."""

    def read(element: Element) -> _Compared:
        return _comparable(values_of(element), place)

    return origins.origin_of(reader, number, ".".join(place), read)


class _Compared:
    """A value that compares as JSON: 1, 1.0 and true all differ."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Compared) and equal_values(self.value, other.value)

    __hash__ = None  # type: ignore[assignment] # It is only compared.


def _comparable(values: Values, place: Place) -> _Compared:
    return _Compared(values.get(place, ABSENT))
