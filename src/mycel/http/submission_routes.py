"""The writing part of the protocol between workspaces (docs/remote-protocol.md).

`/submit` and `/proposals`, each for the branch of the request. These routes also serve callers who
may only propose; all other routes treat them as readers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from mycel.api.graph import Graph
from mycel.api.open_branches import OpenBranches
from mycel.errors import AccessDenied, DatabaseReadOnly, MycelError, VersionConflict
from mycel.explorer.parameters import Argument, Parameters, checked
from mycel.history.proposals import Proposal
from mycel.history.submissions import EDITS_MAX, ON_CONFLICT, Submission
from mycel.http.policy import Policy
from mycel.http.request_values import given_parameters
from mycel.http.responses import JSON, encode, refusal
from mycel.http.worker_pool import PERMISSION, Workers
from mycel.knowledge.knowledge_view import KnowledgeView
from mycel.knowledge.submission import REVIEWS, review, submit
from mycel.store.log.submissions import STATUSES

PROPOSED: Final = 202
CONFLICTING: Final = 409
STALE: Final = 412


class _SubmissionCall(NamedTuple):
    """One request: the graph of its branch, the last part of its path, and its parameters."""

    view: KnowledgeView
    name: str
    given: Mapping[str, Any]

    @property
    def db(self) -> Graph:
        return self.view.db


@dataclass(frozen=True, slots=True)
class SubmissionEndpoint:
    """One method of one path."""

    method: str
    path: str
    summary: str
    run: Callable[[_SubmissionCall], tuple[int, Mapping[str, Any]]]
    parameters: Parameters
    statuses: tuple[int, ...] = (200,)
    writes: bool = False


def _submit(call: _SubmissionCall) -> tuple[int, Mapping[str, Any]]:
    return _submission(submit(call.view, **call.given))


def _outcome(call: _SubmissionCall) -> tuple[int, Mapping[str, Any]]:
    return _submission(call.db.submissions.outcome(call.name))


def _submission(outcome: Submission) -> tuple[int, Mapping[str, Any]]:
    """The outcome of a submission with its HTTP status.

    Raises:
        VersionConflict: conflicts are in the way; the data has them.
    """
    if outcome.status == "conflicts":
        raise VersionConflict(
            "The changes conflict with what others have written; nothing was committed.",
            hint="Read the new state, and submit what is still right with the head as base.",
            data=outcome.to_dict(),
        )
    return PROPOSED if outcome.status == "proposed" else 200, outcome.to_dict()


def _proposals(call: _SubmissionCall) -> tuple[int, Mapping[str, Any]]:
    proposals = call.db.proposals.list(call.given["status"])
    return 200, {"proposals": [proposal.to_dict(edits=False) for proposal in proposals]}


def _proposal(call: _SubmissionCall) -> tuple[int, Mapping[str, Any]]:
    proposal = call.db.proposals.get(call.name)
    preview = call.db.proposals.preview(proposal).to_dict() if proposal.status == "open" else {}
    return 200, proposal.to_dict() | preview


def _review(call: _SubmissionCall) -> tuple[int, Mapping[str, Any]]:
    given = call.given
    action = given["action"]
    text = given["reason"] if action == "reject" else given["text"]
    outcome = review(call.view, call.name, action, text=text, message=given["message"])
    if isinstance(outcome, Proposal):
        return 200, outcome.to_dict()
    return _submission(outcome)


_MESSAGE: Final = Argument("text", "The reason, for the journal", "")

SUBMISSION_ENDPOINTS: Final = (
    SubmissionEndpoint(
        "POST",
        "/submit",
        "Commit changes to an earlier state, or propose them",
        _submit,
        {
            "base": Argument("text", "The commit that was edited; null for the head"),
            "key": Argument("text", "A name of this submission; the same one is committed once"),
            "message": _MESSAGE,
            "on_conflict": Argument(
                "text", "What to do if the base is not the head", "fail", words=ON_CONFLICT
            ),
            "changes": Argument(
                "objects", "What became of nodes and links", required=True, most=EDITS_MAX
            ),
        },
        statuses=(200, PROPOSED),
        writes=True,
    ),
    SubmissionEndpoint(
        "GET",
        "/submit/{name}",
        "The outcome of a submission, by its key",
        _outcome,
        {},
        statuses=(200, PROPOSED),
    ),
    SubmissionEndpoint(
        "GET",
        "/proposals",
        "List proposals, newest first",
        _proposals,
        {"status": Argument("text", "Of the proposals", "open", words=(*STATUSES, "all"))},
    ),
    SubmissionEndpoint(
        "GET",
        "/proposals/{name}",
        "A proposal, what it would change, and its conflicts",
        _proposal,
        {},
    ),
    SubmissionEndpoint(
        "POST",
        "/proposals/{name}",
        "Accept, reject, comment or withdraw a proposal",
        _review,
        {
            "action": Argument("text", "What to do", required=True, words=REVIEWS),
            "reason": Argument("text", "Of reject", ""),
            "text": Argument("text", "Of comment", ""),
            "message": _MESSAGE,
        },
        writes=True,
    ),
)


def submission_routes(
    policy: Policy, branches: OpenBranches, workers: Workers, workspace: str
) -> list[Route]:
    """The routes of all endpoints."""

    async def serve(request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        endpoint = by_path[request.scope["route"].path][method]
        try:
            branch, given = await given_parameters(request)
            known = checked(f"{endpoint.method} {endpoint.path}", endpoint.parameters, given)
            has_rights = request.scope.get(PERMISSION) is not None
            if endpoint.writes and policy.readonly and not has_rights:
                raise _readonly()
            name = request.path_params.get("name", "")

            def run() -> tuple[int, bytes]:
                with branches.using(branch) as db:
                    db.check_in_place()
                    view = KnowledgeView(db, workspace=workspace)
                    status, payload = endpoint.run(_SubmissionCall(view, name, known))
                return status, encode(payload)

            status, body = await workers.run(request.scope, run)
        except VersionConflict as error:
            status = STALE if error.data.get("status") == "stale" else CONFLICTING
            return refusal(error, status)
        except DatabaseReadOnly:
            return refusal(_readonly())
        except MycelError as error:
            return refusal(error)
        return Response(body, status, media_type=JSON)

    by_path: dict[str, dict[str, SubmissionEndpoint]] = {}
    for endpoint in SUBMISSION_ENDPOINTS:
        by_path.setdefault(endpoint.path, {})[endpoint.method] = endpoint
    return [Route(path, serve, methods=list(methods)) for path, methods in by_path.items()]


def _readonly() -> AccessDenied:
    return AccessDenied("This server is read-only.", hint="Start it without --readonly.")
