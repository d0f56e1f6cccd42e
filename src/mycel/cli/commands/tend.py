"""`mycel tend`: the questions of upkeep, and decisions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import rich_click as click

from mycel.cli.console.context import Command, Invocation, pass_session
from mycel.cli.console.output import visible
from mycel.cli.console.parameters import json_object
from mycel.model.decisions import DECISIONS


@click.command(cls=Command)
@click.argument("task", required=False, metavar="[TASK]", help="The id of a task, such as C:120")
@click.argument(
    "decision", required=False, type=click.Choice(DECISIONS), help="What becomes of its elements"
)
@click.option("--keep", metavar="LETTER", default="", help="The element that stays")
@click.option(
    "--element",
    "elements",
    multiple=True,
    metavar="LETTER",
    help="Decide about this element alone, and leave the task open; may be repeated",
)
@click.option("--reason", metavar="TEXT", default="", help="Why, for the task and the journal")
@click.option(
    "--concept",
    "concepts",
    type=json_object,
    multiple=True,
    metavar="JSON",
    help="A concept of a summary: type, name, attributes, metadata; may be repeated",
)
@pass_session
def tend(  # noqa: PLR0917 - click passes them by name
    session: Invocation,
    task: str | None,
    decision: str | None,
    keep: str,
    elements: tuple[str, ...],
    reason: str,
    concepts: tuple[Mapping[str, Any], ...],
) -> None:
    """Show the next task of upkeep, or one by its id; or decide a task, and show the next one.

    `mycel sleep` makes the tasks. A decision is one commit, which `mycel revert` takes back.
    """
    with session.open(reading=decision is None) as db:
        decided = None
        if task is not None and decision is not None:
            decided = db.tasks.decide(
                task, decision, keep=keep, elements=elements, concepts=concepts, reason=reason
            )
        is_shown = task is not None and decision is None
        following = db.tasks.show(task or "") if is_shown else db.tasks.next()
        postponed = db.tasks.postponed()
    out = session.out
    if out.as_json:
        out.object(
            {
                "decided": None if decided is None else decided._asdict(),
                "next": None if following is None else following.to_dict(),
                "postponed": postponed._asdict(),
            }
        )
        return
    if decided is not None:
        out.line(visible(f"{decided.task}: {decided.result}."))
        out.warn(decided.warnings)
    if following is None:
        out.line(visible(f"No task waits{' now. ' + postponed.text if postponed.text else '.'}"))
        return
    for line in following.text.split("\n"):
        out.line(visible(line))
    if not following.decisions:
        return
    choices = ", ".join(f"'{name}'" if " " in name else name for name in following.decisions)
    out.line(f"{following.waiting} waiting. mycel tend {following.id} with one of: {choices}.")
