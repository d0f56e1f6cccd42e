"""Threads: what has begun is carried out, what has not begun in time never is."""

import asyncio
import threading

import pytest

from mycel.errors import ExecutionTimeout
from mycel.http.worker_pool import Workers


def test_the_result_comes_back_and_errors_do() -> None:
    async def story() -> None:
        workers = Workers(1)
        assert await workers.run(lambda: 5, timeout_s=60) == 5
        with pytest.raises(ZeroDivisionError):
            await workers.run(lambda: 1 // 0, timeout_s=60)
        await workers.close()

    asyncio.run(story())


def test_what_was_begun_is_carried_out_after_its_deadline() -> None:
    done, go = threading.Event(), threading.Event()

    def work() -> None:
        go.wait(60)
        done.set()

    async def story() -> None:
        workers = Workers(1)
        with pytest.raises(ExecutionTimeout, match="may succeed"):
            await workers.run(work, timeout_s=0.01)
        go.set()
        await workers.close()
        assert done.is_set()

    asyncio.run(story())


def test_what_was_not_begun_in_time_never_is() -> None:
    go, ran = threading.Event(), threading.Event()

    async def story() -> None:
        workers = Workers(1)
        first = asyncio.create_task(workers.run(lambda: go.wait(60), timeout_s=60))
        await asyncio.sleep(0)
        with pytest.raises(ExecutionTimeout, match="nothing was done"):
            await workers.run(ran.set, timeout_s=0.01)
        go.set()
        await first
        await workers.close()
        assert not ran.is_set()

    asyncio.run(story())


def test_a_caller_that_is_cancelled_does_not_take_the_work_with_it() -> None:
    done, go, begun = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        go.wait(60)
        done.set()

    async def story() -> None:
        workers = Workers(1)
        caller = asyncio.create_task(workers.run(work, timeout_s=60))
        await asyncio.to_thread(begun.wait, 60)
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
        go.set()
        await workers.close()
        assert done.is_set()

    asyncio.run(story())
