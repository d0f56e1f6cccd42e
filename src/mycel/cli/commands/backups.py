"""`mycel backup`, `mycel copy` and `mycel restore`: verified copies, and restoring one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from mycel.cli.console.context import Command, Invocation, pass_session
from mycel.model.commits import short
from mycel.model.names import count

if TYPE_CHECKING:
    from mycel.history.backups import Backup


@click.command("backup", cls=Command)
@click.argument(
    "target",
    type=click.Path(),
    help="A file, or a folder for all branches; a new folder ends with a slash",
)
@click.option(
    "--force", is_flag=True, help="Replace a file even if it is not an earlier state of the graph"
)
@click.option("--full", is_flag=True, help="Verify all of the copy, not only what has changed")
@click.option(
    "--workspaces",
    "shared",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Every graph in this folder, with the tokens, as `mycel serve --workspaces` has them",
)
@pass_session
def backup(
    session: Invocation, target: str, *, force: bool, full: bool, shared: Path | None
) -> None:
    """Copy the graph to a file, or with all of its branches into a folder, and verify the copy.

    Others may use the graph meanwhile. An older backup is replaced once the new one is verified; a
    backup that is up to date is only verified. If the older backup was verified, only the
    differences from it are verified.

    With --workspaces, the target is a folder that a server can serve.
    """
    if shared is None:
        with (
            session.open(reading=True) as db,
            session.out.waiting("Copying and checking everything…"),
        ):
            backups = db.backup(target, force=force, full=full)
            left_out = db.branches.unreadable() if Path(target).is_dir() else []
        if left_out:
            session.out.note(
                f"Not in the backup, because you may not read them: {', '.join(left_out)}."
            )
    else:
        backups = _back_up_folder(session, shared, Path(target), force=force, full=full)
    for report in backups:
        verb = "Copied" if report.is_new else "Up to date:"
        message = f"{count(report.entries, 'journal entry')}, {report.size:,} bytes"
        session.out.say(
            f"{verb} {report.path} at {short(report.commit)} ({message}), verified.",
            report.to_dict(),
        )


def _back_up_folder(
    session: Invocation, shared: Path, target: Path, *, force: bool, full: bool
) -> list[Backup]:
    """Back up every graph of a folder."""
    from mycel.sharing.folder_backup import back_up_folder, has_key
    from mycel.sharing.workspace_folder import WorkspaceFolder

    _refuse_graph(session)
    folder = WorkspaceFolder(shared)
    with session.out.waiting("Copying and checking everything…"):
        backups = list(back_up_folder(folder, target, force=force, full=full))
    if has_key(folder):
        session.out.note("Keys of workspaces (*.key) are not in the backup: keep them elsewhere.")
    return backups


def _refuse_graph(session: Invocation) -> None:
    if "db" in session.options or "workspace" in session.options:
        raise click.UsageError("--workspaces names a folder of graphs; leave --db out.")


def _restore_folder(session: Invocation, source: Path, target: Path, *, force: bool) -> None:
    """Restore every graph of a folder."""
    from mycel.sharing.folder_backup import restore_folder

    _refuse_graph(session)
    with session.out.waiting("Checking every part of the files…"):
        backups = list(restore_folder(source, target, force=force))
    for backup in backups:
        session.out.say(f"Restored {backup.path}, at {short(backup.commit)}.", backup.to_dict())


@click.command("copy", cls=Command)
@click.argument("target", help="A path or a URL where there is no graph")
@pass_session
def copy(session: Invocation, target: str) -> None:
    """Copy the graph to another place, with its whole journal, and verify the copy.

    The place is a path or the URL of a PostgreSQL database, without a graph. Roots, commits and
    proofs are the same. The source stays, and others may use it meanwhile.
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
@click.option(
    "--workspaces",
    "shared",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Restore this folder of graphs, with the tokens, from a backup of one",
)
@pass_session
def restore(session: Invocation, source: Path, *, force: bool, shared: Path | None) -> None:
    """Replace the graph with a backup, which is verified first.

    With --force, an existing graph is kept under another name. The graph must not be in use. With
    --workspaces, a whole folder is restored in the same way, and takes over the keys of workspaces
    (*.key) from the folder that is kept.
    """
    from mycel.history.backups import restore as bring_back

    if shared is not None:
        _restore_folder(session, source, shared, force=force)
        return
    session.refuse_branch("restore", session.options, session.environment)
    place = session.own_place()
    if place.is_default:
        place.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with session.out.waiting("Checking every part of the file…"):
        backup = bring_back(source, place.opened, force=force)
    session.claim(place)
    session.out.say(f"Restored {backup.path}, at {short(backup.commit)}.", backup.to_dict())
