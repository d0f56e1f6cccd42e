"""A filtered copy of a graph: it has only the elements that a token may see, and follows the graph.

A caller that may read some paths only works on such a copy, through the same doors as others.
Hidden elements are not in the copy. So they cannot show in an answer, a count, a plan, a
suggestion, a proof, an error or the time that a miss takes. The copy is a graph of its own, with
its own commits and proofs, in `.scopes/` beside the workspaces. A write to it is written to the
graph in the same transaction (`pass_on`), and writes of others to the graph are replayed in it
(`copy_follower`). A copy can be made again at any time.
"""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from mycel.api.graph import Graph
from mycel.api.open_branches import OpenBranches
from mycel.api.opening import open_graph
from mycel.errors import AccessDenied, InternalError, MycelError, ResourceExhausted
from mycel.model.allowance import using
from mycel.model.names import SLEEP_TASK
from mycel.model.permission import permitted
from mycel.sharing.copy_follower import CopyFollower, CopyOutdatedError
from mycel.sharing.element_filter import ElementFilter
from mycel.sharing.pass_on import PassOn
from mycel.sharing.scopes import Pattern
from mycel.sharing.write_scope import WriteScope
from mycel.store.file.branch_files import COMPANIONS, MAIN
from mycel.store.query import commits
from mycel.store.query.purges import last_purge

FOLDER: Final = ".scopes"
"""The folder of all copies, in the folder of the workspaces."""
COPIES_MAX: Final = 64
"""The maximum number of copies of one workspace; beyond it, no request may create another one."""
LOOK_S: Final = 0.25
"""The time between two checks of the journal, for streams of changes."""

_log = logging.getLogger(__name__)


class ScopedCopy:
    """The open copy of a graph for some patterns."""

    graph: Graph
    """The graph of the copy, on which requests run."""

    def __init__(
        self,
        source: Graph,
        folder: Path,
        patterns: Sequence[Pattern],
        *,
        readonly: bool = False,
        timeout_s: float,
        is_asked: bool = False,
    ) -> None:
        """Open the copy in a folder, and bring it to the present state; it is created if needed.

        Raises:
            ResourceExhausted: there are too many copies, and a request, not a token, asks for this
                one (`is_asked`).
        """
        self._source: Final = source
        self._filter: Final = ElementFilter(patterns)
        self._readonly: Final = readonly
        self._timeout_s: Final = timeout_s
        self._lock: Final = threading.Lock()
        self._ending: Final = threading.Event()
        self.is_outdated = False
        """True once the copy cannot follow its graph, and has to be closed and opened again."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with source.reading() as reader:
            generation = last_purge(reader)
        self._path: Final = folder / f"{_digest(self._filter.patterns)}-{generation}.db"
        remove_outdated(folder, generation)
        if is_asked and not self._path.exists() and len(list(folder.glob("*.db"))) >= COPIES_MAX:
            raise ResourceExhausted(
                f"There are {COPIES_MAX} copies of parts of this workspace, which is the limit.",
                hint="Ask for a part that others have, or for the whole workspace.",
            )
        with using(None), permitted(None):
            try:
                self._follower = self._open()
            except CopyOutdatedError as reason:
                _log.warning("A copy for some paths is made again: %s.", reason)
                _remove(self._path)
                self._follower = self._open_new()
        self._thread: Final = threading.Thread(target=self._keep_up, daemon=True)
        self._thread.start()

    def _open(self) -> CopyFollower:
        if not self._path.exists():
            self._make()
        follower = CopyFollower(self._path, self._source, self._filter)
        try:
            follower.follow()
            self.graph = open_graph(
                self._path,
                create=False,
                readonly=self._readonly,
                durability="normal",
                memory="modest",
                timeout_s=self._timeout_s,
                busy_timeout_s=self._timeout_s,
                guards=(WriteScope(), PassOn(self._source, self._filter)),
            )
            self.graph.be_part_of(self._source)
        except BaseException:
            follower.close()
            raise
        return follower

    def _open_new(self) -> CopyFollower:
        try:
            return self._open()
        except CopyOutdatedError as reason:
            _remove(self._path)
            raise InternalError(
                f"The elements that the token may see cannot be collected: {reason}.",
                hint="Retry in a moment. If it happens again, run `mycel doctor` on the workspace.",
            ) from reason

    def _make(self) -> None:
        with self._source.reading() as reader:
            first = list(commits.transactions(reader))[-1]
            is_bare = reader.find_type(SLEEP_TASK) is None
        open_graph(
            self._path,
            core_capsules=not is_bare,
            clock_us=lambda: first.time_us,
            durability="normal",
        ).close()

    def follow(self) -> None:
        """Bring the copy to the last commit of its graph.

        Raises:
            InternalError: the copy cannot follow, and has to be opened again.
        """
        if not self.is_outdated and not self._follower.is_behind():
            return
        with self._lock:
            try:
                if not self.is_outdated:
                    with using(None), permitted(None):
                        self._follower.follow()
            except CopyOutdatedError as reason:
                _log.warning("A copy for some paths is made again: %s.", reason)
                self.is_outdated = True
        if self.is_outdated:
            raise InternalError(
                "The elements that the token may see are being collected again.",
                hint="Retry in a moment.",
            )

    def _keep_up(self) -> None:
        while not self._ending.wait(LOOK_S):
            try:
                self.follow()
            except MycelError as error:
                if self.is_outdated:
                    return
                _log.warning("A copy for some paths is behind: %s", error.message)

    def close(self) -> None:
        """Close the copy, and remove it if it can no longer follow its graph."""
        self._ending.set()
        self._thread.join()
        self._follower.close()
        self.graph.close()
        if self.is_outdated:
            _remove(self._path)


class MainAlone(OpenBranches):
    """The branches of a copy: main."""

    @contextmanager
    def using(self, name: str | None) -> Iterator[Graph]:
        """The copy; any branch except main is an error.

        Raises:
            AccessDenied: another branch is asked for, existing or not.
        """
        if name not in (None, MAIN):
            raise AccessDenied(
                "A token that may read some paths only works on main.",
                hint="Ask for main, or for a token with the scope `read:/**`.",
            )
        with super().using(None) as graph:
            yield graph


def remove_outdated(folder: Path, generation: int) -> None:
    """Remove copies that are older than the last purge."""
    for path in folder.glob("*-*.db"):
        if not path.stem.endswith(f"-{generation}"):
            _remove(path)


def _remove(path: Path) -> None:
    for ending in COMPANIONS:
        path.with_name(path.name + ending).unlink(missing_ok=True)


def _digest(patterns: Sequence[Pattern]) -> str:
    text = "\n".join(map(str, patterns))
    return hashlib.sha256(text.encode()).hexdigest()[:32]
