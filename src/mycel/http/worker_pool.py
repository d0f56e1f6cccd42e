"""Threads for the engine, which is synchronous, and deadlines for those who wait.

What has begun is carried out, whether or not somebody still waits for it; what has not begun when
its deadline passes never does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from mycel.errors import ExecutionTimeout
from mycel.http.policy import WORKERS
from mycel.service.malloc_trim import Leftovers

Result = TypeVar("Result")


class Workers:
    """A few threads that take turns at what is asked of them."""

    def __init__(self, threads: int = WORKERS) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="mycel-http")
        self._leftovers = Leftovers()

    async def run(self, work: Callable[[], Result], *, timeout_s: float) -> Result:
        """Run a function in a thread and wait for what it returns.

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
                f"There is no answer after {timeout_s:g} s. What was begun is carried out all the"
                " same.",
                hint="Look whether it has happened, or send it again: an identical write changes"
                " nothing. If it reads, ask for less.",
            ) from None

    async def close(self) -> None:
        """Wait until all that was begun is done."""
        await asyncio.to_thread(self._pool.shutdown, wait=True)
