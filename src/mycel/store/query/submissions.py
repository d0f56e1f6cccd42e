"""Reads outcomes of submissions, and proposals (`store.log.submissions`)."""

from __future__ import annotations

from mycel.store.log import submissions
from mycel.store.log.submissions import KeptOutcome, StoredProposal
from mycel.store.query.reader import Reader


def outcome_of(reader: Reader, actor: str, key: str) -> KeptOutcome | None:
    """The outcome of the submission with this key; None if there is none."""
    return submissions.outcome(reader.connection, actor, key)


def proposal_rows(reader: Reader, status: str | None, limit: int) -> list[StoredProposal]:
    """Proposals, newest first: all, or those with one status."""
    return submissions.proposals(reader.connection, status, limit)


def proposal_row(reader: Reader, id_: str) -> StoredProposal | None:
    """A proposal; None if no proposal has this id."""
    return submissions.proposal(reader.connection, id_)
