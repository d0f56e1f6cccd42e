"""A step of a transaction is done as a whole, or its transaction can only be rolled back."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

import apsw

from mycel.errors import MycelError
from mycel.store.connections import translate

if TYPE_CHECKING:
    from mycel.store.transaction import Transaction

P = ParamSpec("P")
Result = TypeVar("Result")


def whole(
    primitive: Callable[Concatenate[Transaction, P], Result],
) -> Callable[Concatenate[Transaction, P], Result]:
    """A primitive that fails halfway spoils its transaction: half of it must not be committed."""

    @wraps(primitive)
    def guarded(self: Transaction, /, *args: P.args, **kwargs: P.kwargs) -> Result:
        head = self.ledger.head
        before = head.seq
        try:
            return primitive(self, *args, **kwargs)
        except apsw.Error as error:
            self.spoiled = True
            raise translate(error) from error
        except MycelError:
            self.spoiled = self.spoiled or head.seq != before
            raise
        except BaseException:
            self.spoiled = True
            raise

    return guarded
