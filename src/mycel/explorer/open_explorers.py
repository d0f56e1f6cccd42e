"""The explorers of a server: one for each branch that is looked at."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Final

from mycel.history.graph import Graph
from mycel.knowledge.knowledge import Knowledge

if TYPE_CHECKING:
    from mycel.explorer.explorer import Explorer

OPEN_MAX: Final = 8
"""Explorers that are kept; above that the least recently used one is dropped."""


class OpenExplorers:
    """Explorers by branch, for any number of threads."""

    def __init__(self, workspace: str, *, readonly: bool, timeout_s: float) -> None:
        self._workspace: Final = workspace
        self._readonly: Final = readonly
        self._timeout_s: Final = timeout_s
        self._lock: Final = Lock()
        self._opened: Final[OrderedDict[str, Explorer]] = OrderedDict()

    def of(self, db: Graph) -> Explorer:
        """The explorer of a graph: the same one as long as the graph stays open."""
        # Late: a server that nobody looks at starts without it.
        from mycel.explorer.explorer import Explorer  # noqa: PLC0415

        with self._lock:
            found = self._opened.get(db.branch)
            if found is None or found.db is not db:
                found = self._opened[db.branch] = Explorer(
                    db,
                    Knowledge(db, workspace=self._workspace),
                    readonly=self._readonly,
                    timeout_s=self._timeout_s,
                )
            self._opened.move_to_end(db.branch)
            while len(self._opened) > OPEN_MAX:
                self._opened.popitem(last=False)
            return found
