"""All passages in memory, as arrays: what every question is compared with.

A `Segment` is a block of passages that never changes; a `Corpus` is a large one, a small one with
what changed since it was built, and a mark for each passage that is still in force. A change makes
a new corpus, so whoever is asking keeps the one it began with. For 100,000 passages it takes some
45 MB: word pieces stay in the tables.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from mycel.recall.blocks import Arrays, kept, packed
from mycel.recall.phrases import Hashes, PhraseSet, Vocabulary
from mycel.store.index.passages import PassageRow, block_of

Floats = NDArray[np.float32]
Positions = NDArray[np.int64]

TITLED: Final = 1
TIMED: Final = 2
"""The text speaks of a time: yesterday, in May."""
ASKS: Final = 4
"""The text ends with a question."""

TAIL_MAX: Final = 512
TAIL_SHARE: Final = 16
"""The small segment has at most `TAIL_MAX` passages, or one in so many."""

_NOWHERE: Final = -1
_SIDES: Final[tuple[Literal["left"], Literal["right"]]] = ("left", "right")


Rows = Sequence[tuple[PassageRow, bytes]]
"""Passages on their way into memory, with their vectors: one signed byte a dimension."""


class Mentions(NamedTuple):
    """The phrases that passages mention, each once for a passage, and their number for each."""

    hashes: Hashes
    counts: Positions


_NO_MENTIONS: Final = Mentions(np.zeros(0, np.uint32), np.zeros(0, np.int64))
_MENTIONS_TOGETHER: Final = 1000
"""The number of texts that are searched for phrases at once, which bounds the memory."""


def mentions_in(rows: Rows, dictionary: PhraseSet) -> Mentions:
    """Phrases of passages: their own, and those of a dictionary that their texts mention."""
    found = [_NO_MENTIONS]
    for at in range(0, len(rows), _MENTIONS_TOGETHER):
        block = [row for row, _ in rows[at : at + _MENTIONS_TOGETHER]]
        pairs = [
            dictionary.mentioned([np.frombuffer(row.pieces, "<u2") for row in block]),
            *(
                (np.repeat(np.arange(len(block)), counts), hashes)
                for hashes, counts in (
                    _unpacked([row.names for row in block]),
                    _unpacked([row.phrases for row in block]),
                )
            ),
        ]
        keys = np.unique(
            np.concatenate([(owners << 32) | hashes.astype(np.int64) for owners, hashes in pairs])
        )
        counts = np.bincount(keys >> 32, minlength=len(block))
        found.append(Mentions(keys.astype(np.uint32), counts))
    return Mentions(*(np.concatenate(each) for each in zip(*found, strict=True)))


class Interner:
    """Numbers for texts, such as the names of actors; one object for all states of a corpus."""

    def __init__(self) -> None:
        self.numbers: Final[dict[str, int]] = {}

    def number(self, text: str | None) -> int:
        """The number of a text."""
        return _NOWHERE if text is None else self.numbers.setdefault(text, len(self.numbers))


class Shared(NamedTuple):
    """Data that all states of a corpus share."""

    vocabulary: Vocabulary
    dimensions: int
    """Of the vectors."""
    actors: Interner
    episodes: Interner


class Segment:
    """A block of passages; arrays have one item for each."""

    def __init__(self, arrays: dict[str, NDArray[Any]]) -> None:
        self.arrays: Final = arrays
        self.numbers: Positions = arrays["numbers"]
        self.vectors: NDArray[np.int8] = arrays["vectors"]
        self.lengths: Final = _lengths(self.vectors)
        self._mentions: Hashes = arrays["mentions"]
        self._counts: Positions = arrays["mention_counts"]
        self._starts: Final = np.concatenate(([0], np.cumsum(self._counts)))
        self.mentioned: Final = Inverse(
            self._mentions, np.repeat(np.arange(len(self)), self._counts)
        )
        self.named: Final = Inverse(
            arrays["names"], np.repeat(np.arange(len(self)), arrays["name_counts"])
        )

    def __len__(self) -> int:
        return len(self.numbers)

    @classmethod
    def of(cls, passages: Rows, mentions: Mentions, shared: Shared) -> Self:
        """A segment of these passages."""
        rows = [row for row, _ in passages]
        names, name_counts = _unpacked([row.names for row in rows])
        vectors = np.frombuffer(b"".join(vector for _, vector in passages), np.int8)
        return cls(
            {
                "numbers": np.array([row.element for row in rows], np.int64),
                "vectors": vectors.reshape(len(rows), shared.dimensions),
                "types": np.array([row.type for row in rows], np.int32),
                "flags": np.array([row.flags for row in rows], np.uint8),
                "dates": np.array([row.date for row in rows], np.int32),
                "actors": np.array([shared.actors.number(row.actor) for row in rows], np.int32),
                "episodes": np.array(
                    [shared.episodes.number(row.episode) for row in rows], np.int32
                ),
                "positions": np.array(
                    [np.inf if row.position is None else row.position for row in rows], np.float64
                ),
                "names": names,
                "name_counts": name_counts,
                "mentions": mentions.hashes,
                "mention_counts": mentions.counts,
            }
        )

    def mentions_of(self, at: int) -> Hashes:
        """The phrases that a passage mentions."""
        return self._mentions[self._starts[at] : self._starts[at + 1]]


class Inverse:
    """From hashes to the passages that have them."""

    def __init__(self, hashes: Hashes, items: Positions) -> None:
        # Sorting keys is several times faster than finding the order of hashes.
        keys = np.sort(hashes.astype(np.uint64) << np.uint64(32) | items.astype(np.uint64))
        self.hashes: Final = (keys >> np.uint64(32)).astype(np.uint32)
        self.items: Final = keys.astype(np.uint32).astype(np.int32)

    def counts(self, hashes: Hashes) -> Positions:
        """The number of passages that have each."""
        low, high = self._ranges(hashes)
        return high - low

    def of(self, hashes: Hashes) -> tuple[Positions, Positions]:
        """Passages that have one of these hashes: which hash, and where the passage is."""
        low, high = self._ranges(hashes)
        counts = high - low
        which = np.repeat(np.arange(len(hashes)), counts)
        steps = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
        return which, self.items[np.repeat(low, counts) + steps].astype(np.int64)

    def _ranges(self, hashes: Hashes) -> tuple[Positions, Positions]:
        low, high = (np.searchsorted(self.hashes, hashes, side) for side in _SIDES)
        return low, high


class Corpus:
    """All passages after one entry of the journal."""

    def __init__(
        self,
        seq: int,
        base: Segment,
        tail: Segment,
        alive: NDArray[np.bool_],
        dictionary: Hashes,
        shared: Shared,
    ) -> None:
        self.seq: Final = seq
        self.base: Final = base
        self.tail: Final = tail
        self.alive: Final = alive
        self.dictionary: Final = dictionary
        """The phrases that are looked for in texts: names, and phrases of several passages."""
        self._shared: Final = shared
        self.numbers: Positions = self._both("numbers")
        self.types: NDArray[np.int32] = self._both("types")
        self.flags: NDArray[np.uint8] = self._both("flags")
        self.dates: NDArray[np.int32] = self._both("dates")
        self.actors: NDArray[np.int32] = self._both("actors")
        self.episodes: NDArray[np.int32] = self._both("episodes")
        self._order: Final = np.argsort(self.numbers, kind="stable")
        self._sorted: Final = self.numbers[self._order]
        self._dead_mentions: Final = np.sort(
            np.concatenate(
                (
                    kept(base.arrays, ~alive[: len(base)])["mentions"],
                    kept(tail.arrays, ~alive[len(base) :])["mentions"],
                )
            )
        )
        self.previous, self.next = self._neighbours()
        self.has_episodes: Final = bool((self.episodes >= 0).any())
        self.titled: Final = (self.flags & TITLED).astype(bool)

    @classmethod
    def of(cls, seq: int, rows: Rows, dictionary: PhraseSet, shared: Shared) -> Self:
        """A corpus of all passages."""
        base = Segment.of(rows, mentions_in(rows, dictionary), shared)
        tail = Segment.of((), _NO_MENTIONS, shared)
        return cls(seq, base, tail, np.ones(len(base), bool), dictionary.hashes, shared)

    @classmethod
    def stored(cls, seq: int, arrays: Arrays, dictionary: Hashes, shared: Shared) -> Self:
        """A corpus of arrays that were stored (`blocks`), with their vectors."""
        base, tail = Segment(arrays), Segment.of((), _NO_MENTIONS, shared)
        return cls(seq, base, tail, np.ones(len(base), bool), dictionary, shared)

    def blocks(self, wanted: Collection[int] | None) -> dict[int, bytes]:
        """Blocks to store (`blocks`): those with these numbers, or all."""
        texts = (list(self._shared.actors.numbers), list(self._shared.episodes.numbers))
        block = np.where(self.alive, block_of(self.numbers), _NOWHERE)
        present = set(np.unique(block[self.alive]).tolist())
        split = len(self.base)
        arrays = [
            {key: value for key, value in each.arrays.items() if key != "vectors"}
            for each in (self.base, self.tail)
        ]
        found = {}
        for number in present if wanted is None else present & set(wanted):
            keep = block == number
            parts = (kept(arrays[0], keep[:split]), kept(arrays[1], keep[split:]))
            found[number] = packed(
                {key: np.concatenate([e[key] for e in parts]) for key in parts[0]}, texts
            )
        return found

    def __len__(self) -> int:
        return len(self.numbers)

    @cached_property
    def count(self) -> int:
        """The number of passages in force."""
        return int(self.alive.sum())

    @cached_property
    def names(self) -> PhraseSet:
        """The names of all concepts, to be looked for in a question."""
        hashes = np.concatenate((self.base.arrays["names"], self.tail.arrays["names"]))
        return PhraseSet(self._shared.vocabulary, hashes)

    @property
    def actor_names(self) -> dict[str, int]:
        """The numbers of actors by their names."""
        return self._shared.actors.numbers

    def changed(self, seq: int, rows: Rows, gone: Collection[int], dictionary: PhraseSet) -> Self:
        """The corpus after some passages are new or changed, and others are gone."""
        alive = self.alive.copy()
        alive[self.where([*(row.element for row, _ in rows), *gone])] = False
        fresh = Segment.of(rows, mentions_in(rows, dictionary), self._shared)
        split = len(self.base)
        tail = _merged((self.tail, alive[split:]), (fresh, np.ones(len(fresh), bool)))
        base, alive = self.base, np.append(alive[:split], np.ones(len(tail), bool))
        if len(tail) > max(TAIL_MAX, split // TAIL_SHARE):
            base = _merged((base, alive[:split]), (tail, alive[split:]))
            tail, alive = Segment.of((), _NO_MENTIONS, self._shared), np.ones(len(base), bool)
        return type(self)(seq, base, tail, alive, dictionary.hashes, self._shared)

    def where(self, numbers: Iterable[int]) -> Positions:
        """The positions of all passages of elements, superseded ones included."""
        wanted = np.fromiter(numbers, np.int64)
        low = np.searchsorted(self._sorted, wanted, "left")
        high = np.searchsorted(self._sorted, wanted, "right")
        found = [self._order[a:b] for a, b in zip(low, high, strict=True) if a < b]
        return np.concatenate(found) if found else np.zeros(0, np.int64)

    def places(self, numbers: Positions) -> Positions:
        """The position of the current passage of each element; -1 if it has none."""
        if not len(self._sorted):
            return np.full(len(numbers), _NOWHERE)
        # Of an element with several, the one in force is the last.
        last = np.maximum(np.searchsorted(self._sorted, numbers, "right") - 1, 0)
        places = self._order[last]
        return np.where((self._sorted[last] == numbers) & self.alive[places], places, _NOWHERE)

    def similarities(self, vector: Floats) -> Floats:
        """The cosine of every passage with a vector."""
        return np.concatenate([_cosines(each, vector) for each in (self.base, self.tail)])

    def mentions_of(self, at: int) -> Hashes:
        """The phrases that a passage mentions."""
        split = len(self.base)
        return self.base.mentions_of(at) if at < split else self.tail.mentions_of(at - split)

    def mention_counts(self, hashes: Hashes) -> Positions:
        """The number of passages that mention each phrase."""
        low, high = (np.searchsorted(self._dead_mentions, hashes, side) for side in _SIDES)
        all_ = self.base.mentioned.counts(hashes) + self.tail.mentioned.counts(hashes)
        return all_ - (high - low)

    def mentioning(self, hashes: Hashes) -> tuple[Positions, Positions]:
        """Passages that mention one of these phrases: which phrase, and where the passage is."""
        return self._inverse("mentioned", hashes)

    def called(self, hashes: Hashes) -> tuple[Positions, Positions]:
        """Passages of what one of these phrases is a name of."""
        return self._inverse("named", hashes)

    def beside(self, values: Floats) -> tuple[Floats, Floats]:
        """Values of the previous and of the next passage of an episode, 0 where there is none."""
        return (
            np.where(self.previous >= 0, values[..., self.previous], 0),
            np.where(self.next >= 0, values[..., self.next], 0),
        )

    def _inverse(self, which: str, hashes: Hashes) -> tuple[Positions, Positions]:
        of_base = getattr(self.base, which).of(hashes)
        of_tail = getattr(self.tail, which).of(hashes)
        phrase = np.concatenate((of_base[0], of_tail[0]))
        place = np.concatenate((of_base[1], of_tail[1] + len(self.base)))
        keep = self.alive[place]
        return phrase[keep], place[keep]

    def _both(self, key: str) -> Any:
        return np.concatenate((self.base.arrays[key], self.tail.arrays[key]))

    def _neighbours(self) -> tuple[Positions, Positions]:
        """The passages before and after each in its episode, by position, then by age."""
        previous = np.full(len(self), _NOWHERE)
        following = previous.copy()
        among = np.flatnonzero(self.alive & (self.episodes >= 0))
        if len(among):
            keys = (self.numbers[among], self._both("positions")[among], self.episodes[among])
            among = among[np.lexsort(keys)]
            same = self.episodes[among[1:]] == self.episodes[among[:-1]]
            previous[among[1:][same]] = among[:-1][same]
            following[among[:-1][same]] = among[1:][same]
        return previous, following


def _cosines(segment: Segment, vector: Floats) -> Floats:
    """Cosines block by block, so that the vectors are never all in floating point at once.

    einsum rather than BLAS, whose threads cost more than they gain at this size.
    """
    block = 4096
    found = [
        np.einsum("ij,j->i", segment.vectors[at : at + block].astype(np.float32), vector)
        for at in range(0, len(segment), block)
    ]
    cosines: Floats = np.concatenate([np.zeros(0, np.float32), *found])
    cosines /= segment.lengths
    return cosines


def _lengths(vectors: NDArray[np.int8]) -> Floats:
    """The lengths of vectors, block by block; at least 1e-9."""
    block = 4096
    squares = [
        np.einsum("ij,ij->i", *[vectors[at : at + block].astype(np.float32)] * 2)
        for at in range(0, len(vectors), block)
    ]
    lengths: Floats = np.sqrt(np.concatenate([np.zeros(0, np.float32), *squares]))
    return np.maximum(lengths, np.float32(1e-9))


def _merged(*parts: tuple[Segment, NDArray[np.bool_]]) -> Segment:
    arrays = [kept(segment.arrays, keep) for segment, keep in parts]
    return Segment({key: np.concatenate([each[key] for each in arrays]) for key in arrays[0]})


def _unpacked(packed: Sequence[bytes]) -> tuple[Hashes, Positions]:
    """The hashes of passages in a row, and their number for each."""
    counts = np.array([len(each) // 4 for each in packed], np.int64)
    return np.frombuffer(b"".join(packed), "<u4"), counts
