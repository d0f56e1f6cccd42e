"""Reads regular files: no symbolic link is followed, and no pipe is waited for."""

from __future__ import annotations

import os
import stat
from typing import Final, NamedTuple

READ_FLAGS: Final = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_BINARY", 0)
)
"""Flags to open a file for reading, without following a link or blocking on a pipe."""


class PlainFile(NamedTuple):
    """A regular file: its status, and its first bytes."""

    status: os.stat_result
    data: bytes


def read_plain(path: str, bytes_max: int) -> PlainFile:
    """At most `bytes_max` bytes of a regular file.

    Raises:
        OSError, ValueError: it cannot be read, or is no regular file.
    """
    descriptor = os.open(path, READ_FLAGS)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("no regular file")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return PlainFile(status, file.read(bytes_max))
    finally:
        os.close(descriptor)


def reason_of(error: OSError | ValueError) -> str:
    """The reason of a failed file operation, in lower case."""
    return (getattr(error, "strerror", None) or str(error)).lower()
