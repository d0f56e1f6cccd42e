"""A process that kills the server if even its threads cannot run.

The server ends itself at the end of its grace period (`server`), but only if one of its threads
gets the interpreter. Code in C may keep the interpreter for long, and then no handler of a signal
runs. So a small process waits for the signal too: the interpreter writes the number of each signal
into a pipe at once, whichever code runs. If the server still runs when its grace period is over,
that process kills it. SQLite rolls back the open transaction, as after a crash.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Final, NoReturn

MARGIN_S: Final = 0.25
"""The server is killed this long after the grace period, so that it can first end by itself."""
_STOPPING: Final = frozenset((signal.SIGINT, signal.SIGTERM))


@contextmanager
def stop_watch(grace_s: float) -> Iterator[None]:
    """Kill this process if it is told to stop within this block and does not end in time."""
    is_main = threading.current_thread() is threading.main_thread()
    if sys.platform == "win32" or not is_main or not hasattr(os, "fork"):
        yield
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    server = os.getpid()
    with warnings.catch_warnings():
        # The child only closes files, reads and waits, so threads of its parent do not matter.
        warnings.simplefilter("ignore", DeprecationWarning)
        watcher = os.fork()
    if not watcher:
        _watch(reading, server, grace_s + MARGIN_S)
    os.close(reading)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        os.close(writing)
        os.waitpid(watcher, 0)


def _watch(reading: int, server: int, within_s: float) -> NoReturn:
    """Wait until the server ends; kill it if it was told to stop and does not end in time."""
    status = 1
    try:
        for number in _STOPPING:
            signal.signal(number, signal.SIG_IGN)  # Ctrl-C reaches all processes of a terminal.
        # Close the inherited files: otherwise this process would keep the server's files open.
        os.closerange(0, reading)
        os.closerange(reading + 1, os.sysconf("SC_OPEN_MAX"))
        deadline: float | None = None
        while os.getppid() == server:
            left_s = None if deadline is None else max(deadline - monotonic(), 0.0)
            if not select.select([reading], [], [], left_s)[0]:
                os.kill(server, signal.SIGKILL)
                break
            signals = os.read(reading, 64)
            if not signals:
                break
            if deadline is None and not _STOPPING.isdisjoint(signals):
                deadline = monotonic() + within_s
        status = 0
    finally:
        os._exit(status)
