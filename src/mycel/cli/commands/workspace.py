"""`mycel workspace`: commands for the graphs of this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import rich_click as click

from mycel import workspaces
from mycel.cli.console.context import Command, Group, Invocation, pass_session
from mycel.cli.console.output import byte_size
from mycel.cli.console.parameters import confirmed
from mycel.errors import (
    DuplicateExists,
    InvalidIdentifier,
    MycelError,
    NotFound,
    did_you_mean,
)
from mycel.model import times
from mycel.model.names import count
from mycel.store.file import branch_files
from mycel.store.file.branch_files import MAIN
from mycel.store.file.workspace_databases import (
    database_of,
    existing_database,
    is_address,
    workspaces_of,
)
from mycel.workspaces import Owner

if TYPE_CHECKING:
    from mycel.knowledge.several import SeveralWorkspaces


@dataclass(frozen=True, slots=True)
class WorkspaceState:
    """A workspace in the output of `list` and `show`."""

    workspace: str
    folder: str | None
    path: str
    size_bytes: int
    nodes: int | None
    """The number of nodes; None if the file cannot be read."""
    links: int | None
    last_use: str
    branch: str
    branches: int
    problem: str = ""


def _state(name: str) -> WorkspaceState:
    home = Path.home()
    path = database_of(home, name)
    owner = workspaces.owner_of(home, name)
    files = workspaces.files_of(home, name)
    last_us = max(int(file.stat().st_mtime * 1e6) for file in files)
    nodes, links, _, _, problem = _contents(path)
    if owner is not None and not owner.folder.exists():
        problem = problem or "its folder is gone"
    return WorkspaceState(
        name,
        None if owner is None else str(owner.folder),
        str(path),
        sum(file.stat().st_size for file in files if file.exists()),
        nodes,
        links,
        times.to_text(last_us),
        branch_files.current(path),
        len(branch_files.names(path)),
        problem,
    )


class _Contents(NamedTuple):
    nodes: int | None = None
    links: int | None = None
    last_us: int = 0
    branches: int = 0
    problem: str = ""


def _contents(place: Path | str, **options: Any) -> _Contents:
    # Imported late: this loads the engine.
    import mycel
    from mycel.store.query import summary
    from mycel.store.query.commits import transaction_of

    try:
        with mycel.open(place, create=False, core_capsules=False, **options) as db:
            with db.reading() as reader:
                nodes, links = summary.totals(reader)
                last_us = transaction_of(reader, reader.head().seq).time_us
            return _Contents(nodes, links, last_us, len(db.branches.names()))
    except MycelError as error:
        return _Contents(problem=error.message)


def _states_in(url: str, only: str | None = None) -> Iterator[WorkspaceState]:
    """The workspaces of the database that a URL names, or one of them.

    Raises:
        NotFound: the database has no workspace `only`.
    """
    from mycel.store.opening import workspaces_in

    database = workspaces_in(url)
    sizes, names = database.sizes(), database.names()
    if only is not None:
        if only not in names:
            raise NotFound(
                f"The database has no workspace {only!r}.", hint=did_you_mean(only, names)
            )
        names = [only]
    for name in names:
        place = database.url_of(name)
        nodes, links, last_us, branches, problem = _contents(place, readonly=True)
        last_use = times.to_text(last_us) if last_us else ""
        size = sizes.get(name, 0)
        yield WorkspaceState(
            name, None, place, size, nodes, links, last_use, MAIN, branches, problem
        )


@click.group(cls=Group)
def workspace() -> None:
    """List, show, add, rename, move and remove the graphs of this machine.

    A workspace is a graph with a name, in ~/.knowledge_engine. Most belong to a folder: in it, in
    its subfolders, and in linked worktrees of Git, `mycel` finds it by itself. A repository that is
    moved on its disk keeps it. --workspace NAME, or MYCEL_WORKSPACE, names one anywhere.
    """


@workspace.command("list", cls=Command)
@pass_session
def list_(session: Invocation) -> None:
    """List the workspaces, with their folder, size, nodes, last use and branch.

    With --db URL, or MYCEL_DB, those of a database in PostgreSQL.
    """
    place = session.place()
    if place.url is None:
        used, states = place.workspace, [_state(name) for name in workspaces_of(Path.home())]
    else:
        used, states = _named_in(place.url), list(_states_in(place.url))
    session.out.list(
        states,
        ("", "workspace", "folder", "size", "nodes", "last use", "branch", "problem"),
        lambda state: (
            "*" if state.workspace == used else "",
            state.workspace,
            state.folder or "",
            byte_size(state.size_bytes),
            "" if state.nodes is None else str(state.nodes),
            state.last_use[:16].replace("T", " "),
            state.branch,
            state.problem,
        ),
        _as_dict,
    )


@workspace.command("show", cls=Command)
@click.argument("name", required=False, help="The workspace; by default the one that is used here")
@pass_session
def show(session: Invocation, name: str | None) -> None:
    """Show one workspace, its file, folder, branches and size."""
    place = session.place()
    if place.url is not None:
        (state,) = _states_in(place.url, _chosen_in(place.url, name))
    else:
        name = name or place.workspace
        if name is None:
            raise click.UsageError(
                "The graph is in a file that was named: `mycel status` shows it."
            )
        existing_database(name)
        state = _state(name)
    wire = asdict(state)
    session.out.fields(((key.replace("_", " "), value) for key, value in wire.items()), wire)


def _named_in(url: str) -> str | None:
    return parse_qs(urlsplit(url).query).get("workspace", [None])[0]


def _chosen_in(url: str, name: str | None) -> str:
    """The name of a workspace of a database; by default the one that the URL names."""
    name = name or _named_in(url)
    if name is None:
        raise click.UsageError("Name a workspace of the database.")
    return name


@workspace.command("add", cls=Command)
@click.argument(
    "folder",
    type=click.Path(exists=True, file_okay=False, resolve_path=True, path_type=Path),
    help="The folder",
)
@click.option("--name", metavar="NAME", help="Its name; by default that of the folder")
@pass_session
def add(session: Invocation, folder: Path, *, name: str | None) -> None:
    """Create the workspace of a folder.

    With the name of a workspace that exists, the folder gets that workspace.
    """
    import mycel

    home = Path.home()
    owner = workspaces.found_from(home, folder, above=False)
    if owner is not None and name in (None, owner.workspace):
        raise DuplicateExists(f"{folder} has the workspace {owner.workspace} already.")
    name = _checked(name or workspaces.new_name(home, folder))
    path = database_of(home, name)
    is_new = not path.exists()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    mycel.open(path).close()
    workspaces.claim(home, Owner(name, folder))
    verb = "Created" if is_new else "Took"
    session.out.say(f"{verb} the workspace {name} for {folder}.", asdict(_state(name)))


@workspace.command("rename", cls=Command)
@click.argument("name", help="The workspace")
@click.argument("new_name", help="Its new name")
@pass_session
def rename(session: Invocation, name: str, new_name: str) -> None:
    """Give a workspace another name, with its branches and the URIs of its nodes.

    Nobody may have it open. Texts that name its URIs, and other workspaces that link to them, stay
    as they are.
    """
    import mycel
    from mycel.knowledge.uris import check_workspace
    from mycel.knowledge.workspace_rename import rename_workspace

    home = Path.home()
    path = existing_database(name)
    _checked(new_name)
    old_uri, new_uri = check_workspace(name.lower()), check_workspace(new_name.lower())
    workspaces.check_unused(workspaces.files_of(home, name))
    if workspaces.files_of(home, new_name):
        raise DuplicateExists(f"There is a workspace {new_name!r} already.")
    moved = 0
    for branch in branch_files.names(path):
        with mycel.open(
            path, branch=branch, create=False, core_capsules=False, actor=session.actor()
        ) as db:
            moved += db.write(
                lambda tx: rename_workspace(tx, old_uri, new_uri),
                message=f"rename the workspace {name} to {new_name}",
            )
    workspaces.rename_files(home, name, new_name)
    message = f"The workspace {name} is called {new_name} now; {count(moved, 'node')} moved."
    session.out.say(message, asdict(_state(new_name)) | {"moved": moved})


@workspace.command("move", cls=Command)
@click.argument("name", help="The workspace")
@click.argument(
    "folder",
    type=click.Path(exists=True, file_okay=False, resolve_path=True, path_type=Path),
    help="The folder",
)
@pass_session
def move(session: Invocation, name: str, folder: Path) -> None:
    """Let a workspace belong to another folder, for example after it was copied."""
    existing_database(name)
    workspaces.claim(Path.home(), Owner(name, folder))
    session.out.say(f"The workspace {name} belongs to {folder}.", asdict(_state(name)))


@workspace.command("remove", cls=Command)
@click.argument("name", required=False, help="The workspace; by default that in the URL of --db")
@click.option("--yes", is_flag=True, help="Do not ask")
@pass_session
def remove(session: Invocation, name: str | None, *, yes: bool) -> int:
    """Remove a workspace with all of its branches, for good. The folder stays as it is.

    With --db URL, it is a workspace of a database in PostgreSQL.
    """
    url = session.options.get("db")
    if url is not None:
        return _remove_from(session, url, name, yes=yes)
    if name is None:
        raise click.UsageError("Missing argument 'NAME'.")
    existing_database(name)
    state = _state(name)
    size = "what cannot be read" if state.nodes is None else count(state.nodes, "node")
    if not yes and not confirmed(session, f"{name} has {size}. Remove it for good?"):
        session.out.note("Nothing was removed.")
        return 1
    workspaces.remove_files(Path.home(), name)
    session.out.say(f"Removed the workspace {name}.", asdict(state))
    return 0


def _remove_from(session: Invocation, url: str, name: str | None, *, yes: bool) -> int:
    from mycel.store.opening import workspaces_in

    if not is_address(url):
        raise click.UsageError("--db names a file: remove that file, and the files beside it.")
    name = _chosen_in(url, name)
    database = workspaces_in(url)
    question = f"Remove the workspace {name} of the database with all branches, for good?"
    if not yes and not confirmed(session, question):
        session.out.note("Nothing was removed.")
        return 1
    database.remove(name)
    session.out.say(f"Removed the workspace {name}.", {"workspace": name})
    return 0


def several_workspaces(session: Invocation) -> AbstractContextManager[SeveralWorkspaces]:
    """Open the workspaces that `--workspace a,b` names, or all, for the time of a block."""
    from mycel.knowledge.several import local_workspaces

    for option in ("db", "branch"):
        if option in session.options:
            raise click.UsageError(f"Several workspaces are read without --{option}.")
    return local_workspaces(list(filter(None, session.options.get("workspace", "").split(","))))


def names_several(session: Invocation) -> bool:
    """True if `--workspace` names more than one, or a remote that is not of this machine."""
    name = session.options.get("workspace", "")
    if not name or "," in name or name in workspaces_of(Path.home()):
        return "," in name
    from mycel.knowledge.elsewhere import Elsewhere

    return name in Elsewhere().workspaces()


def _checked(name: str) -> str:
    """Check that a name is valid for the files and for the URIs of a workspace."""
    from mycel.knowledge.uris import check_workspace

    try:
        return check_workspace(workspaces.workspace_location(Path.home(), name, "").workspace)
    except InvalidIdentifier as error:
        raise click.UsageError(error.message) from None


def _as_dict(state: WorkspaceState) -> dict[str, Any]:
    return asdict(state)
