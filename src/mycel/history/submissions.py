"""Submissions: changes to an earlier state of a graph, each committed once, proposed, or refused.

A submission names the commit that was edited and has a key of its own. The transaction of the
commit keeps the outcome under the key. A lost answer can thus be requested again, and a submission
that is sent twice is committed once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import orjson

from mycel.engine.write_defaults import WriteDefaults
from mycel.errors import (
    AccessDenied,
    ConstraintViolation,
    DuplicateExists,
    NotFound,
    ResourceExhausted,
    VersionConflict,
)
from mycel.history.branches import Branches
from mycel.history.merge.outcome import Conflict
from mycel.history.merge.requests import Request
from mycel.model.names import shorten
from mycel.model.permission import Action, current
from mycel.store.database import Store
from mycel.store.log import copied, submissions
from mycel.store.log.submissions import KeptOutcome, StoredProposal
from mycel.store.query.commits import commit_at
from mycel.store.write.transaction import Transaction

if TYPE_CHECKING:
    from mycel.history.merge.submitting import Submitted, Submitting

OnConflict = Literal["fail", "merge", "propose"]
ON_CONFLICT: Final[tuple[OnConflict, ...]] = ("fail", "merge", "propose")
EDITS_MAX: Final = 10_000
_KEY: Final = re.compile(r"[A-Za-z0-9._:-]{8,200}")
_ID_BYTES: Final = 6


class Submission(NamedTuple):
    """The outcome of a submission."""

    status: Literal["committed", "unchanged", "proposed", "conflicts"]
    commit: str = ""
    """The commit; "" if none was made."""
    seq: int | None = None
    head: str = ""
    """The head after the submission; in case of conflicts, the head that conflicts."""
    counts: Mapping[str, int] = {}
    """The number of elements that are added, removed and changed."""
    proposal: str = ""
    """The id of the proposal, if one was made."""
    conflicts: tuple[Conflict, ...] = ()
    warnings: tuple[str, ...] = ()
    contested: int = 0
    """The number of conflicts of a proposal."""

    def to_dict(self) -> dict[str, Any]:
        """The outcome in its JSON form."""
        payload: dict[str, Any] = {"status": self.status}
        if self.status == "proposed":
            return payload | {"proposal": self.proposal, "conflicts": self.contested}
        payload |= {"commit": self.commit, "seq": self.seq} if self.commit else {}
        payload["head"] = self.head
        if self.status == "conflicts":
            return payload | {"conflicts": [conflict.to_dict() for conflict in self.conflicts]}
        return payload | {"counts": dict(self.counts), "warnings": list(self.warnings)}

    @classmethod
    def from_dict(cls, payload: Mapping[str, Any]) -> Submission:
        """The outcome in the answer of another program.

        Raises:
            KeyError, TypeError, ValueError: the value is no outcome.
        """
        status = payload["status"]
        if status not in ("committed", "unchanged", "proposed", "conflicts"):
            raise ValueError(f"{shorten(repr(status))} is no outcome")
        if status == "proposed":
            return cls(
                status, proposal=str(payload["proposal"]), contested=int(payload["conflicts"])
            )
        head = str(payload["head"])
        if status == "conflicts":
            conflicts = tuple(map(Conflict.from_dict, payload["conflicts"]))
            return cls(status, head=head, conflicts=conflicts)
        counts = {str(kind): int(number) for kind, number in payload["counts"].items()}
        warnings = tuple(map(str, payload["warnings"]))
        commit, seq = str(payload.get("commit", "")), payload.get("seq")
        return cls(
            status, commit, None if seq is None else int(seq), head, counts, "", (), warnings
        )


class _KnownError(Exception):
    """The error if the key of a submission already has an outcome."""

    def __init__(self, outcome: KeptOutcome) -> None:
        super().__init__()
        self.outcome = outcome


class Submissions:
    """The submissions of changes to one branch: `db.submissions`."""

    def __init__(
        self,
        store: Store,
        defaults: WriteDefaults,
        branches: Branches,
        full_store: Store | None = None,
    ) -> None:
        """Take the graph. For a copy of a part, proposals go to `full_store`."""
        self._full_store: Final = full_store
        self._store: Final = store
        self._defaults: Final = defaults
        self._branches: Final = branches

    def submit(
        self,
        edits: Sequence[Mapping[str, Any]] | Callable[[], Sequence[Mapping[str, Any]]],
        *,
        base: str | int | None = None,
        key: str | None = None,
        message: str = "",
        on_conflict: OnConflict = "fail",
        by: str | None = None,
        content: object = None,
    ) -> Submission:
        """Commit edits of an earlier state, or propose them.

        Edits have the form of `db.merges.merge_changes`. They may be a function that returns the
        edits; it is not called if the key already has an outcome. `base` is the commit that was
        edited; by default the head, so that changes of others go unnoticed. With "fail", the base
        has to be the head. "merge" merges edits without conflicts. "propose" makes a proposal
        (`db.proposals`), and so does every submission of a caller who may only propose. A repeated
        `key` gives the first outcome; `content` identifies the submission, so that its repetition
        is recognised.

        Raises:
            VersionConflict: the base is not the head, and `on_conflict` is "fail".
            DuplicateExists: another submission had this key.
            ConstraintViolation, NotFound: there is no such base, or an argument is wrong.
        """
        if on_conflict not in ON_CONFLICT:
            raise ConstraintViolation(
                f"on_conflict cannot be {shorten(repr(on_conflict))}.",
                hint="It is fail, merge or propose.",
            )
        owner = None if key is None else (owner_of(self._actor(by)), check_key(key))
        permission = current()
        if permission is not None and not permission.may_write(self._branches.open):
            on_conflict = "propose"
        if on_conflict == "propose":
            check_may_propose(self._branches.open)
        from mycel.history.merge.submitting import StaleBaseError  # noqa: PLC0415 - as below

        digest = "" if key is None else _digest(edits if content is None else content)
        if owner is not None and (earlier := self._known(owner)) is not None:
            return self._again(earlier, digest)
        known_edits = list(edits() if callable(edits) else edits)
        if not 1 <= len(known_edits) <= EDITS_MAX:
            raise ConstraintViolation(f"A submission has 1 to {EDITS_MAX:,} changes.")
        name = token_hex(_ID_BYTES) if owner is None else owner[1]
        submitting = self._submitting
        request = Request(
            f"submission {name}",
            submitting.base_commit(base),
            {},
            message=self._defaults.message_or(message),
            opened=self._store.now_us(),
            by=self._actor(by),
            edits=known_edits,
        )
        if on_conflict == "propose":
            return self._propose(submitting, request, owner, digest)
        try:
            result = submitting.submit(
                request,
                at_head=on_conflict == "fail" and base is not None,
                keep=lambda tx, result: self._keep(tx, result, owner, digest),
                by=request.by,
            )
        except _KnownError as error:
            return self._again(error.outcome, digest)
        except StaleBaseError as error:
            raise _stale(error.head) from None
        if result.conflicts:
            return Submission("conflicts", head=result.head, conflicts=result.conflicts)
        return self._show(_body(result))

    def outcome(self, key: str, *, by: str | None = None) -> Submission:
        """The outcome of an earlier submission of the caller.

        Raises:
            NotFound: no submission of the caller had this key.
        """
        stored = self._known((owner_of(self._actor(by)), check_key(key)))
        if stored is None:
            raise NotFound(
                f"There is no submission {shorten(key)!r}.",
                hint="It was refused, or never arrived: send it again, with the same key.",
            )
        return self._show(stored.body)

    @property
    def _submitting(self) -> Submitting:
        from mycel.history.merge.submitting import Submitting  # noqa: PLC0415 - loads all of merging

        return Submitting(self._store, self._branches.open, self._branches.reading)

    def _actor(self, by: str | None) -> str:
        return self._defaults.actor_or(by)

    def _known(self, owner: tuple[str, str]) -> KeptOutcome | None:
        with self._store.reading() as reader:
            outcome = reader.run(submissions.outcome, *owner)
        if outcome is None and self._full_store is not None:
            with self._full_store.reading() as reader:
                outcome = reader.run(submissions.outcome, *owner)
        return outcome

    def _again(self, stored: KeptOutcome, digest: str) -> Submission:
        if stored.digest != digest:
            raise DuplicateExists(
                "Another submission was made with this key.",
                hint="Give each submission a key of its own.",
            )
        return self._show(stored.body)

    def _keep(
        self, tx: Transaction, result: Submitted, owner: tuple[str, str] | None, digest: str
    ) -> None:
        if owner is None:
            return
        if (earlier := tx.maintain(submissions.outcome, *owner)) is not None:
            raise _KnownError(earlier)
        tx.maintain(submissions.keep_outcome, owner, tx.time_us, KeptOutcome(digest, _body(result)))

    def _show(self, body: Mapping[str, Any]) -> Submission:
        """A stored outcome, with the ids of its commits."""
        if body["status"] == "proposed":
            return Submission(
                "proposed", proposal=body["proposal"], contested=body.get("conflicts", 0)
            )
        with self._store.reading() as reader:
            seq = body["seq"]
            commit = "" if seq is None else commit_at(reader, seq)
        return Submission(
            body["status"],
            commit,
            seq,
            commit or body["head"],
            body["counts"],
            warnings=tuple(body["warnings"]),
        )

    def _propose(
        self,
        submitting: Submitting,
        request: Request,
        owner: tuple[str, str] | None,
        digest: str,
    ) -> Submission:
        # Edits of a wrong form are refused here; conflicts are only counted.
        conflicts = submitting.conflicts_of(request)
        body = {
            "message": request.message,
            "base": request.theirs if self._full_store is None else self._base_in_whole(request),
            "edits": request.edits,
            "comments": [],
        }
        row = StoredProposal(
            token_hex(_ID_BYTES), "open", owner_of(request.by), request.opened, body
        )
        outcome = KeptOutcome(
            digest, {"status": "proposed", "proposal": row.id, "conflicts": len(conflicts)}
        )
        store = self._full_store or self._store
        earlier = store.annotate(submissions.add_proposal, row, owner, outcome)
        if earlier is None:
            return self._show(outcome.body)
        if earlier.body:
            return self._again(earlier, digest)
        raise ResourceExhausted(
            f"{submissions.OPEN_MAX} proposals are open, which is the limit.",
            hint="Accept or reject some first.",
        )

    def _base_in_whole(self, request: Request) -> str:
        """The commit of the whole graph that a copy of a part shows now.

        Raises:
            VersionConflict: an earlier state of the copy was edited.
        """
        with self._store.reading() as reader:
            head, reached = commit_at(reader, reader.position), reader.run(copied.head)
        if request.theirs != head or reached is None:
            raise _stale(head)
        return reached.commit


def _stale(head: str) -> VersionConflict:
    return VersionConflict(
        "The base of the submission is not the head of the branch.",
        hint="Read what changed since, and submit again with the head as base; or let"
        " on_conflict be merge.",
        data={"status": "stale", "head": head},
    )


def _body(result: Submitted) -> dict[str, Any]:
    """The part of an outcome that is stored."""
    return {
        "status": "unchanged" if result.seq is None else "committed",
        "seq": result.seq,
        "head": result.head,
        "counts": result.counts,
        "warnings": list(result.warnings),
    }


def _digest(content: object) -> str:
    return sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).hexdigest()


def check_key(key: object) -> str:
    """The key of a submission, after checks.

    Raises:
        ConstraintViolation: the key has another form.
    """
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        raise ConstraintViolation(
            f"{shorten(repr(key))} is not a key of a submission.",
            hint="It has 8 to 200 letters, digits, `.`, `_`, `:` and `-`, such as a UUID.",
        )
    return key


def owner_of(actor: str) -> str:
    """The author of a submission: the actor of this thread's permission, else the given one."""
    permission = current()
    return actor if permission is None else permission.actor


def check_may_propose(branch: str) -> None:
    """Check that the permission of this thread allows proposals for a branch.

    Raises:
        AccessDenied: the permission does not allow them.
    """
    permission = current()
    if permission is not None and not permission.allows("propose", branch):
        raise AccessDenied(
            f"The token may not {deeds('propose')} here.",
            hint="Ask the administrator of the server for a token with that scope.",
        )


def deeds(action: Action) -> str:
    """The words for a refused action; a token that may not propose may not write either."""
    return "write or propose" if action == "propose" else action
