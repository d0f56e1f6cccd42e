"""The allowance of the work in this thread: its deadline, its cancellation, and the bytes it holds.

A server gives each request an allowance. Readers of the store, the planner and other long loops ask
the current one if they have to stop, so no function has to pass a deadline on. Work without an
allowance, as in Python code that uses the library, has the limits of its own arguments alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from mycel.errors import ExecutionTimeout


class Allowance(Protocol):
    """The limits of one request, kept by the server that runs it."""

    holds_turn: bool
    """True while the work is a transaction that has the turn of the writer.

    Such work is neither paused nor dropped because its client is gone.
    """

    def is_over(self) -> bool:
        """True if the work has to stop. May wait here until it is the turn of this work."""
        ...

    def charge(self, size: int) -> None:
        """Count bytes of an answer that is being made.

        Raises:
            ResourceExhausted: the answer, or all answers together, are too large.
        """
        ...

    def wait_s(self) -> float:
        """The seconds that are left for waiting; none if they are over."""
        ...


_current: ContextVar[Allowance | None] = ContextVar("mycel_allowance", default=None)
current = _current.get
"""Returns the allowance of the work in this thread, or None."""


@contextmanager
def using(allowance: Allowance | None) -> Iterator[None]:
    """Let an allowance be the current one in this block."""
    token = _current.set(allowance)
    try:
        yield
    finally:
        _current.reset(token)


def check() -> None:
    """Stop the work of this thread if its allowance is over.

    Raises:
        ExecutionTimeout: it is over.
    """
    allowance = _current.get()
    if allowance is not None and allowance.is_over():
        raise over()


def charge(size: int) -> None:
    """Count bytes of an answer that is being made.

    Raises:
        ResourceExhausted: the answer, or all answers together, are too large.
    """
    allowance = _current.get()
    if allowance is not None:
        allowance.charge(size)


def over() -> ExecutionTimeout:
    """The error for work that was stopped."""
    return ExecutionTimeout("The command was stopped at its deadline; nothing was written.")
