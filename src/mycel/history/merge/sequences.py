"""Compares three sequences: lines of a text, or items of a list.

The algorithm is that of diff3. Each side is compared with the base. Where an item of the base has a
match on both sides, the three are in step. The part between two such places is a region. If only
one side differs from the base in a region, that side is taken.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Final, NamedTuple

from mycel.model import allowance

WORK_MAX: Final = 2_000_000
"""The limit of one comparison: pairs of equal items, times the items of the shorter sequence.

Reaching it takes a fifth of a second.
"""


class Region(NamedTuple):
    """A part of three sequences that are in step at both of its ends."""

    base: tuple[str, ...]
    ours: tuple[str, ...]
    theirs: tuple[str, ...]

    @property
    def is_same(self) -> bool:
        """True if no side has changed it."""
        return self.base == self.ours == self.theirs

    @property
    def merged(self) -> tuple[str, ...] | None:
        """The merged items if one side alone changed the region, or both alike; otherwise None."""
        if self.theirs in (self.base, self.ours):
            return self.ours
        return self.theirs if self.ours == self.base else None


def regions(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> list[Region]:
    """The regions of three sequences, in order. Joined, each column gives one sequence.

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
        lines = base[start : end + 1]
        yield Region(lines, lines, lines)
        b, o, t = end + 1, in_ours[end] + 1, in_theirs[end] + 1
        index += 1
    rest = Region(base[b:], ours[o:], theirs[t:])
    if any(rest):
        yield rest


def _matches(base: tuple[str, ...], side: tuple[str, ...]) -> dict[int, int]:
    """For positions in the base, the matching position on one side.

    Equal items at both ends are matched first. The rest is compared item by item if that is not too
    much work. Otherwise, items that occur once on both sides divide it into smaller parts. If all
    items repeat, a large part stays unmatched, so a change in it is one region.
    """
    matches: dict[int, int] = {}
    work = 0
    waiting = [_Part(0, len(base), 0, len(side))]
    while waiting:
        allowance.check()
        part = _without_ends(base, side, waiting.pop(), matches)
        old, new = base[part.base : part.base_end], side[part.side : part.side_end]
        counts = Counter(new)
        pairs = sum(counts[line] for line in old)
        cost = pairs * min(len(old), len(new))
        if not pairs:
            continue
        if work + cost <= WORK_MAX:
            work += cost
            blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
            for a, b, size in blocks:
                matches |= {part.base + a + i: part.side + b + i for i in range(size)}
            continue
        anchors = _anchors(old, counts, new)
        matches |= {part.base + a: part.side + b for a, b in anchors}
        if anchors:
            waiting += part.divided(anchors)
    return matches


class _Part(NamedTuple):
    """A part of the base and a part of one side."""

    base: int
    base_end: int
    side: int
    side_end: int

    def divided(self, anchors: Sequence[tuple[int, int]]) -> Iterator[_Part]:
        """The parts between pairs of matched items."""
        at = self.base, self.side
        for a, b in anchors:
            yield _Part(at[0], self.base + a, at[1], self.side + b)
            at = self.base + a + 1, self.side + b + 1
        yield _Part(at[0], self.base_end, at[1], self.side_end)


def _without_ends(
    base: tuple[str, ...], side: tuple[str, ...], part: _Part, matches: dict[int, int]
) -> _Part:
    """A part without the equal items at its ends, which are added to the matched pairs."""
    low, high, start, end = part
    while low < high and start < end and base[low] == side[start]:
        matches[low] = start
        low, start = low + 1, start + 1
    while low < high and start < end and base[high - 1] == side[end - 1]:
        high, end = high - 1, end - 1
        matches[high] = end
    return _Part(low, high, start, end)


def _anchors(
    old: tuple[str, ...], counts: Mapping[str, int], new: tuple[str, ...]
) -> list[tuple[int, int]]:
    """The positions of the longest common sequence of items that occur once on both sides."""
    before = Counter(old)
    places = {line: at for at, line in enumerate(new) if counts[line] == before[line] == 1}
    ends: list[int] = []
    # Each entry: the positions in old and new, and the pair before it.
    rows: list[tuple[int, int, int]] = []
    last: list[int] = []
    for at, line in enumerate(old):
        new_place = places.get(line)
        if new_place is None:
            continue
        length = bisect_left(ends, new_place)
        rows.append((at, new_place, last[length - 1] if length else -1))
        ends[length : length + 1] = [new_place]
        last[length : length + 1] = [len(rows) - 1]
    anchors = []
    index = last[-1] if last else -1
    while index >= 0:
        at, new_place, index = rows[index]
        anchors.append((at, new_place))
    return anchors[::-1]
