"""Tables of submissions: outcomes of submissions with a key, and proposals that wait for review.

    submission_outcome   the answer to a submission, by its author and key, with a digest of what
                         was sent; a repeated key gets the same answer
    submission_proposal  a change that somebody proposes: its edits, comments, and how it ended

The tables are no part of the knowledge: no record, root or history depends on them, `verify` leaves
them out, and they are made with the first row. An outcome is written in the transaction of its
commit. Purges and scrubs remove proposals that name forgotten elements.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final, Literal, NamedTuple, get_args

import orjson

from mycel.store.backend.interface import Connection
from mycel.store.file.rows import fetch_all, fetch_first, fetch_one

PREFIX: Final = "submission_"
"""The prefix of the names of all tables of this module."""
OUTCOME_KEPT_US: Final = 30 * 86_400 * 1_000_000
"""The time for which an outcome is kept."""
OPEN_MAX: Final = 1_000
CLOSED_MAX: Final = 1_000
"""The maximum number of ended proposals that are kept."""

TABLES: Final = """
CREATE TABLE IF NOT EXISTS submission_outcome (
    actor TEXT NOT NULL, key TEXT NOT NULL, digest TEXT NOT NULL, time INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (actor, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS submission_proposal (
    id TEXT PRIMARY KEY, status TEXT NOT NULL, actor TEXT NOT NULL, time INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT;
"""

ProposalStatus = Literal["open", "accepted", "rejected", "withdrawn"]
STATUSES: Final[tuple[ProposalStatus, ...]] = get_args(ProposalStatus)


class KeptOutcome(NamedTuple):
    """The answer to a submission, and the digest of the submission."""

    digest: str
    body: dict[str, Any]


class StoredProposal(NamedTuple):
    id: str
    status: ProposalStatus
    actor: str
    time_us: int
    body: dict[str, Any]


def are_there(connection: Connection) -> bool:
    """True if this file ever had a submission."""
    return connection.has_objects("submission_outcome")


# Outcomes.


def outcome(connection: Connection, actor: str, key: str) -> KeptOutcome | None:
    """The outcome of the submission with this author and key; None if there is none."""
    if not are_there(connection):
        return None
    row = fetch_first(
        connection,
        "SELECT digest, body FROM submission_outcome WHERE actor = ? AND key = ?",
        (actor, key),
    )
    return None if row is None else KeptOutcome(row[0], orjson.loads(row[1]))


def keep_outcome(
    connection: Connection, owner: tuple[str, str], time_us: int, result: KeptOutcome
) -> None:
    """Keep the outcome of a submission; `owner` is its actor and key."""
    connection.make(TABLES)
    connection.execute(
        "DELETE FROM submission_outcome WHERE time < ?", (time_us - OUTCOME_KEPT_US,)
    )
    row = (*owner, result.digest, time_us, orjson.dumps(result.body).decode())
    connection.execute("INSERT INTO submission_outcome VALUES (?, ?, ?, ?, ?)", row)


# Proposals.


def proposals(connection: Connection, status: str | None, limit: int) -> list[StoredProposal]:
    """Proposals, newest first: all, or those with one status."""
    if not are_there(connection):
        return []
    rows = fetch_all(
        connection,
        "SELECT id, status, actor, time, body FROM submission_proposal"
        " WHERE ?1 = '' OR status = ?1 ORDER BY time DESC, id LIMIT ?2",
        (status or "", limit),
    )
    return [_proposal(row) for row in rows]


def proposal(connection: Connection, id_: str) -> StoredProposal | None:
    """A proposal; None if no proposal has this id."""
    if not are_there(connection):
        return None
    row = fetch_first(
        connection,
        "SELECT id, status, actor, time, body FROM submission_proposal WHERE id = ?",
        (id_,),
    )
    return None if row is None else _proposal(row)


def _proposal(row: tuple[Any, ...]) -> StoredProposal:
    id_, status, actor, time_us, body = row
    return StoredProposal(id_, status, actor, time_us, orjson.loads(body))


def add_proposal(
    connection: Connection, row: StoredProposal, owner: tuple[str, str] | None, result: KeptOutcome
) -> KeptOutcome | None:
    """Add a proposal, with the outcome of the submission that made it if it has a key.

    If the key already has an outcome, it is returned and nothing is added. An outcome without a
    body means that there are too many open proposals.
    """
    connection.make(TABLES)
    if owner is not None and (earlier := outcome(connection, *owner)) is not None:
        return earlier
    (number,) = fetch_one(
        connection, "SELECT count(*) FROM submission_proposal WHERE status = 'open'"
    )
    if number >= OPEN_MAX:
        return KeptOutcome("", {})
    connection.execute(
        "INSERT INTO submission_proposal VALUES (?, ?, ?, ?, ?)",
        (row.id, row.status, row.actor, row.time_us, orjson.dumps(row.body).decode()),
    )
    if owner is not None:
        keep_outcome(connection, owner, row.time_us, result)
    return None


def change_proposal(
    connection: Connection, before: StoredProposal, status: ProposalStatus, body: Mapping[str, Any]
) -> bool:
    """Give a proposal another status or body. Returns False if it has changed since it was read."""
    stored = proposal(connection, before.id)
    if stored != before:
        return False
    connection.execute(
        "UPDATE submission_proposal SET status = ?, body = ? WHERE id = ?",
        (status, orjson.dumps(body).decode(), before.id),
    )
    if status != "open":
        connection.execute(
            "DELETE FROM submission_proposal WHERE status <> 'open' AND id NOT IN"
            " (SELECT id FROM submission_proposal WHERE status <> 'open'"
            " ORDER BY time DESC LIMIT ?)",
            (CLOSED_MAX,),
        )
    return True


# Forgetting.


def forget(connection: Connection, names: Collection[str], *, closed: bool = False) -> None:
    """Remove proposals that name purged elements; with `closed`, also all that have ended."""
    if not are_there(connection):
        return
    if closed:
        connection.execute("DELETE FROM submission_proposal WHERE status <> 'open'")
    quoted = [orjson.dumps(name).decode()[1:-1] for name in names]
    rows = fetch_all(connection, "SELECT id, body FROM submission_proposal") if quoted else []
    for id_, body in rows:
        if any(name in body for name in quoted):
            connection.execute("DELETE FROM submission_proposal WHERE id = ?", (id_,))


def forget_all(connection: Connection) -> None:
    """Remove outcomes and proposals from the file of a new branch."""
    if are_there(connection):
        for table in ("outcome", "proposal"):
            connection.execute(f"DELETE FROM submission_{table}")
