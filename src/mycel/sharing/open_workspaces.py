"""Workspaces that a server has open, each with the objects that serve it.

A workspace is opened by the first request for it, shared by all its users, and closed when nobody
has used it for a while; its memory then goes back to the system. So idle workspaces cost nothing.
"""

from __future__ import annotations

import gc
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from threading import Condition, Timer
from time import monotonic
from typing import Final, Generic, Protocol, TypeVar

from mycel.errors import DatabaseClosed, ResourceExhausted
from mycel.model.allowance import RETRY_AFTER
from mycel.store.file.process_memory import return_memory

IDLE_S: Final = 60.0
"""The time after which an unused workspace is closed."""
OPEN_MAX: Final = 64
"""The maximum number of open workspaces, used or not. Each has its own files, caches and index."""


class Closable(Protocol):
    """Something that is open."""

    def close(self) -> None: ...


Opened = TypeVar("Opened", bound=Closable)


class _Entry(Generic[Opened]):
    """One workspace and the number of its users; without a value, it is still being opened."""

    __slots__ = ("unused_since", "users", "value")

    def __init__(self) -> None:
        self.value: Opened | None = None
        self.users = 0
        self.unused_since = 0.0


class OpenWorkspaces(Generic[Opened]):
    """Open workspaces by key, for any number of threads."""

    def __init__(self, *, idle_s: float = IDLE_S, open_max: int = OPEN_MAX) -> None:
        self._idle_s: Final = idle_s
        self._open_max: Final = open_max
        self._changed: Final = Condition()
        self._entries: Final[OrderedDict[Hashable, _Entry[Opened]]] = OrderedDict()
        """The open workspaces by key, least recently used first."""
        self._discarded: Final[list[_Entry[Opened]]] = []
        """Entries that get no new users, but still have some."""
        self._timer: Timer | None = None
        self._is_closed = False

    def __len__(self) -> int:
        """The number of open workspaces."""
        return len(self._entries)

    def keys(self) -> list[Hashable]:
        with self._changed:
            return list(self._entries)

    @contextmanager
    def using(self, key: Hashable, open_: Callable[[], Opened]) -> Iterator[Opened]:
        """Hold the workspace of a key for the time of a block; it is opened if needed.

        Raises:
            ResourceExhausted: too many are in use.
            DatabaseClosed: the server is stopping.
        """
        value = self.take(key, open_)
        try:
            yield value
        finally:
            self.give(value)

    def take(self, key: Hashable, open_: Callable[[], Opened]) -> Opened:
        """Begin to use the workspace of a key. Every take needs one `give`."""
        with self._changed:
            while (entry := self._entries.get(key)) is not None and entry.value is None:
                self._changed.wait()  # Another thread is opening it.
            if self._is_closed:
                raise DatabaseClosed("The server is stopping.")
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
                del self._entries[key]
                self._changed.notify_all()
            raise
        with self._changed:
            entry.value = value
            entry.users = 1
            self._changed.notify_all()
        return value

    def take_open(self, key: Hashable) -> Opened | None:
        """Like `take`, but returns None if the workspace is not open.

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
        """End one use of a workspace."""
        with self._changed:
            known = (*self._entries.values(), *self._discarded)
            entry = next(entry for entry in known if entry.value is value)
            entry.users -= 1
            entry.unused_since = monotonic()
            self._watch()
            self._changed.notify_all()
            if entry.users or entry not in self._discarded:
                return
            self._discarded.remove(entry)
        value.close()

    def discard(self, value: Opened) -> None:
        """Stop sharing a workspace: the next user opens it again. A user of it calls this."""
        with self._changed:
            for key, entry in list(self._entries.items()):
                if entry.value is value:
                    del self._entries[key]
                    self._discarded.append(entry)

    def _make_room(self) -> Opened | None:
        """If too many are open, remove the least recently used one, which the caller closes."""
        if len(self._entries) < self._open_max:
            return None
        for key, entry in self._entries.items():
            if not entry.users and entry.value is not None:
                del self._entries[key]
                return entry.value
        raise ResourceExhausted(
            f"{self._open_max} workspaces are in use at the moment, which is the limit.",
            hint="Retry in a moment.",
            data={RETRY_AFTER: 1},
        )

    def _watch(self) -> None:
        """Wake up when the first of the unused workspaces will have been unused for long."""
        unused = [
            entry.unused_since
            for entry in self._entries.values()
            if not entry.users and entry.value is not None
        ]
        if unused and self._timer is None and not self._is_closed:
            wait_s = min(unused) + self._idle_s - monotonic()
            self._timer = Timer(max(wait_s, self._idle_s / 10), self._sweep)
            self._timer.daemon = True
            self._timer.start()

    def _sweep(self) -> None:
        """Close workspaces that are unused for long; if others are open, check again later."""
        latest = monotonic() - self._idle_s
        with self._changed:
            self._timer = None
            idle = [
                (key, entry.value)
                for key, entry in self._entries.items()
                if not entry.users and entry.value is not None and entry.unused_since <= latest
            ]
            for key, _ in idle:
                del self._entries[key]
            self._watch()
        for _, value in idle:
            value.close()
        if idle:
            # An application is a circle of objects, which only the collector frees.
            idle.clear()
            gc.collect()
            return_memory()

    def close(self) -> None:
        """Close all workspaces, used ones when their users end; none can be opened afterwards."""
        with self._changed:
            self._is_closed = True
            if self._timer is not None:
                self._timer.cancel()
            self._changed.wait_for(
                lambda: not any(entry.users for entry in self._entries.values()), timeout=5
            )
            entries = list(self._entries.values())
            self._entries.clear()
        for entry in entries:
            if entry.value is not None:
                entry.value.close()
