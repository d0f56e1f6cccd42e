"""A thread that keeps the mirror of a graph up to date while a process serves it.

The thread looks at the journal once a second, so that writers are not slowed down. It writes the
mirror after a second without transactions, and at least every ten seconds. If it cannot write,
`mycel mirror status` shows the reason, and it tries again later.
"""

from __future__ import annotations

from contextlib import suppress
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, Final

from mycel.errors import MycelError
from mycel.mirror.settings import has_mirror

if TYPE_CHECKING:
    from mycel.api.graph import Graph

LOOK_SECONDS: Final = 1.0
WAIT_SECONDS_MAX: Final = 10.0
RETRY_SECONDS: Final = 30.0


class Follower:
    """Follows one graph until it is closed."""

    def __init__(self, graph: Graph) -> None:
        self._graph: Final = graph
        self._stop: Final = Event()
        self._written = -1
        """The journal entry up to which the mirror is written."""
        self._seen = -1
        self._since = 0.0
        """The time of the first transaction that the mirror does not have yet."""
        self._thread: Final = Thread(target=self._run, name="mycel-mirror", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Write the remaining transactions, and end the thread. Closing twice does no harm."""
        if self._stop.is_set():
            return
        self._stop.set()
        self._thread.join()
        if has_mirror(self._graph.path):
            self._push()

    def _run(self) -> None:
        while not self._stop.wait(LOOK_SECONDS):
            if has_mirror(self._graph.path):
                with suppress(Exception):  # Other calls will report the error; the thread goes on.
                    self._look(monotonic())

    def _look(self, now: float) -> None:
        with self._graph.reading() as reader:
            seq = reader.head().seq
        if seq == self._written:
            return
        is_quiet = seq == self._seen
        if not is_quiet and self._seen in (-1, self._written):
            self._since = now
        self._seen = seq
        if not is_quiet and now - self._since < WAIT_SECONDS_MAX:
            return
        if now >= self._since:
            self._since = now if self._push() else now + RETRY_SECONDS

    def _push(self) -> bool:
        # Imported late: most graphs have no mirror.
        from mycel.mirror.sync import Upkeep  # noqa: PLC0415

        try:
            self._written = Upkeep(self._graph).catch_up().seq
        except MycelError:
            return False
        return True
