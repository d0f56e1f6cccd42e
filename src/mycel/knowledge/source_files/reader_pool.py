"""Runs processes that read files. A file that kills its process is found and skipped."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Final, cast

import orjson

from mycel.errors import ResourceExhausted
from mycel.knowledge.source_files.file_facts import FileRead, decode_read, read_unanalysed
from mycel.knowledge.source_files.reader_process import (
    FILE_SECONDS_MAX,
    LENGTH_BYTES,
    MEMORY_BYTES_MAX,
)

WAIT_SECONDS_MAX: Final = 60.0
"""The maximum number of seconds to wait for one file. Its processor time is limited, but a disk may
hang."""

RESULT_BYTES_MAX: Final = 64 << 20

_ASKED_BYTES_MAX: Final = 16 << 10
"""The maximum number of bytes of paths that are sent ahead. They fit into a pipe: otherwise both
sides could block while writing."""

_MAIN: Final = (
    "import sys; sys.path[:] = {path!r};"
    "from mycel.knowledge.source_files.reader_process import main; main({root!r}, {bytes_max})"
)


class ReaderPool:
    """Reads files below `root` with `jobs` processes, which are started when they are needed."""

    def __init__(self, root: Path, *, bytes_max: int, jobs: int = 1) -> None:
        self._root = str(root)
        self._bytes_max = bytes_max
        self._jobs = jobs
        self._readers: list[_Reader] = []

    def read(self, paths: Iterable[str]) -> Iterator[FileRead]:
        """The files in the order of `paths`. No content of a file raises an error.

        Raises:
            ResourceExhausted: no process can be started.
        """
        path_list = list(paths)
        jobs = min(self._jobs, 1 + len(path_list) // 100)
        while len(self._readers) < jobs:
            self._readers.append(_Reader(self._root, self._bytes_max))
        turns = self._readers[:jobs]
        for at, reader in enumerate(turns):
            reader.expect(path_list[at::jobs])
        for at in range(len(path_list)):
            yield turns[at % jobs].next()

    def close(self) -> None:
        """End the processes at once."""
        for reader in self._readers:
            reader.close()
        self._readers.clear()


class _Reader:
    """One process, with the paths that it was sent, and the paths that are still to be sent."""

    def __init__(self, root: str, bytes_max: int) -> None:
        self._root = root
        self._bytes_max = bytes_max
        self._process: subprocess.Popen[bytes] | None = None
        self._coming: deque[str] = deque()
        self._asked: deque[tuple[str, int]] = deque()
        self._received = bytearray()

    def expect(self, paths: Iterable[str]) -> None:
        if self._asked:  # An earlier iteration stopped before its end.
            self.close()
        self._coming = deque(paths)

    def next(self) -> FileRead:
        """The result for the next path."""
        process = self._process or self._start()
        self._ask(process)
        result = self._result(process)
        path, _ = self._asked.popleft()
        read = decode_read(path, result) if result is not None else None
        if read is not None:
            return read
        # The next process gets the paths after it.
        self._coming.extendleft(path for path, _ in reversed(self._asked))
        self.close()
        return read_unanalysed(
            self._root, path, bytes_max=self._bytes_max, note=_reason(process.returncode)
        )

    def close(self) -> None:
        self._asked.clear()
        self._received.clear()
        if self._process is not None:
            # Its exit status is read first: it tells why there is no result.
            if self._process.poll() is None:
                self._process.kill()
            self._process.communicate()
            self._process = None

    def _start(self) -> subprocess.Popen[bytes]:
        path = [str(Path(__file__).parents[3]), *sys.path]
        text = _MAIN.format(path=path, root=self._root, bytes_max=self._bytes_max)
        try:
            # Isolated and without `site`: the module path is given, and it starts faster.
            self._process = process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", text],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except (OSError, ValueError) as error:
            raise _cannot_start(str(error)) from None
        if self._result(process) != b"":
            self.close()
            raise _cannot_start(f"it ended with status {process.returncode}")
        return process

    def _ask(self, process: subprocess.Popen[bytes]) -> None:
        """Send as many paths ahead as fit into the pipe, but at least one."""
        pipe = cast(IO[bytes], process.stdin)
        ahead = sum(size for _, size in self._asked)
        while self._coming:
            line = orjson.dumps(self._coming[0]) + b"\n"
            if self._asked and ahead + len(line) > _ASKED_BYTES_MAX:
                break
            self._asked.append((self._coming.popleft(), len(line)))
            ahead += len(line)
            try:
                pipe.write(line)
            except BrokenPipeError:  # An earlier path killed it; `_result` finds out.
                return
        try:
            pipe.flush()
        except BrokenPipeError:
            return

    def _result(self, process: subprocess.Popen[bytes]) -> bytes | None:
        """The next result; None if the process died or took too long."""
        head = self._exactly(process, LENGTH_BYTES)
        if head is None:
            return None
        length = int.from_bytes(head)
        return self._exactly(process, length) if length <= RESULT_BYTES_MAX else None

    def _exactly(self, process: subprocess.Popen[bytes], count: int) -> bytes | None:
        pipe = cast(IO[bytes], process.stdout).fileno()
        while len(self._received) < count:
            if not _is_ready(pipe):
                return None
            more = os.read(pipe, 1 << 16)
            if not more:
                process.wait()
                return None
            self._received += more
        data = bytes(self._received[:count])
        del self._received[:count]
        return data


def _is_ready(pipe: int) -> bool:
    """Wait for something to read, or the end of the process. False after the time limit."""
    if not hasattr(select, "poll"):  # On Windows, a pipe cannot be waited for with a time limit.
        return True
    waiting = select.poll()
    waiting.register(pipe, select.POLLIN)
    return bool(waiting.poll(WAIT_SECONDS_MAX * 1000))


def _reason(status: int) -> str:
    """The note about a file that killed its process, by the exit status."""
    if status == -getattr(signal, "SIGPROF", 0):
        return f"reading it takes more than {FILE_SECONDS_MAX:.0f} seconds: not analysed"
    return f"reading it fails, or takes more than {MEMORY_BYTES_MAX >> 20} MiB: not analysed"


def _cannot_start(why: str) -> ResourceExhausted:
    return ResourceExhausted(
        f"The process that reads files cannot be started: {why}.",
        hint="Check that there is memory for another process, and that this Python can be run.",
    )
