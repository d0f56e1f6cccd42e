"""The allowance of the work in this thread: its deadline, its cancellation, and the bytes it holds.

A server gives each request an allowance. Readers of the store, the planner and other long loops ask
the current allowance whether they have to stop, so no function has to pass a deadline on. Work
without an allowance, as in Python code that uses the library, has only the limits of its own
arguments.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, Protocol

from mycel.errors import ExecutionTimeout, ResourceExhausted

_PACE_KNOWN_S: Final = 1.0
"""The time of work after which an estimate of the remaining time is good enough."""
_PACE_MARGIN: Final = 2.0
RETRY_AFTER: Final = "retry_after_s"
"""The key in the data of an error: the seconds after which the request may succeed."""


class Allowance(Protocol):
    """The limits of one request, which the server keeps."""

    holds_turn: bool
    """True while the work is a transaction that has the turn of the writer.

    Such work is not paused, and not dropped if its client is gone.
    """

    def is_over(self) -> bool:
        """True if the work has to stop. May wait here for the turn of this work."""
        ...

    def charge(self, size: int) -> None:
        """Count bytes of an answer that is being made.

        Raises:
            ResourceExhausted: the answer, or all answers together, are too large.
        """
        ...

    def wait_s(self) -> float:
        """The seconds that may still be spent on waiting, at least 0."""
        ...

    is_brief: bool
    """True while a transaction may hold the turn only for a short time (see `outgrew`)."""
    outgrew: bool
    """True if a transaction was stopped at the end of that short time."""

    def turn_s(self) -> float:
        """The seconds that are left for a transaction that has the turn, or takes it now."""
        ...

    is_set_aside: bool
    """True while the thread does work that other requests wait for; no allowance applies to it."""


_current: ContextVar[Allowance | None] = ContextVar("mycel_allowance", default=None)
current = _current.get
"""Returns the allowance of the work in this thread, or None."""


@contextmanager
def using(allowance: Allowance | None) -> Iterator[None]:
    """Set the current allowance in this block; None for work that other requests wait for too."""
    before = _current.get() if allowance is None else None
    token = _current.set(allowance)
    if before is not None:
        before.is_set_aside = True
    try:
        yield
    finally:
        if before is not None:
            before.is_set_aside = False
        _current.reset(token)


def check() -> None:
    """Stop the work of this thread if its allowance is over.

    Raises:
        ExecutionTimeout: the allowance is over.
    """
    allowance = _current.get()
    if allowance is not None and allowance.is_over():
        raise over()


def check_pace(spent_s: float, part: float) -> None:
    """Stop a transaction that has done a part of its work, if the rest would take too long.

    Raises:
        ExecutionTimeout: at this pace it would keep others from writing for too long.
    """
    allowance = _current.get()
    if allowance is None or spent_s < _PACE_KNOWN_S:
        return
    left_s = spent_s * (1 - part) / part
    if left_s > _PACE_MARGIN * allowance.turn_s():
        raise too_long_a_write(spent_s + left_s)


def charge(size: int) -> None:
    """Count bytes of an answer that is being made.

    Raises:
        ResourceExhausted: the answer, or all answers together, are too large.
    """
    allowance = _current.get()
    if allowance is not None:
        allowance.charge(size)


def too_little_memory() -> ResourceExhausted:
    """The error for work that got no more memory from the operating system."""
    return ResourceExhausted(
        "There is too little memory for this at the moment.",
        hint="Retry in a moment: an identical write changes nothing. Or ask for less: LIMIT and"
        " CURSOR page through a result.",
        data={RETRY_AFTER: 1},
    )


def shortage(error: BaseException) -> ResourceExhausted | None:
    """The `MycelError` for an error about missing memory for objects or a thread."""
    lacks_thread = type(error) is RuntimeError and "start new thread" in str(error)
    return too_little_memory() if lacks_thread or isinstance(error, MemoryError) else None


def over() -> ExecutionTimeout:
    """The error for work that was stopped."""
    allowance = _current.get()
    if allowance is not None and allowance.holds_turn:
        return too_long_a_write()
    return ExecutionTimeout("The command was stopped at its deadline; nothing was written.")


def too_long_a_write(s: float | None = None) -> ExecutionTimeout:
    """The error for a transaction that would keep others from writing for too long."""
    about = "" if s is None else f" (about {s:.0f} s)"
    return ExecutionTimeout(
        f"The write would keep others from writing for too long{about}; nothing was written.",
        hint="Change fewer elements in a command, for example with UPDATE … LIMIT.",
    )
