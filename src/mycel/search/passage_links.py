"""Ways between passages: along mentions, along links, and through shared mentions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mycel.search.index.corpus import Corpus, Floats, Positions

RARE_MAX: Final = 10
"""A phrase joins passages only if at most this many mention it, or have it as their name."""

MENTION: Final = 0
"""The predicate of a way along a mention, which is no link."""


class PassageLink(NamedTuple):
    """A link of the graph between two elements."""

    seed: int
    other: int
    predicate: int
    """The number of the predicate, which is never `MENTION`."""
    weight: float


class Ways(NamedTuple):
    """Ways from seeds to passages."""

    seed: Positions
    """The index of the seed."""
    place: Positions
    weight: Floats
    predicate: Positions

    def best(self, size: int, values: Floats | NDArray[np.bool_]) -> Floats:
        """For each of `size` passages, the best way to it, by weight times value."""
        best = np.zeros(size, np.float32)
        np.maximum.at(best, self.place, self.weight * values)
        return best

    def joined(self, other: Ways) -> Ways:
        """These ways together with others."""
        return Ways(
            np.concatenate((self.seed, other.seed)),
            np.concatenate((self.place, other.place)),
            np.concatenate((self.weight, other.weight)),
            np.concatenate((self.predicate, other.predicate)),
        )

    def with_loops(self, seeds: Positions, strength: Floats) -> Ways:
        """The ways with exactly one loop for each seed.

        So a passage that covers a question alone counts as much as two that cover it together.
        """
        keep = seeds[self.seed] != self.place
        loops = Ways(np.arange(len(seeds)), seeds, strength, np.zeros(len(seeds), np.int64))
        ways = Ways(self.seed[keep], self.place[keep], self.weight[keep], self.predicate[keep])
        return ways.joined(loops)


def no_ways() -> Ways:
    nothing = np.zeros(0, np.int64)
    return Ways(nothing, nothing, np.zeros(0, np.float32), nothing)


def ways_by_mentions(corpus: Corpus, seeds: Positions, strength: Floats) -> tuple[Ways, Ways]:
    """Ways to passages that seeds mention, and to passages that share a mention with a seed."""
    mentions = [corpus.mentions_of(seed) for seed in seeds.tolist()]
    owner = np.repeat(np.arange(len(seeds)), [len(mention) for mention in mentions])
    hashes = np.concatenate([np.zeros(0, np.uint32), *mentions])
    counts = corpus.mention_counts(hashes)
    weights = rarity(corpus, counts) * strength[owner]

    def ways(indexes: Positions, place: Positions) -> Ways:
        return Ways(owner[indexes], place, weights[indexes], np.zeros(len(indexes), np.int64))

    mention_of, place = corpus.called(hashes)
    few = np.bincount(mention_of, minlength=len(hashes))[mention_of] <= RARE_MAX
    rare = np.flatnonzero((counts > 1) & (counts <= RARE_MAX) & corpus.titled[seeds][owner])
    others, beside = corpus.mentioning(hashes[rare])
    return ways(mention_of[few], place[few]), ways(rare[others], beside)


def ways_by_links(
    corpus: Corpus, seeds: Positions, strength: Floats, links: Sequence[PassageLink]
) -> Ways:
    """Ways along links of the graph around the seeds."""
    if not links:
        return no_ways()
    index = {number: at for at, number in enumerate(corpus.numbers[seeds].tolist())}
    seed = np.array([index[link.seed] for link in links])
    place = corpus.places(np.array([link.other for link in links], np.int64))
    weight = np.array([link.weight for link in links], np.float32) * strength[seed]
    predicate = np.array([link.predicate for link in links], np.int64)
    keep = place >= 0
    return Ways(seed[keep], place[keep], weight[keep], predicate[keep])


def rarity(corpus: Corpus, counts: Positions) -> Floats:
    """From 0 to 1; the fewer passages mention a phrase, the greater."""
    share = np.log1p(corpus.count / np.maximum(counts, 1)) / np.log1p(corpus.count)
    rare: Floats = share.astype(np.float32)
    return rare
