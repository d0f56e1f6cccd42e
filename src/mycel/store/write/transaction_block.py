"""The context manager that `db.transaction()` returns."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Final

from mycel.errors import ConstraintViolation
from mycel.store.write.transaction import Transaction

_WRITE_ANEW: Final = "Begin another one, with `db.transaction()`."


class TransactionBlock:
    """A context manager over a generator of two steps; it may be entered once.

    The one of `contextlib` would commit if it were entered again. An error of the block is put into
    `raised` instead of being thrown into the generator, so that errors of the generator itself can
    be told apart from it.
    """

    __slots__ = ("_is_entered", "_raised", "_steps")

    def __init__(self, steps: Iterator[Transaction], raised: list[BaseException]) -> None:
        self._steps = steps
        self._raised = raised
        self._is_entered = False

    def __enter__(self) -> Transaction:
        if self._is_entered:
            raise ConstraintViolation("A transaction can be entered only once.", hint=_WRITE_ANEW)
        self._is_entered = True
        return next(self._steps)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        if not self._is_entered:
            return
        if kind is None:
            next(self._steps, None)
            return
        self._raised.append(kind() if error is None else error)
        try:
            next(self._steps, None)
        finally:
            self._raised.clear()  # The traceback may refer to this object: drop the cycle.
