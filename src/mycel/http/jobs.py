"""The limits of one request, while it runs: its deadline, its turns, its bytes.

A `Job` is the allowance (`mycel.model.allowance`) of the threads that work for a request. It is
over at its deadline, when its client has gone, or when the server stops.

Heavy jobs take turns. A job that has run for `QUICK_S` becomes heavy (`worker_pool`). From then on
it runs only while it has one of a few places, for a slice of time. The next free place goes to the
job that has used the least time. A job that waits keeps its thread and its snapshot, but no
processor. It waits at most `PATIENCE_S` at a time: it may hold a lock that the jobs with places
need.
"""

from __future__ import annotations

import threading
from collections.abc import MutableMapping
from math import inf
from time import monotonic
from typing import Any, Final

from mycel.errors import ResourceExhausted
from mycel.http.policy import ANSWER_BYTES_MAX, ANSWERS_BYTES_MAX, WRITE_S
from mycel.model.allowance import RETRY_AFTER, over

SLICE_S: Final = 0.05
"""The time for which a heavy job keeps its place while others wait."""
BRIEF_S: Final = 0.1
"""The time for which a write counts as a short one."""
PATIENCE_S: Final = 1.0
"""The longest wait for a place; after it, the job runs for a slice without one."""
_COPIES: Final = 3
"""The memory that an answer needs, as a multiple of the size of its cells: the cells, their
UTF-8 if that differs, and the answer itself."""
_LARGE_BYTES: Final = 1 << 20
"""An answer is large if its cells have this size. Only a few large answers are made at a time."""
_LARGE_WAITING_MAX: Final = 8
_SMALL_BYTES: Final = 64 << 10
"""A finished answer up to this size is not counted, so that a committed write can always be
confirmed."""
_RECHECK_S: Final = 0.1
_KEY: Final = "mycel.job"


