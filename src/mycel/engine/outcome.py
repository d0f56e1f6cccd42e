"""How a statement ends: with an outcome, or with an error that leaves nothing behind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from mycel.store.write.transaction import Transaction


class Outcome(NamedTuple):
    """A result in its wire form, and what travels beside it."""

    result: Any
    next_cursor: str | None = None
    """Where the next page begins, if there is one."""
    warnings: tuple[str, ...] = ()
    """What the caller should know although it is no error."""


@contextmanager
def all_or_nothing(tx: Transaction) -> Iterator[None]:
    """A statement that fails halfway spoils its transaction: half of it must not be committed."""
    before = tx.position
    try:
        yield
    except BaseException:
        tx.spoiled = tx.spoiled or tx.position != before
        raise
