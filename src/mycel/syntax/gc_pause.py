"""Pauses Python's collector of cycles while a large tree is built and used.

Searching a million nodes for cycles again and again takes as long as building them, and a tree has
no cycles.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused(pause: bool) -> Iterator[None]:
    """Pause the collector of cycles within the block, if `pause` is set and it is running."""
    if not pause or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
