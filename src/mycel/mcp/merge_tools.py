"""Merges: the action `merge` of `manage_history`, and the tool `resolve_conflicts`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mycel.errors import InvalidSyntax
from mycel.history.conflict_text import plain_lines, summary
from mycel.history.merge.outcome import CHOICES, Merge
from mycel.mcp.results import Answer, TextPage, Undecided, data_within
from mycel.mcp.tool_context import ToolCall
from mycel.model.json_schema import array, record, text
from mycel.model.names import CONCEPT_TYPE, PROPOSITION_TYPE, count
from mycel.schema.definitions import merge_policies

RESOLUTIONS: Final = array(
    record(
        {
            "conflict": text(),
            "choice": text(enum=list(CHOICES)),
            "value": {"description": "The whole value, or the contested lines"},
        },
        *("conflict", "choice"),
    )
)
"""The schema of the argument with decisions."""
VALUE_CHARACTERS: Final = 2_000
"""The maximum number of characters that are shown of each version."""
_PAGE: Final = "conflicts"


def merge(call: ToolCall) -> Answer:
    """Merge a branch into the branch of the call."""
    source = call.arguments.get("name")
    if not source:
        raise InvalidSyntax(
            "A merge needs the name of the branch to take from.", hint='Pass name: "draft".'
        )
    outcome = call.served.db.merge(
        source,
        policy=call.arguments.get("policy"),
        dry_run=call.arguments.get("dry_run", False),
        message=call.message,
    )
    return answer(call, outcome)._replace(asks=undecided(call, outcome))


def resolve(call: ToolCall) -> Answer:
    """Decide conflicts of an open merge, or show them; commit when none is left."""
    db, merge_id = call.served.db, call.arguments.get("merge_id")
    if call.arguments.get("abort"):
        return answer(call, db.merges.abort(merge_id))
    resolutions = call.arguments.get("resolutions")
    if resolutions:
        return answer(call, settled(call, resolutions, merge_id))
    merges = [merge for merge in db.merges if merge_id is None or merge.id.startswith(merge_id)]
    if not merges:
        return Answer(f"No merge into {db.branch} is open.", {"merges": []})
    if len(merges) > 1:
        page = TextPage()
        for open_merge in merges:
            left = count(len(open_merge.unresolved), "conflict")
            page.add(f"{open_merge.id}: {open_merge.source}, {left} left")
        page.close("Pass merge_id.")
        return Answer(str(page), {"merges": [merge.id for merge in merges]})
    return answer(call, merges[0])


def settled(call: ToolCall, resolutions: list[dict[str, Any]], merge_id: str | None) -> Merge:
    """Apply decisions to a merge; commit it if no conflict is left."""
    db = call.served.db
    outcome = db.merges.resolve(resolutions, merge=merge_id)
    if outcome.unresolved:
        return outcome
    return db.merges.commit(outcome.id, message=call.message)


def undecided(call: ToolCall, outcome: Merge) -> Undecided | None:
    """The undecided conflicts of an open merge; None if there are none.

    Conflicts due to `@merge("ask")` or the policy of the call are left to a person.
    """
    if not outcome.is_open or not outcome.unresolved:
        return None
    if call.arguments.get("policy") == "ask":
        return Undecided(outcome, frozenset(conflict.id for conflict in outcome.unresolved))
    policies: dict[tuple[str, str], Mapping[str, str]] = {}
    personal = set()
    for conflict in outcome.unresolved:
        if conflict.field != "attributes" or not conflict.path:
            continue
        place = (CONCEPT_TYPE, str(conflict.identity.get("type")))
        if "predicate" in conflict.identity:
            place = (PROPOSITION_TYPE, str(conflict.identity["predicate"]))
        if place not in policies:
            definition = call.served.db.get_concept(*place)
            policies[place] = {} if definition is None else merge_policies(definition.attributes)
        if policies[place].get(conflict.path[0]) == "ask":
            personal.add(conflict.id)
    return Undecided(outcome, frozenset(personal))


def answer(call: ToolCall, outcome: Merge) -> Answer:
    """The answer about a merge: its changes, or the conflicts to decide and how."""
    page = TextPage()
    data: dict[str, Any] = {"status": outcome.status, **outcome.diff.counts}
    data |= {"commit": outcome.commit} if outcome.commit else {}
    data |= {"merge_id": outcome.id} if outcome.is_open else {}
    page.add(summary(outcome))
    for warning in outcome.warnings:
        page.add(f"Warning: {warning}")
    left = outcome.unresolved
    if left:
        _show(call, page, outcome, data)
    elif outcome.choices and outcome.status != "aborted":
        page.add("Chosen by rules:")
        page.add_all(
            f"- {choice.id} {choice.label} {'.'.join(choice.path)}: {choice.reason}"
            for choice in outcome.choices
        )
    return Answer(str(page), data_within(data))


def _show(call: ToolCall, page: TextPage, outcome: Merge, data: dict[str, Any]) -> None:
    """Show conflicts that are left, and how to decide them."""
    left = outcome.unresolved
    start = call.number_in(_PAGE) or 0
    number = 0
    for conflict in left[start:]:
        lines = "\n".join(plain_lines(conflict.to_dict(), characters_max=VALUE_CHARACTERS))
        if not page.add(lines):
            if number:
                break
            page.add_beginning(lines)
        number += 1
    if start + number < len(left):
        data["next_cursor"] = f"{_PAGE}:{start + number}"
        page.close(f"{len(left) - start - number} more: cursor {data['next_cursor']}.")
    data["conflicts"] = [conflict.to_dict() for conflict in left[start : start + number]]
    if outcome.is_open:
        branch = "" if call.served.db.branch == "main" else f', branch: "{call.served.db.branch}"'
        page.close(
            f'Decide with resolve_conflicts: merge_id: "{outcome.id}"{branch}, resolutions:'
            ' [{"conflict": "…", "choice": "ours" | "theirs" | "base" | "value" | "lines",'
            ' "value": …}].'
            " Combine both versions where both are right: in a value, which replaces the whole"
            " value, or in lines, which replace the contested lines of a text. Ask the user where"
            " you cannot tell. It commits when none is left."
        )
