"""`mycel backup`, `mycel copy` and `mycel restore`: checked copies of a graph, and the way back."""

from __future__ import annotations

from pathlib import Path

import rich_click as click

from mycel.cli.console.context import Command, Invocation, pass_session
from mycel.model.commits import short
from mycel.model.names import count


@click.command("backup", cls=Command)
@click.argument(
    "target", type=click.Path(path_type=Path), help="A file, or a folder for all branches"
)
@click.option("--force", is_flag=True, help="Replace a file that is no earlier state of the graph")
@click.option("--full", is_flag=True, help="Verify all of the copy, not only what has changed")
@pass_session
def backup(session: Invocation, target: Path, *, force: bool, full: bool) -> None:
    """Copy the graph to a file, or with all of its branches into a folder, and verify the copy.

    Others may use the graph meanwhile. An older backup is replaced when the new one has been
    verified; one that is up to date is only verified. If the older one was verified, what differs
    from it is verified.
    """
    with (
        session.open(reading=True) as db,
        session.out.waiting("Copying and checking everything…"),
    ):
        backups = db.backup(target, force=force, full=full)
    for each in backups:
        done = "Copied" if each.is_new else "Up to date:"
        message = f"{count(each.entries, 'journal entry')}, {each.size:,} bytes"
        session.out.say(
            f"{done} {each.path} at {short(each.commit)} ({message}), verified.", each.to_dict()
        )


@click.command("copy", cls=Command)
@click.argument("target", help="A path or a URL where there is no graph")
@pass_session
def copy(session: Invocation, target: str) -> None:
    """Copy the graph to another place, with its whole journal, and verify the copy.

    The place is a path or a URL, so a graph in a file moves to PostgreSQL and comes back. Roots,
    commits and proofs are the same. Others may use the graph meanwhile.
    """
    with (
        session.open(reading=True) as db,
        session.out.waiting("Copying and checking everything…"),
    ):
        copied = db.branches.copy(target)
    entries = count(copied.entries, "journal entry")
    session.out.say(
        f"Copied to {copied.place}, at {short(copied.commit)} ({entries}), verified.",
        copied.to_dict(),
    )


@click.command("restore", cls=Command)
@click.argument("source", type=click.Path(path_type=Path), help="The backup")
@click.option("--force", is_flag=True, help="Keep an existing graph under another name")
@pass_session
def restore(session: Invocation, source: Path, *, force: bool) -> None:
    """Replace the graph with a backup, which is verified first.

    With --force, an existing graph is kept under another name. It must not be in use.
    """
    from mycel.history.backups import restore as bring_back

    session.refuse_branch("restore", session.given, session.environment)
    place = session.own_place()
    if place.is_default:
        place.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with session.out.waiting("Checking every part of the file…"):
        backup = bring_back(source, place.opened, force=force)
    session.claim(place)
    session.out.say(f"Restored {backup.path}, at {short(backup.commit)}.", backup.to_dict())
