"""The graphs that are measured: as large as asked for, and the same on every machine.

Degrees follow a power law on both ends. The node of rank r has about r**-0.75 of the links, both
leaving and, with an order of its own, arriving: most nodes have two to five, the first has one
hundredth of all. That has a closed form both ways, so nothing is kept in memory per node: sources
come one after the other, each with a set of its own links against duplicates.

Ten links per node at every size, so a typical node looks the same in each of them, and what grows
from one to the next is the database.
"""

from __future__ import annotations

import random
from bisect import bisect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import gcd
from typing import Any, Final, NamedTuple

SEED: Final = 20_240_229

NODES: Final = {"10k": 10_000, "100k": 100_000, "1m": 1_000_000}
LINKS_PER_NODE: Final = 10

TYPES: Final = (
    "Scholar", "Meeting", "Topic", "Document", "Place",
    "Project", "Decision", "Habit", "Tool", "Organization",
)  # fmt: skip
PREDICATES: Final = (
    "touches_on", "knows", "works_on", "located_in", "depends_on", "happened_before",
    "favours", "decided", "authored", "member_of", "uses", "disagrees_with",
)  # fmt: skip
"""None of these is defined by the core capsules, which say what may be linked to what."""

WORDS: Final = 4000
_SYLLABLES: Final = (
    "ka", "re", "mi", "to", "sun", "bel", "dor", "an", "vi", "lo",
    "gra", "pen", "ti", "ser", "um", "cho", "fal", "ne", "bri", "wo",
)  # fmt: skip

_POWER: Final = 4
"""Shares are differences of x**(1/_POWER): the exponent of the ranks is 1/_POWER - 1 = -0.75."""

# Multiplying by a prime modulo the number of nodes puts them in an order that looks like none.
_STRIDE_SOURCE, _STRIDE_OUT, _STRIDE_IN = 7_368_787, 2_750_159, 5_800_079


class Node(NamedTuple):
    """A concept to be."""

    type: str
    name: str
    attributes: dict[str, Any]
    metadata: dict[str, Any]


class Link(NamedTuple):
    """A proposition to be; its ends are places in the sequence of nodes."""

    subject: int
    predicate: str
    object: int
    attributes: dict[str, Any]


@dataclass(frozen=True)
class Graph:
    """A graph of a given size. Every iteration over it gives the same nodes and links."""

    node_count: int
    link_count: int
    seed: int = SEED

    def __post_init__(self) -> None:
        strides = (_STRIDE_SOURCE, _STRIDE_OUT, _STRIDE_IN)
        if self.node_count < 2 or any(gcd(each, self.node_count) != 1 for each in strides):
            raise ValueError(f"A graph cannot have {self.node_count} nodes.")
        if self.link_count > self.node_count * self.node_count // 2:
            raise ValueError(f"{self.link_count} links are too many for {self.node_count} nodes.")

    def nodes(self) -> Iterator[Node]:
        """All nodes, in order."""
        rng, words = random.Random(f"{self.seed} nodes"), vocabulary()
        draw, pick_type = rng.random, _Weighted(TYPES)
        for at in range(self.node_count):
            yield Node(
                pick_type(draw()),
                f"{_word(words, draw)} {_word(words, draw)} {at}",
                {
                    "description": " ".join([_word(words, draw) for _ in range(8)]),
                    "importance": round(draw(), 4),
                    "year": 1950 + int(75 * draw()),
                    "views": int(1 / (draw() + 1e-6)),
                    "tags": [_word(words, draw) for _ in range(1 + int(4 * draw()))],
                },
                {"source": f"session-{int(500 * draw())}", "confidence": round(draw(), 2)},
            )

    def links(self) -> Iterator[Link]:
        """All links, source by source; no two are alike, and none leads back to its source."""
        rng, words = random.Random(f"{self.seed} links"), vocabulary()
        draw, pick_predicate, count = rng.random, _Weighted(PREDICATES), self.node_count
        spread = self._spread
        for at in range(count):
            source = at * _STRIDE_SOURCE % count
            degree, seen = self._out_degree(source), set[tuple[int, str]]()
            while len(seen) < degree:
                rank = int((draw() * spread + 1) ** _POWER) - 1
                end = rank * _STRIDE_IN % count, pick_predicate(draw())
                if end in seen or end[0] == source:
                    continue
                seen.add(end)
                note = f"{_word(words, draw)} {_word(words, draw)}"
                attributes = {"strength": round(draw(), 3), "note": note}
                yield Link(source, end[1], end[0], attributes)

    @cached_property
    def _spread(self) -> float:
        return (self.node_count + 1) ** (1 / _POWER) - 1

    def _out_degree(self, node: int) -> int:
        """How many links leave a node: its share of the whole, so that the sum is exact."""
        rank = node * _STRIDE_OUT % self.node_count
        return self._links_before(rank + 1) - self._links_before(rank)

    def _links_before(self, rank: int) -> int:
        """How many links leave the nodes of lower rank."""
        if rank == self.node_count:
            return self.link_count
        return int(self.link_count * ((rank + 1) ** (1 / _POWER) - 1) / self._spread)


def graph_of(size: str) -> Graph:
    """The graph of a named size."""
    return Graph(NODES[size], NODES[size] * LINKS_PER_NODE)


def vocabulary() -> list[str]:
    """A few thousand words, the frequent ones first."""
    rng = random.Random(f"{SEED} words")
    words: dict[str, None] = {}
    while len(words) < WORDS:
        words["".join(rng.choices(_SYLLABLES, k=rng.randint(2, 4)))] = None
    return list(words)


def _word(words: Sequence[str], draw: Callable[[], float]) -> str:
    """A word as text uses them: the first is one in twelve, the first sixty are half."""
    return words[int(len(words) ** draw()) - 1]


class _Weighted:
    """Picks by a number between 0 and 1; the n-th choice is 1/n as likely as the first."""

    def __init__(self, choices: Sequence[str]) -> None:
        self._choices = choices
        shares = list(accumulate(1 / place for place in range(1, len(choices) + 1)))
        self._bounds = [share / shares[-1] for share in shares[:-1]]

    def __call__(self, number: float) -> str:
        return self._choices[bisect(self._bounds, number)]
