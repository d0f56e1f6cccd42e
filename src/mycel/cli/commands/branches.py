"""`mycel branch`: copies of the graph beside it, each with a history of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rich_click as click

from mycel.cli.console.context import Command, Group, Invocation, pass_session
from mycel.cli.console.parameters import confirmed
from mycel.model.commits import short
from mycel.model.names import count
from mycel.store.file.branch_files import MAIN

if TYPE_CHECKING:
    from mycel.history.branches import Branch


@click.group(cls=Group)
def branch() -> None:
    """Create, list, delete and switch branches of the graph.

    A branch is a copy of the graph in a file beside it, with a history of its own from then on.
    The graph itself is the branch main. --branch and MYCEL_BRANCH name the branch of a command.
    """


@branch.command("create", cls=Command)
@click.argument("name", help="Letters, digits, '.', '_' and '-'")
@click.option("--switch", "also_switch", is_flag=True, help="Use it for later commands too")
@pass_session
def create(session: Invocation, name: str, *, also_switch: bool) -> None:
    """Copy the graph, or the branch in use, to a new branch.

    Others may write meanwhile.
    """
    with session.open() as db:
        details = db.branches.create(name)
        if also_switch:
            db.branches.switch(name)
        message = f"Created {name} from {db.branch}, at {_short(details)}."
    later = "Later commands use it." if also_switch else f"--branch {name} uses it."
    session.out.say(f"{message} {later}", details.to_dict() | {"switched": also_switch})


@branch.command("list", cls=Command)
@pass_session
def list_(session: Invocation) -> None:
    """List all branches, with the number of commits that each is ahead of main, and behind it.

    A merged branch is not ahead: main has all that it has.
    """
    with session.open(reading=True) as db:
        used = db.branch
        branches, unreadable = list(db.branches), db.branches.unreadable()
    session.out.list(
        branches,
        ("", "branch", "commit", "time", "ahead", "behind", "merged"),
        lambda row: (
            "*" if row.name == used else "",
            row.name,
            _short(row),
            row.time,
            0 if row.is_merged else row.parting.ahead,
            row.parting.behind,
            "yes" if row.is_merged and row.parting.ahead else "",
        ),
        lambda row: row.to_dict() | {"in_use": row.name == used},
    )
    if unreadable:
        session.out.note(f"You may not read: {', '.join(unreadable)}.")


@branch.command("delete", cls=Command)
@click.argument("name", help="The branch")
@click.option("--yes", is_flag=True, help="Do not ask about commits that main lacks")
@pass_session
def delete(session: Invocation, name: str, *, yes: bool) -> int:
    """Delete a branch. If it has commits that main lacks, you are asked first."""
    session.options["branch"] = MAIN
    with session.open() as db:
        details = db.branches.get(name)
        if name != MAIN and not details.is_merged and not yes:
            lost = count(details.parting.ahead, "commit")
            if not confirmed(session, f"{name} has {lost} that main lacks. Delete it for good?"):
                session.out.note("Nothing was deleted.")
                return 1
        removal = db.branches.delete(name, unmerged=True)
    session.out.say(f"Deleted {name}, which was at {_short(removal)}.", removal.to_dict())
    return 0


@branch.command("switch", cls=Command)
@click.argument("name", help="The branch; main is the graph itself")
@pass_session
def switch(session: Invocation, name: str) -> None:
    """Choose the branch that later commands use.

    The choice is kept in a file beside the graph, for every user of it. Running servers, and
    programs that open the graph in Python, stay on their branch. --branch and MYCEL_BRANCH come
    first.
    """
    session.options["branch"] = MAIN  # The branch in use may have been deleted.
    with session.open(reading=True) as db:
        db.branches.switch(name)
    session.out.say(f"Later commands use {name}.", {"branch": name})


def _short(branch: Branch) -> str:
    return short(branch.commit)
