"""The moment at which two copies of a graph part: the end of the history that they share."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any, NamedTuple

from mycel.merkle import log
from mycel.store.log.journal import JournalNodes
from mycel.store.query.commits import commit_at
from mycel.store.query.reader import Reader


class Parting(NamedTuple):
    """The last commit that two graphs share, and the number of commits that each has beyond it."""

    entries: int
    """The length of the journal up to that commit; 0 if they share nothing."""
    commit: str | None
    ahead: int
    """Commits that only the first graph has."""
    behind: int
    """Commits that only the second one has."""

    def to_dict(self) -> dict[str, Any]:
        return self._asdict()


def parting(one: Reader, other: Reader) -> Parting:
    """The moment at which two graphs part.

    The root of a journal covers all that is in it, so equal roots mean equal beginnings: halving
    finds the longest one. Nothing about it has to be recorded.
    """
    nodes = [JournalNodes(each.connection, each.registry) for each in (one, other)]

    def differ(entries: int) -> bool:
        return log.root_at(nodes[0], entries) != log.root_at(nodes[1], entries)

    low = min(one.head().seq, other.head().seq)
    if differ(low):  # Otherwise one of them only goes on where the other one ends.
        low = bisect_left(range(low), True, lo=1, key=differ) - 1
    # Two transactions that part may begin alike: the last whole one that both have counts.
    (entries,) = one.only("SELECT coalesce(max(seq), 0) FROM tx WHERE seq <= ?", (low,))
    beyond = "SELECT count(*) FROM tx WHERE seq > ?"
    (ahead,), (behind,) = (each.only(beyond, (entries,)) for each in (one, other))
    return Parting(entries, commit_at(one, entries) if entries else None, ahead, behind)
