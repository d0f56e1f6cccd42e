"""Reads files of the workspace, and none outside of it.

`uris` refuses paths with `..`; this module checks symbolic links. The resolved path must be below
the root. Then it is opened part by part from the root down, without following links, in case
somebody puts a link there in between. Only regular files are read: opening a pipe would block.
"""

from __future__ import annotations

import os
import re
import stat
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from mycel.errors import ConstraintViolation, DatabaseError, NotFound, ResourceExhausted
from mycel.knowledge.limits import RESOURCE_BYTES_MAX
from mycel.knowledge.node_values import ResourceContent
from mycel.knowledge.uris import Uri
from mycel.model.names import shorten
from mycel.store.file.plain_files import READ_FLAGS

_HAS_OPENAT: Final = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
_FLAGS: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_NO_FOLLOW: Final = getattr(os, "O_NOFOLLOW", 0)
_DIRECTORY: Final = getattr(os, "O_DIRECTORY", 0)
_FILE: Final = "file:///"
_ABSOLUTE: Final = re.compile(rf"\s*(?:/|{_FILE}|[A-Z]:[/\\])", re.IGNORECASE)


def split_lines(text: str) -> list[str]:
    r"""The lines of a file without line ends; the line numbers of the graph count these lines.

    Only a line feed ends a line: form feeds and Unicode separators are part of a line.

    >>> split_lines("a\r\n\fb\n"), split_lines("a\n\n"), split_lines("")
    (['a', '\x0cb'], ['a', ''], [])
    """
    *lines, last = text.split("\n")
    if last:
        lines.append(last)
    return [line.removesuffix("\r") for line in lines]


def below(root: Path, text: str) -> str | None:
    """An absolute path or `file:///` URI as a path relative to `root`; None if it is not below.

    >>> below(Path("/home/ada/shop"), "file:///home/ada/shop/a%20b.py")
    'a b.py'
    >>> below(Path("/home/ada/shop"), "/auth/login") is None
    True
    """
    if not _ABSOLUTE.match(text) or not text.isprintable():
        return None
    location = text.strip()
    if location[:8].lower() == _FILE:
        location = unquote(location[len(_FILE) - 1 :])
    path = Path(location)
    roots = (root.absolute(), Path(os.path.realpath(root)))
    above = next(filter(path.is_relative_to, roots), None)
    return None if above is None else path.relative_to(above).as_posix()


def path_of(uri: Uri, root: Path) -> Path:
    """The path of the file that a URI names, with symbolic links resolved."""
    inside = Path(os.path.realpath(root))
    path = Path(os.path.realpath(inside.joinpath(*uri.path.split("/"))))
    if not path.is_relative_to(inside):
        raise ConstraintViolation(
            f"{shorten(uri.text, 200)} leads out of the workspace, by a symbolic link.",
            hint="Only files below the root of the workspace can be read.",
        )
    return path


def read(uri: Uri, root: Path, *, bytes_max: int = RESOURCE_BYTES_MAX) -> ResourceContent:
    """The content of a file: text if it is UTF-8, base64 otherwise.

    Raises:
        NotFound: there is no such file.
        ConstraintViolation: the file is outside of the root, or no regular file.
        ResourceExhausted: the file is too large.
    """
    try:
        path, inside = path_of(uri, root), Path(os.path.realpath(root))
        descriptor = _open(inside, path.relative_to(inside).parts)
    except (FileNotFoundError, NotADirectoryError):
        raise NotFound(
            f"There is no file {shorten(uri.text, 200)} in the workspace.",
            hint="It may have been moved or removed; its node may still exist.",
        ) from None
    except (OSError, ValueError) as error:
        raise _unreadable(uri, error) from None
    try:
        _check(uri, os.fstat(descriptor), bytes_max)
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            data = file.read(bytes_max + 1)
    except OSError as error:
        raise _unreadable(uri, error) from None
    finally:
        os.close(descriptor)
    _check_size(uri, len(data), bytes_max)
    return _content(uri, data)


def _open(root: Path, parts: Sequence[str]) -> int:
    """A descriptor of a file below the root, opened without following links."""
    if not _HAS_OPENAT or not parts:
        return os.open(root.joinpath(*parts), READ_FLAGS)
    outer = os.open(root, _FLAGS | _DIRECTORY)
    try:
        for part in parts[:-1]:
            inner = os.open(part, _FLAGS | _DIRECTORY | _NO_FOLLOW, dir_fd=outer)
            os.close(outer)
            outer = inner
        return os.open(parts[-1], READ_FLAGS, dir_fd=outer)
    finally:
        os.close(outer)


def _check(uri: Uri, status: os.stat_result, bytes_max: int) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise ConstraintViolation(
            f"{shorten(uri.text, 200)} is a folder.",
            hint="The relations of its node show what it contains.",
        )
    if not stat.S_ISREG(status.st_mode):
        raise ConstraintViolation(
            f"{shorten(uri.text, 200)} is no regular file.",
            hint="Pipes, sockets and devices are not read.",
        )
    _check_size(uri, status.st_size, bytes_max)


def _check_size(uri: Uri, size: int, bytes_max: int) -> None:
    if size > bytes_max:
        raise ResourceExhausted(
            f"{shorten(uri.text, 200)} has {size} bytes; at most {bytes_max} are read.",
            hint="Read it in parts with another tool, or read the nodes of its symbols.",
        )


def _content(uri: Uri, data: bytes) -> ResourceContent:
    from mimetypes import guess_type  # noqa: PLC0415 - reads files of the system

    guessed = guess_type(uri.path)[0]
    try:
        text = None if b"\0" in data else data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = None
    if text is not None:
        return ResourceContent(uri.text, uri.path, guessed or "text/plain", len(data), text=text)
    mime_type = guessed or "application/octet-stream"
    encoded = b64encode(data).decode()
    return ResourceContent(uri.text, uri.path, mime_type, len(data), base64=encoded)


def _unreadable(uri: Uri, error: Exception) -> DatabaseError:
    message = error.strerror if isinstance(error, OSError) else str(error)
    return DatabaseError(
        f"The file {shorten(uri.text, 200)} cannot be read: {message}.",
        hint="Check its permissions.",
    )
