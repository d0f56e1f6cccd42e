"""Creations: they identify an element in every copy of a graph, whatever its number and key.

An element begins with one entry of one commit. A copy that gets the element by a merge gives it a
number of its own, and keeps its creation in the source (`log.merges`). Two copies that have never
met thus recognise the same element, even if the copy between them is deleted. An element has
several creations if a merge has made one element of two. Creations of purged elements stay, and a
merge passes them on to copies that never had the element.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from itertools import chain
from typing import Final

from mycel.model.state import State
from mycel.store.file.rows import json_array
from mycel.store.log import merges
from mycel.store.log.journal import Kind
from mycel.store.log.purge_entries import NO_ELEMENT
from mycel.store.query.purges import purged_after
from mycel.store.query.reader import Reader

_SIZE: Final = 16
"""The bytes of a creation."""


class Creations:
    """The creations of the elements of a copy since an entry."""

    def __init__(self, reader: Reader, after: int) -> None:
        self._reader: Final = reader
        self._after: Final = after
        self.by_number: Final[dict[int, set[bytes]]] = {}
        rows = _kept_creations(reader, after)
        self.came_by_merges: Final = bool(rows)
        """True if merges since the entry have brought elements."""
        came = {(seq, number) for seq, number, _ in rows}
        own = (
            (number, one)
            for seq, number, one in _own_creations(reader, after)
            if (seq, number) not in came
        )
        for number, creation in chain(own, ((number, one) for _, number, one in rows)):
            self.by_number.setdefault(number, set()).add(creation)
        passed_on = self.by_number.pop(NO_ELEMENT, set())
        purged = {number for _, number in purged_after(reader, after)}
        doomed = (self.by_number.get(number, set()) for number in purged)
        self.purged: Final = passed_on.union(*doomed)
        """The creations of elements that were purged here, or in a copy that was merged."""

    def add_old(self, numbers: Iterable[int]) -> None:
        """Add the creations of elements that are older than the entry."""
        before = self._reader.at(State(self._after))
        for number, creations in creations_of(before, numbers).items():
            self.by_number.setdefault(number, set()).update(creations)

    def numbers(self, creations: Iterable[bytes]) -> set[int]:
        """The elements with one of these creations."""
        among = frozenset(creations)
        if not among:
            return set()
        return {number for number, own in self.by_number.items() if not own.isdisjoint(among)}

    def unknown_purges(self, other: Creations) -> set[bytes]:
        """The creations that are purged here and not in another copy.

        A creation that a merge has restored here does not count.
        """
        unknown = self.purged - other.purged
        alive = self._reader.elements(self.numbers(unknown)).keys()
        return unknown.difference(*(self.by_number[number] for number in alive))


def shared_creations(theirs: Creations, ours: Creations) -> Iterator[tuple[int, int]]:
    """Pairs of numbers, there and here, of elements that share a creation."""
    here: dict[bytes, list[int]] = {}
    for number, creations in ours.by_number.items():
        for creation in creations:
            here.setdefault(creation, []).append(number)
    for number, creations in sorted(theirs.by_number.items()):
        for other in sorted({other for creation in creations for other in here.get(creation, ())}):
            yield number, other


def creations_of(reader: Reader, numbers: Iterable[int]) -> Mapping[int, set[bytes]]:
    """The creations of elements by number. It reads the whole journal."""
    return {number: {one} for _, number, one in _own_creations(reader, 0, numbers)}


def _own_creations(
    reader: Reader, after: int, numbers: Iterable[int] | None = None
) -> Iterator[tuple[int, int, bytes]]:
    """Creations of elements that this copy made after an entry, with the end of the commit."""
    which = "" if numbers is None else " AND element IN (SELECT value FROM json_each(?3))"
    bindings = () if numbers is None else (json_array(numbers),)
    # A purge keeps the hash of a record, and nothing if there was no record.
    entries = reader.fetch_all(
        "SELECT seq, element FROM journal WHERE seq > ?1 AND seq <= ?2 AND before IS NULL"
        f" AND kind IN ({Kind.PUT_CONCEPT}, {Kind.ADD_EDGE}){which} ORDER BY seq",
        (after, reader.position, *bindings),
    )
    query = "SELECT seq, time, concepts_root, edges_root FROM tx WHERE seq > ? ORDER BY seq"
    commits = reader.fetch_all(query, (after,)) if entries else []
    ends = [seq for seq, _, _, _ in commits]
    for entry, number in entries:
        seq, time_us, *roots = commits[bisect_left(ends, entry)]
        head = b"%d %d %d " % (number, seq, time_us)
        yield seq, number, blake2b(head + b"".join(roots), digest_size=_SIZE).digest()


def _kept_creations(reader: Reader, after: int) -> list[tuple[int, int, bytes]]:
    """The creations that elements have in other copies, as merges after an entry have kept them."""
    if not merges.have_creations(reader.connection):
        return []
    query = "SELECT seq, number, creation FROM merge_creation WHERE seq > ? AND seq <= ?"
    return [*reader.fetch_all(query, (after, reader.position))]
