"""`mycel serve`: one graph over HTTP, for KIP and for MCP.

The layers `http` and `mcp` do not import each other; this module joins them. By default only this
machine can reach the server. On other addresses it needs a token.
"""

from __future__ import annotations

import gc
import os
import stat
import sys
import threading
from contextlib import ExitStack, closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from mycel.cli.commands.mcp import (
    answer_hooks,
    context_option,
    knowledge_of,
    open_served,
    sampling_option,
)
from mycel.cli.commands.serve_workspaces import TeamServer, has_scoped_tokens
from mycel.cli.commands.serving import (
    MCP_PATH,
    graph_application,
    prepare_logs,
    say_stopped,
    say_stopping,
    tell,
)
from mycel.cli.console.context import Command, Invocation, pass_session
from mycel.cli.console.output import Output
from mycel.cli.console.project_graph import choose_graph
from mycel.clients.programs import Server, connection_help, own_program, server_name
from mycel.errors import AccessDenied

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from socket import socket

    from mycel.api.graph import Graph
    from mycel.http.policy import Policy, Token
    from mycel.upkeep.schedule import Schedule

HOST = "127.0.0.1"
PORT = 6923
"""The letters MYCE on a telephone. No other program is known to use this port."""
TOKEN_VARIABLE = "MYCEL_TOKEN"
_TOKEN_BYTES_MAX = 4096


def _limit(option: str, usual: int, most: int, says: str) -> Callable[[Any], Any]:
    kind = click.IntRange(1, most)
    return click.option(option, default=usual, type=kind, metavar="N", help=says)


def _seconds(option: str, name: str, usual: float, least: float, says: str) -> Callable[[Any], Any]:
    kind = click.FloatRange(least, 3600)
    return click.option(option, name, default=usual, type=kind, metavar="SECONDS", help=says)


