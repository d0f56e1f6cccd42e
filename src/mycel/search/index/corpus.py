"""All passages in memory, as arrays, with which every question is compared.

A `PassageSegment` is a block of passages that never changes. A `Corpus` has a large segment, a
small one with later changes, and a mark for each passage that is still current. A change makes a
new corpus, so a running search keeps the corpus it began with. For 100,000 passages it takes some
30 MB: word pieces stay in the tables.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cached_property
from typing import Any, Final, Literal, Self

import numpy as np
from numpy.typing import NDArray

from mycel.search.index.blocks import Arrays, packed, select_arrays
from mycel.search.index.passage_columns import ITEMS, NOWHERE, PassageColumns, PassageEntry, Shared
from mycel.search.index.phrases import Hashes, PhraseSet
from mycel.store.index.passages import block_of

Floats = NDArray[np.float32]
Positions = NDArray[np.int64]
Counts = NDArray[np.uint32]

TITLED: Final = 1
TIMED: Final = 2
"""A flag of passages whose text names a time: yesterday, in May."""
ASKS: Final = 4
"""A flag of passages whose text ends with a question."""
CODE: Final = 8
"""A flag of passages of the kind code (`search.kinds`)."""
READ: Final = 16
"""A flag of documents and their sections, which a bootstrap read."""

TAIL_MAX: Final = 512
TAIL_SHARE: Final = 16
"""The small segment has up to `TAIL_MAX` passages, or a sixteenth of the other passages if that
is more."""

BLOCK_ITEMS: Final = 1 << 16
"""The number of items of the vectors whose cosines are computed together."""

_SIDES: Final[tuple[Literal["left"], Literal["right"]]] = ("left", "right")
_MENTIONS_TOGETHER: Final = 1000
"""The number of texts that are searched for phrases at once; it bounds the memory."""


def mentions_in(columns: PassageColumns, dictionary: PhraseSet) -> tuple[Hashes, Counts]:
    """The phrases of passages: their own, and those of a dictionary that their texts mention.

    Returns the hashes of the phrases, passage by passage and without repetition within a passage,
    and how many of them each passage has.
    """
    phrases, counted = [np.zeros(0, np.uint32)], [np.zeros(0, np.uint32)]
    for start in range(0, len(columns), _MENTIONS_TOGETHER):
        stop = min(start + _MENTIONS_TOGETHER, len(columns))
        pairs = [dictionary.mentioned(*columns.lists("pieces", start, stop))]
        for key in ("names", "phrases"):
            hashes, counts = columns.lists(key, start, stop)
            pairs.append((np.repeat(np.arange(len(counts)), counts), hashes))
        keys = np.unique(
            np.concatenate([(owners << 32) | hashes.astype(np.int64) for owners, hashes in pairs])
        )
        phrases.append(keys.astype(np.uint32))
        counted.append(np.bincount(keys >> 32, minlength=stop - start).astype(np.uint32))
    return np.concatenate(phrases), np.concatenate(counted)


class PassageSegment:
    """A block of passages; arrays have one item for each."""

    def __init__(self, arrays: dict[str, NDArray[Any]]) -> None:
        self.arrays: Final = arrays
        self.numbers: Positions = arrays["numbers"]
        self.vectors: NDArray[np.int8] = arrays["vectors"]
        self.lengths: Final = _lengths(self.vectors)
        self._mentions: Hashes = arrays["mentions"]
        self._ends: Final = np.cumsum(arrays["mention_counts"], dtype=np.uint32)
        self.mentioned: Final = InvertedIndex(self._mentions, arrays["mention_counts"])
        self.named: Final = InvertedIndex(arrays["names"], arrays["name_counts"])

    def __len__(self) -> int:
        return len(self.numbers)

    @classmethod
    def of(cls, columns: PassageColumns, dictionary: PhraseSet) -> Self:
        """A segment of these passages."""
        arrays: Arrays = {key: columns.items(key) for key in ITEMS}
        arrays["names"], arrays["name_counts"] = columns.lists("names")
        arrays["mentions"], arrays["mention_counts"] = mentions_in(columns, dictionary)
        return cls(arrays | {"vectors": columns.vectors})

    def none(self) -> Self:
        """A segment without passages."""
        return type(self)(select_arrays(self.arrays, np.zeros(len(self), bool)))

    def mentions_of(self, at: int) -> Hashes:
        """The phrases that a passage mentions."""
        return self._mentions[self._ends[at - 1] if at else 0 : self._ends[at]]


class InvertedIndex:
    """An index from hashes to the passages that have them."""

    def __init__(self, hashes: Hashes, counts: Counts) -> None:
        """Take the hashes of all passages in a row, and their number for each."""
        # Sorting combined keys is several times faster than an argsort of hashes.
        keys = hashes.astype(np.uint64)
        keys <<= np.uint64(32)
        keys |= np.repeat(np.arange(len(counts), dtype=np.uint64), counts)
        keys.sort()
        self.items: Final = keys.astype(np.uint32)
        keys >>= np.uint64(32)
        self.hashes: Final = keys.astype(np.uint32)

    def counts(self, hashes: Hashes) -> Positions:
        """The number of passages that have each hash."""
        low, high = self._ranges(hashes)
        return high - low

    def of(self, hashes: Hashes) -> tuple[Positions, Positions]:
        """Pairs of a hash among these and a passage that has it, as two arrays."""
        low, high = self._ranges(hashes)
        counts = high - low
        indexes = np.repeat(np.arange(len(hashes)), counts)
        steps = np.arange(len(indexes)) - np.repeat(np.cumsum(counts) - counts, counts)
        return indexes, self.items[np.repeat(low, counts) + steps].astype(np.int64)

    def _ranges(self, hashes: Hashes) -> tuple[Positions, Positions]:
        low, high = (np.searchsorted(self.hashes, hashes, side) for side in _SIDES)
        return low, high


class Corpus:
    """All passages in the state after one journal entry."""

    def __init__(
        self,
        seq: int,
        base: PassageSegment,
        tail: PassageSegment,
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
        self.numbers: Positions = self._joined_arrays("numbers")
        self.types: NDArray[np.int32] = self._joined_arrays("types")
        self.flags: NDArray[np.uint8] = self._joined_arrays("flags")
        self.dates: NDArray[np.int32] = self._joined_arrays("dates")
        self.actors: NDArray[np.int32] = self._joined_arrays("actors")
        self.episodes: NDArray[np.int32] = self._joined_arrays("episodes")
        self._order: Final = np.argsort(self.numbers, kind="stable")
        self._sorted: Final = self.numbers[self._order]
        is_dead = np.repeat(~alive, self._joined_arrays("mention_counts"))
        self._dead_mentions: Final = np.sort(self._joined_arrays("mentions")[is_dead])
        self.has_episodes: Final = bool((self.episodes >= 0).any())
        self.previous, self.next = self._neighbours()
        self.titled: Final = (self.flags & TITLED).astype(bool)
        self.is_code: Final = (self.flags & CODE).astype(bool)
        self.kinds: Final = (~self.is_code, self.is_code)
        """The passages of each kind: notes, and code."""

    @classmethod
    def of(cls, seq: int, columns: PassageColumns, dictionary: PhraseSet) -> Self:
        return cls._of(
            seq, PassageSegment.of(columns, dictionary), dictionary.hashes, columns.shared
        )

    @classmethod
    def stored(cls, seq: int, arrays: Arrays, dictionary: Hashes, shared: Shared) -> Self:
        """A corpus from stored arrays (`blocks`) and their vectors."""
        return cls._of(seq, PassageSegment(arrays), dictionary, shared)

    @classmethod
    def _of(cls, seq: int, base: PassageSegment, dictionary: Hashes, shared: Shared) -> Self:
        return cls(seq, base, base.none(), np.ones(len(base), bool), dictionary, shared)

    def blocks(self, numbers: Collection[int] | None) -> dict[int, bytes]:
        """The blocks to store (`blocks`): those with these numbers, or all."""
        texts = (list(self._shared.actors.numbers), list(self._shared.episodes.numbers))
        block = np.where(self.alive, block_of(self.numbers), NOWHERE)
        present = set(np.unique(block[self.alive]).tolist())
        split = len(self.base)
        arrays = [
            {key: value for key, value in passage_segment.arrays.items() if key != "vectors"}
            for passage_segment in (self.base, self.tail)
        ]
        blobs = {}
        for number in present if numbers is None else present & set(numbers):
            keep = block == number
            parts = (select_arrays(arrays[0], keep[:split]), select_arrays(arrays[1], keep[split:]))
            blobs[number] = packed(
                {key: np.concatenate([e[key] for e in parts]) for key in parts[0]}, texts
            )
        return blobs

    def __len__(self) -> int:
        return len(self.numbers)

    @cached_property
    def count(self) -> int:
        """The number of current passages."""
        return int(self.alive.sum())

    @cached_property
    def read_count(self) -> int:
        """The number of documents and their sections that a bootstrap read."""
        return int((self.alive & ((self.flags & READ) > 0)).sum())

    @cached_property
    def written_count(self) -> int:
        """The number of notes that somebody wrote."""
        return int((self.alive & ((self.flags & (READ | CODE)) == 0)).sum())

    def note_elements(self) -> list[int]:
        """The elements of notes that somebody wrote, without turns of episodes.

        Notes without a meaningful word, such as a single letter, are left out as well.
        """
        return self._with_flags(TITLED)

    def sections(self) -> list[int]:
        """The elements of documents and their sections that a bootstrap read."""
        return self._with_flags(TITLED | READ)

    def _with_flags(self, flags: int) -> list[int]:
        fits = self.alive & ((self.flags & (READ | CODE | TITLED)) == flags)
        fits &= np.concatenate((self.base.lengths, self.tail.lengths)) >= 1
        numbers: list[int] = self.numbers[fits].tolist()
        return numbers

    @cached_property
    def names(self) -> PhraseSet:
        """The names of all concepts, to be looked for in a question."""
        hashes = np.concatenate((self.base.arrays["names"], self.tail.arrays["names"]))
        return PhraseSet(self._shared.vocabulary, hashes)

    @property
    def actor_names(self) -> dict[str, int]:
        """The numbers of actors by their names."""
        return self._shared.actors.numbers

    def changed(
        self, seq: int, rows: Iterable[PassageEntry], removals: Iterable[int], dictionary: PhraseSet
    ) -> Self:
        """The corpus after some passages were added or changed, and others removed."""
        segment = PassageSegment.of(PassageColumns(self._shared, rows), dictionary)
        alive = self.alive.copy()
        alive[self.where([*segment.numbers.tolist(), *removals])] = False
        split = len(self.base)
        tail = _merged((self.tail, alive[split:]), (segment, np.ones(len(segment), bool)))
        base, alive = self.base, np.append(alive[:split], np.ones(len(tail), bool))
        if len(tail) > max(TAIL_MAX, split // TAIL_SHARE):
            base = _merged((base, alive[:split]), (tail, alive[split:]))
            tail, alive = base.none(), np.ones(len(base), bool)
        return type(self)(seq, base, tail, alive, dictionary.hashes, self._shared)

    def where(self, numbers: Iterable[int]) -> Positions:
        """The positions of all passages of elements, superseded ones included."""
        targets = np.fromiter(numbers, np.int64)
        low = np.searchsorted(self._sorted, targets, "left")
        high = np.searchsorted(self._sorted, targets, "right")
        ranges = [self._order[a:b] for a, b in zip(low, high, strict=True) if a < b]
        return np.concatenate(ranges) if ranges else np.zeros(0, np.int64)

    def places(self, numbers: Positions) -> Positions:
        """The position of the current passage of each element; -1 if it has none."""
        if not len(self._sorted):
            return np.full(len(numbers), NOWHERE)
        # If an element has several passages, the last one is current.
        last = np.maximum(np.searchsorted(self._sorted, numbers, "right") - 1, 0)
        places = self._order[last]
        return np.where((self._sorted[last] == numbers) & self.alive[places], places, NOWHERE)

    def mask(self, places: Positions) -> NDArray[np.bool_]:
        """True for each passage at one of these places; much faster than `np.isin`."""
        mask = np.zeros(len(self), bool)
        mask[places] = True
        return mask

    def similarities(self, vector: Floats) -> Floats:
        """The cosine of every passage with a vector."""
        return np.concatenate(
            [_cosines(passage_segment, vector) for passage_segment in (self.base, self.tail)]
        )

    def mentions_of(self, at: int) -> Hashes:
        """The phrases that a passage mentions."""
        split = len(self.base)
        return self.base.mentions_of(at) if at < split else self.tail.mentions_of(at - split)

    def mention_counts(self, hashes: Hashes) -> Positions:
        """The number of passages that mention each phrase."""
        counts = self.base.mentioned.counts(hashes)
        if len(self.tail):
            counts += self.tail.mentioned.counts(hashes)
        if len(self._dead_mentions):
            low, high = (np.searchsorted(self._dead_mentions, hashes, side) for side in _SIDES)
            counts -= high - low
        return counts

    def mentioning(self, hashes: Hashes) -> tuple[Positions, Positions]:
        """Pairs of a phrase among these and a passage that mentions it, as two arrays."""
        return self._inverse("mentioned", hashes)

    def called(self, hashes: Hashes) -> tuple[Positions, Positions]:
        """Passages of concepts that have one of these phrases as a name."""
        return self._inverse("named", hashes)

    def beside(self, values: Floats) -> tuple[Floats, Floats]:
        """The values of the previous and the next passage in an episode; 0 if there is none."""
        return (
            np.where(self.previous >= 0, values[..., self.previous], 0),
            np.where(self.next >= 0, values[..., self.next], 0),
        )

    def _inverse(self, field: str, hashes: Hashes) -> tuple[Positions, Positions]:
        phrase, place = getattr(self.base, field).of(hashes)
        if len(self.tail):
            phrases, places = getattr(self.tail, field).of(hashes)
            phrase = np.concatenate((phrase, phrases))
            place = np.concatenate((place, places + len(self.base)))
        keep = self.alive[place]
        return phrase[keep], place[keep]

    def _joined_arrays(self, key: str) -> Any:
        if not len(self.tail):
            return self.base.arrays[key]
        return np.concatenate((self.base.arrays[key], self.tail.arrays[key]))

    def _neighbours(self) -> tuple[Positions, Positions]:
        """The passages before and after each one in its episode, by position, then by age.

        Empty if there are no episodes.
        """
        previous = np.full(len(self) if self.has_episodes else 0, NOWHERE)
        following = previous.copy()
        among = np.flatnonzero(self.alive & (self.episodes >= 0))
        if len(among):
            keys = (
                self.numbers[among],
                self._joined_arrays("positions")[among],
                self.episodes[among],
            )
            among = among[np.lexsort(keys)]
            is_same = self.episodes[among[1:]] == self.episodes[among[:-1]]
            previous[among[1:][is_same]] = among[:-1][is_same]
            following[among[:-1][is_same]] = among[1:][is_same]
        return previous, following


def _cosines(segment: PassageSegment, vector: Floats) -> Floats:
    """Cosines block by block, so that the vectors are never all in floating point at once.

    A block fits the nearest cache, and is too small for BLAS to start threads, which would cost
    more than they gain. Some kernels of BLAS raise the flag of an invalid value for finite numbers.
    """
    vectors, count = segment.vectors, len(segment)
    height = max(1, BLOCK_ITEMS // max(len(vector), 1))
    block = np.empty((height, len(vector)), np.float32)
    cosines = np.empty(count, np.float32)
    with np.errstate(invalid="ignore"):
        for at in range(0, count, height):
            rows = block[: min(height, count - at)]
            rows[...] = vectors[at : at + height]
            np.dot(rows, vector, out=cosines[at : at + height])
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


def _merged(*parts: tuple[PassageSegment, NDArray[np.bool_]]) -> PassageSegment:
    arrays = [select_arrays(segment.arrays, keep) for segment, keep in parts]
    return PassageSegment(
        {key: np.concatenate([array[key] for array in arrays]) for key in arrays[0]}
    )
