"""Writes to the tables of submissions inside a transaction (`store.log.submissions`)."""

from __future__ import annotations

from mycel.store.log import submissions
from mycel.store.log.submissions import KeptOutcome, StoredProposal
from mycel.store.write.transaction import Transaction


def known_outcome(tx: Transaction, owner: tuple[str, str]) -> KeptOutcome | None:
    """The outcome that is stored under an actor and key; None if there is none."""
    return submissions.outcome(tx.ledger.connection, *owner)


def keep_outcome(tx: Transaction, owner: tuple[str, str], result: KeptOutcome) -> None:
    """Keep the outcome of the submission that this transaction commits."""
    submissions.keep_outcome(tx.ledger.connection, owner, tx.time_us, result)


def end_proposal(tx: Transaction, before: StoredProposal, body: dict[str, object]) -> bool:
    """Mark a proposal as committed by this transaction. Returns False if it has changed since."""
    return submissions.change_proposal(tx.ledger.connection, before, "accepted", body)
