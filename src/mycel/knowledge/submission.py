"""Submissions and reviews of proposals by URI: the one entrance of HTTP, MCP and the command line.

This module checks what a caller may propose or decide, by the URIs that a change is about. At the
commit, the guard of the transaction checks again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from mycel.errors import AccessDenied, InvalidSyntax, InvalidValueType
from mycel.history.proposals import Proposal
from mycel.history.submissions import OnConflict, Submission, deeds
from mycel.knowledge.knowledge_view import KnowledgeView
from mycel.knowledge.submission_changes import ChangeReader, edited_uris
from mycel.model.names import shorten
from mycel.model.permission import Action, current
from mycel.model.state import State
from mycel.store.query.history import entry_at

REVIEWS: Final = ("accept", "reject", "comment", "withdraw")


def submit(
    view: KnowledgeView,
    changes: Sequence[Mapping[str, Any]],
    *,
    base: str | None = None,
    key: str | None = None,
    message: str = "",
    on_conflict: OnConflict = "fail",
) -> Submission:
    """Commit changes of nodes and relations, made to an earlier state; or propose the changes.

    docs/remote-protocol.md describes the changes. The rest is as in `db.submissions.submit`.

    Raises:
        InvalidValueType, InvalidId: a change has another form.
        AccessDenied: the caller may not propose, or write, one of them.
        VersionConflict, DuplicateExists, NotFound: see `db.submissions.submit`.
    """
    if isinstance(changes, str | Mapping) or not isinstance(changes, Sequence):
        raise InvalidValueType("`changes` is a list of objects.")

    def edits() -> list[dict[str, Any]]:
        with view.db.reading() as reader:
            seq = reader.position if base is None else entry_at(reader, base)
            before = reader if seq == reader.position else reader.at(State(seq))
            changing = ChangeReader(before, reader, view.workspace)
            prepared = changing.edits(changes)
        check_covers("propose", view.db.branch, sorted(changing.uris))
        return prepared

    return view.db.submissions.submit(
        edits,
        base=base,
        key=key,
        message=message,
        on_conflict=on_conflict,
        content=[view.db.branch, base, message, on_conflict, list(changes)],
    )


def review(
    view: KnowledgeView, id_: str, action: str, *, text: str = "", message: str = ""
) -> Submission | Proposal:
    """Accept, reject, comment or withdraw a proposal; `text` is the reason or the comment.

    Raises:
        InvalidSyntax: there is no such action.
        AccessDenied: the caller may not decide about all elements that it changes.
        NotFound, ConstraintViolation: the proposal does not exist, or is not open.
    """
    proposals = view.db.proposals
    proposal = proposals.get(id_)
    match action:
        case "accept" | "reject":
            check_covers("write", view.db.branch, edited_uris(proposal.edits))
            if action == "accept":
                return proposals.accept(proposal, message=message)
            return proposals.reject(proposal, text)
        case "comment":
            return proposals.comment(proposal, text)
        case "withdraw":
            return proposals.withdraw(proposal)
    raise InvalidSyntax(
        f"A proposal cannot be {shorten(repr(action))}.", hint=f"Use {', '.join(REVIEWS)}."
    )


def check_covers(action: Action, branch: str, uris: Iterable[str]) -> None:
    """Check that the permission of this thread covers an action on all of these nodes.

    Raises:
        AccessDenied: one of them is outside of the scopes.
    """
    permission = current()
    if permission is None:
        return
    for uri in uris:
        if not permission.covers_for(action, branch, uri):
            raise AccessDenied(
                f"The token may not {deeds(action)} {shorten(uri, 200)}.",
                hint="Its scopes do not cover it; ask the administrator of the server.",
            )
