"""Writes of a transaction to the tables of merges (`store.log.merges`)."""

from __future__ import annotations

from collections.abc import Sequence

from mycel.store.log import merges
from mycel.store.write.transaction import Transaction


def end_merge(tx: Transaction, id_: str) -> None:
    """Remove an open merge, which this transaction commits."""
    merges.remove(tx.ledger.connection, id_)


def keep_choices(tx: Transaction, seq: int, choices: Sequence[merges.Row]) -> None:
    """Keep the automatic choices of the merge that this transaction commits."""
    merges.keep_choices(tx.ledger.connection, seq, choices)
