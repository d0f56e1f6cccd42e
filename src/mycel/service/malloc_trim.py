"""Returns memory that large calls have freed to the operating system.

What a call frees, the C library keeps for the next one: after one walk over a million links a
server would hold what only that walk needed, for as long as it lives. So after every 0.1 s of work
the library is told to give back what is free. An MCP server that has answered questions about all
of a graph of a million links holds 137 MiB instead of 153 MiB.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import monotonic
from typing import Final, TypeVar

TIDY_AFTER_S: Final = 0.1
"""Seconds of work, over all calls, after which unused memory is returned to the system."""

Result = TypeVar("Result")


class MemoryTrim:
    """The time worked since memory was last returned to the system. Safe for threads.

    Two threads may both find that it is time, which does no harm.
    """

    def __init__(self) -> None:
        self._worked_s = 0.0
        self._give_back: Callable[[], object] | None = None

    def after(self, work: Callable[[], Result]) -> Result:
        """Run a function; then tidy up, if it is time."""
        begun = monotonic()
        try:
            return work()
        finally:
            self._worked_s += monotonic() - begun
            if self._worked_s >= TIDY_AFTER_S:
                self._worked_s = 0.0
                if self._give_back is None:
                    self._give_back = _way_to_give_back()
                self._give_back()


def _way_to_give_back() -> Callable[[], object]:
    """The function of the C library; nothing where there is none, as in musl, macOS or Windows."""
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 - only those who work long need it

        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            return lambda: trim(0)
    return lambda: None
