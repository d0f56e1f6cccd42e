"""Branches that a server keeps open for its callers, who name one with each request.

A branch is opened by the first request for it and stays open, so that later requests find its
caches filled. A branch that nobody has used for a while is closed, because a branch that is open
anywhere cannot be deleted.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, Timer
from time import monotonic
from typing import Final

from mycel.api.graph import Graph
from mycel.errors import DatabaseClosed, DatabaseError, NotFound, ResourceExhausted
from mycel.history.branches import Branch
from mycel.model.allowance import RETRY_AFTER
from mycel.model.names import shorten
from mycel.model.permission import sees_branch

IDLE_S: Final = 60.0
"""The time after which an unused branch is closed."""
UNUSED_MAX: Final = 8
"""The maximum number of unused branches that stay open. Beyond it, the least recently used one is
closed."""
OPEN_MAX: Final = 32
"""The maximum number of open branches, used or not. Each has its own files, cache and index."""


class _Opened:
    """One open branch, and the number of its users."""

    __slots__ = ("graph", "unused_since", "users")

    def __init__(self, graph: Graph) -> None:
        self.graph: Final = graph
        self.users = 0
        self.unused_since = 0.0


def check_sees(name: str) -> None:
    """Check that the permission of this thread allows it to see a branch.

    Raises:
        NotFound: it does not; the error is that of a missing branch.
    """
    if not sees_branch(name):
        raise NotFound(f"The graph has no branch {shorten(repr(name))}.")


class OpenBranches:
    """The branches of one graph, by name, for any number of threads."""

    def __init__(
        self,
        db: Graph,
        *,
        idle_s: float = IDLE_S,
        unused_max: int = UNUSED_MAX,
        open_max: int = OPEN_MAX,
    ) -> None:
        self._db: Final = db
        self._idle_s: Final = idle_s
        self._unused_max: Final = unused_max
        self._open_max: Final = open_max
        self._lock: Final = Lock()
        self._opened: Final[OrderedDict[str, _Opened]] = OrderedDict()
        """The open branches by name, least recently used first."""
        self._timer: Timer | None = None
        self._is_closed = False

    @contextmanager
    def using(self, name: str | None) -> Iterator[Graph]:
        """Hold the graph of a branch for a block; without a name, the branch of the server.

        Raises:
            InvalidIdentifier, NotFound: there is no such branch.
            ResourceExhausted: too many branches are in use.
            DatabaseClosed: the server is stopping.
        """
        check_sees(name or self._db.branch)
        if name is None or name == self._db.branch:
            yield self._db
            return
        with self._lock:
            opened = self._take(name)
        try:
            yield opened.graph
        finally:
            with self._lock:
                self._give(opened)

    def _take(self, name: str) -> _Opened:
        if self._is_closed:
            raise DatabaseClosed("The server is stopping.")
        opened = self._opened.get(name)
        if opened is not None:
            try:
                opened.graph.check_in_place()
            except DatabaseError:  # Another process has removed the file.
                del self._opened[name]
                self._close_unused(opened)
                opened = None
        if opened is None:
            self._make_room()
            opened = self._opened[name] = _Opened(self._db.open_branch(name))
        self._opened.move_to_end(name)
        opened.users += 1
        return opened

    def _make_room(self) -> None:
        """Close the least recently used branch if too many are open."""
        if len(self._opened) < self._open_max:
            return
        for name, branch in self._opened.items():
            if not branch.users:
                del self._opened[name]
                branch.graph.close()
                return
        raise ResourceExhausted(
            f"{self._open_max} branches are in use at the moment, which is the limit.",
            hint="Retry in a moment.",
            data={RETRY_AFTER: 1},
        )

    def _give(self, opened: _Opened) -> None:
        opened.users -= 1
        opened.unused_since = monotonic()
        if self._is_closed or opened not in self._opened.values():
            self._close_unused(opened)
            return
        self._sweep()

    def _sweep(self) -> None:
        """Close branches that have been unused for long; if others are open, check again later."""
        unused = [(name, branch) for name, branch in self._opened.items() if not branch.users]
        latest = monotonic() - self._idle_s
        for at, (name, branch) in enumerate(unused):
            if branch.unused_since <= latest or len(unused) - at > self._unused_max:
                del self._opened[name]
                branch.graph.close()
        if self._timer is None and self._opened and not self._is_closed:
            self._timer = Timer(self._idle_s, self._look_again)
            self._timer.daemon = True
            self._timer.start()

    def _look_again(self) -> None:
        with self._lock:
            self._timer = None
            self._sweep()

    def _close_unused(self, opened: _Opened) -> None:
        if not opened.users:
            opened.graph.close()

    def delete(self, name: str, *, unmerged: bool = False) -> Branch:
        """Delete a branch, as `Branches.delete` does, after closing it here.

        Raises:
            InvalidIdentifier, NotFound: there is no such branch.
            ConstraintViolation: it is main, or it has commits that main lacks and `unmerged` is
                False.
            DatabaseBusy: it is in use.
        """
        check_sees(name)
        with self._lock:
            opened = self._opened.get(name)
            if opened is not None and not opened.users:
                del self._opened[name]
                opened.graph.close()
        return self._db.branches.delete(name, unmerged=unmerged)

    def close(self) -> None:
        """Close every branch that was opened here; a branch in use is closed when its users end."""
        with self._lock:
            self._is_closed = True
            if self._timer is not None:
                self._timer.cancel()
            for branch in self._opened.values():
                self._close_unused(branch)
            self._opened.clear()
