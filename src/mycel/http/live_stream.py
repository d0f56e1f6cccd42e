"""Streams of commits: one watcher reads the journal for any number of streams.

Other processes write to the graph too. A database that sends notices of commits wakes the watcher
at each one. Without notices, the watcher checks the journal in short intervals. The newest events
are kept, so that a commit is read once for all streams. A stream that begins further back reads the
older commits in pages. One page is read at a time and shared by all streams that need it. No page
is read for a client that has gone.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any, Final

from mycel.api.graph import Graph
from mycel.errors import MycelError
from mycel.explorer import feed, limits
from mycel.explorer.feed import StreamEvent, format_event
from mycel.store.backend.interface import Listening

INTERVAL_S: Final = 0.25
"""The time between two checks of the journal without notices of commits."""
TOLD_INTERVAL_S: Final = 5.0
"""The time between two checks with notices. A process that dies right after a commit sends no
notice."""
TOGETHER_S: Final = 0.02
"""Notices within this time after a check are handled together."""
KEEP_ALIVE_S: Final = 15.0
"""The time after which a stream without events gets a comment."""

PAGES_KEPT: Final = 8
"""The maximum number of pages of past commits that are kept while nothing is written."""

Run = Callable[[Callable[[Graph], Any]], Awaitable[Any]]
"""Runs a function on the graph in a worker thread."""


class Watcher:
    """The commits of one graph, for all streams of it."""

    def __init__(self, run: Run) -> None:
        self._run: Final = run
        self._past: Final = _Past(run)
        self._kept: Final[deque[StreamEvent]] = deque(maxlen=limits.FEED_KEPT)
        self._position = 0
        """The position up to which commits are known."""
        self._since = 0
        """The position after which all commits are kept."""
        self._changed = asyncio.Event()
        self._begin_lock = asyncio.Lock()
        self._streams = 0
        self._task: asyncio.Task[None] | None = None

    async def events(self, after: int | None) -> AsyncGenerator[bytes, None]:
        """The endless events of one stream: those after a position, or from now on."""
        self._streams += 1
        try:
            await self._begin()
            position = self._position if after is None else after
            yield format_event("hello", {"position": position})
            size = 0
            """The bytes of events since the stream last caught up with the watcher."""
            while True:
                changed = self._changed
                page = await self._after(position)
                for event in page:
                    position = event.position
                    size += len(event.text)
                    yield event.text
                if position < self._position and size > limits.FEED_GAP_BYTES:
                    position = self._position
                    yield _gap(position).text
                elif position < self._position and page:
                    continue
                size = 0
                if changed.is_set():
                    continue
                try:
                    async with asyncio.timeout(KEEP_ALIVE_S):
                        await changed.wait()
                except TimeoutError:
                    yield b": still here\n\n"
        finally:
            self._streams -= 1
            if not self._streams and self._task is not None:
                self._task.cancel()
                self._task = None
                self._kept.clear()
                self._past.forget()

    async def _begin(self) -> None:
        async with self._begin_lock:  # Several streams may begin at once.
            if self._task is None or self._task.done():
                self._position = self._since = await self._run(feed.position)
                self._kept.clear()
                self._task = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        notices = Notices()
        try:
            await self._follow(notices)
        finally:
            notices.close()

    async def _follow(self, notices: Notices) -> None:
        while True:
            try:
                if not notices.has_begun:
                    await self._run(notices.begin)
                if await self._run(feed.position) == self._position:
                    await notices.wait()
                    continue
                events = await self._run(partial(_newest, self._position))
                if (
                    events is None
                ):  # There are too many events, or the file was replaced, so streams read pages.
                    self._position = self._since = await self._run(feed.position)
                    self._kept.clear()
            except MycelError:
                await asyncio.sleep(INTERVAL_S)
                continue  # The graph is busy or gone; try again.
            for event in events or ():
                if event.purges:
                    self._since = self._position
                    self._kept.clear()
                if len(self._kept) == limits.FEED_KEPT:
                    self._since = self._kept[0].position
                self._kept.append(event)
                self._position = event.position
            self._past.forget()
            changed, self._changed = self._changed, asyncio.Event()
            changed.set()
            await notices.wait()

    async def _after(self, position: int) -> list[StreamEvent]:
        """The events after a position that a stream has reached."""
        if position == self._position:
            return []
        if self._since <= position < self._position:
            return [event for event in self._kept if event.position > position]
        events: list[StreamEvent] | None
        try:
            # A stream may even be ahead of the watcher. It then gets no events, or a gap if its
            # position belongs to another graph.
            events = await self._past.page(position)
            if events is None:
                return [_gap(await self._run(feed.position))]
        except MycelError:
            return []
        return events


class Notices:
    """Notices of the commits of a graph, if its database sends them."""

    def __init__(self) -> None:
        self._loop: Final = asyncio.get_running_loop()
        self._told: Final = asyncio.Event()
        self._listening: Listening | None = None
        self.has_begun = False
        self._is_closed = False

    def begin(self, db: Graph) -> None:
        """Listen to the commits of a graph, in any thread."""
        self._listening = db.listen(self._wake)
        self.has_begun = True
        if self._is_closed:
            self.close()

    def _wake(self) -> None:
        self._loop.call_soon_threadsafe(self._told.set)

    def close(self) -> None:
        """Stop listening. Closing twice does no harm."""
        self._is_closed = True
        if self._listening is not None:
            self._listening.close()

    async def wait(self) -> None:
        """Wait until it is time to check the journal again."""
        is_told = self._listening is not None and self._listening.is_told
        if is_told:
            await asyncio.sleep(TOGETHER_S)
        with suppress(TimeoutError):
            async with asyncio.timeout(TOLD_INTERVAL_S if is_told else INTERVAL_S):
                await self._told.wait()
        self._told.clear()


class _Past:
    """Pages of commits that are older than those of the watcher."""

    def __init__(self, run: Run) -> None:
        self._run: Final = run
        self._turn: Final = asyncio.Lock()
        self._pages: Final[dict[int, list[StreamEvent] | None]] = {}
        """The pages read last, by the position after which they begin."""
        self._readings: Final[dict[int, _Reading]] = {}

    def forget(self) -> None:
        """Drop the pages: a commit may have renamed or removed their elements."""
        self._pages.clear()

    async def page(self, position: int) -> list[StreamEvent] | None:
        """The next events after a position; None if there are too many, or they are unknown.

        Raises:
            MycelError: the commits cannot be read.
        """
        if position in self._pages:
            return self._pages[position]
        reading = self._readings.get(position)
        if reading is None:
            reading = self._readings[position] = _Reading()
            reading.task = asyncio.create_task(self._read(position, reading))
            reading.task.add_done_callback(partial(self._end, position))
        reading.streams += 1
        try:
            return await asyncio.shield(reading.task)
        finally:
            reading.streams -= 1
            if not reading.streams and not reading.has_begun:
                reading.task.cancel()  # No stream waits for the page any more.

    def _end(self, position: int, task: asyncio.Task[list[StreamEvent] | None]) -> None:
        del self._readings[position]
        if not task.cancelled():
            task.exception()  # No stream may be left to see the error.

    async def _read(self, position: int, reading: _Reading) -> list[StreamEvent] | None:
        async with self._turn:
            reading.has_begun = True
            page: list[StreamEvent] | None = await self._run(
                lambda db: feed.events_after(db, position)
            )
            while len(self._pages) >= PAGES_KEPT:
                del self._pages[next(iter(self._pages))]
            self._pages[position] = page
            return page


class _Reading:
    """A page that is being read, and the number of streams that wait for it."""

    def __init__(self) -> None:
        self.task: asyncio.Task[list[StreamEvent] | None]
        self.streams = 0
        self.has_begun = False


def _gap(position: int) -> StreamEvent:
    """The event that tells a client to reload, because it has missed commits."""
    return StreamEvent(position, format_event("gap", {"position": position}, position))


def _newest(since: int, db: Graph) -> list[StreamEvent] | None:
    return feed.events_after(db, since, limits.FEED_KEPT, limits.FEED_KEPT)
