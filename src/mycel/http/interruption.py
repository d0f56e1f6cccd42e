"""Stops work that goes on after its answer was given.

Work asks its job whether to stop (`model.allowance`). A loop that forgets to ask would go on, and
keep a processor from others, although nobody waits for it any more. `Interruption` raises
`WorkStopped` in its thread, which ends it as Ctrl-C ends a program: what was begun is rolled back.

It is raised only in a thread that computes. A thread that waits for a lock or a file costs nothing,
and might just have acquired it: interrupted there, it would never release it.
"""

from __future__ import annotations

import ctypes
import sys
import time
from types import FrameType
from typing import Final

LOOK_S: Final = 0.25
"""The time between two looks at work that has run for long."""
_COMPUTING: Final = 0.02
"""The part of the time for which a thread that computes has a processor, at least."""
_CALLERS: Final = 3
_NEVER_IN: Final = frozenset(("threading", "contextlib", "queue", "weakref", "concurrent.futures"))
"""Modules in whose functions a thread may hold a lock that nothing gives back."""


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
        """The processor time of the thread; where no clock has it, all time."""
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
