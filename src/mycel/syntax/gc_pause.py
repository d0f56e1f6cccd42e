"""Pausing Python's collector of cycles while a large tree is made and used.

Looking for cycles among a million nodes again and again takes as long as making them, and a tree
has none.
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
