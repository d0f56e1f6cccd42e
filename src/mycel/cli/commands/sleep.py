"""`mycel sleep`: one cycle of upkeep."""

from __future__ import annotations

import rich_click as click

from mycel.cli.console.context import Command, Invocation, pass_session
from mycel.cli.console.output import visible

EXAMPLES = 3
"""The maximum number of findings of a kind that are shown, and of reports of cycles."""


@click.command(cls=Command)
@click.option("--dry-run", is_flag=True, help="Only show the changes of a cycle.")
@click.option(
    "--for",
    "minutes",
    type=click.FloatRange(min=0.01),
    metavar="MINUTES",
    help="Stop after this time; the next cycle does the rest.",
)
@click.option(
    "--status",
    is_flag=True,
    help="Run nothing; show stale, contested, duplicate and orphaned elements.",
)
@pass_session
def sleep(session: Invocation, dry_run: bool, minutes: float | None, status: bool) -> None:
    """Run one cycle of upkeep: due elements, duplicates, contradictions.

    Work that a rule decides is done by the actor $system, in small transactions; questions that no
    rule decides become tasks.
    """
    if status:
        _show_health(session)
        return
    with session.open(reading=dry_run) as db:
        report = db.sleep(dry_run=dry_run, minutes=minutes)
    out = session.out
    if out.as_json:
        out.object(report.to_dict())
        return
    columns = ("step", "would do" if dry_run else "done", "asked", "found", "left")
    rows = [(step.asked, step.found, step.left) for step in report.steps]
    out.table(
        columns,
        [
            (
                step.name,
                f"{step.done}{step.ends}" if step.done else "",
                *(str(number) if number else "" for number in row),
            )
            for step, row in zip(report.steps, rows, strict=True)
        ],
    )
    for step in report.steps:
        for example in step.examples:
            out.line(visible(f"  {example}"))
    if not report.is_complete:
        words = "looked at: give it more time." if dry_run else "done: run it again."
        out.warn([f"Not everything was {words}"])


def _show_health(session: Invocation) -> None:
    with session.open(reading=True) as db:
        health = db.upkeep.health()
    out = session.out
    if out.as_json:
        out.object(health.to_dict())
        return
    out.line(f"Last cycle: {health.last_cycle or 'never'}. Tasks waiting: {health.tasks}.")
    out.table(("", "number"), [(section.name, str(section.total)) for section in health.sections])
    for section in health.sections:
        for finding in section.findings[:EXAMPLES]:
            out.line(visible(f"  {section.name}: {finding.text}"))
    for growth in health.growing[:EXAMPLES]:
        out.line(visible(f"  growing: {growth.type}, {growth.new} of {growth.concepts} in a week"))
    for entry in health.log[:EXAMPLES]:
        out.line(visible(f"  {entry.get('time')}: {entry.get('done')}"))
