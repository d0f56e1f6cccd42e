"""A lock of the operating system on a file of its own, for what SQLite's locks do not cover.

It ends with the process that holds it. The file is removed, unless that process dies.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

_HELD: Final = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES)
"""Error numbers of a lock that another process holds."""


@contextmanager
def locked(place: Path) -> Iterator[None]:
    """Hold the lock on the file at `place` for as long as the block lasts. Nobody is waited for.

    Raises:
        BlockingIOError: somebody else holds it.
        OSError: there can be no such file, or the file system has no locks.
    """
    while True:
        # A file, not a descriptor: it closes itself when this is interrupted. For reading, which
        # another user may as well, where that is enough for a lock.
        with os.fdopen(os.open(place, _ACCESS | os.O_CREAT, 0o644), "rb") as file:
            try:
                _lock(file.fileno())
            except OSError as error:
                if error.errno in _HELD:
                    raise BlockingIOError(error.errno, error.strerror) from None
                raise
            if not _is_there(file.fileno(), place):
                continue  # It was removed between the opening and the locking.
            try:
                yield
            finally:
                # First the name, then the lock: whoever opens it from now on makes a new file.
                with suppress(OSError):
                    place.unlink()
            return


def _is_there(descriptor: int, place: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), place.stat())
    except FileNotFoundError:
        return False


if os.name == "nt":  # pragma: no cover - the other systems have `fcntl`.
    import msvcrt

    _ACCESS = os.O_RDWR

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]

else:
    import fcntl

    _ACCESS = os.O_RDONLY

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
