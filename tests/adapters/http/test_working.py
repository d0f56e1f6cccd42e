"""Threads: what has begun is carried out, what has not begun in time never is, turns are fair."""

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from unittest.mock import Mock

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from mycel.errors import ExecutionTimeout, ResourceExhausted
from mycel.http.app import Mount, _MountedApp
from mycel.http.jobs import Job, ResponseBudget, Scheduler, attach
from mycel.http.policy import ANSWER_BYTES_MAX
from mycel.http.worker_pool import Workers
from mycel.model import allowance


def asked(timeout_s: float = 60, **how: Any) -> dict[str, Any]:
    """The scope of a request."""
    scope: dict[str, Any] = {}
    attach(scope, Job(time.monotonic() + timeout_s, ResponseBudget(), **how))
    return scope


def job(scope: dict[str, Any]) -> Job:
    found: Job = scope["mycel.job"]
    return found


def until_stopped(begun: threading.Event) -> Callable[[], str]:
    """Work that goes on until it is told to stop."""

    def work() -> str:
        begun.set()
        try:
            while True:
                allowance.check()
        except ExecutionTimeout:
            return "stopped"

    return work


def test_the_result_comes_back_and_errors_do() -> None:
    async def story() -> None:
        workers = Workers(1)
        assert await workers.run(asked(), lambda: 5) == 5
        with pytest.raises(ZeroDivisionError):
            await workers.run(asked(), lambda: 1 // 0)
        with pytest.raises(RuntimeError, match="StopIteration"):  # A future takes no such error.
            await workers.run(asked(), lambda: next(iter(())))
        await workers.close()

    asyncio.run(story())


def test_what_was_begun_and_cannot_be_stopped_is_carried_out_after_its_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done, go = threading.Event(), threading.Event()
    monkeypatch.setattr("mycel.http.worker_pool.ANSWER_MARGIN_S", 0)

    def work() -> None:
        go.wait(60)
        done.set()

    async def story() -> None:
        workers = Workers(1)
        with pytest.raises(ExecutionTimeout, match="may succeed"):
            await workers.run(asked(0.01), work)
        go.set()
        await workers.close()
        assert done.is_set()

    asyncio.run(story())


def test_what_was_not_begun_in_time_never_is() -> None:
    ran = threading.Event()

    async def story() -> None:
        workers = Workers(0)
        with pytest.raises(ExecutionTimeout, match="nothing was done"):
            await workers.run(asked(0.01), ran.set)
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
        caller = asyncio.create_task(workers.run(asked(), work))
        await asyncio.to_thread(begun.wait, 60)
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
        go.set()
        await workers.close()
        assert done.is_set()

    asyncio.run(story())


def test_work_gives_back_what_it_takes_for_an_answer_after_its_request_is_over() -> None:
    begun, go = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        go.wait(60)
        allowance.charge(2 << 20)

    async def story() -> None:
        workers, answers = Workers(1), ResponseBudget()
        scope: dict[str, Any] = {}
        attach(scope, Job(time.monotonic() + 60, answers))
        caller = asyncio.create_task(workers.run(scope, work))
        await asyncio.to_thread(begun.wait, 60)
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
        job(scope).close()
        go.set()
        await workers.close()
        await asyncio.sleep(0)
        assert answers.size == 0
        assert answers.large.acquire(blocking=False)  # The next large answer can be made.

    asyncio.run(story())


def test_work_is_stopped_at_its_deadline_or_when_its_client_has_gone_or_the_server_stops() -> None:
    async def story() -> None:
        workers = Workers(1)
        assert await workers.run(asked(0.01), until_stopped(threading.Event())) == "stopped"
        for stop in (lambda scope: job(scope).drop(), lambda _: workers.abort()):
            begun, scope = threading.Event(), asked()
            running = asyncio.create_task(workers.run(scope, until_stopped(begun)))
            await asyncio.to_thread(begun.wait, 60)
            stop(scope)
            assert await running == "stopped"
        await workers.close()

    asyncio.run(story())


def test_work_that_holds_the_turn_of_the_writer_goes_on_without_its_client_for_a_limited_time() -> (
    None
):
    for limit_s, is_over in ((60, False), (-1, True)):
        writing = job(asked(write_s=limit_s))
        writing.holds_turn = True
        writing.drop()
        assert writing.is_over() is is_over


def test_a_write_that_cannot_be_done_in_time_is_stopped_as_soon_as_that_is_known() -> None:
    writing = job(asked(write_s=60))
    writing.holds_turn = True
    with allowance.using(writing):
        allowance.check_pace(10, 0.2)  # Forty seconds more: in time.
        allowance.check_pace(0.1, 0.0001)  # Too early to tell.
        with pytest.raises(ExecutionTimeout, match="about 1000 s"):
            allowance.check_pace(10, 0.01)


def test_heavy_work_leaves_its_quick_place_to_cheap_work() -> None:
    async def story() -> None:
        workers = Workers(quick=2, heavy=1)
        scopes = [asked() for _ in range(6)]
        begun = threading.Event()
        heavy = [asyncio.create_task(workers.run(each, until_stopped(begun))) for each in scopes]
        # All six have begun, one at a time, and none has ended: the cheap one waits for none.
        assert await workers.run(asked(), lambda: "cheap") == "cheap"
        workers.abort()
        for each in scopes:
            job(each).abort()
        assert await asyncio.gather(*heavy) == ["stopped"] * 6
        await workers.close()

    asyncio.run(story())


def test_a_place_goes_to_the_job_that_has_used_least() -> None:
    turns = Scheduler(1)
    first, idle, busy = (job(asked()) for _ in range(3))
    busy.used_s = 5.0
    turns.take(first)
    waiting = [threading.Thread(target=turns.take, args=(each,)) for each in (busy, idle)]
    for each in waiting:
        each.start()
    while len(turns._waiting) < 2:
        pass
    turns.give(first)
    waiting[1].join(60)
    assert (first.has_place, idle.has_place, busy.has_place) == (False, True, False)
    busy.abort()
    waiting[0].join(60)
    assert not busy.has_place
    assert not turns.is_wanted


def test_the_bytes_of_an_answer_and_of_all_answers_are_limited_and_given_back() -> None:
    unit = 10 << 10
    answers = ResponseBudget(bytes_max=300 * unit)  # One that is being made counts three times.
    first, second, third = (Job(time.monotonic() + 60, answers) for _ in range(3))
    first.charge(60 * unit)
    with pytest.raises(ResourceExhausted, match="All answers"):
        second.charge(60 * unit)
    first.settle(30 * unit)
    second.charge(90 * unit)
    assert answers.size == answers.bytes_max
    with pytest.raises(ResourceExhausted, match="All answers"):
        third.settle(10 * unit)
    third.settle(100)  # The answer to a write, which is done.
    first.close()
    second.settle(100 * unit)
    assert answers.size == 100 * unit
    second.close()
    assert answers.size == 0
    with pytest.raises(ResourceExhausted, match="The answer is larger"):
        Job(time.monotonic() + 60, ResponseBudget(1 << 40)).charge(ANSWER_BYTES_MAX + 1)


def test_a_door_that_could_not_be_loaded_is_loaded_for_the_next_request() -> None:
    app = Starlette(routes=[Route("/door", lambda _: Response("in"))])
    load = Mock(side_effect=[MemoryError(), app])

    async def story() -> None:
        door = _MountedApp(Mount("/door", "door", load, 100), None)
        transport = httpx.ASGITransport(app=door)
        async with door.lifespan(), httpx.AsyncClient(transport=transport) as client:
            with pytest.raises(MemoryError):
                await client.get("http://localhost/door")
            for _ in range(2):
                assert (await client.get("http://localhost/door")).text == "in"
        assert load.call_count == 2
        # One that is closed while it fails does not wait for a request.
        closing = _MountedApp(Mount("/door", "door", Mock(side_effect=MemoryError), 100), None)
        async with asyncio.timeout(60), closing.lifespan():
            closing._wanted.set()
            await asyncio.sleep(0)

    asyncio.run(story())


def endless_loops() -> dict[str, Callable[[], None]]:
    """Work that never asks its job whether to stop."""

    def count() -> None:
        number = 0
        while True:
            number += 1

    def swallow() -> None:
        while True:
            with suppress(Exception):  # As careless work does it.
                "x".index("y")

    def nest() -> None:
        def inner(depth: int) -> int:
            return sum(inner(depth - 1) for _ in range(4)) if depth else 1

        inner(400)

    def build() -> None:
        parts: list[str] = []
        while True:
            parts = [*parts[-100:], ",".join(parts)[:1000]]

    return {each.__name__: each for each in (count, swallow, nest, build)}


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        *((name, "deadline") for name in sorted(endless_loops())),
        ("count", "client"),
        ("count", "server"),
    ],
)
def test_work_that_asks_nobody_stops_after_its_answer(
    monkeypatch: pytest.MonkeyPatch, name: str, reason: str
) -> None:
    monkeypatch.setattr("mycel.http.worker_pool.ANSWER_MARGIN_S", 0)
    released = []

    def work() -> None:
        try:
            endless_loops()[name]()
        finally:
            released.append(name)

    async def story() -> None:
        workers = Workers(1)
        scope = asked(0.01 if reason == "deadline" else 600)
        running = asyncio.ensure_future(workers.run(scope, work))
        await asyncio.sleep(0)
        if reason == "client":
            job(scope).drop()
        elif reason == "server":
            job(scope).abort()
        with pytest.raises(ExecutionTimeout, match="no answer at the deadline"):
            await running
        # The thread is there for the next request.
        assert await workers.run(asked(), lambda: 5) == 5
        await workers.close()
        assert released == [name]

    asyncio.run(story())


def test_work_for_all_others_and_work_that_is_being_written_is_not_interrupted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mycel.http.worker_pool.ANSWER_MARGIN_S", 0)
    looks = 0
    enough = threading.Event()

    def look(_self: Job, _margin_s: float) -> bool:
        nonlocal looks
        looks += 1
        if looks == 5:
            enough.set()
        return is_overdue(_self, _margin_s)

    is_overdue = Job.is_overdue
    monkeypatch.setattr(Job, "is_overdue", look)

    def compute() -> str:
        while not enough.is_set():
            pass
        return "done"

    def for_all() -> str:
        with allowance.using(None):
            return compute()

    async def story() -> None:
        nonlocal looks
        workers = Workers(1)
        for work in (for_all, compute):
            looks = 0
            enough.clear()
            scope = asked(600)
            job(scope).holds_turn = work is compute
            job(scope).drop()
            assert await workers.run(scope, work) == "done"
        await workers.close()

    asyncio.run(story())
