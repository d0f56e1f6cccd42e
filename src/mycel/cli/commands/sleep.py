"""`mycel sleep`: one cycle of upkeep."""

from __future__ import annotations

import rich_click as click

from mycel.cli.console.context import Command, Invocation, pass_session


@click.command(cls=Command)
@click.option("--dry-run", is_flag=True, help="Only show what a cycle would do.")
@click.option(
    "--for",
    "minutes",
    type=click.FloatRange(min=0.01),
    metavar="MINUTES",
    help="Stop after this time; the next cycle does what is left.",
)
@pass_session
def sleep(session: Invocation, dry_run: bool, minutes: float | None) -> None:
    """Run one cycle of upkeep: what is due, duplicates, contradictions.

    What is certain by rule is done as $system, in small transactions; the rest becomes SleepTasks.
    """
    with session.open(reading=dry_run) as db:
        report = db.sleep(dry_run=dry_run, minutes=minutes)
    out = session.out
    if out.as_json:
        out.object(report.to_dict())
        return
    columns = ("step", "would do" if dry_run else "done", "asked", "found", "left")
    rows = [(step.done, step.asked, step.found, step.left) for step in report.steps]
    out.table(
        columns,
        [
            (step.name, *(str(number) if number else "" for number in row))
            for step, row in zip(report.steps, rows, strict=True)
        ],
    )
    for step in report.steps:
        for example in step.examples:
            out.line(f"  {example}")
    if not report.is_complete:
        out.warn(["Not everything was done: run it again."])
