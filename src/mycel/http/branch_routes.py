"""`/branches` and `/merges`: the branches of a graph, and merges of them with their conflicts.

Every endpoint works on the branch that `?branch=` names; for a merge it is the target.
"""

from __future__ import annotations

from typing import Any, Final

from mycel.errors import NotFound
from mycel.explorer.parameters import Argument
from mycel.history.branches import Branch
from mycel.history.merge.outcome import Merge
from mycel.http.endpoints import MESSAGE, Endpoint, EndpointCall, EndpointReply, reply

RESOLUTIONS_MAX: Final = 10_000
WAITING: Final = 202
"""The status of a merge that waits for decisions."""


def _list_branches(call: EndpointCall) -> EndpointReply:
    unreadable = call.db.branches.unreadable()
    return reply(
        {
            "branches": [_branch(call, branch) for branch in call.db.branches],
            **({"unreadable": unreadable} if unreadable else {}),
        }
    )


def _create_branch(call: EndpointCall) -> EndpointReply:
    return reply(_branch(call, call.db.branches.create(call.values["name"])), 201)


def _delete_branch(call: EndpointCall) -> EndpointReply:
    branch = call.served.branches.delete(call.name, unmerged=call.values["unmerged"])
    return reply(_branch(call, branch))


def _branch(call: EndpointCall, branch: Branch) -> dict[str, Any]:
    payload = branch.to_dict()
    del payload["path"]  # The caller must not see folders of the server.
    return payload | {"in_use": branch.name == call.db.branch}


def _list_merges(call: EndpointCall) -> EndpointReply:
    return reply({"merges": [merge.to_dict() for merge in call.db.merges]})


def _merge(call: EndpointCall) -> EndpointReply:
    return _merge_response(call.db.merge(**call.values))


def _open_merge(call: EndpointCall) -> Merge:
    merge = next((merge for merge in call.db.merges if merge.id == call.name), None)
    if merge is None:
        raise NotFound(
            f"No merge {call.name!r} into {call.db.branch} is open.",
            hint="GET /merges lists the open ones.",
        )
    return merge


def _show_merge(call: EndpointCall) -> EndpointReply:
    return _merge_response(_open_merge(call))


def _resolve(call: EndpointCall) -> EndpointReply:
    merge = _open_merge(call)
    if call.values["resolutions"]:
        merge = call.db.merges.resolve(call.values["resolutions"], merge=merge.id)
    if call.values["commit"] and not merge.unresolved:
        merge = call.db.merges.commit(merge.id, message=call.values["message"])
    return _merge_response(merge)


def _abort(call: EndpointCall) -> EndpointReply:
    return _merge_response(call.db.merges.abort(_open_merge(call).id))


def _merge_response(merge: Merge) -> EndpointReply:
    return reply(merge.to_dict(), WAITING if merge.is_open else 200)


BRANCH_ENDPOINTS: Final = (
    Endpoint("GET", "/branches", "List the branches", _list_branches, {}),
    Endpoint(
        "POST",
        "/branches",
        "Copy the branch of the request to a new one",
        _create_branch,
        {"name": Argument("text", "The name of the new branch", required=True)},
        writes=True,
        statuses=(201,),
    ),
    Endpoint(
        "DELETE",
        "/branches/{name}",
        "Delete a branch",
        _delete_branch,
        {"unmerged": Argument("flag", "Delete it even if it has commits that main lacks", False)},
        writes=True,
    ),
    Endpoint("GET", "/merges", "List the open merges", _list_merges, {}),
    Endpoint(
        "POST",
        "/merges",
        "Merge a branch into the branch of the request",
        _merge,
        {
            "source": Argument("text", "The branch to take from", required=True),
            "policy": Argument(
                "any",
                "The choice where both changed a value: a word, or an"
                " object with a word for each property",
            ),
            "trust": Argument("texts", "Actors whose values win; the first one counts most"),
            "granularity": Argument("text", "Of conflicts", "key", words=("key", "element")),
            "restore_purged": Argument("flag", "Add again elements that were purged here", False),
            "dry_run": Argument("flag", "Only show the changes", False),
            "message": MESSAGE,
        },
        writes=True,
        statuses=(200, WAITING),
    ),
    Endpoint(
        "GET",
        "/merges/{name}",
        "Show an open merge and its conflicts",
        _show_merge,
        {},
        statuses=(WAITING,),
    ),
    Endpoint(
        "POST",
        "/merges/{name}",
        "Decide conflicts; commit when none is left",
        _resolve,
        {
            "resolutions": Argument(
                "objects", "Each {conflict, choice, value?}", (), most=RESOLUTIONS_MAX
            ),
            "commit": Argument("flag", "Commit when none is left", True),
            "message": MESSAGE,
        },
        writes=True,
        statuses=(200, WAITING),
    ),
    Endpoint("DELETE", "/merges/{name}", "Give an open merge up", _abort, {}, writes=True),
)