class ResponseBudget:
    """The bytes of all answers that are being made or sent."""

    def __init__(self, bytes_max: int = ANSWERS_BYTES_MAX) -> None:
        self.bytes_max: Final = bytes_max
        self.each_max: Final = min(ANSWER_BYTES_MAX, bytes_max // _COPIES)
        """The maximum number of bytes of one answer."""
        self.large: Final = threading.Semaphore(bytes_max // (self.each_max * _COPIES) or 1)
        """The number of large answers that may be made at a time."""
        self.queue: Final = threading.Semaphore(_LARGE_WAITING_MAX)
        """The number of jobs that may wait to make a large answer; a waiting job holds little
        memory."""
        self.size = 0
        self._lock = threading.Lock()

    def add(self, size: int) -> bool:
        """Count bytes. If the total would be too large, count nothing and return False."""
        with self._lock:
            if size > 0 and self.size + size > self.bytes_max:
                return False
            self.size += size
            return True

    def crowded(self) -> ResourceExhausted:
        """The error if all answers together are too large."""
        return ResourceExhausted(
            f"All answers of the server together are larger than {self.bytes_max} bytes.",
            hint="Retry in a moment, or ask for less: LIMIT and CURSOR page through a result.",
            data={RETRY_AFTER: 1},
        )


class Scheduler:
    """The places of heavy jobs."""

    def __init__(self, places: int) -> None:
        self._lock = threading.Lock()
        self._free = places
        self._waiting: list[Job] = []

    def take(self, job: Job) -> None:
        """Wait for a place, at most for `PATIENCE_S` and until the deadline of the job."""
        with self._lock:
            if self._free > 0:
                self._free -= 1
                job.has_place = True
                return
            job.wake.clear()
            self._waiting.append(job)
        job.wake.wait(min(PATIENCE_S, max(job.deadline - monotonic(), 0)))
        with self._lock:
            if not job.has_place:
                self._waiting.remove(job)

    def give(self, job: Job) -> None:
        """Pass the place of a job to the waiting job that has used the least time."""
        with self._lock:
            if not job.has_place:
                return
            job.has_place = False
            if not self._waiting:
                self._free += 1
                return
            following = min(self._waiting, key=lambda other: other.used_s)
            self._waiting.remove(following)
            following.has_place = True
            following.wake.set()

    @property
    def is_wanted(self) -> bool:
        """True if a job waits for a place."""
        return bool(self._waiting)


class Job:
    """One request in progress."""

    __slots__ = (
        "_answers",
        "_cells",
        "_held",
        "_is_large",
        "_slice_ends",
        "_stopped",
        "_stopped_at",
        "_timeout_s",
        "_turn_began",
        "_turns",
        "_write_s",
        "deadline",
        "has_place",
        "is_brief",
        "is_set_aside",
        "outgrew",
        "used_s",
        "wake",
    )

    def __init__(
        self, deadline: float, answers: ResponseBudget, *, write_s: float = WRITE_S
    ) -> None:
        self.deadline = deadline
        """The time (`time.monotonic`) at which the request ends."""
        self.used_s = 0.0
        """The time for which the job has run as a heavy one."""
        self.has_place = False
        self.wake = threading.Event()
        self.is_brief = False
        self.outgrew = False
        self.is_set_aside = False
        self._answers = answers
        self._cells = 0
        """The size of the cells that were read for the answer."""
        self._held = 0
        """The bytes that this answer has reserved in the budget of all answers."""
        self._is_large = False
        self._slice_ends = 0.0
        self._stopped = 0
        self._stopped_at = inf
        self._timeout_s: float | None = None
        self._turns: Scheduler | None = None
        self._turn_began: float | None = None
        self._write_s = write_s

    # Methods that the work calls, in its thread.

    @property
    def holds_turn(self) -> bool:
        return self._turn_began is not None

    @holds_turn.setter
    def holds_turn(self, holds: bool) -> None:
        self._turn_began = monotonic() if holds else None

    def is_over(self) -> bool:
        now = monotonic()
        if now > self.deadline or self._stopped == _ABORTED:
            return True
        if self._turn_began is not None:
            return self._has_had_turn(now - self._turn_began)
        if self._stopped:
            return True
        if self._turns is not None and now > self._slice_ends:
            self._wait_for_turn(self._turns)
            return self._stopped > 0 or monotonic() > self.deadline
        return False

    def _has_had_turn(self, held_s: float) -> bool:
        if self.is_brief and held_s > BRIEF_S:
            self.outgrew = True
        return self.outgrew or held_s > self._write_s

    def turn_s(self) -> float:
        began = self._turn_began
        held_s = 0.0 if began is None else monotonic() - began
        return max(min(self._write_s - held_s, self.wait_s()), 0.0)

    def _wait_for_turn(self, turns: Scheduler) -> None:
        if not self.has_place:
            turns.take(self)
        else:
            self.used_s += SLICE_S
            if turns.is_wanted:
                turns.give(self)
                turns.take(self)
        self._slice_ends = monotonic() + SLICE_S

    def wait_s(self) -> float:
        return max(self.deadline - monotonic(), 0.0)

    def charge(self, size: int) -> None:
        if self._cells + size > _LARGE_BYTES and not self._is_large:
            self._wait_to_be_large()
        self._count(size * _COPIES, size)
        self._cells += size
        if self._is_large:
            # A MemoryError here ends the request; in orjson, which runs next, it would end the
            # process.
            bytes(self._cells * _COPIES)

    def _wait_to_be_large(self) -> None:
        if self._turns is not None:
            self._turns.give(self)
        if not self._answers.queue.acquire(blocking=False):
            raise self._answers.crowded()
        try:
            while not self._answers.large.acquire(timeout=_RECHECK_S):
                if self._stopped or monotonic() > self.deadline:
                    raise over()
            self._is_large = True
        finally:
            self._answers.queue.release()

    def _be_small(self) -> None:
        if self._is_large:
            self._is_large = False
            self._answers.large.release()

    def _count(self, amount: int, size: int) -> None:
        if self._cells + size > self._answers.each_max:
            raise ResourceExhausted(
                f"The answer is larger than {self._answers.each_max} bytes.",
                hint="Page through it with LIMIT and CURSOR, or send fewer commands in a request.",
            )
        if not self._answers.add(amount):
            raise self._answers.crowded()
        self._held += amount

    # Methods that the server calls.

    def become_stream(self, timeout_s: float) -> None:
        """From now on, give each part of the work its own deadline: a stream lasts for long."""
        self._timeout_s = timeout_s

    def begin(self) -> None:
        """Note that work begins in a thread."""
        if self._timeout_s is not None:
            self.deadline = monotonic() + self._timeout_s

    def become_heavy(self, turns: Scheduler) -> None:
        """Make the job take turns from its next check on."""
        self._turns = turns

    def leave_turns(self) -> None:
        """Give up its place among the heavy jobs, because its work is done."""
        turns, self._turns = self._turns, None
        if turns is not None:
            turns.give(self)
            self._slice_ends = 0.0

    def drop(self) -> None:
        """Stop reading, because nobody waits for the answer. A write goes on."""
        self._stop(_DROPPED)

    def abort(self) -> None:
        """Stop the job. A write that is being committed is finished."""
        self._stop(_ABORTED)

    def _stop(self, level: int) -> None:
        self._stopped = max(self._stopped, level)
        self._stopped_at = min(self._stopped_at, monotonic())
        self.wake.set()

    def is_overdue(self, margin_s: float) -> bool:
        """True if the work should have stopped `margin_s` ago, and may be interrupted."""
        if self.holds_turn or self.is_set_aside:
            return False
        return monotonic() > min(self.deadline, self._stopped_at) + margin_s

    @property
    def is_aborted(self) -> bool:
        return self._stopped == _ABORTED

    def settle(self, size: int) -> None:
        """Count the bytes of the finished answer, or none for a small one, in place of its cells.

        Raises:
            ResourceExhausted: the answer, or all answers together, are too large.
        """
        self._be_small()
        self._cells = 0
        if size <= _SMALL_BYTES:
            size = 0
        self._count(size - self._held, size)

    def close(self) -> None:
        """Release the bytes: the answer has been sent, or never will be."""
        self._be_small()
        self._answers.add(-self._held)
        self._held = 0


_DROPPED: Final = 1
_ABORTED: Final = 2


def job_of(scope: MutableMapping[str, Any]) -> Job:
    """The job of a request."""
    job: Job = scope[_KEY]
    return job


def attach(scope: MutableMapping[str, Any], job: Job) -> None:
    """Store the job of a request in its scope."""
    scope[_KEY] = job


def find_job(scope: MutableMapping[str, Any] | None) -> Job | None:
    """The job of a request, if it has one already."""
    return None if scope is None else scope.get(_KEY)