@click.command(cls=Command)
@click.option("--host", default=HOST, metavar="HOST", help="Where to listen")
@click.option(
    "--port",
    default=PORT,
    type=click.IntRange(0, 65535),
    metavar="N",
    help="The port; 0 takes any that is free",
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="PATH",
    help="Ask for the token in this file (or MYCEL_TOKEN); needed unless only this machine can"
    " reach the server",
)
@click.option(
    "--tls-cert",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="PATH",
    help="Speak TLS, with the certificate in this PEM file and its chain",
)
@click.option(
    "--tls-key",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="PATH",
    help="The key of --tls-cert, without a password",
)
@click.option(
    "--allow-host", multiple=True, metavar="NAME", help="Another host name that requests may use"
)
@click.option(
    "--allow-origin",
    multiple=True,
    metavar="ORIGIN",
    help="Let web pages of this origin send requests, such as https://app.example.org",
)
@_seconds(
    "--timeout",
    "timeout_s",
    30.0,
    0.05,
    "How long a request may take: for its body to arrive and its commands to run",
)
@_limit("--concurrency", 64, 10_000, "How many requests may be in progress at once")
@_seconds(
    "--write-timeout",
    "write_s",
    5.0,
    0.05,
    "How long one transaction may keep others from writing",
)
@_limit("--connections", 512, 100_000, "How many connections may be open at once")
@_limit(
    "--streams",
    64,
    10_000,
    "How many streams of events may be open at once; a quarter of them for one client",
)
@click.option(
    "--answers-mib",
    default=256,
    type=click.IntRange(1, 1 << 20),
    metavar="MIB",
    help="How large all answers that are being made or sent may be together",
)
@_limit(
    "--workers", 1, 64, "How many processes serve; each has the limits of connections and requests"
)
@_seconds(
    "--grace", "grace_s", 10.0, 1, "How long requests in progress get to end when it is stopped"
)
@click.option(
    "--bootstrap",
    "project",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="PATH",
    help="First bring this directory into the graph",
)
@click.option(
    "--root",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="PATH",
    help="The folder that file:// URIs are relative to; by default that of --bootstrap,"
    " or else the project's",
)
@click.option(
    "--files",
    is_flag=True,
    help="Let clients read files of --root, and bootstrap it; never hidden files, keys, or what"
    " .gitignore names",
)
@click.option(
    "--workspaces",
    "shared",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Serve every graph in this folder, each below /ws/NAME, with the tokens of `mycel token`",
)
@click.option(
    "--database",
    metavar="URL",
    help="Serve every workspace of this PostgreSQL database; the folder of --workspaces then has"
    " the tokens and the audit log alone",
)
@click.option(
    "--create-workspaces",
    "creates_workspaces",
    is_flag=True,
    help="Let the first submission create a workspace, if its token may write all of it",
)
@click.option(
    "--oauth",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="PATH",
    help="Trust tokens of the issuers in this TOML file; the extra `oauth` is needed",
)
@click.option(
    "--sleep",
    "sleep_at",
    metavar="WHEN",
    help="Run cycles of upkeep: each day at a time (03:00), or after a time without writes (30min)",
)
@click.option("--readonly", is_flag=True, help="Refuse commands that write; offer no such tool")
@context_option
@sampling_option
@click.option("--open", "open_page", is_flag=True, help="Open the explorer in a browser")
@click.option("--verbose", is_flag=True, help="Log each request to standard error")
@pass_session
def serve(
    session: Invocation,
    *,
    host: str,
    port: int,
    token_file: Path | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    allow_host: tuple[str, ...],
    allow_origin: tuple[str, ...],
    timeout_s: float,
    concurrency: int,
    write_s: float,
    connections: int,
    streams: int,
    answers_mib: int,
    workers: int,
    grace_s: float,
    project: Path | None,
    root: Path | None,
    files: bool,
    shared: Path | None,
    database: str | None,
    creates_workspaces: bool,
    oauth: Path | None,
    sleep_at: str | None,
    readonly: bool,
    context_size: int | None,
    sampling: bool,
    open_page: bool,
    verbose: bool,
) -> None:
    """Serve the graph over HTTP until Ctrl-C or SIGTERM.

    POST /kip takes commands of KIP, /mcp speaks the Model Context Protocol, /ui/ is the explorer
    for people, GET / lists all of these. Unless told otherwise, only this machine can reach it. The
    database is created if it does not exist, except with --readonly and without --bootstrap.
    """
    from mycel.api.open_branches import OpenBranches
    from mycel.http.policy import Policy, names_of, origins_of
    from mycel.http.server import bind, is_loopback, resolve, run, url_of
    from mycel.http.stop_watch import stop_watch
    from mycel.http.supervisor import Supervisor, listening_again

    schedule = _schedule(sleep_at, readonly=readonly)
    addresses = resolve(host, port)
    token = _token(session.out, token_file)
    if workers > 1:
        _check_processes({"--open": open_page, "--sampling": sampling})
    one = {
        "--bootstrap": project,
        "--root": root,
        "--files": files,
        "--open": open_page,
        "--sleep": sleep_at,
    }
    _check_options(
        {"--oauth": oauth, "--create-workspaces": creates_workspaces, "--database": database}
        if shared is None
        else one,
        "needs --workspaces." if shared is None else "is about one graph, without --workspaces.",
    )
    if not is_loopback(addresses) and oauth is None:
        _check_tokens(host, token, shared)
    policy = Policy(
        hosts=names_of(host, allow_host),
        origins=origins_of(allow_origin),
        token=token,
        readonly=readonly,
        creates_workspaces=creates_workspaces,
        files=files,
        requests_max=concurrency,
        timeout_s=timeout_s,
        write_s=write_s,
        connections_max=connections,
        streams_max=streams,
        answers_bytes_max=(answers_mib << 20) // workers,
        processes=workers,
        certificate=_certificate(tls_cert, tls_key),
    )
    sockets = bind(addresses, shared=workers > 1)
    url = url_of(sockets[0], host, () if session.as_json else allow_host, policy.scheme)
    prepare_logs(verbose=verbose)

    if shared is not None:
        TeamServer(
            session, shared, database, policy, context_size, sampling=sampling, oauth=oauth
        ).serve(sockets, url, workers=workers, grace_s=grace_s)
        return

    def serve_here(
        db: Graph, bound: list[socket], number: int, **calls: Callable[..., object]
    ) -> None:
        with ExitStack() as stack:
            if number == 0:
                _work_beside(session, stack, db, folder, schedule, readonly=readonly)
            branches = stack.enter_context(closing(OpenBranches(db)))
            app = graph_application(
                db,
                branches,
                policy,
                session.workspace(folder),
                folder,
                context_size,
                sampling=sampling,
                opens_page=open_page,
            )
            run(app, bound, policy, grace_s=grace_s, **calls)

    def serve_as(number: int, on_ready: Callable[[], None]) -> None:
        """Start one of several processes of a server."""
        with _graph(session, policy, readonly=readonly) as db:
            bound = listening_again(sockets)
            serve_here(db, bound, number, on_ready=on_ready, on_stop=lambda _running: None)

    try:
        folder = (root or _project_folder(session, project)).resolve()
        if files and token_file is not None and token_file.resolve().is_relative_to(folder):
            session.out.warn([f"The token is in {folder}, whose files are served. Move it away."])
        # --bootstrap writes, even if clients may not.
        with (
            stop_watch(grace_s) if workers == 1 else nullcontext(),
            _graph(session, policy, readonly=readonly and project is None) as db,
        ):
            if project is not None:
                _bring_in(session, db, folder, project.resolve())
            if workers == 1:
                serve_here(
                    db,
                    sockets,
                    0,
                    on_ready=lambda: _be_ready(
                        session, db, url, folder, policy, open_page=open_page
                    ),
                    on_stop=lambda running: say_stopping(session, running, grace_s),
                    on_cut=lambda: say_stopped(session),
                )
        if workers > 1:
            _load_applications()
            Supervisor(workers, serve_as, grace_s=grace_s).run(
                on_ready=lambda: _be_ready(session, db, url, folder, policy, open_page=False),
                on_stop=lambda: tell(session, "Stopping.", "stopping"),
            )
    finally:
        for listener in sockets:
            listener.close()
    say_stopped(session)


