"""Following a remote: its commits are pulled into the clone within a moment.

The remote sends the positions that its journal reaches. Missing entries are pulled from the
position of the clone, so no commit is lost over reconnects, and all are checked as in any pull. If
the remote cannot be reached, it is tried again after growing pauses.
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
    """Pull now, and after each commit of the remote; only conflicts end this.

    Yields the first pull, every pull with new entries, and an `Away` each time the remote cannot be
    reached.

    Raises:
        HistoryRewritten: the history of the remote is another one.
        MycelError: a failure that another pull would not remove.
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
            # Closing the generator closes its connection.
            with closing(cast("Any", source.positions(result.head.entries))) as positions:
                for position in positions:
                    pause_s = PAUSE_FIRST_S
                    if position > result.head.entries:
                        result = pull(db, source, pinned=pinned, name=name)
                        pinned = _pin(result.head)
                        yield result
                    if result.status == "conflicts":
                        return
            # The remote has ended the stream, which a server does from time to time.
            sleep(PAUSE_FIRST_S)
        except HistoryRewritten:
            raise
        except (RemoteFailed, DatabaseBusy) as error:
            yield Away(error.message, pause_s)
            sleep(pause_s)
            pause_s = min(2 * pause_s, PAUSE_LAST_S)


def _pin(head: RemoteHead) -> tuple[int, bytes]:
    return head.entries, head.journal_root
