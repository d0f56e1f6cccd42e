"""Streams that ask for all of the past and leave, or stay and do not read."""

import asyncio
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack, aclosing
from pathlib import Path
from typing import Any

import mycel
from mycel.api.graph import Graph
from mycel.explorer import feed, limits
from mycel.http.live_stream import Notices, Watcher
from tests.adapters.http.conftest import NAMES, SILENCE_S, Server, Start, plant
from tests.attacks.conftest import ask, resident_kib


class CountedWork:
    """Runs work on a graph at once, and counts the readings of the past."""

    def __init__(self, db: Graph) -> None:
        self._db = db
        self._running = 0
        self.readings = 0
        self.most_at_once = 0

    async def __call__(self, work: Callable[[Graph], Any]) -> Any:
        if work is feed.position or isinstance(getattr(work, "__self__", None), Notices):
            return work(self._db)
        self.readings += 1
        self._running += 1
        self.most_at_once = max(self.most_at_once, self._running)
        for _ in range(5):  # As long as others need to come and go.
            await asyncio.sleep(0)
        self._running -= 1
        return work(self._db)


def with_commits(number: int) -> Graph:
    db = mycel.open()
    db.write(lambda tx: tx.define_type("Leaf"))
    for at in range(number):
        db.write(lambda tx, at=at: tx.put_concept("Leaf", f"Leaf {at}"))
    return db


def test_the_past_is_read_once_for_all_streams_and_for_none_that_has_gone() -> None:
    async def read(watcher: Watcher, after: int, number: int) -> list[bytes]:
        async with aclosing(watcher.events(after)) as events:
            return [await anext(events) for _ in range(number + 1)][1:]

    async def story() -> None:
        with with_commits(120) as db:
            work = CountedWork(db)
            watcher = Watcher(work)
            async with aclosing(watcher.events(None)) as staying:
                await anext(staying)
                told = await asyncio.gather(*(read(watcher, 1, 120) for _ in range(50)))
                assert all(each == told[0] for each in told)
                assert len(set(told[0])) == 120
                # 120 commits are three pages, for all of them together.
                assert (work.readings, work.most_at_once) == (3, 1)
                leaving = [asyncio.create_task(read(watcher, at, 120)) for at in range(2, 60)]
                for _ in range(3):
                    await asyncio.sleep(0)
                for each in leaving:
                    each.cancel()
                await asyncio.gather(*leaving, return_exceptions=True)
                assert await read(watcher, 1, 120) == told[0]
                assert work.readings <= 5
                assert work.most_at_once == 1

    asyncio.run(story())


def test_a_stream_far_behind_is_told_to_reload(monkeypatch: Any) -> None:
    async def story() -> list[bytes]:
        with with_commits(120) as db:
            async with aclosing(Watcher(CountedWork(db)).events(1)) as events:
                got = [await anext(events)]
                while not got[-1].startswith(b"id") or b"event: gap" not in got[-1]:
                    got.append(await anext(events))
        return got

    monkeypatch.setattr(limits, "FEED_GAP_BYTES", 2_000)
    told = asyncio.run(story())
    # The first page has more bytes than that.
    assert len(told) == 1 + limits.FEED_PAGE_COMMITS + 1
    monkeypatch.setattr(limits, "FEED_GAP_COMMITS", 100)
    monkeypatch.setattr(feed.events_after, "__defaults__", (100, 50))
    assert len(asyncio.run(story())) == 2


def stream_admitted(server: Server, head: bytes) -> socket.socket:
    """A stream that told all of the past; the client comes back when the server asks it to."""
    for _ in range(10):
        connection = socket.create_connection(server.address, timeout=SILENCE_S)
        connection.sendall(head)
        received = b""
        while b"Ivy 199" not in received and (part := connection.recv(65536)):
            received += part
        if b"Ivy 199" in received:
            return connection
        assert b" 503 " in received, received
        connection.close()
        time.sleep(1)  # The Retry-After of the refusal.
    raise AssertionError("clients that left long ago still hold every place")


def test_clients_that_open_a_stream_of_all_the_past_and_leave_cost_little(
    attacked: Start, forest: Path
) -> None:
    with mycel.open(forest) as db:
        for at in range(200):
            db.execute(plant(f"Ivy {at}"))
    server = attacked()
    head = b"GET /api/changes?after=1 HTTP/1.1\r\nHost: localhost\r\n\r\n"
    for _ in range(60):
        with server.connection() as made:
            made.sendall(head)
    with ExitStack() as stack:
        for _ in range(12):
            stack.enter_context(stream_admitted(server, head))
        assert ask(server, NAMES)[0] == 200
    assert resident_kib(server) < 250_000
