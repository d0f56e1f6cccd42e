"""Following a remote: what is committed there comes into the clone within a moment.

The remote sends the positions that its journal reaches. What is missing is pulled from the position
of the clone, so nothing is lost over reconnects, and everything is checked as in any pull. A remote
that is away is tried again, after pauses that grow.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, Final, NamedTuple, cast

from mycel.api.graph import Graph
from mycel.errors import DatabaseBusy, HistoryRewritten, RemoteFailed
from mycel.remote.copying import Pulled, pull
from mycel.remote.sources import RemoteHead, RemoteSource

PAUSE_FIRST_S: Final = 0.5
PAUSE_LAST_S: Final = 60.0


class Away(NamedTuple):
    """The remote cannot be reached at the moment."""

    reason: str
    pause_s: float

    def to_dict(self) -> dict[str, Any]:
        return {"status": "away", "reason": self.reason, "pause_s": self.pause_s}


def follow(
    db: Graph,
    source: RemoteSource,
    *,
    pinned: tuple[int, bytes] | None = None,
    name: str = "remote",
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[Pulled | Away]:
    """Pull now, and whenever something is committed there. It ends at conflicts, or never.

    The first pull and those that brought something are returned, and each time the remote is away.

    Raises:
        HistoryRewritten: the history of the remote is another one.
        MycelError: what a pull cannot mend.
    """
    pause_s = PAUSE_FIRST_S
    is_first = True
    while True:
        try:
            result = pull(db, source, pinned=pinned, name=name)
            pinned = _pin(result.head)
            if is_first or result.entries:
                yield result
            is_first = False
            # A generator that is closed closes its connection.
            with closing(cast("Any", source.positions(result.head.entries))) as positions:
                for position in positions:
                    pause_s = PAUSE_FIRST_S
                    if position > result.head.entries:
                        result = pull(db, source, pinned=pinned, name=name)
                        pinned = _pin(result.head)
                        yield result
                    if result.status == "conflicts":
                        return
            sleep(PAUSE_FIRST_S)  # The remote has ended the stream; a server does so now and then.
        except HistoryRewritten:
            raise
        except (RemoteFailed, DatabaseBusy) as error:
            yield Away(error.message, pause_s)
            sleep(pause_s)
            pause_s = min(2 * pause_s, PAUSE_LAST_S)


def _pin(head: RemoteHead) -> tuple[int, bytes]:
    return head.entries, head.journal_root
