"""Streams: the bytes or lines of a file. They can be read again if the file can.

The length of a line is bounded, so that neither a file without line ends nor a few kilobytes that
unpack to gigabytes can fill the memory.
"""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

from mycel.errors import DatabaseError, InvalidSyntax, MycelError, NotFound, ResourceExhausted
from mycel.model.limits import LINE_BYTES_MAX
from mycel.store.file.plain_files import open_given, refusal_of
from mycel.transfer.formats import GZIP, is_gzip
from mycel.transfer.load_errors import placed

_MAGIC: Final = b"\x1f\x8b"
_BOM: Final = b"\xef\xbb\xbf"
_BUFFER_BYTES: Final = 1 << 18


class Stream:
    """A file that rows are read from: by its path, or open already."""

    def __init__(self, source: Path | IO[Any]) -> None:
        self._path: Final = source if isinstance(source, Path) else None
        self._file: Final = None if isinstance(source, Path) else source
        self.name: Final = str(source) if isinstance(source, Path) else _name_of(source)
        self._start = _start_of(self._file)
        self._open: IO[bytes] | None = None
        self.total: Final = self._size()
        """The number of bytes, where it is known."""

    @property
    def can_reread(self) -> bool:
        return self._path is not None or self._start is not None

    @property
    def position(self) -> int | None:
        """The number of bytes of the file that have been read, before unpacking."""
        return None if self._open is None or self._open.closed else self._open.tell()

    @contextmanager
    def binary(self) -> Iterator[IO[Any]]:
        """The file from its start, as bytes."""
        if self._file is not None:
            if self._start is not None:
                self._file.seek(self._start)
            yield self._file
            return
        with self._opened() as file:
            yield file

    def lines(self) -> Generator[tuple[int, bytes | str], None, None]:
        """Lines from the start, counted from 1, with their ends; a byte order mark is left out."""
        with self.binary() as file:
            reader = self._unpacked(file)
            number = 0
            try:
                while line := reader.readline(LINE_BYTES_MAX + 1):
                    number += 1
                    if len(line) > LINE_BYTES_MAX:
                        raise placed(_too_long(), self.name, "line", number)
                    if number == 1:
                        line = line.removeprefix("\ufeff" if isinstance(line, str) else _BOM)
                    yield number, line
            except (gzip.BadGzipFile, EOFError, zlib.error) as error:
                # Reading ahead makes the line of the error unknown.
                raise placed(_no_gzip(error), self.name, "line", None) from None
            except UnicodeDecodeError as error:
                bad = InvalidSyntax(f"It is no UTF-8: {error}.", hint="Convert it to UTF-8.")
                raise placed(bad, self.name, "line", number + 1) from None

    def _unpacked(self, file: Any) -> Any:
        # An unpacked file may still have the name of the packed one.
        is_plain = isinstance(file, (io.TextIOBase, gzip.GzipFile))
        if is_plain or not (is_gzip(self.name or "") or _looks_packed(file)):
            return file
        return io.BufferedReader(gzip.GzipFile(fileobj=file), _BUFFER_BYTES)

    @contextmanager
    def _opened(self) -> Iterator[IO[bytes]]:
        path = self._path or Path()
        try:
            file = open_given(path, _BUFFER_BYTES)
        except FileNotFoundError:
            raise NotFound(
                f"There is no file {self.name!r}.", hint="Check the path.", data=self._data
            ) from None
        except (OSError, ValueError) as error:
            raise DatabaseError(refusal_of(str(path), error), data=self._data) from None
        with file:
            self._open = file
            try:
                yield file
            except OSError as error:
                if isinstance(error, gzip.BadGzipFile):
                    raise
                raise DatabaseError(
                    f"{self.name!r} cannot be read: {error.strerror}.", data=self._data
                ) from error

    @property
    def _data(self) -> dict[str, Any]:
        return {} if self.name is None else {"file": self.name}

    def _size(self) -> int | None:
        try:
            return None if self._path is None else os.stat(self._path).st_size  # noqa: PTH116
        except (OSError, ValueError):
            return None


def _start_of(file: IO[Any] | None) -> int | None:
    """The position of an open file; None if the file cannot return to it."""
    try:
        return file.tell() if file is not None and file.seekable() else None
    except (AttributeError, OSError, ValueError):
        return None


def _looks_packed(file: Any) -> bool:
    """True if a file begins like gzip, which no text does."""
    return isinstance(file, io.BufferedReader) and file.peek(2)[:2] == _MAGIC


def _name_of(file: Any) -> str | None:
    name = getattr(file, "name", None)
    return name if isinstance(name, str) and not name.startswith("<") else None


def _too_long() -> MycelError:
    return ResourceExhausted(
        f"It has more than {LINE_BYTES_MAX} bytes.",
        hint="Write each row on its own line. Keep large content outside the graph and store a"
        " reference to it.",
    )


def _no_gzip(error: Exception) -> MycelError:
    hint = (
        f"If it is not compressed, rename it: only names of compressed files end with {GZIP}."
        if isinstance(error, gzip.BadGzipFile)
        else "It is damaged or incomplete: get it again."
    )
    return InvalidSyntax(f"It is not a complete gzip file: {error}.", hint=hint)
