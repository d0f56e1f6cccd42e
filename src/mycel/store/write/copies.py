"""Writes to the tables of a filtered copy inside a transaction (`store.log.copied`)."""

from __future__ import annotations

from collections.abc import Mapping

from mycel.store.log import copied
from mycel.store.log.copied import CopyHead
from mycel.store.write.transaction import Transaction


def keep_copy_head(tx: Transaction, head: CopyHead) -> None:
    """Note how far the copy follows its source."""
    copied.keep_head(tx.ledger.connection, head)


def keep_pairs(tx: Transaction, numbers: Mapping[int, int]) -> None:
    """Note the number in the copy of each element of the source; 0 removes the note."""
    copied.keep_numbers(tx.ledger.connection, numbers)
