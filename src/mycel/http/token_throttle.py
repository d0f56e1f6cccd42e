"""Counts wrong tokens by address.

After `FAILURES_MAX` wrong tokens within `WINDOW_S`, further ones of that address are answered late
and with 429. A valid token is always accepted, because others may share the address (behind a
proxy, or on one machine) and must not be shut out.
"""

from __future__ import annotations

from time import monotonic
from typing import Final

FAILURES_MAX: Final = 20
WINDOW_S: Final = 60
DELAY_S: Final = 1.0
"""The delay of the answer to a wrong token beyond the limit."""
ADDRESSES_MAX: Final = 4096


class Throttle:
    """Wrong tokens by address."""

    def __init__(self) -> None:
        self._failures: dict[str, tuple[float, int]] = {}
        """For each address, the start of the window and the failures in it."""

    def fail(self, address: str) -> bool:
        """Count a wrong token; True if there were too many."""
        now = monotonic()
        began, count = self._failures.pop(address, (now, 0))
        if now - began > WINDOW_S:
            began, count = now, 0
        if len(self._failures) >= ADDRESSES_MAX:
            del self._failures[next(iter(self._failures))]
        self._failures[address] = began, count + 1
        return count >= FAILURES_MAX
