"""Branches that a server keeps open for its callers, who name one with each request.

A branch is opened by the first request for it and stays open, so that later requests find its
caches filled. A branch that nobody has used for a while is closed, because a branch that is open
anywhere cannot be deleted.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final

from mycel.api.graph import Graph
from mycel.api.open_pool import IDLE_S, OpenPool
from mycel.errors import DatabaseError, NotFound
from mycel.history.branches import Branch
from mycel.model.names import shorten
from mycel.model.permission import sees_branch

UNUSED_MAX: Final = 8
"""The maximum number of unused branches that stay open. Beyond it, the least recently used one is
closed."""
OPEN_MAX: Final = 32
"""The maximum number of open branches, used or not. Each has its own files, cache and index."""


def check_sees(name: str) -> None:
    """Check that the permission of this thread allows it to see a branch.

    Raises:
        NotFound: the thread may not see the branch; it gets the error about a missing branch.
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
        self._pool: Final[OpenPool[Graph]] = OpenPool(
            "branches", open_max=open_max, unused_max=unused_max, idle_s=idle_s
        )

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
        graph = self._take(name)
        try:
            yield graph
        finally:
            self._pool.give(graph)

    def _take(self, name: str) -> Graph:
        open_branch = partial(self._db.open_branch, name)
        graph = self._pool.take(name, open_branch)
        try:
            graph.check_in_place()
        except BaseException as error:
            self._pool.discard(graph)
            self._pool.give(graph)
            if not isinstance(error, DatabaseError):
                raise
            return self._pool.take(name, open_branch)  # Another process had removed the file.
        return graph

    def delete(self, name: str, *, unmerged: bool = False) -> Branch:
        """Delete a branch, as `Branches.delete` does, after closing it here.

        Raises:
            InvalidIdentifier, NotFound: there is no such branch.
            ConstraintViolation: the branch is main, or has commits that main lacks and `unmerged`
                is False.
            DatabaseBusy: the branch is in use.
        """
        check_sees(name)
        self._pool.close_unused(name)
        return self._db.branches.delete(name, unmerged=unmerged)

    def close(self) -> None:
        """Close every branch that was opened here; a branch in use is closed when its users end."""
        self._pool.close(patience_s=0)
