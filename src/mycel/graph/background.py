"""Work in a background thread, one piece at a time. It can be stopped, and is safe with forks.

A child that is forked while another thread is inside SQLite, or imports a module, inherits locks
that are never released. Such work is therefore done in slices, each in a `with SLICE` block, and a
fork waits for the end of the slice. The child has no thread and no work in progress.
"""

from __future__ import annotations

import os
from _thread import start_new_thread
from collections.abc import Callable
from threading import Lock
from typing import Final

from mycel.errors import MycelError

SLICE: Final = Lock()
"""Held during a slice of work, and by a thread that forks."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=SLICE.acquire, after_in_parent=SLICE.release, after_in_child=SLICE.release
    )


class StoppedError(Exception):
    """Raised inside work that has been stopped."""


class Background:
    """Runs at most one piece of work at a time, in a thread."""

    def __init__(self) -> None:
        self._busy = Lock()
        """Held from the beginning of a piece of work to its end."""
        self._process = os.getpid()
        self._stopped = False

    def begin(self, work: Callable[[], object]) -> bool:
        """Begin a piece of work; False if work is under way, or was stopped for good."""
        busy = self._lock()
        if self._stopped or not busy.acquire(blocking=False):
            return False
        try:
            start_new_thread(_run, (work, busy))
        except RuntimeError:  # The system refuses another thread.
            busy.release()
            return False
        return True

    def check(self) -> None:
        """Raise `StoppedError` if the work has to end; work calls this between slices."""
        if self._stopped:
            raise StoppedError

    def wait(self) -> None:
        """Wait for the end of the current work."""
        with self._lock():
            pass

    def stop(self) -> None:
        """Start no more work, and wait until the current work has ended."""
        self._stopped = True
        self.wait()

    def _lock(self) -> Lock:
        """The lock; in a forked child a new one, since no thread is there to release the old."""
        if self._process != os.getpid():
            self._busy, self._process = Lock(), os.getpid()
        return self._busy


def _run(work: Callable[[], object], busy: Lock) -> None:
    try:
        work()
    except (StoppedError, MycelError):
        pass  # The graph may have been closed or busy. A later caller begins the work again.
    except Exception:
        import logging  # noqa: PLC0415 - as rare as this should be

        logging.getLogger(__name__).exception("Work in the background failed.")
    finally:
        busy.release()
