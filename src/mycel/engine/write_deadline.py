"""The deadline of a command that writes, if no server has set an allowance."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from time import monotonic
from typing import Final

from mycel.errors import ExecutionTimeout
from mycel.model import allowance

WRITE_S_MIN: Final = 1.0
"""The seconds that a write may always take, so that small writes succeed under load."""


class _Deadline:
    """An allowance of time alone."""

    __slots__ = ("_end", "holds_turn", "is_brief", "is_set_aside", "outgrew")

    def __init__(self, end: float) -> None:
        self._end: Final = end
        self.holds_turn = self.is_brief = self.is_set_aside = self.outgrew = False

    def is_over(self) -> bool:
        return monotonic() > self._end

    def charge(self, size: int) -> None:
        """Do nothing: memory is not limited for a caller in this process."""

    def wait_s(self) -> float:
        return max(0.0, self._end - monotonic())

    def turn_s(self) -> float:
        return inf


@contextmanager
def stopping_after(timeout_s: float) -> Iterator[None]:
    """Stop the write in this block when it takes longer, unless the thread has an allowance.

    Raises:
        ExecutionTimeout: the write has taken longer.
    """
    if allowance.current() is not None:
        yield
        return
    deadline = _Deadline(monotonic() + max(timeout_s, WRITE_S_MIN))
    try:
        with allowance.using(deadline):
            yield
    except ExecutionTimeout as error:
        if deadline.is_over():
            error.hint = (
                "Change fewer elements in a command, for example with UPDATE … LIMIT, or give it"
                " more time: `timeout_s` of mycel.open, `--timeout` of `mycel kip`."
            )
        raise