def _schedule(sleep_at: str | None, *, readonly: bool) -> Schedule | None:
    """The times for cycles of upkeep; None without --sleep."""
    if sleep_at is None:
        return None
    if readonly:
        raise click.UsageError("--sleep writes: leave --readonly out.")
    from mycel.upkeep.schedule import Schedule

    return Schedule(sleep_at)


def _work_beside(
    session: Invocation,
    stack: ExitStack,
    db: Graph,
    folder: Path,
    schedule: Schedule | None,
    *,
    readonly: bool,
) -> None:
    """Update the mirror, answer hooks and run cycles, until the stack is closed."""
    if schedule is not None:
        stack.enter_context(closing(db.sleep_on(schedule)))
    if not readonly:
        from mycel.mirror.follower import Follower

        stack.callback(Follower(db).close)
    answer_hooks(session, stack, knowledge_of(session, db, folder))


def _project_folder(session: Invocation, project: Path | None) -> Path:
    """The folder of the project. For a project to bootstrap, choose the graph as well."""
    if project is None:
        return session.root()
    choose_graph(session, project.resolve(), has_options=False)
    return project


def _certificate(certificate: Path | None, key: Path | None) -> tuple[Path, Path] | None:
    """The files of the certificate and the key for TLS: both or none."""
    from mycel.http.server import check_certificate

    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        raise click.UsageError("--tls-cert and --tls-key belong together.")
    check_certificate(certificate, key)
    return certificate, key


def _check_tokens(host: str, token: Token | None, shared: Path | None) -> None:
    """Refuse to serve other machines without a token."""
    if token is not None or (shared is not None and has_scoped_tokens(shared)):
        return
    or_make = "" if shared is None else f" Or make one: `mycel token create --workspaces {shared}`."
    raise AccessDenied(
        f"Others can reach {host}, so the server needs a token.",
        hint=f"Name a file that holds one with --token-file, or set {TOKEN_VARIABLE}; or listen on"
        f" {HOST}.{or_make}",
    )


def _check_processes(alone: Mapping[str, object]) -> None:
    """Refuse several processes if the system has no fork, or an option needs a single process."""
    from mycel.http.supervisor import check_possible

    check_possible()
    _check_options(alone, "needs a single process: leave --workers out.")


def _load_applications() -> None:
    """Load the applications before processes are forked: they share them, and start at once."""
    import mycel.http.app
    import mycel.mcp.web  # noqa: F401

    gc.freeze()


def _check_options(options: Mapping[str, object], reason: str) -> None:
    """Refuse options that are set, for a given reason."""
    for option, value in options.items():
        if value:
            raise click.UsageError(f"{option} {reason}")


