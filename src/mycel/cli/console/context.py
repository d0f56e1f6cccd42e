"""Options of every command, and the database that they choose.

Every command and group has `--db`, `--workspace`, `--branch`, `--actor` and `--json`, so these may
stand anywhere; the last one wins. An environment variable applies if its option is missing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import rich_click as click
from click.core import ParameterSource

from mycel import workspaces
from mycel.cli.console.output import Output
from mycel.errors import InvalidIdentifier, MycelError, NotADatabase
from mycel.store.file.workspace_databases import database_of
from mycel.workspaces import WorkspaceLocation

if TYPE_CHECKING:
    from mycel.api.graph import Graph

EVERYWHERE = "Options of every command"

CANDIDATES_NAMED = 3
GIT_SECONDS_MAX = 2
ACTOR_CHARACTERS_MAX = 200
_NAMED = ("--workspace", "MYCEL_WORKSPACE")


@dataclass(slots=True)
class Invocation:
    """One call of `mycel`: the values of its shared options."""

    options: dict[str, str] = field(default_factory=dict)
    """The shared options on the command line, by name."""
    environment: dict[str, str] = field(default_factory=dict)
    """The values of environment variables for the shared options, by the names of the options."""
    as_json: bool = False
    directory: Path | None = None
    """The folder to use instead of the current one."""
    owner: Path | None = None
    """A folder whose own graph is used, even if a folder above has a graph."""
    written: str | None = None
    """The database that was opened for writing, if it has a mirror to update."""
    graph: Graph | None = None
    """The graph that was opened for writing by a person's command."""
    says_graph: bool = True
    """False if the command has already said which graph it writes to."""

    @property
    def out(self) -> Output:
        return Output(as_json=self.as_json)

    def place(self) -> WorkspaceLocation:
        """The database that the options, the environment or the current directory name.

        Raises:
            click.UsageError: `--db` and `--workspace` contradict each other, or name no file.
        """
        if {"db", "workspace"} <= self.options.keys():
            raise click.UsageError("Give --db or --workspace, not both.")
        for source, option, name in (
            (self.options, "db", "--db"),
            (self.options, "workspace", "--workspace"),
            (self.environment, "db", "MYCEL_DB"),
            (self.environment, "workspace", "MYCEL_WORKSPACE"),
        ):
            if option in source:
                return _locate(option, source[option], name)
        return self._own_place(above=True)

    def own_place(self) -> WorkspaceLocation:
        """The location for a command that creates a database.

        Graphs of folders above are ignored.
        """
        place = self.place()
        is_above = place.folder is not None and place.chosen_by not in _NAMED
        return self._own_place(above=False) if is_above else place

    def _own_place(self, *, above: bool) -> WorkspaceLocation:
        """The database of the command's folder, or the location of a new one."""
        folder = self.owner or self.directory or _current_directory()
        home = _home()
        owner = workspaces.found_from(home, folder, above=above and self.owner is None)
        if owner is None:
            owner = workspaces.Owner(workspaces.new_name(home, folder), folder)
        chosen_by = "the current directory" if self.directory is None else "the folder"
        if owner.folder != folder:
            chosen_by = f"the folder above, {owner.folder}"
        path = database_of(home, owner.workspace)
        return WorkspaceLocation(path, owner.workspace, chosen_by, owner.folder)

    def root(self) -> Path:
        """The folder that `file://` URIs are relative to, unless the command says otherwise.

        It is the folder of the database if that contains the current one, and otherwise the current
        one.
        """
        current = self.directory or _current_directory()
        folder = self.place().folder
        return folder if folder is not None and current.is_relative_to(folder) else current

    def workspace(self, root: Path) -> str:
        """The workspace of URIs without one: the name of the database, or of the folder.

        If an option names a file, the workspace is named after the folder too, unless the file is a
        clone or a workspace of a server. Earlier versions put a hash into the name of a database,
        but not into URIs.
        """
        from mycel.knowledge.uris import workspace_named

        place = self.place()
        if place.url is not None:
            return workspaces.workspace_at(place.url)
        if place.workspace is None:
            return _shared_workspace(place.path) or workspace_named(root.name)
        if place.workspace == workspaces.hashed_name(root):
            owner = workspaces.owner_of(_home(), place.workspace)
            return workspace_named(root.name if owner is None else place.workspace)
        return workspace_named(place.workspace)

    def claim(self, place: WorkspaceLocation) -> None:
        """Record that a new workspace belongs to its folder.

        A workspace that an option names is claimed too if its folder is gone: it was moved here.
        """
        if place.workspace is None:
            return
        home, folder = _home(), place.folder
        if place.chosen_by in _NAMED:
            owner = workspaces.owner_of(home, place.workspace)
            if owner is None or owner.folder.exists():
                return
            folder = self.directory or _current_directory()
        if folder is not None:
            workspaces.claim(home, workspaces.Owner(place.workspace, folder))

    def candidates(self, *, namesakes: bool = False) -> str:
        """A sentence about workspaces whose folder is gone; empty if there is none.

        With `namesakes`, only workspaces whose folder had the same name as this one.
        """
        if self.place().folder is None:
            return ""
        folder = self.directory or _current_directory()
        owners = workspaces.left_behind(_home(), folder)
        if namesakes:
            owners = [owner for owner in owners if owner.folder.name == folder.name]
        advice = [
            f"`mycel init --workspace {owner.workspace}` goes on with the workspace of"
            f" {owner.folder}"
            for owner in owners[:CANDIDATES_NAMED]
        ]
        return f"If the folder was moved here: {'; '.join(advice)}." if advice else ""

    def branch_place(self) -> WorkspaceLocation:
        """The database of the branch that the options or the environment name.

        By default it is the branch that `mycel branch switch` has chosen.

        Raises:
            InvalidIdentifier, NotFound: there is no such branch.
        """
        from mycel.store.file.branch_files import MAIN, current, existing, split

        place = self.place()
        if place.url is not None:
            name = self.options.get("branch", self.environment.get("branch"))
            return place if name is None else replace(place, url=_with_branch(place.url, name))
        path = place.path.resolve()
        name = self.options.get("branch", self.environment.get("branch"))
        if name is None:
            name = current(path)
            if name == MAIN:
                return place
        return replace(place, path=existing(split(path)[0], name))

    def refuse_branch(self, command: str, *sources: dict[str, str]) -> None:
        """Refuse --branch and its variable for a command that creates a graph.

        Raises:
            click.UsageError: they name another branch than main.
        """
        from mycel.store.file.branch_files import MAIN

        for source in sources:
            name = source.get("branch", MAIN)
            if name != MAIN:
                option = "--branch" if source is self.options else "MYCEL_BRANCH"
                raise click.UsageError(
                    f"`mycel {command}` creates the graph itself, and {option} names the branch"
                    f" {name!r}. Leave it out; then `mycel branch create {name}` makes the branch."
                )

    def actor(self) -> str:
        """The actor of writes by a person: the option, or else the person's own name.

        The name comes from the configuration of Git, or else from the account on the system.
        """
        # Imported late: this loads the engine.
        from mycel.engine.write_defaults import DEFAULT_ACTOR

        name = self.options.get("actor", self.environment.get("actor"))
        return name or _name_in_git() or _name_of_user() or DEFAULT_ACTOR

    def open(self, *, reading: bool = False, by_person: bool = True, **options: Any) -> Graph:
        """Open the existing database, or its branch.

        `by_person` is False for a server, through which others write: its default actor is the
        agent. With `reading`, a file without write permission is opened as well. If that permission
        is there, the file is still opened for writing: closing it then moves the log into the
        database and leaves no files beside it. The core capsules are not added. `options` goes to
        `mycel.open`.

        Raises:
            NotADatabase, FormatTooNew, DatabaseReadOnly, DatabaseError: the database cannot be
                opened.
            InvalidIdentifier, NotFound: there is no such branch.
        """
        # Imported late: this loads the engine.
        import mycel
        from mycel.mirror.settings import has_mirror

        place = self.branch_place()
        path = place.path
        is_file = place.url is None
        readonly = is_file and reading and path.exists() and not os.access(path, os.W_OK)
        for option in ("actor", "message"):
            value = self.options.get(option, self.environment.get(option))
            if value is not None:
                options[option] = value
        if by_person and not reading:
            options["actor"] = self.actor()
        try:
            db = mycel.open(
                place.opened, create=False, readonly=readonly, core_capsules=False, **options
            )
            self.graph = db if by_person and not reading else None
            if not reading and has_mirror(db.path):
                self.written = db.path
            return db
        except NotADatabase as error:
            if is_file and not path.exists():
                error.hint = f"Create one with `{place.creation}`. {self.candidates()}".rstrip()
            raise

    def follow_up(self) -> None:
        """Print which graph a command has written to, and update its Git mirror."""
        says_graph = self.says_graph and not self.as_json
        if says_graph and self.graph is not None and self.graph.has_written:
            place = self.branch_place()
            workspace = "" if place.workspace is None else f"workspace {place.workspace}, "
            self.out.note(f"Written to {workspace}{place.opened}")
        if self.written is None:
            return
        # Imported late: most graphs have no mirror.
        import mycel
        from mycel.mirror.sync import Upkeep

        try:
            with mycel.open(self.written, create=False, core_capsules=False) as db:
                notes = Upkeep(db).catch_up().notes
        except MycelError as error:
            notes = (f"The Git mirror was not updated: {error.message} {error.hint}",)
        for note in notes:
            self.out.note(note)


