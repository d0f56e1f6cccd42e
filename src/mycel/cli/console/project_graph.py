"""The choice of the graph to bootstrap a project into.

A folder uses the graph of the nearest folder above that has one, as Git does. If the project has
its own repository below such a folder, it should often not share that graph. So the command asks;
any other choice is only printed.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import rich_click as click

from mycel.cli.console.context import Invocation
from mycel.workspaces import WorkspaceLocation


def choose_graph(
    session: Invocation,
    folder: Path,
    *,
    here: bool = False,
    into: Path | None = None,
    has_options: bool = True,
) -> None:
    """Choose the graph of a project, and say which one it is.

    `has_options` is True if the command has the options --here and --into.

    Raises:
        click.UsageError: the options contradict each other, or the project is a repository of its
            own, the graph is that of a folder above, and nobody can be asked.
    """
    place = session.place()
    if here or into is not None:
        _check_options(place, here=here, into=into)
        session.owner = folder if into is None else into.resolve()
    elif _is_repository_below(folder, place) and not _is_shared(
        session, folder, place, has_options=has_options
    ):
        session.owner = folder
    place = session.place()
    session.says_graph = False
    reason = "" if place.workspace is None else f" (workspace {place.workspace}, {_reason(place)})"
    session.out.note(f"Graph: {place.opened}{reason}")


def _check_options(place: WorkspaceLocation, *, here: bool, into: Path | None) -> None:
    option = "--here" if here else "--into"
    if here and into is not None:
        raise click.UsageError("Give --here or --into, not both.")
    if place.chosen_by.startswith(("--", "MYCEL_")):
        raise click.UsageError(f"{option} contradicts {place.chosen_by}, which names the graph.")


def _is_repository_below(folder: Path, place: WorkspaceLocation) -> bool:
    """True if a folder above has the graph, and a Git repository begins below that folder."""
    above = place.folder
    if above is None or above == folder or not folder.is_relative_to(above):
        return False
    if place.chosen_by.startswith(("--", "MYCEL_")):
        return False
    between = (folder, *folder.parents)
    return any((path / ".git").exists() for path in between[: between.index(above)])


def _is_shared(
    session: Invocation, folder: Path, place: WorkspaceLocation, *, has_options: bool
) -> bool:
    """Ask which graph a repository uses; True for the graph of the folder above."""
    question = (
        f"{folder} is a Git repository of its own, and the nearest graph belongs to {place.folder}"
        f" (workspace {place.workspace})."
    )
    if session.as_json or not sys.stdin.isatty():
        above = shlex.quote(str(place.folder))
        raise click.UsageError(
            f"{question} Say --here for a graph of its own, or --into {above} to share that one."
            if has_options
            else f"{question} Run `mycel init` in it for a graph of its own, or say --workspace"
            f" {place.workspace} to share that one."
        )
    return not click.confirm(f"{question} Make a graph of its own?", default=True, err=True)


def _reason(place: WorkspaceLocation) -> str:
    if place.chosen_by.startswith(("--", "MYCEL_")):
        return f"from {place.chosen_by}"
    return f"of {place.folder}"