def _token(out: Output, path: Path | None) -> Token | None:
    from mycel.http.policy import Token

    if path is not None:
        return Token(_secret(out, path))
    secret = os.environ.get(TOKEN_VARIABLE)
    return None if secret is None else Token(secret.strip())


def _secret(out: Output, path: Path) -> str:
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            secret = file.read(_TOKEN_BYTES_MAX).decode(errors="replace").strip()
    except OSError as error:
        message = f"{str(path)!r} cannot be read: {error.strerror}."
        raise click.BadParameter(message, param_hint="'--token-file'") from None
    if not secret:
        raise click.BadParameter(f"{str(path)!r} holds no token.", param_hint="'--token-file'")
    if os.name == "posix" and stat.S_ISREG(mode) and mode & (stat.S_IRGRP | stat.S_IROTH):
        out.warn([f"Others on this machine can read {path}: `chmod 600` keeps the token yours."])
    return secret


# Opening the graph.


def _graph(session: Invocation, policy: Policy, *, readonly: bool) -> Graph:
    return open_served(
        session,
        readonly=readonly,
        timeout_s=policy.timeout_s,
        busy_timeout_s=policy.timeout_s,
    )


def _bring_in(session: Invocation, db: Graph, root: Path, project: Path) -> None:
    from mycel.knowledge.bootstrap import bootstrap

    with session.out.waiting(f"Reading {project}"):
        summary = bootstrap(knowledge_of(session, db, root), project)
    session.out.note(f"{project}: {summary}")


# Output for people and scripts.


def _be_ready(
    session: Invocation, db: Graph, url: str, root: Path, policy: Policy, *, open_page: bool
) -> None:
    _say_ready(session, db, url, root, policy, brief=open_page)
    if open_page:
        # A browser may take long to start, and some systems wait until it is closed.
        threading.Thread(
            target=_open_page, args=(session, f"{url}/ui/", policy), daemon=True
        ).start()


def _open_page(session: Invocation, address: str, policy: Policy) -> None:
    """Open the page in a browser. If there is none, print an address that is valid for longer."""
    # Imported late: only a person at a desktop needs it.
    import webbrowser

    from mycel.http.sessions import COPIED_TICKET_S, TICKET_S

    def with_ticket(lasts_s: int) -> str:
        ticket = "" if policy.token is None else f"#ticket={policy.sessions.ticket(lasts_s)}"
        return address + ticket

    if not webbrowser.open(with_ticket(TICKET_S)):
        within = "" if policy.token is None else f" within {COPIED_TICKET_S // 60} minutes"
        message = f"No browser could be opened. Open {with_ticket(COPIED_TICKET_S)}{within}."
        session.out.warn([message])


def _say_ready(
    session: Invocation, db: Graph, url: str, root: Path, policy: Policy, *, brief: bool
) -> None:
    place = session.place()
    path = str(Path(db.path).resolve()) if place.url is None else db.path
    out = session.out
    if out.as_json:
        payload = {"event": "ready", "url": url, "explorer": f"{url}/ui/", "kip": f"{url}/kip"}
        out.object(payload | {"mcp": f"{url}{MCP_PATH}", "path": path, "pid": os.getpid()})
    elif brief:
        out.line(out.style(f"Explorer: {url}/ui/", bold=True))
        out.line(f"Mycel serves {path} (Ctrl-C stops it)")
    else:
        place = session.place()
        # A command that uses the same graph, URIs and files from any folder.
        command = Server(own_program(), place, root).command()
        command += ["--readonly"] if policy.readonly else []
        command += ["--branch", db.branch] if db.branch != "main" else []
        variable = None if policy.token is None else TOKEN_VARIABLE
        out.line(f"{connection_help(f'{url}{MCP_PATH}', command, server_name(place), variable)}\n")
        if variable is not None:
            out.line(
                "Those that ask over HTTP have to send the header Authorization: Bearer TOKEN: set"
                f" {variable} to the token where you type these, and where clients start.\n"
            )
        out.line(out.style(f"Explorer: {url}/ui/", bold=True))
        out.line(out.style(f"Mycel serves {path} at {url} (Ctrl-C stops it)", bold=True))
    sys.stdout.flush()
