"""A process that reads files: paths as JSON on standard input, results on standard output.

A result is its length in 8 bytes and then JSON. The first result is empty and says that the process
is ready.
"""

from __future__ import annotations

import gc
import signal
import sys
from typing import BinaryIO, Final

import orjson

from mycel.knowledge.source_files.file_facts import encode_read, read_file

FILE_SECONDS_MAX: Final = 2.0
"""The processor time for one file. A mebibyte of ordinary source takes 0.8 to 1.5 seconds."""

MEMORY_BYTES_MAX: Final = 160 << 20
"""The memory of the process, without 20 MiB of libraries. A mebibyte of ordinary source takes 60
MiB."""

LENGTH_BYTES: Final = 8

_FILES_AT_ONCE: Final = 32
_BYTES_AT_ONCE: Final = 128 << 10
"""The files and bytes after which syntax trees are collected."""


def main(root: str, bytes_max: int) -> None:
    """Read files below `root` until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _bound_memory()
    # Syntax trees are large cycles. The youngest generation has only those of the last files.
    gc.disable()
    out = sys.stdout.buffer
    _send(out, b"")
    files = size = 0
    for line in sys.stdin.buffer:
        _set_timer(FILE_SECONDS_MAX)
        read = read_file(root, orjson.loads(line), bytes_max=bytes_max)
        result = encode_read(read)
        _set_timer(0)
        _send(out, result)
        files, size = files + 1, size + read.size
        if files >= _FILES_AT_ONCE or size >= _BYTES_AT_ONCE:
            gc.collect(0)
            files = size = 0


def _send(out: BinaryIO, result: bytes) -> None:
    out.write(len(result).to_bytes(LENGTH_BYTES))
    out.write(result)
    out.flush()


def _bound_memory() -> None:
    try:
        import resource  # noqa: PLC0415 - not on every system

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES_MAX, hard))
    except (ImportError, OSError, ValueError):
        pass  # The time limit still applies.


def _set_timer(seconds: float) -> None:
    """End the process after this much processor time, even inside a parser: SIGPROF kills it."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)
