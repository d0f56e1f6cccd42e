"""Times contenders in small blocks that take turns.

Other work on the machine then disturbs all contenders alike, so the ratio of two medians of one run
is meaningful, unlike the ratio of two runs.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from statistics import fmean, median
from time import perf_counter_ns
from typing import Any, Final, NamedTuple

clock_ns: Final = perf_counter_ns

Block = Sequence[Any]
"""Some inputs that are processed without a break."""


@dataclass(frozen=True, slots=True)
class Summary:
    """Statistics of samples, in seconds, bytes or another unit."""

    p50: float
    mean: float
    p99: float
    count: int

    @classmethod
    def of(cls, samples: Sequence[float]) -> Summary:
        ordered = sorted(samples)
        p99 = ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)]
        return cls(median(ordered), fmean(ordered), p99, len(ordered))

    @classmethod
    def of_ns(cls, samples: Sequence[int]) -> Summary:
        """The statistics in seconds, of times in nanoseconds."""
        return cls.of([each / 1e9 for each in samples])


Run = Callable[[Block, list[int]], None]
"""Processes one block, and appends the nanoseconds that each input took.

It contains the loop, so that only the measured call is between two readings of the clock. These
readings, some 50 ns, are part of the time of every contender.
"""


class Contender(NamedTuple):
    """A contender with its blocks, and its samples."""

    run: Run
    blocks: Sequence[Block]


def take_turns(contenders: Sequence[Contender], *, passes: int) -> list[Summary]:
    """Time all contenders on all their blocks, `passes` times, after one pass to warm up.

    A contender with fewer blocks than others begins again with its first. The order of each turn is
    random, so that no contender is always the first, with cold caches, or always follows the same
    one: to follow a contender that does nearly the same saves a tenth of 50 µs.
    """
    for contender in contenders:
        for block in contender.blocks:
            contender.run(block, [])
    samples: list[list[int]] = [[] for _ in contenders]
    turns = max(len(contender.blocks) for contender in contenders)
    order, rng = list(range(len(contenders))), Random(0)
    with quiet():
        for turn in range(passes * turns):
            rng.shuffle(order)
            for at in order:
                run, blocks = contenders[at]
                run(blocks[turn % len(blocks)], samples[at])
    return [Summary.of_ns(each) for each in samples]


def in_blocks(inputs: Sequence[Any], count: int) -> list[Block]:
    """Cut a sequence into this many blocks, or a few more if it does not divide evenly."""
    size = max(1, len(inputs) // count)
    return [inputs[at : at + size] for at in range(0, len(inputs), size)]


@contextmanager
def quiet() -> Iterator[None]:
    """Switch off garbage collection inside the block."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()
