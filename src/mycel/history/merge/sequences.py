"""Three-way comparison of sequences: lines of a text, or items of a list.

The algorithm is that of diff3. Each side is compared with the base. Where an item of the base is
matched on both sides, the three run in step; what lies between such runs is a region, and a region
in which only one side differs from the base is that side's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final, NamedTuple

PAIRS_MAX: Final = 1_000_000
"""The number of pairs of equal items that are compared; it takes half a second."""


class Region(NamedTuple):
    """A part of three sequences, in step with each other at both ends."""

    base: tuple[str, ...]
    ours: tuple[str, ...]
    theirs: tuple[str, ...]

    @property
    def is_same(self) -> bool:
        """True if nobody has changed it."""
        return self.base == self.ours == self.theirs

    @property
    def merged(self) -> tuple[str, ...] | None:
        """The items if one side alone has changed it, or both in the same way; otherwise None."""
        if self.theirs in (self.base, self.ours):
            return self.ours
        return self.theirs if self.ours == self.base else None


def regions(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> list[Region]:
    """The regions of three sequences, in order; joined, each column is one of the sequences.

    >>> [each.merged for each in regions("abc", "xbc", "abcy")]
    [('x',), ('b', 'c'), ('y',)]
    >>> [each.merged for each in regions("abc", "axc", "ayc")]
    [('a',), None, ('c',)]
    """
    return list(_regions(tuple(base), tuple(ours), tuple(theirs)))


def _regions(
    base: tuple[str, ...], ours: tuple[str, ...], theirs: tuple[str, ...]
) -> Iterator[Region]:
    in_ours, in_theirs = _matches(base, ours), _matches(base, theirs)
    stable = [at for at in range(len(base)) if at in in_ours and at in in_theirs]
    b = o = t = 0
    index = 0
    while index < len(stable):
        start = stable[index]
        before = Region(base[b:start], ours[o : in_ours[start]], theirs[t : in_theirs[start]])
        if any(before):
            yield before
        end = start
        while (
            index + 1 < len(stable)
            and stable[index + 1] == end + 1
            and in_ours[end + 1] == in_ours[end] + 1
            and in_theirs[end + 1] == in_theirs[end] + 1
        ):
            index, end = index + 1, end + 1
        same = base[start : end + 1]
        yield Region(same, same, same)
        b, o, t = end + 1, in_ours[end] + 1, in_theirs[end] + 1
        index += 1
    rest = Region(base[b:], ours[o:], theirs[t:])
    if any(rest):
        yield rest


def _matches(base: tuple[str, ...], side: tuple[str, ...]) -> dict[int, int]:
    """For positions of the base, the position on one side that they are matched with.

    Where too many items repeat, only those at both ends are matched, so a change between them is
    one region.
    """
    shorter = min(len(base), len(side))
    head = next((at for at in range(shorter) if base[at] != side[at]), shorter)
    left = shorter - head
    tail = next((at for at in range(left) if base[-1 - at] != side[-1 - at]), left)
    ends = len(base) - tail, len(side) - tail
    found = {at: at for at in range(head)}
    found |= dict(zip(range(ends[0], len(base)), range(ends[1], len(side)), strict=True))
    old, new = base[head : ends[0]], side[head : ends[1]]
    counts = Counter(new)
    if sum(counts[each] for each in old) > PAIRS_MAX:
        return found
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    return found | {head + a + i: head + b + i for a, b, size in blocks for i in range(size)}
