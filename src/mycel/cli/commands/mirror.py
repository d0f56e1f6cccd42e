"""`mycel mirror`: the graph as files in a Git repository."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from mycel.cli.console.context import Command, Group, Invocation, pass_session
from mycel.cli.console.parameters import together
from mycel.model.names import count
from mycel.schema.merge_policies import GENERAL_WORDS

if TYPE_CHECKING:
    from mycel.api.graph import Graph
    from mycel.mirror.import_edits import Imported
    from mycel.mirror.inspection import Status
    from mycel.mirror.sync import Pushed


_place = together(
    click.option(
        "--git-branch", metavar="NAME", help="The Git branch; main, or knowledge in a repository"
    ),
    click.option(
        "--author",
        "authors",
        multiple=True,
        metavar="ACTOR=NAME",
        help='Author of an actor\'s commits: "ada=Ada Lovelace <ada@example.org>"; may be repeated',
    ),
)
_consent = together(
    click.option(
        "--allow-deletions",
        is_flag=True,
        help="Go on even if more than 50 files, or a tenth of all files, are gone",
    ),
    click.option(
        "--accept-purges",
        is_flag=True,
        help="Purge here what others have purged, for good; by default it is only removed",
    ),
)
_policy = click.option(
    "--policy",
    type=click.Choice(GENERAL_WORDS),
    help="The side that wins where both changed a value: ours is the graph, theirs the files",
)


@click.group(cls=Group)
def mirror() -> None:
    """Show the graph as files in a Git repository, and bring edits of them back.

    Each concept is a file: YAML front matter and a Markdown body. Servers, and commands that write,
    keep it up to date.
    """


@mirror.command("init", cls=Command)
@click.argument(
    "folder",
    required=False,
    type=click.Path(path_type=Path),
    help="A folder that does not exist yet; by default .knowledge in the folder of the graph",
)
@_place
@click.option("--remote", metavar="URL", help="Where `mycel mirror push` sends commits to")
@pass_session
def init(
    session: Invocation,
    folder: Path | None,
    *,
    git_branch: str | None,
    authors: tuple[str, ...],
    remote: str | None,
) -> None:
    """Create the mirror, or write all files again where it is.

    Inside of a Git repository the folder is a worktree of it, on a branch of its own: branch,
    index, hooks and files of the project stay as they are.
    """
    identities = dict(_author(author) for author in authors)
    with session.open(memory="modest") as db:
        create(session, db, folder, git_branch, identities, remote)


def create(
    session: Invocation,
    db: Graph,
    folder: Path | None = None,
    branch: str | None = None,
    authors: dict[str, str] | None = None,
    remote: str | None = None,
) -> None:
    """Create a mirror, and say where it is.

    The mirror of a workspace is in the folder of its project.
    """
    from mycel.mirror.mirror import FOLDER, Mirror
    from mycel.mirror.settings import has_mirror

    before = Mirror(db).folder if has_mirror(db.path) else None
    is_gone = before is None or not before.exists()
    if folder is None and is_gone and session.place().folder is not None:
        folder = session.root() / FOLDER
    with session.out.waiting("Writing the mirror"):
        mirror = Mirror.create(db, folder, branch=branch, authors=authors, remote=remote)
        status = mirror.status()
    if before is not None and before != mirror.folder:
        session.out.warn([f"The mirror in {before} is no longer kept up to date; its files stay."])
    _tell(session, status, f"The mirror is in {mirror.folder}, on the branch {status.branch}.")


@mirror.command("join", cls=Command)
@click.argument(
    "folder",
    required=False,
    type=click.Path(path_type=Path),
    help="A clone, or a folder that does not exist yet; by default .knowledge in the folder of"
    " the graph",
)
@click.option("--remote", metavar="URL", help="A remote of Git, or the URL of one to fetch from")
@_place
@click.option("--merge", is_flag=True, help="Go on even if the graph has knowledge of its own")
@_policy
@pass_session
def join(
    session: Invocation,
    folder: Path | None,
    *,
    git_branch: str | None,
    remote: str | None,
    authors: tuple[str, ...],
    merge: bool,
    policy: str | None,
) -> int:
    """Share the mirror of others: take over what its branch says, and go on with its history.

    The branch is in a clone, in the repository around the folder, or in the remote that is named.
    Without --merge, the graph has to be empty, or a copy of one that writes the branch, such as a
    restored backup.
    """
    from mycel.mirror.mirror import FOLDER, Mirror
    from mycel.mirror.settings import has_mirror

    identities = dict(_author(author) for author in authors)
    with session.open(memory="modest") as db:
        if folder is None and not has_mirror(db.path) and session.place().folder is not None:
            folder = session.root() / FOLDER
        with session.out.waiting("Joining the mirror"):
            joined, imported = Mirror.join(
                db,
                folder,
                branch=git_branch,
                remote=remote,
                authors=identities,
                merge=merge,
                policy=policy,
            )
            status = joined.status()
    title = f"The mirror is in {joined.folder}, on the branch {status.branch}."
    lines = [title, _describe_import(imported)] if imported.files else [title]
    session.out.say("\n".join(lines), status.to_dict() | {"import": imported.to_dict()})
    session.out.warn(imported.warnings)
    return _exit_status(imported)


@mirror.command("status", cls=Command)
@pass_session
def status(session: Invocation) -> int:
    """Show how far the mirror has come, and what was edited; exit status 1 if it cannot go on."""
    from mycel.mirror.mirror import Mirror

    with session.open(reading=True) as db:
        mirror_status = Mirror(db).status()
    _tell(
        session,
        mirror_status,
        f"{mirror_status.folder}, branch {mirror_status.branch}, at entry {mirror_status.seq}.",
    )
    return 1 if mirror_status.problem else 0


@mirror.command("push", cls=Command)
@click.option("--remote", metavar="NAME", help="Send commits to this remote of Git, or URL")
@pass_session
def push(session: Invocation, *, remote: str | None) -> None:
    """Write what the mirror lacks, and send it to the remote.

    The remote is the one that is given or was set, or else `origin`, if it has the branch. With
    --message, all of it is one Git commit with this message. A remote is never forced.
    """
    from mycel.mirror.mirror import Mirror

    message = session.options.get("message", "")
    with (
        session.open(reading=True, memory="modest") as db,
        session.out.waiting("Writing the mirror"),
    ):
        pushed = Mirror(db).push(message, remote=remote)
    session.out.say(_describe_push(pushed), pushed.to_dict())


@mirror.command("pull", cls=Command)
@_consent
@_policy
@pass_session
def pull(
    session: Invocation, *, allow_deletions: bool, accept_purges: bool, policy: str | None
) -> int:
    """Fetch the branch of the remote, and import it: `git fetch` and `mycel mirror import`.

    Exit status 1 if there are conflicts.
    """
    from mycel.mirror.mirror import Mirror

    with session.open(reading=True) as db, session.out.waiting("Fetching"):
        mirror = Mirror(db)
        mirror.fetch()
        imported = mirror.import_edits(
            allow_deletions=allow_deletions,
            accept_purges=accept_purges,
            policy=policy,
            message=session.options.get("message", ""),
        )
    session.out.say(_describe_import(imported), imported.to_dict())
    session.out.warn(imported.warnings)
    return _exit_status(imported)


@mirror.command("merge-file", cls=Command, hidden=True)
@click.argument("base", type=click.Path(path_type=Path), help="The common version")
@click.argument("ours", type=click.Path(path_type=Path), help="Our version, which is overwritten")
@click.argument("theirs", type=click.Path(path_type=Path), help="Their version")
@click.argument("path", help="The path of the document in the repository")
def merge_file(base: Path, ours: Path, theirs: Path, path: str) -> int:
    """Merge three versions of a document into the second; Git calls this.

    Exit status 1 if both have changed the same place; the file then has the usual marks.
    """
    from mycel.mirror.merge_driver import merge_file

    return 0 if merge_file(base, ours, theirs, path) else 1


@mirror.command("import", cls=Command)
@_consent
@_policy
@click.option("--dry-run", is_flag=True, help="Only show the changes")
@pass_session
def import_(
    session: Invocation,
    *,
    allow_deletions: bool,
    accept_purges: bool,
    policy: str | None,
    dry_run: bool,
) -> int:
    """Bring edited files and commits of others into the graph: all of their documents, or none.

    Commits of others are those on top of the commits of the mirror, and those that `git fetch` has
    brought. Edits are merged with what changed in the graph since. Exit status 1 if there are
    conflicts.
    """
    from mycel.mirror.mirror import Mirror

    with session.open(reading=True) as db:
        imported = Mirror(db).import_edits(
            allow_deletions=allow_deletions,
            accept_purges=accept_purges,
            policy=policy,
            dry_run=dry_run,
            message=session.options.get("message", ""),
        )
    session.out.say(_describe_import(imported), imported.to_dict())
    session.out.warn(imported.warnings)
    return _exit_status(imported)


def _exit_status(imported: Imported) -> int:
    return 1 if imported.merge is not None and imported.merge.status == "conflicts" else 0


def _describe_import(imported: Imported) -> str:
    merge = imported.merge
    if not imported.files:
        return "No file was edited."
    files = count(len(imported.files), "file")
    if merge is None:
        return f"{files}: no node or relation changes."
    if merge.status == "conflicts":
        lines = [f"  {conflict.label}: {conflict.reason}" for conflict in merge.conflicts]
        title = f"{files}; {count(len(lines), 'conflict')} in the merge {merge.id}:"
        after = (
            "`mycel resolve ID ours|theirs|base` decides one (`mycel conflicts` shows the ids), "
            "`mycel merge --continue` commits; then `mycel mirror push` goes on."
        )
        return "\n".join([title.replace("  ", " "), *lines, after])
    changes = ", ".join(f"{number} {kind}" for kind, number in imported.counts.items() if number)
    return f"{files}: {changes or 'nothing to change in the graph'}."


def _describe_push(pushed: Pushed) -> str:
    commits = count(pushed.commits, "Git commit") if pushed.commits else "Nothing new"
    sent = f"; sent to {pushed.remote}" if pushed.remote else ""
    return "\n".join([f"{commits}; the mirror is at entry {pushed.seq}{sent}.", *pushed.notes])


def _tell(session: Invocation, status: Status, text: str) -> None:
    lines = [text]
    if status.behind:
        lines.append(f"{count(status.behind, 'transaction')} behind the graph.")
    if status.commits:
        lines.append(f"{count(status.commits, 'commit')} not imported.")
    if status.incoming:
        lines.append(f"{count(status.incoming, 'commit')} of the remote not imported.")
    if status.edited:
        lines += [
            f"{count(len(status.edited), 'file')} edited:",
            *(f"  {e}" for e in status.edited),
        ]
    if status.problem:
        lines.append(status.problem)
    session.out.say("\n".join(lines), status.to_dict())


def _author(text: str) -> tuple[str, str]:
    actor, sign, name = text.partition("=")
    if not sign or not actor.strip():
        raise click.BadParameter(
            f"{text!r} is no author. Write ACTOR=NAME <ADDRESS>.", param_hint="--author"
        )
    return actor.strip(), name
