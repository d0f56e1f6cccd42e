"""One apply at a time, across threads and processes.

The lock is the operating system's, on a file beside the database, so it ends with whoever holds it,
however that ends. It is not waited for: a second apply was planned against a schema that is about
to change, so it is refused and can be planned again.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from mycel.errors import DatabaseError, SchemaApplyInProgress

SUFFIX: Final = ".__schema_apply_lock__"
_HELD: Final = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES)
"""What systems say of a lock that somebody else holds."""


@contextmanager
def schema_apply_lock(path: str) -> Iterator[None]:
    """Hold the lock of the database at `path` for as long as the block lasts.

    Raises:
        SchemaApplyInProgress: somebody else holds it.
        DatabaseError: there can be no such file, or the file system has no locks.
    """
    place = Path(path + SUFFIX)
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
        try:
            descriptor = os.open(place, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise _no_lock(place, error) from error
        try:
            _lock(descriptor)
        except OSError as error:
            os.close(descriptor)
            if error.errno in _HELD:
                raise SchemaApplyInProgress("schema apply is already in progress") from None
            raise _no_lock(place, error) from error
        if _is_there(descriptor, place):
            return descriptor
        os.close(descriptor)  # It was removed between the opening and the locking.


def _no_lock(place: Path, error: OSError) -> DatabaseError:
    return DatabaseError(
        f"{str(place)!r}, which keeps others from applying a schema at the same time, cannot be"
        f" locked: {error.strerror}.",
        hint="Nothing was changed. The directory of the database has to be writable, on a file"
        " system that has locks.",
    )


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
