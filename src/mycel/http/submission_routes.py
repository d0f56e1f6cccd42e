"""The writing part of the protocol between workspaces (docs/remote-protocol.md).

`/submit` and `/proposals`, each for the branch of the request. These routes also serve callers who
may only propose; all other routes treat them as readers.
"""

from __future__ import annotations

from typing import Final

from mycel.errors import VersionConflict
from mycel.explorer.parameters import Argument
from mycel.history.proposals import Proposal
from mycel.history.submissions import EDITS_MAX, ON_CONFLICT, Submission
from mycel.http.endpoints import MESSAGE, Endpoint, EndpointCall, EndpointReply, reply
from mycel.knowledge.submission import REVIEWS, review, submit
from mycel.store.log.submissions import STATUSES

PROPOSED: Final = 202


def _submit(call: EndpointCall) -> EndpointReply:
    return _submission(submit(call.view, **call.values))


def _outcome(call: EndpointCall) -> EndpointReply:
    return _submission(call.db.submissions.outcome(call.name))


def _submission(outcome: Submission) -> EndpointReply:
    """The outcome of a submission.

    Raises:
        VersionConflict: conflicts are in the way; the data has them.
    """
    if outcome.status == "conflicts":
        raise VersionConflict(
            "The changes conflict with writes of others; nothing was committed.",
            hint="Read the new state, and submit what is still right with the head as base.",
            data=outcome.to_dict(),
        )
    return reply(outcome.to_dict(), PROPOSED if outcome.status == "proposed" else 200)


def _proposals(call: EndpointCall) -> EndpointReply:
    proposals = call.db.proposals.list(call.values["status"])
    return reply({"proposals": [proposal.to_dict(edits=False) for proposal in proposals]})


def _proposal(call: EndpointCall) -> EndpointReply:
    proposal = call.db.proposals.get(call.name)
    preview = call.db.proposals.preview(proposal).to_dict() if proposal.status == "open" else {}
    return reply(proposal.to_dict() | preview)


def _review(call: EndpointCall) -> EndpointReply:
    values = call.values
    action = values["action"]
    text = values["reason"] if action == "reject" else values["text"]
    outcome = review(call.view, call.name, action, text=text, message=values["message"])
    if isinstance(outcome, Proposal):
        return reply(outcome.to_dict())
    return _submission(outcome)


SUBMISSION_ENDPOINTS: Final = (
    Endpoint(
        "POST",
        "/submit",
        "Commit changes to an earlier state, or propose them",
        _submit,
        {
            "base": Argument("text", "The commit that was edited; null for the head"),
            "key": Argument("text", "A name of this submission; the same one is committed once"),
            "message": MESSAGE,
            "on_conflict": Argument(
                "text", "What to do if the base is not the head", "fail", words=ON_CONFLICT
            ),
            "changes": Argument(
                "objects", "What became of nodes and links", required=True, most=EDITS_MAX
            ),
        },
        statuses=(200, PROPOSED),
        writes=True,
        is_for_proposers=True,
    ),
    Endpoint(
        "GET",
        "/submit/{name}",
        "The outcome of a submission, by its key",
        _outcome,
        {},
        statuses=(200, PROPOSED),
    ),
    Endpoint(
        "GET",
        "/proposals",
        "List proposals, newest first",
        _proposals,
        {"status": Argument("text", "Of the proposals", "open", words=(*STATUSES, "all"))},
    ),
    Endpoint(
        "GET",
        "/proposals/{name}",
        "A proposal, what it would change, and its conflicts",
        _proposal,
        {},
    ),
    Endpoint(
        "POST",
        "/proposals/{name}",
        "Accept, reject, comment or withdraw a proposal",
        _review,
        {
            "action": Argument("text", "What to do", required=True, words=REVIEWS),
            "reason": Argument("text", "Of reject", ""),
            "text": Argument("text", "Of comment", ""),
            "message": MESSAGE,
        },
        writes=True,
        is_for_proposers=True,
    ),
)
