"""Graphs that a server keeps open for its callers: workspaces and branches.

A graph is opened by the first request for it, shared by all its users, and closed when nobody has
used it for a while; its memory then goes back to the system. So idle graphs cost nothing.
"""

from __future__ import annotations

import gc
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from threading import Condition, Timer
from time import monotonic
from typing import Final, Generic, Protocol, TypeVar

from mycel.errors import DatabaseClosed, InternalError, ResourceExhausted
from mycel.model.allowance import RETRY_AFTER
from mycel.store.file.process_memory import return_memory

IDLE_S: Final = 60.0
"""The time after which an unused graph is closed."""
CLOSING_S: Final = 5.0
"""The time for which closing the pool waits for users."""


class Closable(Protocol):
    """An open graph, or an object that holds one."""

    def close(self) -> None: ...


Opened = TypeVar("Opened", bound=Closable)


class _Entry(Generic[Opened]):
    """An open graph, and the number of its users; without a value, it is still being opened."""

    __slots__ = ("unused_since", "users", "value")

    def __init__(self) -> None:
        self.value: Opened | None = None
        self.users = 0
        self.unused_since = 0.0


class OpenPool(Generic[Opened]):
    """Open graphs by key, for any number of threads."""

    def __init__(
        self,
        noun: str,
        *,
        open_max: int,
        unused_max: int | None = None,
        idle_s: float = IDLE_S,
    ) -> None:
        """Take the word for the graphs, and the limits of open graphs and of unused open ones."""
        self._noun: Final = noun
        self._idle_s: Final = idle_s
        self._open_max: Final = open_max
        self._unused_max: Final = open_max if unused_max is None else unused_max
        self._changed: Final = Condition()
        self._entries: Final[OrderedDict[Hashable, _Entry[Opened]]] = OrderedDict()
        """The open graphs by key, least recently used first."""
        self._discarded: Final[list[_Entry[Opened]]] = []
        """Entries that get no new users, but still have some."""
        self._timer: Timer | None = None
        self._is_closed = False

    def __len__(self) -> int:
        """The number of open graphs."""
        return len(self._entries)

    def keys(self) -> list[Hashable]:
        with self._changed:
            return list(self._entries)

    @contextmanager
    def using(self, key: Hashable, open_: Callable[[], Opened]) -> Iterator[Opened]:
        """Hold the graph of a key for the time of a block; it is opened if needed.

        Raises:
            ResourceExhausted: too many graphs are in use.
            DatabaseClosed: the server is stopping.
        """
        value = self.take(key, open_)
        try:
            yield value
        finally:
            self.give(value)

    def take(self, key: Hashable, open_: Callable[[], Opened]) -> Opened:
        """Begin to use the graph of a key. Every `take` needs one `give`."""
        with self._changed:
            while (entry := self._entries.get(key)) is not None and entry.value is None:
                self._changed.wait()  # Another thread is opening it.
            if self._is_closed:
                raise DatabaseClosed("The server is stopping.", hint="Retry when it runs again.")
            if entry is not None and entry.value is not None:
                entry.users += 1
                self._entries.move_to_end(key)
                return entry.value
            outdated = self._make_room()
            entry = self._entries[key] = _Entry()
        try:
            if outdated is not None:
                outdated.close()
            value = open_()
        except BaseException:
            with self._changed:
                if self._entries.get(key) is entry:
                    del self._entries[key]
                self._changed.notify_all()
            raise
        with self._changed:
            entry.value = value
            entry.users = 1
            if self._entries.get(key) is not entry:  # The pool was closed meanwhile.
                self._discarded.append(entry)
            self._changed.notify_all()
        return value

    def take_open(self, key: Hashable) -> Opened | None:
        """Like `take`, but returns None if the graph is not open.

        It never waits for an opening.
        """
        with self._changed:
            entry = self._entries.get(key)
            if entry is None or entry.value is None or self._is_closed:
                return None
            entry.users += 1
            self._entries.move_to_end(key)
            return entry.value

    def give(self, value: Opened) -> None:
        """End one use of a graph."""
        closing: list[Opened] = []
        with self._changed:
            entries = (*self._entries.values(), *self._discarded)
            entry = next(entry for entry in entries if entry.value is value)
            entry.users -= 1
            entry.unused_since = monotonic()
            if entry in self._discarded:
                if not entry.users:
                    self._discarded.remove(entry)
                    closing.append(value)
            else:
                unused = [key for key, entry in self._entries.items() if _is_unused(entry)]
                excess = max(len(unused) - self._unused_max, 0)
                closing = [self._remove(key) for key in unused[:excess]]
            self._watch()
            self._changed.notify_all()
        for unneeded in closing:
            unneeded.close()

    def discard(self, value: Opened) -> None:
        """Stop sharing a graph: the next user opens it again. A user of the graph calls this."""
        with self._changed:
            for key, entry in list(self._entries.items()):
                if entry.value is value:
                    del self._entries[key]
                    self._discarded.append(entry)

    def close_unused(self, key: Hashable) -> None:
        """Close the graph of a key, if it is open and nobody uses it."""
        with self._changed:
            entry = self._entries.get(key)
            value = self._remove(key) if entry is not None and _is_unused(entry) else None
        if value is not None:
            value.close()

    def _remove(self, key: Hashable) -> Opened:
        value = self._entries.pop(key).value
        if value is None:
            raise InternalError(f"{key!r} is still being opened.")
        return value

    def _make_room(self) -> Opened | None:
        """If too many are open, remove the least recently used graph, which the caller closes."""
        if len(self._entries) < self._open_max:
            return None
        for key, entry in self._entries.items():
            if _is_unused(entry):
                return self._remove(key)
        raise ResourceExhausted(
            f"{self._open_max} {self._noun} are in use at the moment, which is the limit.",
            hint="Retry in a moment.",
            data={RETRY_AFTER: 1},
        )

    def _watch(self) -> None:
        """Wake up when the first of the unused graphs will have been unused for long."""
        unused = [entry.unused_since for entry in self._entries.values() if _is_unused(entry)]
        if unused and self._timer is None and not self._is_closed:
            wait_s = min(unused) + self._idle_s - monotonic()
            self._timer = Timer(max(wait_s, self._idle_s / 10), self._sweep)
            self._timer.daemon = True
            self._timer.start()

    def _sweep(self) -> None:
        """Close graphs that are unused for long; if others are open, check again later."""
        latest = monotonic() - self._idle_s
        with self._changed:
            self._timer = None
            keys = [
                key
                for key, entry in self._entries.items()
                if _is_unused(entry) and entry.unused_since <= latest
            ]
            idle = list(map(self._remove, keys))
            self._watch()
        for value in idle:
            value.close()
        if idle:
            # An application is a circle of objects, which only the collector frees.
            idle.clear()
            gc.collect()
            return_memory()

    def close(self, patience_s: float = CLOSING_S) -> None:
        """Close all graphs; one that is still used after some time is closed when its users end.

        No graph can be opened afterwards.
        """
        with self._changed:
            self._is_closed = True
            if self._timer is not None:
                self._timer.cancel()
            self._changed.wait_for(
                lambda: not any(entry.users for entry in self._entries.values()), patience_s
            )
            entries = list(self._entries.values())
            self._entries.clear()
            self._discarded.extend(entry for entry in entries if entry.users)
        for entry in entries:
            if entry.value is not None and not entry.users:
                entry.value.close()


def _is_unused(entry: _Entry[Opened]) -> bool:
    return not entry.users and entry.value is not None
