"""A lock of the operating system on a file of its own, for what SQLite's locks do not cover.

It ends with whoever holds it, however that ends, and leaves no file behind unless the process that
holds it dies.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

_HELD: Final = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES)
"""What systems say of a lock that somebody else holds."""


@contextmanager
def locked(place: Path) -> Iterator[None]:
    """Hold the lock on the file at `place` for as long as the block lasts. Nobody is waited for.

    Raises:
        BlockingIOError: somebody else holds it.
        OSError: there can be no such file, or the file system has no locks.
    """
    descriptor = _acquire(place)
    try:
        yield
    finally:
        # First the name, then the lock: whoever opens the name from now on makes a new file.
        with suppress(OSError):
            place.unlink()
        os.close(descriptor)


def _acquire(place: Path) -> int:
    while True:
        descriptor = os.open(place, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _lock(descriptor)
        except OSError as error:
            os.close(descriptor)
            if error.errno in _HELD:
                raise BlockingIOError(error.errno, error.strerror) from None
            raise
        if _is_there(descriptor, place):
            return descriptor
        os.close(descriptor)  # It was removed between the opening and the locking.


def _is_there(descriptor: int, place: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), place.stat())
    except FileNotFoundError:
        return False


if os.name == "nt":  # pragma: no cover - the other systems have `fcntl`.
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
