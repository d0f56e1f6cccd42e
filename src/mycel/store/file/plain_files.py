"""Reads regular files only, up to a size. It never blocks on a pipe or reads a device."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import BinaryIO, Final, NamedTuple

_FLAGS: Final = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
READ_FLAGS: Final = _FLAGS | getattr(os, "O_NOFOLLOW", 0)
"""The flags that open a file for reading, without following a link or blocking on a pipe."""
_GIVEN: Final = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")
"""Paths of files that the shell has opened for this process: opening them does not block."""
_KINDS: Final = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


class NoPlainFile(ValueError):  # noqa: N818 - it is a kind of file.
    """The error for a path that is no regular file; `kind` says what it is."""

    def __init__(self, kind: str) -> None:
        super().__init__("no regular file")
        self.kind: Final = kind


class PlainFile(NamedTuple):
    """The status and the first bytes of a regular file."""

    status: os.stat_result
    data: bytes


def read_plain(path: str, bytes_max: int) -> PlainFile:
    """At most `bytes_max` bytes of a regular file. No symbolic link is followed.

    Raises:
        OSError, ValueError: the file cannot be read, or is no regular file.
    """
    with os.fdopen(_open_regular(path, READ_FLAGS), "rb") as file:
        return PlainFile(os.fstat(file.fileno()), file.read(bytes_max))


def open_given(path: str | os.PathLike[str], buffering: int = -1) -> BinaryIO:
    """Open a file that a user names: a regular file, or one that the shell has opened (`<(…)`).

    Raises:
        OSError: the file cannot be opened.
        NoPlainFile: the path is a pipe, device or folder, whose reading might never end.
        ValueError: no file can have this name.
    """
    name = os.fspath(path)
    if name.startswith(_GIVEN):
        return open(name, "rb", buffering=buffering)  # noqa: PTH123 - the caller closes it.
    return os.fdopen(_open_regular(name, _FLAGS), "rb", buffering=buffering)


def read_bounded(path: str | os.PathLike[str], bytes_max: int) -> bytes:
    """The content of a regular file, or of one that the shell has opened.

    Raises:
        OSError: the file cannot be read.
        ValueError: the path is no regular file, or the file has more than `bytes_max` bytes.
    """
    with open_given(path) as file:
        content = file.read(bytes_max + 1)
    if len(content) > bytes_max:
        raise ValueError(f"it has more than {bytes_max:,} bytes")
    return content


def bounded_lines(file: BinaryIO, bytes_max: int) -> Iterator[tuple[int, bytes | None]]:
    """The lines of a file that are not blank, counted from 1; None for one that is too long."""
    number = 0
    while line := file.readline(bytes_max + 1):
        number += 1
        if len(line) > bytes_max:
            while line and not line.endswith(b"\n"):
                line = file.readline(bytes_max)
            yield number, None
            continue
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if line.strip():
            yield number, line


def _open_regular(path: str, flags: int) -> int:
    descriptor = os.open(path, flags)
    try:
        kind = stat.S_IFMT(os.fstat(descriptor).st_mode)
        if kind != stat.S_IFREG:
            raise NoPlainFile(_KINDS.get(kind, "something else"))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def refusal_of(path: str, error: OSError | ValueError) -> str:
    """A sentence that says why a file cannot be read."""
    if isinstance(error, NoPlainFile):
        instead = "; its content may come on standard input, as `-`" if "pipe" in error.kind else ""
        return f"{path!r} cannot be read: it is {error.kind}, not a regular file{instead}."
    return f"{path!r} cannot be read: {getattr(error, 'strerror', None) or error}."


def reason_of(error: OSError | ValueError) -> str:
    """The reason why a file operation failed, in lower case."""
    if isinstance(error, NoPlainFile):
        return f"it is {error.kind}, not a regular file"
    return (getattr(error, "strerror", None) or str(error)).lower()
