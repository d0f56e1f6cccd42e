"""What stands for the ledger of a transaction that has ended, and refuses every use of it."""

from __future__ import annotations

from typing import Final, NoReturn, cast

from mycel.errors import ConstraintViolation
from mycel.store.write.ledger import Ledger


class _Ended:
    __slots__ = ()

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):  # Whoever looks at objects in general asks for such names.
            raise AttributeError(name)
        raise ConstraintViolation(
            "This transaction has ended.", hint="Open another one with db.transaction()."
        )


ENDED: Final = cast("Ledger", _Ended())
