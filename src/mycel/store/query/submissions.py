"""Submissions and proposals, as a reader finds them (`store.log.submissions`)."""

from __future__ import annotations

from mycel.store.log import submissions
from mycel.store.log.submissions import KeptOutcome, StoredProposal
from mycel.store.query.reader import Reader


def outcome_of(reader: Reader, actor: str, key: str) -> KeptOutcome | None:
    """The outcome of a submission; None if there is none with this key."""
    return submissions.outcome(reader.connection, actor, key)


def proposal_rows(reader: Reader, status: str | None, limit: int) -> list[StoredProposal]:
    """Proposals, newest first; those of a status, or all."""
    return submissions.proposals(reader.connection, status, limit)


def proposal_row(reader: Reader, id_: str) -> StoredProposal | None:
    """One proposal; None if there is none with this id."""
    return submissions.proposal(reader.connection, id_)