def _locate(option: str, value: str, chosen_by: str) -> WorkspaceLocation:
    try:
        if option == "db":
            return workspaces.file_location(value, chosen_by)
        return workspaces.workspace_location(_home(), value, chosen_by)
    except InvalidIdentifier as error:
        raise click.UsageError(error.message) from None


def _shared_workspace(path: Path) -> str | None:
    """The workspace of a clone, or of a file in the folder of a server; None for other files."""
    # Imported late: most commands use the graph of the folder.
    from mycel.remote.registry import RemoteRegistry
    from mycel.sharing.workspace_folder import RECORDS
    from mycel.store.file.branch_files import split

    graph = split(path.resolve())[0]
    with suppress(RuntimeError):  # There is no home directory, so there is no registry.
        entry = RemoteRegistry().of_graph(str(graph))
        if entry is not None:
            return workspaces.workspace_at(entry.url)
    return workspaces.workspace_at(str(graph)) if (graph.parent / RECORDS).exists() else None


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:
        raise click.UsageError("There is no home directory: name a file with --db.") from None


def _name_in_git() -> str:
    """The name of the user in Git's configuration; empty if there is none."""
    # Imported late: only commands that write need a name.
    import subprocess

    try:
        process = subprocess.run(
            ["git", "config", "user.name"],
            capture_output=True,
            check=False,
            timeout=GIT_SECONDS_MAX,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return process.stdout.decode(errors="replace").strip()[:ACTOR_CHARACTERS_MAX]


def _name_of_user() -> str:
    """The name of the system's user; empty if the system knows none."""
    from getpass import getuser

    try:
        return getuser()[:ACTOR_CHARACTERS_MAX]
    except (OSError, KeyError):
        return ""


def _current_directory() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise click.UsageError(
            "The current directory is gone: name a file with --db, or a --workspace."
        ) from None


# The shared options, and the classes that add them to every command.


def _remember(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    session = ctx.find_object(Invocation)
    if value is None or session is None or param.name is None:
        return
    typed = ctx.get_parameter_source(param.name) is ParameterSource.COMMANDLINE
    (session.options if typed else session.environment)[param.name] = value


def _remember_json(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    session = ctx.find_object(Invocation)
    if value and session is not None:
        session.as_json = True


def shared_options(*, root: bool = False) -> list[click.Parameter]:
    """New option objects for one command. Only those of the root command read the environment."""

    def text_option(name: str, metavar: str, says: str, *short: str) -> click.Option:
        return click.RichOption(
            [*short, f"--{name}"],
            metavar=metavar,
            envvar=f"MYCEL_{name.upper()}" if root else None,
            help=f"{says} (or MYCEL_{name.upper()})",
            panel=EVERYWHERE,
            callback=_remember,
            expose_value=False,
        )

    as_json = click.RichOption(
        ["--json"],
        is_flag=True,
        # Eager, so that an error in another option is printed as JSON.
        is_eager=True,
        help="One JSON object per line instead of tables; errors as JSON too",
        panel=EVERYWHERE,
        callback=_remember_json,
        expose_value=False,
    )
    return [
        text_option("db", "PATH", "The database file, or the URL of a graph in PostgreSQL"),
        text_option("workspace", "NAME", "A database by name; by default the current directory's"),
        text_option("branch", "NAME", "A branch of it; by default the one that was switched to"),
        text_option("actor", "NAME", "Who writes, for the journal"),
        text_option(
            "message", "TEXT", "Why, for the journal; by default a count of the changes", "-m"
        ),
        as_json,
    ]


def _panels(*commands: str) -> list[click.RichPanel[Any, Any]]:
    """The panels of help, in order: commands, own parameters, shared options."""
    options = ("Arguments", "Options", EVERYWHERE)
    return [
        *(click.RichCommandPanel(name) for name in commands),
        *(click.RichOptionPanel(name) for name in options),
    ]


class Command(click.RichCommand):
    """A command with the options that every command has."""

    def __init__(self, *, params: list[click.Parameter] | None = None, **more: Any) -> None:
        super().__init__(params=[*(params or ()), *shared_options()], panels=_panels(), **more)


OTHER_WORDS: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("show", "view", "cat", "read", "info"), ("get", "show", "status")),
    **dict.fromkeys(("add", "set", "new", "write", "update"), ("put", "add", "create")),
    **dict.fromkeys(("delete", "remove", "rm"), ("retire", "remove", "delete", "concept retire")),
    **dict.fromkeys(("find", "query", "grep"), ("search", "kip")),
    "ls": ("list",),
}
"""Names of commands in other tools, with the commands of Mycel that do the same."""


class Group(click.RichGroup):
    """A group of commands; the shared options may stand before the name of a command too."""

    command_class = Command

    def __init__(
        self,
        *,
        params: list[click.Parameter] | None = None,
        root: bool = False,
        command_panels: Iterable[str] = ("Commands",),
        **more: Any,
    ) -> None:
        super().__init__(
            params=[*(params or ()), *shared_options(root=root)],
            panels=_panels(*command_panels),
            **more,
        )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command of the first word.

        For a word of `OTHER_WORDS`, the error names the right command.
        """
        others = OTHER_WORDS.get(args[0], ())
        suggestion = next((other for other in others if other.split()[0] in self.commands), None)
        if suggestion is not None and args[0] not in self.commands:
            raise click.UsageError(
                f"No such command {args[0]!r}. Did you mean `{ctx.command_path} {suggestion}`?", ctx
            )
        return super().resolve_command(ctx, args)

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """Commands in the order of their definition."""
        return list(self.commands)


pass_session = click.make_pass_decorator(Invocation)


def _with_branch(url: str, name: str) -> str:
    """The URL of a branch of the graph at a URL."""
    from mycel.store.opening import branches_at

    return str(branches_at(url).place(name))
