"""Stops work that goes on after its request was answered.

Work asks its job if it has to stop (`model.allowance`). A loop that does not ask would go on and
use a processor, although nobody waits for it any more. `Interruption` raises `WorkStopped` in the
thread, which ends the work as Ctrl-C ends a program: its transaction is rolled back.

The exception is raised only in a thread that computes. A thread that waits for a lock costs
nothing. If it were interrupted just after it acquired the lock, it would never release it.
"""

from __future__ import annotations

import ctypes
import sys
import time
from types import FrameType
from typing import Final

LOOK_S: Final = 0.25
"""The time between two checks of work that has run for long."""
_COMPUTING: Final = 0.02
"""The least share of processor time for which a thread counts as computing."""
_CALLERS: Final = 3
_NEVER_IN: Final = frozenset(("threading", "contextlib", "queue", "weakref", "concurrent.futures"))
"""In functions of these modules a thread may hold a lock that an interruption would not release."""


class WorkStopped(BaseException):
    """The work of this thread has to stop: its answer was given, or nobody waits for it."""


class Interruption:
    """Stops the work of one thread."""

    def __init__(self, thread: int) -> None:
        self._thread: Final = thread
        self._before: tuple[float, float] | None = None

    def stop(self) -> None:
        """Raise WorkStopped in the thread if it has computed since the last call."""
        moment = (self._processor_s(), time.monotonic())
        before, self._before = self._before, moment
        if before is None or moment[0] - before[0] < _COMPUTING * (moment[1] - before[1]):
            return
        if _may_be_stopped(sys._current_frames().get(self._thread)):
            raising = ctypes.pythonapi.PyThreadState_SetAsyncExc
            raising(ctypes.c_ulong(self._thread), ctypes.py_object(WorkStopped))

    def _processor_s(self) -> float:
        """The processor time of the thread; without a clock for it, the time passed."""
        clock_of = getattr(time, "pthread_getcpuclockid", None)
        return time.monotonic() if clock_of is None else time.clock_gettime(clock_of(self._thread))


def _may_be_stopped(frame: FrameType | None) -> bool:
    for _ in range(_CALLERS):
        if frame is None:
            return False
        if frame.f_globals.get("__name__") in _NEVER_IN:
            return False
        frame = frame.f_back
    return True
