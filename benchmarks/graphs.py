"""Generates graphs of any size, the same on every machine.

Degrees follow a power law. The share of links of the node of rank r is proportional to r**-0.75,
for outgoing links and, with another ranking, for incoming ones: most nodes have two to five links,
and the first has one hundredth of all. The shares have a closed form, so nothing is stored per
node. Sources come one after the other, each with a set of its links to avoid duplicates.

Every size has ten links per node. So a typical node is the same in each graph, and only the
database grows.
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
"""The core capsules define none of these predicates, and so do not restrict their links."""

WORDS: Final = 4000
_SYLLABLES: Final = (
    "ka", "re", "mi", "to", "sun", "bel", "dor", "an", "vi", "lo",
    "gra", "pen", "ti", "ser", "um", "cho", "fal", "ne", "bri", "wo",
)  # fmt: skip

_POWER: Final = 4
"""Shares are differences of x**(1/_POWER): the exponent of the ranks is 1/_POWER - 1 = -0.75."""

# Multiplication by a prime, modulo the number of nodes, gives an order that looks random.
_STRIDE_SOURCE, _STRIDE_OUT, _STRIDE_IN = 7_368_787, 2_750_159, 5_800_079


class Node(NamedTuple):
    """A concept to write."""

    type: str
    name: str
    attributes: dict[str, Any]
    metadata: dict[str, Any]


class Link(NamedTuple):
    """A link to write; its ends are indexes in the sequence of nodes."""

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
        """All links, source by source.

        There are no duplicates, and no links of a node to itself.
        """
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
        """The number of links that leave a node. The numbers of all nodes add up exactly."""
        rank = node * _STRIDE_OUT % self.node_count
        return self._links_before(rank + 1) - self._links_before(rank)

    def _links_before(self, rank: int) -> int:
        """The number of links that leave the nodes of lower rank."""
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
    """A random word, as frequent as in text.

    The first word is one in twelve, the first sixty are half.
    """
    return words[int(len(words) ** draw()) - 1]


class _Weighted:
    """Chooses an item by a number between 0 and 1; the n-th item is 1/n as likely as the first."""

    def __init__(self, choices: Sequence[str]) -> None:
        self._choices = choices
        shares = list(accumulate(1 / place for place in range(1, len(choices) + 1)))
        self._bounds = [share / shares[-1] for share in shares[:-1]]

    def __call__(self, number: float) -> str:
        return self._choices[bisect(self._bounds, number)]
