"""A step of a transaction is done as a whole, or its transaction can only be rolled back."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

import apsw

from mycel.errors import MycelError
from mycel.store.file.connections import translate

if TYPE_CHECKING:
    from mycel.store.write.transaction import Transaction

P = ParamSpec("P")
Result = TypeVar("Result")


def spoil(tx: Transaction, error: BaseException, *, has_written: bool) -> None:
    """A primitive has failed: what it did can only be rolled back, unless it did nothing.

    Raises:
        MycelError: it was an error of SQLite, which becomes ours.
    """
    if has_written or not isinstance(error, MycelError):
        tx.spoiled = True
    if isinstance(error, apsw.Error):
        raise translate(error) from error


def whole(
    primitive: Callable[Concatenate[Transaction, P], Result],
) -> Callable[Concatenate[Transaction, P], Result]:
    """A primitive that fails halfway spoils its transaction: half of it must not be committed.

    Those that a small write calls for each element do the same by hand: to pass on any arguments
    takes more than one percent of its time.
    """

    @wraps(primitive)
    def guarded(self: Transaction, /, *args: P.args, **kwargs: P.kwargs) -> Result:
        head = self.ledger.head
        before = head.seq
        try:
            return primitive(self, *args, **kwargs)
        except BaseException as error:
            spoil(self, error, has_written=head.seq != before)
            raise

    return guarded
