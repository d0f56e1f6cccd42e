"""Bytes and lines, bounded, that can be read once more if their source can.

A line is bounded, so that neither a file without line ends nor a few kilobytes that unpack to
gigabytes can fill the memory.
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
from mycel.transfer.formats import GZIP, is_gzip
from mycel.transfer.load_errors import Unit, placed

_MAGIC: Final = b"\x1f\x8b"
_BOM: Final = b"\xef\xbb\xbf"
_BUFFER_BYTES: Final = 1 << 18


class Stream:
    """A file that rows are read from: by its path, or open already."""

    def __init__(self, source: Path | IO[Any]) -> None:
        self._path: Final = source if isinstance(source, Path) else None
        self._file: Final = None if isinstance(source, Path) else source
        self.name: Final = str(source) if isinstance(source, Path) else _name_of(source)
        self._start = self._place()
        self._open: IO[bytes] | None = None
        self.total: Final = self._size()
        """How many bytes there are, as far as that is known."""

    @property
    def path(self) -> Path | None:
        return self._path

    @property
    def can_reread(self) -> bool:
        return self._path is not None or self._start is not None

    @property
    def position(self) -> int | None:
        """How many bytes of the file have been read; what is compressed counts as it is."""
        return None if self._open is None or self._open.closed else self._open.tell()

    @contextmanager
    def binary(self) -> Iterator[IO[Any]]:
        """The file from its start, for somebody who reads bytes."""
        if self._file is not None:
            if self._start is not None:
                self._file.seek(self._start)
            yield self._file
            return
        with self._opened() as file:
            yield file

    def lines(self) -> Generator[tuple[int, bytes | str], None, None]:
        """Lines from the start, counted from 1, with their ends; a byte order mark is left out.

        Raises:
            ResourceExhausted: a line is too long.
            InvalidSyntax: it says that it is compressed, and is not.
        """
        with self.binary() as file:
            reader = self._unpacked(file)
            number = 0
            try:
                while line := reader.readline(LINE_BYTES_MAX + 1):
                    number += 1
                    if len(line) > LINE_BYTES_MAX:
                        raise self._too_long(number)
                    yield number, _without_mark(line) if number == 1 else line
            except (gzip.BadGzipFile, EOFError, zlib.error) as error:
                raise self._no_gzip(error) from None
            except UnicodeDecodeError as error:
                raise self._at(InvalidSyntax(f"It is no UTF-8: {error}."), number + 1) from None

    def _unpacked(self, file: Any) -> Any:
        # What is unpacked already may still have the name of the file that it comes from.
        is_plain = isinstance(file, (io.TextIOBase, gzip.GzipFile))
        if is_plain or not (is_gzip(self.name or "") or _looks_packed(file)):
            return file
        return io.BufferedReader(gzip.GzipFile(fileobj=file), _BUFFER_BYTES)

    def _no_gzip(self, error: Exception) -> MycelError:
        """Complains of a file that does not unpack; on which line, reading ahead has hidden."""
        hint = (
            f"If it is not compressed, rename it: only what is has a name that ends with {GZIP}."
            if isinstance(error, gzip.BadGzipFile)
            else "It is damaged, or was cut short on its way: get it once more."
        )
        bad = InvalidSyntax(f"It is no whole gzip file: {error}.", hint=hint)
        return placed(bad, self.name, "line", None)

    def _too_long(self, number: int) -> MycelError:
        return self._at(
            ResourceExhausted(
                f"It has more than {LINE_BYTES_MAX} bytes.",
                hint="Every row stands on a line of its own. Keep large content outside the graph"
                " and store a reference to it.",
            ),
            number,
        )

    def _at(self, error: MycelError, line: int) -> MycelError:
        return placed(error, self.name, "line", line)

    @contextmanager
    def _opened(self) -> Iterator[IO[bytes]]:
        path = self._path or Path()
        try:
            file = path.open("rb", buffering=_BUFFER_BYTES)
        except FileNotFoundError:
            raise NotFound(
                f"There is no file {self.name!r}.", hint="Check the path.", data=self._data
            ) from None
        except (OSError, ValueError) as error:
            said = getattr(error, "strerror", None) or error
            raise DatabaseError(f"{self.name!r} cannot be read: {said}.", data=self._data) from None
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

    def _place(self) -> Any:
        """Where an open file stands, if one can come back to it."""
        file = self._file
        try:
            return file.tell() if file is not None and file.seekable() else None
        except (AttributeError, OSError, ValueError):
            return None

    def _size(self) -> int | None:
        try:
            return None if self._path is None else os.stat(self._path).st_size  # noqa: PTH116
        except (OSError, ValueError):
            return None


class LineSource:
    """What all sources have in common whose rows are lines of a stream."""

    unit: Unit = "line"

    def __init__(self, stream: Stream) -> None:
        self._stream: Final = stream
        self.name: Final = stream.name
        self.can_reread: Final = stream.can_reread
        self.total: Final = stream.total

    @property
    def position(self) -> int | None:
        return self._stream.position


def _looks_packed(file: Any) -> bool:
    """Whether a file begins as gzip does, and as no text can."""
    return isinstance(file, io.BufferedReader) and file.peek(2)[:2] == _MAGIC


def _name_of(file: Any) -> str | None:
    name = getattr(file, "name", None)
    return name if isinstance(name, str) and not name.startswith("<") else None


def _without_mark(line: bytes | str) -> bytes | str:
    if isinstance(line, str):
        return line.removeprefix("\ufeff")
    return line.removeprefix(_BOM)
