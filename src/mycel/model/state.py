"""The state of a graph that a reader reads."""

from __future__ import annotations

from typing import Final, NamedTuple


class State(NamedTuple):
    """The live state, or the state of this graph right after a transaction of the past."""

    seq: int | None = None
    """The position of the journal at which that transaction ended; None for the live state."""

    @property
    def is_live(self) -> bool:
        return self.seq is None


LIVE: Final = State()


class Visibility(NamedTuple):
    """The elements of a state that a reader sees."""

    include_archived: bool = False
    valid_at_us: int | None = None
    """The time at which elements have to hold; None for no such condition."""


ORDINARY: Final = Visibility()
