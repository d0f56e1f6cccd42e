"""Elements that two sides of a merge know as one by way of other copies of the graph.

Each merge keeps the numbers that elements have in its source and its target. Two copies that have
never met may still have the same element: both have it from a third one, or each from a copy that
has met the other's. So matches are followed from copy to copy, over any number of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

from mycel.model.state import State
from mycel.store.query.alignment import Alignment, Touched, touched
from mycel.store.query.lineage import lineage
from mycel.store.query.purges import purged_after
from mycel.store.query.reader import Reader


def align(reader: Reader, copy: Reader, seq: int) -> tuple[Alignment, Touched]:
    """A state of a third copy in the numbers of a side, and the elements that changed there.

    The numbers are those that merges up to the state of the copy's reader have kept.
    """
    related = lineage(reader, copy)
    since = touched(copy, related.shared, seq)
    return Alignment(reader, copy.at(State(seq)), related, since), since


class ThirdCopies:
    """The sides of a merge, and copies that were merged into one of them.

    Copies are named by their index: 0 is the target, 1 the source, the others follow.
    """

    def __init__(self, ours: Reader, theirs: Reader, others: Sequence[Reader]) -> None:
        self._copies: Final = ours, theirs, *others
        self._align: Final = cache(self._align_copies)

    def matches(self) -> Iterator[tuple[int, int]]:
        """The numbers in the source and in the target of elements that other copies know.

        What one copy knows comes before what only several together know.
        """
        chained = []
        for copy in range(2, len(self._copies)):
            here, there = (self._align(side, copy) for side in (0, 1))
            for number in sorted(here[1].numbers | there[1].numbers):
                one, other = there[0].number_at_first(number), here[0].number_at_first(number)
                if one is not None and other is not None:
                    yield one, other
                elif one is not None or other is not None:
                    known = self._numbers(copy, number)
                    if 0 in known and 1 in known:
                        chained.append((known[1], known[0]))
        yield from chained

    def purges(self, has: int, lacks: int) -> set[int]:
        """The elements of a side of which the other side has a purge that it has not.

        The numbers are those of the side that lacks the purge. The side that has it may never have
        had the element.
        """
        found = set()
        for copy in range(2, len(self._copies)):
            low, high = (self._last_common_entry(side, copy) for side in (lacks, has))
            for seq, number in purged_after(self._copies[copy], low):
                if seq <= high and (known := self._numbers(copy, number).get(lacks)) is not None:
                    found.add(known)
        return found

    def _last_common_entry(self, side: int, copy: int) -> int:
        """The entry of a copy up to which a side has everything."""
        return lineage(self._copies[side], self._copies[copy]).seen

    def _numbers(self, copy: int, number: int) -> dict[int, int]:
        """The numbers of an element of a copy in others that know it, until both sides are found.

        The shortest way counts: what two copies know of each other, before what a third one knows.
        """
        known = {copy: number}
        queue = [copy]
        for here in queue:
            if 0 in known and 1 in known:
                break
            for other in range(len(self._copies)):
                if other not in known:
                    there = self._align(other, here)[0].number_at_first(known[here])
                    if there is not None:
                        known[other] = there
                        queue.append(other)
        return known

    def _align_copies(self, reader: int, copy: int) -> tuple[Alignment, Touched]:
        other = self._copies[copy]
        return align(self._copies[reader], other, other.position)
