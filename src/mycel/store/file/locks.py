"""A lock of the operating system on a file of its own, for work that SQLite's locks do not cover.

The lock ends with the process that holds it. The file is removed at the end, unless the process
dies.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from mycel.errors import DatabaseBusy

_HELD: Final = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES)
"""The error numbers that mean: another process holds the lock."""
_PAUSE_S: Final = 0.002


@contextmanager
def locked(place: Path) -> Iterator[None]:
    """Hold the lock on the file at `place` during the block. Do not wait for another holder.

    Raises:
        BlockingIOError: somebody else holds it.
        OSError: the file cannot be made, or the file system has no locks.
    """
    while True:
        # A file object, because it closes itself after an interrupt. It is opened for reading if
        # possible: another user may have no right to write.
        with os.fdopen(os.open(place, _ACCESS | os.O_CREAT, 0o644), "rb") as file:
            try:
                _lock(file.fileno())
            except OSError as error:
                if error.errno in _HELD:
                    raise BlockingIOError(error.errno, error.strerror) from None
                raise
            if not _is_there(file.fileno(), place):
                continue  # The file was removed after it was opened.
            try:
                yield
            finally:
                # The file is removed before the lock is released, so the next process makes a new
                # file.
                with suppress(OSError):
                    place.unlink()
            return


@contextmanager
def turn(place: Path, timeout_s: float, target: str) -> Iterator[None]:
    """Hold the lock at `place`; wait for the present holder first.

    If no file can be written or locked here, the block runs without a lock, and succeeds or fails
    itself.

    Raises:
        DatabaseBusy: another process held the lock for the whole time.
    """
    deadline = time.monotonic() + timeout_s
    with ExitStack() as stack:
        while True:
            try:
                stack.enter_context(locked(place))
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise DatabaseBusy(f"Another process is making {target!r}.") from None
                time.sleep(_PAUSE_S)
            except OSError:
                break
            else:
                break
        yield


def set_aside(path: Path) -> None:
    """Rename the log of a deleted database, because SQLite would read it into the new one.

    A process that still has the old database open keeps using its open files.
    """
    for suffix in ("-wal", "-journal"):
        orphan = Path(f"{path}{suffix}")
        with suppress(FileNotFoundError):  # There is no log, or the process of that log has ended.
            orphan.rename(f"{orphan}.orphaned-{time.time_ns()}")
    Path(f"{path}-shm").unlink(missing_ok=True)


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
