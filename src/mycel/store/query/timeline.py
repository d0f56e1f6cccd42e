"""Positions of the journal by time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mycel.model import commits
from mycel.store.query.commits import tags
from mycel.store.query.history import Moment, entry_at, position_at_time
from mycel.store.query.reader import Reader


class End(NamedTuple):
    """The end of a transaction: its position and time."""

    seq: int
    time_us: int


def end_at(reader: Reader, moment: Moment | None, *, last: bool) -> End:
    """The end of the last transaction at or before a moment; without one, of the last or first."""
    if moment is None:
        way = "DESC" if last else "ASC"
        row = reader.only(f"SELECT seq, time FROM tx ORDER BY seq {way} LIMIT 1")
    else:
        query = "SELECT seq, time FROM tx WHERE seq >= ? ORDER BY seq LIMIT 1"
        row = reader.only(query, (entry_at(reader, moment),))
    return End(*row)


def positions_at(reader: Reader, times_us: Sequence[int]) -> list[int]:
    """The position of the state at each of these times."""
    return [position_at_time(reader, each) for each in times_us]


def tagged(reader: Reader) -> list[tuple[str, int]]:
    """The tags, each with the position of its commit."""
    found = ((name, commits.entry_in(commit)) for name, commit in tags(reader).items())
    return [(name, seq) for name, seq in found if seq is not None]
