"""`/branches` and `/merges`: the branches of a graph, and merges of them with their conflicts.

Every endpoint works on the branch that `?branch=` names; for a merge it is the target. The routes
and their description are made from the table `ENDPOINTS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from mycel.api.graph import Graph
from mycel.api.open_branches import OpenBranches
from mycel.errors import AccessDenied, MycelError, NotFound
from mycel.explorer.parameters import Argument, Parameters, checked
from mycel.history.branches import Branch
from mycel.history.merge.outcome import Merge
from mycel.http.policy import Policy
from mycel.http.request_values import given_parameters
from mycel.http.responses import JSON, encode, refusal
from mycel.http.worker_pool import Workers

RESOLUTIONS_MAX: Final = 10_000
WAITING: Final = 202
"""The status of a merge that waits for decisions."""

Told = tuple[int, Mapping[str, Any]]
"""The status and the body of an answer."""


class _Call:
    """One request: the graph of its branch, its path and its parameters."""

    def __init__(
        self, db: Graph, branches: OpenBranches, name: str, given: Mapping[str, Any]
    ) -> None:
        self.db: Final = db
        self.branches: Final = branches
        self.name: Final = name
        """The last part of the path: the name of a branch, or the id of a merge."""
        self.given: Final = given


@dataclass(frozen=True, slots=True)
class BranchEndpoint:
    """One method of one path."""

    method: str
    path: str
    summary: str
    run: Callable[[_Call], Told]
    parameters: Parameters
    writes: bool = True
    statuses: tuple[int, ...] = (200,)
    """The statuses of success."""


def _list_branches(call: _Call) -> Told:
    unreadable = call.db.branches.unreadable()
    return 200, {
        "branches": [_branch(call, branch) for branch in call.db.branches],
        **({"unreadable": unreadable} if unreadable else {}),
    }


def _create_branch(call: _Call) -> Told:
    return 201, _branch(call, call.db.branches.create(call.given["name"]))


def _delete_branch(call: _Call) -> Told:
    branch = call.branches.delete(call.name, unmerged=call.given["unmerged"])
    return 200, _branch(call, branch)


def _branch(call: _Call, branch: Branch) -> dict[str, Any]:
    payload = branch.to_dict()
    del payload["path"]  # The caller must not see folders of the server.
    return payload | {"in_use": branch.name == call.db.branch}


def _list_merges(call: _Call) -> Told:
    return 200, {"merges": [merge.to_dict() for merge in call.db.merges]}


def _merge(call: _Call) -> Told:
    return _merge_response(call.db.merge(**call.given))


def _open_merge(call: _Call) -> Merge:
    merge = next((merge for merge in call.db.merges if merge.id == call.name), None)
    if merge is None:
        raise NotFound(
            f"No merge {call.name!r} into {call.db.branch} is open.",
            hint="GET /merges lists those that are.",
        )
    return merge


def _show_merge(call: _Call) -> Told:
    return _merge_response(_open_merge(call))


def _resolve(call: _Call) -> Told:
    merge = _open_merge(call)
    if call.given["resolutions"]:
        merge = call.db.merges.resolve(call.given["resolutions"], merge=merge.id)
    if call.given["commit"] and not merge.unresolved:
        merge = call.db.merges.commit(merge.id, message=call.given["message"])
    return _merge_response(merge)


def _abort(call: _Call) -> Told:
    return _merge_response(call.db.merges.abort(_open_merge(call).id))


def _merge_response(merge: Merge) -> Told:
    return WAITING if merge.is_open else 200, merge.to_dict()


_MESSAGE: Final = Argument("text", "The reason, for the journal", "")

ENDPOINTS: Final = (
    BranchEndpoint("GET", "/branches", "List the branches", _list_branches, {}, writes=False),
    BranchEndpoint(
        "POST",
        "/branches",
        "Copy the branch of the request to a new one",
        _create_branch,
        {"name": Argument("text", "The name of the new branch", required=True)},
        statuses=(201,),
    ),
    BranchEndpoint(
        "DELETE",
        "/branches/{name}",
        "Delete a branch",
        _delete_branch,
        {"unmerged": Argument("flag", "Even if it has commits that main lacks", False)},
    ),
    BranchEndpoint("GET", "/merges", "List the open merges", _list_merges, {}, writes=False),
    BranchEndpoint(
        "POST",
        "/merges",
        "Merge a branch into that of the request",
        _merge,
        {
            "source": Argument("text", "The branch to take from", required=True),
            "policy": Argument("any", "The choice where both changed a value: a word, or words"),
            "trust": Argument("texts", "Actors whose values win, the first most"),
            "granularity": Argument("text", "Of conflicts", "key", words=("key", "element")),
            "restore_purged": Argument("flag", "Add again what was purged here", False),
            "dry_run": Argument("flag", "Only tell what would change", False),
            "message": _MESSAGE,
        },
        statuses=(200, WAITING),
    ),
    BranchEndpoint(
        "GET",
        "/merges/{name}",
        "Show an open merge and its conflicts",
        _show_merge,
        {},
        writes=False,
        statuses=(WAITING,),
    ),
    BranchEndpoint(
        "POST",
        "/merges/{name}",
        "Decide conflicts; commit when none is left",
        _resolve,
        {
            "resolutions": Argument(
                "objects", "Each {conflict, choice, value?}", (), most=RESOLUTIONS_MAX
            ),
            "commit": Argument("flag", "Commit when none is left", True),
            "message": _MESSAGE,
        },
        statuses=(200, WAITING),
    ),
    BranchEndpoint("DELETE", "/merges/{name}", "Give an open merge up", _abort, {}),
)


def branch_routes(policy: Policy, branches: OpenBranches, workers: Workers) -> list[Route]:
    """The routes of all endpoints."""

    async def serve(request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        endpoint = by_path[request.scope["route"].path][method]
        try:
            branch, given = await given_parameters(request)
            if endpoint.writes and policy.readonly:
                raise AccessDenied("This server is read-only.", hint="Start it without --readonly.")
            known = checked(f"{endpoint.method} {endpoint.path}", endpoint.parameters, given)
            name = request.path_params.get("name", "")

            def run() -> tuple[int, bytes]:
                with branches.using(branch) as db:
                    db.check_in_place()
                    status, payload = endpoint.run(_Call(db, branches, name, known))
                # Encoded in the thread, because the answer may be large.
                return status, encode(payload)

            status, body = await workers.run(request.scope, run)
        except MycelError as error:
            return refusal(error)
        return Response(body, status, media_type=JSON)

    by_path: dict[str, dict[str, BranchEndpoint]] = {}
    for branch_endpoint in ENDPOINTS:
        by_path.setdefault(branch_endpoint.path, {})[branch_endpoint.method] = branch_endpoint
    return [Route(path, serve, methods=list(methods)) for path, methods in by_path.items()]
