"""Actions of `manage_history` on branches: list, switch, create, delete."""

from __future__ import annotations

from typing import Any

from mycel.errors import ConstraintViolation, DatabaseBusy, InvalidSyntax
from mycel.history.branches import Branch
from mycel.mcp.results import Answer, TextPage, data_within
from mycel.mcp.tool_context import ToolCall
from mycel.model.commits import short
from mycel.model.names import count


def list_branches(call: ToolCall) -> Answer:
    """All branches, and how each differs from main."""
    page = TextPage()
    branches = list(call.served.db.branches)
    for branch in branches:
        mark = "* " if branch.name == call.served.db.branch else ""
        page.add(f"{mark}{branch.name} at {short(branch.commit)}: {_parting(branch)}")
    page.close("* is the branch of this call. Every tool takes `branch`.")
    return Answer(
        str(page), data_within({"branches": [_branch_fields(call, branch) for branch in branches]})
    )


def switch(call: ToolCall) -> Answer:
    """Choose the default branch of later calls."""
    served, name = call.served, _name(call)
    if served.contexts is not None:
        raise ConstraintViolation(
            "Calls over HTTP are independent of each other: there is no branch to switch.",
            hint="Pass branch with each call, or connect to the address with ?branch=NAME.",
        )
    with served.branches.using(name) as graph:
        served.chosen.name = graph.branch
    return Answer(f"Later calls use {name}.", {"branch": name})


def create(call: ToolCall) -> Answer:
    """Copy the branch of the call to a new one."""
    db = call.served.db
    branch = db.branches.create(_name(call))
    message = f"Created {branch.name} from {db.branch}, at {short(branch.commit)}."
    return Answer(
        f'{message} Pass branch: "{branch.name}" to use it.', _branch_fields(call, branch)
    )


def delete(call: ToolCall) -> Answer:
    """Delete a branch; if it has commits that main lacks, only with `force`."""
    served, name = call.served, _name(call)
    if name == served.db.branch:
        raise DatabaseBusy(
            f"The branch {name!r} is the one of this call.",
            hint='Call it on another branch: pass branch: "main", or switch_branch first.',
        )
    try:
        branch = served.branches.delete(name, unmerged=call.arguments.get("force", False))
    except ConstraintViolation as error:
        if "ahead" in error.data:
            error.hint = "They would be lost. Ask the user; then pass force: true."
        raise
    if served.chosen.name == name:
        served.chosen.name = None
    return Answer(
        f"Deleted {name}, which was at {short(branch.commit)}.", _branch_fields(call, branch)
    )


def _name(call: ToolCall) -> str:
    name = call.arguments.get("name")
    if not name:
        raise InvalidSyntax(
            "This action needs the name of a branch.", hint='Pass name: "draft", for example.'
        )
    return str(name)


def _parting(branch: Branch) -> str:
    ahead, behind = branch.parting.ahead, branch.parting.behind
    if branch.name == "main":
        return "the graph itself"
    if ahead and branch.is_merged:
        return f"merged into main, which has {count(behind, 'more commit')}"
    return f"{count(ahead, 'commit')} ahead of main, {behind} behind"


def _branch_fields(call: ToolCall, branch: Branch) -> dict[str, Any]:
    payload = branch.to_dict()
    del payload["path"]  # The caller must not see folders of the server.
    return payload | {"in_use": branch.name == call.served.db.branch}
