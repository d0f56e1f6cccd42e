"""The explorers of a server: one for each branch in use."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final

from mycel.api.graph import Graph
from mycel.knowledge.knowledge import Knowledge
from mycel.knowledge.knowledge_view import FileRule

if TYPE_CHECKING:
    from mycel.explorer.explorer import Explorer

OPEN_MAX: Final = 8
"""The maximum number of explorers that are kept; beyond it, the least recently used one is
dropped."""


class OpenExplorers:
    """Explorers by branch, for any number of threads."""

    def __init__(
        self, workspace: str, *, readonly: bool, timeout_s: float, root: Path | None = None
    ) -> None:
        """With `root`, files below it are shown, as far as `PublishedFiles` allows."""
        self._workspace: Final = workspace
        self._root: Final = root
        self._readonly: Final = readonly
        self._timeout_s: Final = timeout_s
        self._lock: Final = Lock()
        self._opened: Final[OrderedDict[str, Explorer]] = OrderedDict()

    def of(self, db: Graph) -> Explorer:
        """The explorer of a graph: the same one as long as the graph stays open."""
        # Imported late: a server does not need it until somebody opens the page.
        from mycel.explorer.explorer import Explorer  # noqa: PLC0415

        with self._lock:
            explorer = self._opened.get(db.branch)
            if explorer is None or explorer.db is not db:
                explorer = self._opened[db.branch] = Explorer(
                    db,
                    Knowledge(
                        db, workspace=self._workspace, root=self._root, file_rule=self._file_rule()
                    ),
                    readonly=self._readonly,
                    timeout_s=self._timeout_s,
                )
            self._opened.move_to_end(db.branch)
            while len(self._opened) > OPEN_MAX:
                self._opened.popitem(last=False)
            return explorer

    def _file_rule(self) -> FileRule | None:
        if self._root is None:
            return None
        # Imported late: it loads parsers of many languages.
        from mycel.knowledge.bootstrap.published_files import PublishedFiles  # noqa: PLC0415

        return PublishedFiles(self._root)
