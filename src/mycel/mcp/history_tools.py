"""The tool `manage_history`: the log, differences between states, tags, rollback and revert.

Its actions on branches are in `branch_actions` and `merge_tools`, those on submissions in
`proposal_actions`.
"""

from __future__ import annotations

from typing import Any, Final

from mycel.errors import InvalidSyntax
from mycel.mcp import branch_actions, merge_tools, proposal_actions
from mycel.mcp.change_text import change_text
from mycel.mcp.results import Answer, TextPage, data_within
from mycel.mcp.tool_context import ToolCall
from mycel.model import times
from mycel.model.commits import short, with_short_hashes
from mycel.model.names import count, shorten
from mycel.store.query.diff import Diff

READING: Final = (
    *("log", "diff", "tags", "branches", "switch_branch"),
    # A token that does not allow writing may still allow proposals.
    *("submit", "proposals", "comment"),
)
WRITING: Final = (
    "tag",
    "revert",
    "rollback",
    "create_branch",
    "delete_branch",
    "merge",
    "accept",
    "reject",
)
LOG_LIMIT: Final = 20
_VALUE_CHARACTERS: Final = 400


def history(call: ToolCall) -> Answer:
    """Run the action that the call names."""
    match call.arguments.get("action", "log"):
        case "diff":
            db, arguments = call.served.db, call.arguments
            diff = db.history.diff(
                _moment(call, "from"), _optional(arguments, "to"), paths=_paths(call)
            )
            return _diff(diff)
        case "tags":
            return _tags(call)
        case "tag":
            commit = call.served.db.history.tag(
                call.arguments.get("name", ""),
                _optional(call.arguments, "to"),
                message=call.message,
            )
            return Answer(f"{call.arguments['name']} is {short(commit)}.", {"commit": commit})
        case "revert" | "rollback" as action:
            return _lead_back(call, action)
        case "merge":
            return merge_tools.merge(call)
        case "submit":
            return proposal_actions.submit_changes(call)
        case "proposals":
            return proposal_actions.show_proposals(call)
        case "accept" | "reject" | "comment" as decision:
            return proposal_actions.review_proposal(call, decision)
        case "branches":
            return branch_actions.list_branches(call)
        case "switch_branch":
            return branch_actions.switch(call)
        case "create_branch":
            return branch_actions.create(call)
        case "delete_branch":
            return branch_actions.delete(call)
        case _:
            return _log(call)


def _log(call: ToolCall) -> Answer:
    arguments, db = call.arguments, call.served.db
    limit = arguments.get("limit", LOG_LIMIT)
    paths = _paths(call)
    if len(paths) > 1:
        raise InvalidSyntax("The log takes one path.", hint='Pass paths: ["auth/login"].')
    entries = list(
        db.history.log(
            limit=limit + 1,
            before=call.number_in("log"),
            path=paths[0] if paths else None,
            type=arguments.get("type"),
            actor=arguments.get("actor"),
            since=_optional(arguments, "from"),
            until=_optional(arguments, "to"),
            text=arguments.get("text"),
        )
    )
    page = TextPage()
    lines = (
        f"{short(entry.commit)} {times.to_text(entry.time_us)} {entry.actor}:"
        f" {with_short_hashes(entry.message)}"
        for entry in entries[:limit]
    )
    number = page.add_all(shorten(line, _VALUE_CHARACTERS) for line in lines)
    data: dict[str, Any] = {"commits": [entry.commit for entry in entries[:number]]}
    if len(entries) > number > 0:
        data["next_cursor"] = f"log:{entries[number - 1].seq}"
        page.close(f"Older ones: cursor {data['next_cursor']}.")
    if not entries:
        page.close("No commit fits.")
    return Answer(str(page), data_within(data))


def _tags(call: ToolCall) -> Answer:
    tags = call.served.db.history.tags()
    page = TextPage()
    page.add_all(f"{name} {short(commit)}" for name, commit in tags.items())
    return Answer(str(page) if tags else "There are no tags.", data_within({"tags": tags}))


def _lead_back(call: ToolCall, action: str) -> Answer:
    db, dry_run = call.served.db, call.arguments.get("dry_run", False)
    to = _moment(call, "to")
    if action == "revert":
        rollback = db.history.revert(to, dry_run=dry_run, message=call.message)
    else:
        rollback = db.history.rollback(
            to, paths=_paths(call), dry_run=dry_run, message=call.message
        )
    if rollback.commit is None:
        message = "Would change:" if dry_run and rollback.diff else "Nothing has to change."
        return _diff(rollback.diff, message)
    return _diff(
        rollback.diff, f"Done, in commit {short(rollback.commit)}:", {"commit": rollback.commit}
    )


def _diff(diff: Diff, title: str = "", more: dict[str, Any] | None = None) -> Answer:
    page = TextPage()
    if title:
        page.add(title)
    number = page.add_all(map(change_text, diff.elements))
    if number < len(diff.elements):
        page.close(f"… and {count(len(diff.elements) - number, 'element')} more: narrow paths.")
    if not diff and not title:
        page.close("No differences.")
    return Answer(str(page), data_within((more or {}) | diff.counts))


def _paths(call: ToolCall) -> list[str]:
    """The paths of a call; a bare path is a concept of the workspace."""
    knowledge = call.served.knowledge
    return [
        argument if argument.startswith(("C:", "P:", "kip:")) else knowledge.uri(argument).text
        for argument in call.arguments.get("paths", ())
    ]


def _optional(arguments: dict[str, Any], key: str) -> int | str | None:
    """A moment, or None; a text of digits is the number of an entry."""
    text = arguments.get(key)
    return int(text) if isinstance(text, str) and text.isascii() and text.isdigit() else text


def _moment(call: ToolCall, key: str) -> int | str:
    moment = _optional(call.arguments, key)
    if moment is None:
        raise InvalidSyntax(
            f"This action needs `{key}`.",
            hint="Pass a commit that action log shows, a tag, or a time such as 2026-01-31.",
        )
    return moment
