"""Memory that is free in this process, returned to the operating system.

The C library keeps what was freed for the next call, and often in the middle of what is in use.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache


def return_memory() -> None:
    """Return what is free."""
    of_library("malloc_trim")(0)


@cache
def of_library(name: str) -> Callable[..., object]:
    """A function of the C library; nothing where there is none, as in musl, macOS or Windows."""
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 - only those who work long need it

        function: Callable[..., object] | None = getattr(ctypes.CDLL(None), name, None)
        if function is not None:
            return function
    return lambda *_: None
