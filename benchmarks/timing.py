"""Taking turns: contenders are timed in small blocks, one after the other, over and over.

Whatever else the machine does meanwhile then falls on all of them alike, and the ratio of two
medians of one run means something, which the ratio of two runs does not.
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
"""Some inputs, worked off in one go."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What is reported of a number of samples: seconds, bytes, or whatever they are."""

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
        """Of times in nanoseconds, in seconds."""
        return cls.of([each / 1e9 for each in samples])


Run = Callable[[Block, list[int]], None]
"""Works off one block and appends the nanoseconds that each input took.

It holds the loop itself, so that nothing but the call in question is between two looks at the
clock. These two looks, some 50 ns, are part of what everybody took.
"""


class Contender(NamedTuple):
    """Somebody who is timed."""

    run: Run
    blocks: Sequence[Block]


def take_turns(contenders: Sequence[Contender], *, passes: int) -> list[Summary]:
    """Time everybody on all their blocks `passes` times, after one pass to warm up.

    Who has fewer blocks than others begins again with the first. The order of each turn is drawn,
    so that nobody always comes first, and finds nothing in the caches, or always after the same
    one: to come after somebody who does nearly the same saves a tenth of what takes 50 µs.
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
    """Cut a sequence into this many blocks, or a few more if it does not come out even."""
    size = max(1, len(inputs) // count)
    return [inputs[at : at + size] for at in range(0, len(inputs), size)]


@contextmanager
def quiet() -> Iterator[None]:
    """No garbage collection inside the block."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()
