"""Returns free memory of this process to the operating system.

The C library keeps freed memory for later use, often in pieces between parts that are in use.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache


def return_memory() -> None:
    """Return all free memory to the operating system."""
    of_library("malloc_trim")(0)


@cache
def of_library(name: str) -> Callable[..., object]:
    """A function of the C library; a no-op where it is missing (musl, macOS, Windows)."""
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 - only those who work long need it

        function: Callable[..., object] | None = getattr(ctypes.CDLL(None), name, None)
        if function is not None:
            return function
    return lambda *_: None
