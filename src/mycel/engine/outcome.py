"""The outcome of a statement, and the rule that a failed statement changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from mycel.store.write.transaction import Transaction


class Outcome(NamedTuple):
    """A result in its wire form, its cursor and its warnings."""

    result: Any
    next_cursor: str | None = None
    """The position of the next page, if there is one."""
    warnings: tuple[str, ...] = ()
    """Facts for the caller that are no errors."""


class Author(NamedTuple):
    """The actor of a command that writes, and the message that the journal keeps."""

    actor: str
    message: str = ""


@contextmanager
def all_or_nothing(tx: Transaction) -> Iterator[None]:
    """Mark a transaction as spoiled if a statement fails after a write: it cannot be committed."""
    before = tx.position
    try:
        yield
    except BaseException:
        tx.spoiled = tx.spoiled or tx.position != before
        raise
