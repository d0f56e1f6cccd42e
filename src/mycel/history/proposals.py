"""Proposals: changes that wait until somebody who may write accepts or rejects them.

A proposal is a list of edits with the commit that was edited, not a branch. Its changes and its
conflicts are computed for each access. Proposals are kept in the file of the graph, beside the
knowledge.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mycel.engine.write_defaults import WriteDefaults
from mycel.errors import (
    AccessDenied,
    ConstraintViolation,
    MycelError,
    NotFound,
    VersionConflict,
)
from mycel.history.branches import Branches
from mycel.history.merge.outcome import Conflict
from mycel.history.merge.requests import Request
from mycel.history.submissions import Submission, check_may_propose, owner_of
from mycel.model import times
from mycel.model.limits import REASON_BYTES_MAX
from mycel.model.names import check_text, shorten
from mycel.model.permission import OnBehalf, current, permitted
from mycel.store.database import Store
from mycel.store.log import submissions
from mycel.store.log.submissions import STATUSES, ProposalStatus, StoredProposal
from mycel.store.query.commits import commit_at
from mycel.store.query.diff import Diff
from mycel.store.write.transaction import Transaction

if TYPE_CHECKING:
    from mycel.history.merge.submitting import Submitted, Submitting

COMMENTS_MAX: Final = 200
LISTED_MAX: Final = 1_000


class Proposal(NamedTuple):
    """A proposed change."""

    id: str
    status: ProposalStatus
    actor: str
    time_us: int
    message: str
    base: str
    """The commit that was edited."""
    edits: tuple[dict[str, Any], ...]
    comments: tuple[dict[str, Any], ...] = ()
    """Comments. Each has its actor, time and text."""
    ended: dict[str, Any] | None = None
    """The end of the proposal: its actor, time and reason, and the entry of the commit if there is
    one.
    """

    def to_dict(self, *, edits: bool = True) -> dict[str, Any]:
        payload: dict[str, Any] = {
            "id": self.id,
            "status": self.status,
            "actor": self.actor,
            "time": times.to_text(self.time_us),
            "message": self.message,
            "base": self.base,
            "changes": len(self.edits),
            "comments": list(self.comments) if edits else len(self.comments),
        }
        payload |= {"edits": list(self.edits)} if edits else {}
        return payload | ({"ended": self.ended} if self.ended else {})


class ProposalPreview(NamedTuple):
    """The changes that a proposal would make now, and its conflicts."""

    counts: dict[str, int]
    changes: Diff
    conflicts: tuple[Conflict, ...]
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "counts": self.counts,
            "diff": [change.to_dict() for change in self.changes.elements],
            "conflicts": [conflict.to_dict() for conflict in self.conflicts],
            "warnings": list(self.warnings),
        }


class Proposals:
    """The proposals for one branch: `db.proposals`. Iterating gives the open ones."""

    def __init__(
        self,
        store: Store,
        defaults: WriteDefaults,
        branches: Branches,
        full_store: Store | None = None,
    ) -> None:
        """Take the graph; for a copy of a part, `full_store` has the proposals.

        From a copy, a caller sees only its own proposals.
        """
        self._is_part: Final = full_store is not None
        self._place: Final = full_store or store
        self._store: Final = store
        self._defaults: Final = defaults
        self._branches: Final = branches

    def __iter__(self) -> Iterator[Proposal]:
        """The open proposals, newest first."""
        return iter(self.list())

    def __len__(self) -> int:
        """The number of open proposals."""
        return len(self.list())

    def list(self, status: str = "open", *, limit: int = LISTED_MAX) -> list[Proposal]:
        """Proposals with a status ("all" for any status), newest first.

        Raises:
            ConstraintViolation: there is no such status.
        """
        if status not in (*STATUSES, "all"):
            raise ConstraintViolation(
                f"{shorten(repr(status))} is not a status of proposals.",
                hint=f"The status is {', '.join(STATUSES)} or all.",
            )
        with self._place.reading() as reader:
            rows = reader.run(submissions.proposals, None if status == "all" else status, limit)
        return [self._proposal(row) for row in rows if self._sees(row)]

    def get(self, id_: str) -> Proposal:
        """The proposal with an id, which may be given by its first characters.

        Raises:
            NotFound: no proposal has this id.
        """
        return self._proposal(self._row(id_))

    def preview(self, proposal: Proposal | str) -> ProposalPreview:
        """The changes that a proposal would make now, and its conflicts."""
        request = self._request(self._row(_id(proposal)))
        submitting = self._submitting
        if self._is_part:  # The base is a commit of the whole graph.
            request = request._replace(theirs=submitting.base_commit(None))
        result, changes = submitting.preview(request)
        return ProposalPreview(result.counts, changes, result.conflicts, result.warnings)

    def accept(
        self, proposal: Proposal | str, *, by: str | None = None, message: str = ""
    ) -> Submission:
        """Commit a proposal. The commit's actor is the author; its message names who accepted.

        With conflicts nothing is written, and the result has them.

        Raises:
            NotFound, ConstraintViolation: the proposal does not exist, or is not open.
            AccessDenied: the caller may not write all elements that it changes.
        """
        self._check_may_decide()
        row = self._open_row(_id(proposal))
        accepter = owner_of(self._defaults.actor_or(by))
        reason = message or row.body["message"] or f"proposal {row.id}"
        request = self._request(row)._replace(message=f"{reason} (accepted by {accepter})")
        seqs: list[int | None] = []

        def keep(tx: Transaction, result: Submitted) -> None:
            ended = _ending(accepter, self._store.now_us(), message) | {"seq": result.seq}
            body = row.body | {"ended": ended}
            if not tx.maintain(submissions.change_proposal, row, "accepted", body):
                raise _changed(row)
            seqs.append(result.seq)

        permission = current()
        rights = nullcontext() if permission is None else permitted(OnBehalf(permission, row.actor))
        with rights:
            result = self._submitting.submit(request, at_head=False, keep=keep, by=row.actor)
        if result.conflicts:
            return Submission("conflicts", head=result.head, conflicts=result.conflicts)
        with self._store.reading() as reader:
            commit = "" if result.seq is None else commit_at(reader, result.seq)
        return Submission(
            "unchanged" if result.seq is None else "committed",
            commit,
            result.seq,
            commit or result.head,
            result.counts,
            warnings=result.warnings,
        )

    def reject(self, proposal: Proposal | str, reason: str, *, by: str | None = None) -> Proposal:
        """Reject a proposal, with a reason.

        Raises:
            NotFound, ConstraintViolation: the proposal does not exist or is not open, or the reason
                is empty.
        """
        self._check_may_decide()
        check_text(reason, "reason", REASON_BYTES_MAX, empty=False)
        return self._end(_id(proposal), "rejected", by, reason)

    def withdraw(self, proposal: Proposal | str, *, by: str | None = None) -> Proposal:
        """Withdraw a proposal. Only its author may do so.

        Raises:
            AccessDenied: somebody else made it.
        """
        row = self._open_row(_id(proposal))
        caller = owner_of(self._defaults.actor_or(by))
        if current() is not None and caller != row.actor:
            raise AccessDenied(
                f"Only {shorten(row.actor)}, the author of the proposal, may withdraw it.",
                hint="Reject it, if you may write.",
            )
        return self._end(row.id, "withdrawn", by, "")

    def comment(self, proposal: Proposal | str, text: str, *, by: str | None = None) -> Proposal:
        """Add a comment to a proposal.

        Raises:
            ConstraintViolation: the text is empty, or there are too many.
        """
        check_may_propose(self._branches.open)
        check_text(text, "comment", REASON_BYTES_MAX, empty=False)
        row = self._row(_id(proposal))
        comments = row.body["comments"]
        if len(comments) >= COMMENTS_MAX:
            raise ConstraintViolation(f"A proposal has at most {COMMENTS_MAX} comments.")
        actor = owner_of(self._defaults.actor_or(by))
        comment = {"actor": actor, "time": times.to_text(self._store.now_us()), "text": text}
        self._change(row, row.status, row.body | {"comments": [*comments, comment]})
        return self.get(row.id)

    @property
    def _submitting(self) -> Submitting:
        from mycel.history.merge.submitting import Submitting  # noqa: PLC0415 - loads all of merging

        return Submitting(self._store, self._branches.open, self._branches.reading)

    def _request(self, row: StoredProposal) -> Request:
        return Request(
            f"proposal {row.id}",
            row.body["base"],
            {},
            message=row.body["message"],
            opened=row.time_us,
            by=row.actor,
            edits=row.body["edits"],
        )

    def _check_may_decide(self) -> None:
        self._store.check_may_write()
        if self._is_part:
            raise AccessDenied(
                "A token that may read some paths only cannot decide about proposals.",
                hint="A token with the scope `read:/**` is needed as well.",
            )

    def _sees(self, row: StoredProposal) -> bool:
        """True if the caller may see a proposal: any proposal, or only its own."""
        return not self._is_part or row.actor == owner_of(self._defaults.actor_or(None))

    def _proposal(self, row: StoredProposal) -> Proposal:
        proposal = _proposal(row)
        return (
            proposal._replace(base="", ended=_outside(proposal.ended))
            if self._is_part
            else proposal
        )

    def _row(self, id_: str) -> StoredProposal:
        with self._place.reading() as reader:
            row = reader.run(submissions.proposal, id_)
            if row is None and len(id_) >= 4:
                rows = reader.run(submissions.proposals, None, LISTED_MAX)
                rows = [item for item in rows if item.id.startswith(id_) and self._sees(item)]
                row = rows[0] if len(rows) == 1 else None
        if row is None or not self._sees(row):
            raise NotFound(
                f"There is no proposal {shorten(id_)!r}.",
                hint="db.proposals (`mycel proposal list`) lists them.",
            )
        return row

    def _open_row(self, id_: str) -> StoredProposal:
        row = self._row(id_)
        if row.status != "open":
            raise ConstraintViolation(
                f"The proposal {row.id} was {row.status}.", hint="Only an open one can be decided."
            )
        return row

    def _end(self, id_: str, status: ProposalStatus, by: str | None, reason: str) -> Proposal:
        row = self._open_row(id_)
        actor = owner_of(self._defaults.actor_or(by))
        ended = _ending(actor, self._store.now_us(), reason)
        self._change(row, status, row.body | {"ended": ended})
        return self.get(row.id)

    def _change(self, row: StoredProposal, status: ProposalStatus, body: dict[str, Any]) -> None:
        if not self._place.annotate(submissions.change_proposal, row, status, body):
            raise _changed(row)


def _outside(ended: dict[str, Any] | None) -> dict[str, Any] | None:
    """The end of a proposal without `seq`, a position in the journal of the whole graph."""
    return ended and {key: value for key, value in ended.items() if key != "seq"}


def _changed(row: StoredProposal) -> MycelError:
    return VersionConflict(
        f"The proposal {row.id} has just been changed by somebody else.",
        hint="Read the proposal again.",
    )


def _ending(actor: str, time_us: int, reason: str) -> dict[str, Any]:
    return {"by": actor, "time": times.to_text(time_us), "reason": reason}


def _id(proposal: Proposal | str) -> str:
    return proposal if isinstance(proposal, str) else proposal.id


def _proposal(row: StoredProposal) -> Proposal:
    body = row.body
    return Proposal(
        row.id,
        row.status,
        row.actor,
        row.time_us,
        body["message"],
        body["base"],
        tuple(body["edits"]),
        tuple(body["comments"]),
        body.get("ended"),
    )
