"""Threads that run the synchronous engine, with fair turns.

A job starts in one of a few quick places. When it has run for `QUICK_S`, its place goes to the next
request. The job becomes heavy and takes turns with the other heavy jobs (`jobs`). So a cheap
request waits only for other cheap ones, and few threads compete for the processor.

Work that has not begun at its deadline is dropped. Work that has begun is stopped by its job: reads
at the deadline, or when their client has gone; a write at its deadline, unless it is being
committed. Work that does not ask its job is interrupted a second later (`interruption`).

All fields belong to the event loop; the threads only take work from a queue.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from collections.abc import Callable, MutableMapping
from functools import partial
from queue import SimpleQueue
from time import monotonic
from typing import Any, Final, Generic, TypeVar

from mycel.errors import ExecutionTimeout
from mycel.http.interruption import LOOK_S, Interruption, WorkStopped
from mycel.http.jobs import Job, ResponseBudget, Scheduler, job_of
from mycel.http.policy import ANSWER_MARGIN_S, QUICK_WORKERS
from mycel.model.allowance import using
from mycel.model.client_names import client_name, working_for
from mycel.model.permission import permitted
from mycel.service.malloc_trim import MemoryTrim

QUICK_S: Final = 0.05
"""The time after which a job is heavy."""
HEAVY_PLACES: Final = max(2, (os.cpu_count() or 1) - 1)
"""Heavy jobs that run at the same time."""

_CLOSING_STEP_S: Final = 0.01

CLIENT_HEADER: Final = b"mycel-client"
"""The header in which a program names itself: `NAME/VERSION`."""

PERMISSION: Final = "mycel.permission"
"""The key of a scope for the permission of its request."""

T = TypeVar("T")


class Workers:
    """A pool of threads, which grows with the number of jobs. All routes share one pool."""

    def __init__(self, quick: int = QUICK_WORKERS, heavy: int = HEAVY_PLACES) -> None:
        self._free = quick
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._turns = Scheduler(heavy)
        self._queue: SimpleQueue[_Run[Any] | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._running: set[_Run[Any]] = set()
        self._done: deque[Callable[[], None]] = deque()
        """Functions that the event loop calls for finished work; one wake-up serves them all."""
        self._is_woken = False
        self._leftovers = MemoryTrim()

    async def run(self, scope: MutableMapping[str, Any], work: Callable[[], T]) -> T:
        """Run a function in a thread, for the request of a scope, and return its result.

        If the caller is cancelled, the work goes on.

        Raises:
            ExecutionTimeout: the function has not ended at the deadline of the request.
        """
        return await self._run(job_of(scope), _with_permission(scope, work), _client(scope))

    async def run_apart(self, work: Callable[[], T], *, timeout_s: float) -> T:
        """Run work that belongs to no request, in the same way. It is not interrupted."""
        job = Job(monotonic() + timeout_s, ResponseBudget())
        try:
            return await self._run(job, work, is_of_request=False)
        finally:
            job.close()

    async def _run(
        self, job: Job, work: Callable[[], T], client: str = "", *, is_of_request: bool = True
    ) -> T:
        job.begin()
        await self._take_place(job)
        if not self._idle:
            self._start_thread()
        self._idle -= 1
        run = _Run(self, job, work, client, is_of_request=is_of_request)
        self._running.add(run)
        self._queue.put(run)
        return await run.result

    async def _take_place(self, job: Job) -> None:
        if self._free:
            self._free -= 1
            return
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(mine)
        try:
            async with asyncio.timeout(job.wait_s()):
                await mine
        except BaseException as error:
            if mine.done() and not mine.cancelled():
                self.give_place()
            if isinstance(error, TimeoutError):
                raise ExecutionTimeout(
                    "The server was too busy to begin within its time limit; nothing was done.",
                    hint="Retry later.",
                ) from None
            raise

    def give_place(self) -> None:
        """Pass a quick place to the next waiting job."""
        while self._waiting:
            following = self._waiting.popleft()
            if not following.done():
                following.set_result(None)
                return
        self._free += 1

    def _start_thread(self) -> None:
        thread = threading.Thread(
            target=self._work, name=f"mycel-http-{len(self._threads)}", daemon=True
        )
        try:
            thread.start()
        except BaseException:  # There is no memory for a thread.
            self.give_place()
            raise
        self._threads.append(thread)
        self._idle += 1

    def _work(self) -> None:
        while (run := self._queue.get()) is not None:
            try:
                run.work(self._leftovers)
            except WorkStopped as late:  # The interruption came just after the work had ended.
                run.tell_end(None, late)
            del run

    def tell(self, loop: asyncio.AbstractEventLoop, function: Callable[[], None]) -> None:
        """Have the event loop call a function. Threads call this."""
        self._done.append(function)
        if not self._is_woken and not loop.is_closed():
            self._is_woken = True
            loop.call_soon_threadsafe(self._collect)

    def _collect(self) -> None:
        # Reset first, so that a function added from here on wakes the loop again.
        self._is_woken = False
        while self._done:
            self._done.popleft()()

    def promote(self, job: Job) -> None:
        """Make a job that has run for long a heavy one, and pass on its quick place."""
        job.become_heavy(self._turns)
        self.give_place()

    def end(self, run: _Run[Any]) -> None:
        self._running.discard(run)
        self._idle += 1

    def abort(self) -> None:
        """Stop all jobs except those that are being committed."""
        for run in self._running:
            run.job.abort()

    async def close(self) -> None:
        """Wait for all work to end."""
        for _ in self._threads:
            self._queue.put(None)
        while any(thread.is_alive() for thread in self._threads):
            # Polling, because a thread to wait in may be refused.
            await asyncio.sleep(_CLOSING_STEP_S)


class _Run(Generic[T]):
    """Work that was begun."""

    def __init__(
        self,
        workers: Workers,
        job: Job,
        work: Callable[[], T],
        client: str,
        *,
        is_of_request: bool,
    ) -> None:
        self.job = job
        self._is_of_request = is_of_request
        self._client = client
        self._workers = workers
        self._work = work
        self._loop = asyncio.get_running_loop()
        self.result: asyncio.Future[T] = self._loop.create_future()
        self._is_quick = True
        self._is_working = False
        self._has_ended = False
        self._interruption: Interruption | None = None
        self._timer = self._loop.call_later(QUICK_S, self._grow_heavy)

    def work(self, leftovers: MemoryTrim) -> None:
        """Do the work, in a thread."""
        self._interruption = Interruption(threading.get_ident())
        try:
            self._is_working = True
            with using(self.job), working_for(self._client):
                result = leftovers.after(self._work)
            self._is_working = False
        except BaseException as error:  # noqa: BLE001 - It is the caller's, in the other thread.
            self._is_working = False
            self.tell_end(None, error)
        else:
            self.tell_end(result, None)

    def tell_end(self, result: Any, error: BaseException | None) -> None:
        """Tell the event loop that the work has ended."""
        self._workers.tell(self._loop, partial(self._end, result, error))

    def _end(self, result: Any, error: BaseException | None) -> None:
        if self._has_ended:
            return
        self._has_ended = True
        self._timer.cancel()
        self.job.leave_turns()
        self._workers.end(self)
        if self._is_quick:
            self._workers.give_place()
        if self.result.done():  # The request is over, so nobody else closes its job.
            self.job.close()
        elif error is None:
            self.result.set_result(result)
        elif isinstance(error, WorkStopped):
            self.result.set_exception(_late())
        elif isinstance(error, StopIteration):  # A future does not accept StopIteration.
            self.result.set_exception(RuntimeError(repr(error)))
        else:
            self.result.set_exception(error)

    def _grow_heavy(self) -> None:
        self._is_quick = False
        self._workers.promote(self.job)
        self._look()

    def _look(self) -> None:
        """Check work that has run for long, again and again: it may have to be interrupted."""
        late_s = self.job.deadline + ANSWER_MARGIN_S - monotonic()
        if late_s <= 0:
            self._be_late()
        is_overdue = self._is_working and self.job.is_overdue(ANSWER_MARGIN_S)
        if is_overdue and self._is_of_request and self._interruption is not None:
            self._interruption.stop()
        wait_s = min(LOOK_S, late_s) if late_s > 0 else LOOK_S
        self._timer = self._loop.call_later(wait_s, self._look)

    def _be_late(self) -> None:
        if not self.result.done():
            self.result.set_exception(_late())


def _late() -> ExecutionTimeout:
    return ExecutionTimeout(
        "There is no answer at the deadline. The command is being stopped; if it is being written,"
        " it may succeed.",
        hint="Check if it has happened, or send it again: an identical write changes nothing."
        " If it reads, ask for less.",
    )


def _with_permission(scope: MutableMapping[str, Any], work: Callable[[], T]) -> Callable[[], T]:
    """Wrap work so that it runs with the permission of its request, if it has one."""
    permission = scope.get(PERMISSION)
    if permission is None:
        return work

    def run() -> T:
        with permitted(permission):
            return work()

    return run


def _client(scope: MutableMapping[str, Any]) -> str:
    """The name of the client program in a header of the request."""
    for name, value in scope.get("headers", ()):
        if name == CLIENT_HEADER:
            called, _, version = value.decode("latin-1").partition("/")
            return client_name(called, version)
    return ""
