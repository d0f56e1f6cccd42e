"""Threads that run the synchronous engine, with deadlines for callers.

Work that has begun is finished even if its caller has gone; work that has not begun at its deadline
is dropped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from mycel.errors import ExecutionTimeout
from mycel.http.policy import WORKERS
from mycel.service.malloc_trim import MemoryTrim

Result = TypeVar("Result")


class Workers:
    """A pool of threads."""

    def __init__(self, threads: int = WORKERS) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="mycel-http")
        self._leftovers = MemoryTrim()

    async def run(self, work: Callable[[], Result], *, timeout_s: float) -> Result:
        """Run a function in a thread and return its result.

        Raises:
            ExecutionTimeout: it took longer.
        """
        future = self._pool.submit(self._leftovers.after, work)
        try:
            async with asyncio.timeout(timeout_s):
                # Shielded: a caller that is cancelled does not take the work with it.
                return await asyncio.shield(asyncio.wrap_future(future))
        except TimeoutError:
            if future.cancel():
                raise ExecutionTimeout(
                    "The server was too busy to begin within its time limit; nothing was done.",
                    hint="Retry later.",
                ) from None
            raise ExecutionTimeout(
                f"There is no answer after {timeout_s:g} s. The command continues and may succeed.",
                hint="Check whether it has happened, or send it again: an identical write changes"
                " nothing. If it reads, ask for less.",
            ) from None

    async def close(self) -> None:
        """Wait for all work to end."""
        await asyncio.to_thread(self._pool.shutdown, wait=True)
