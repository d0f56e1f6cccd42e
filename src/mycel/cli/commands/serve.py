"""`mycel serve`: one graph over HTTP, for KIP and for MCP.

The layers `http` and `mcp` know nothing of each other; here they come together. Without options
the server is for this machine alone. On other addresses it needs a token.
"""

from __future__ import annotations

import gc
import logging
import os
import stat
import sys
import threading
from contextlib import ExitStack, closing, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from mycel.cli.commands.mcp import (
    context_option,
    knowledge_of,
    open_served,
    sampling_option,
)
from mycel.cli.console.context import Command, Invocation, pass_session
from mycel.cli.console.output import Output, PipeClosed
from mycel.cli.console.project_graph import choose_graph
from mycel.clients.programs import Server, connection_help, own_program, server_name
from mycel.errors import AccessDenied
from mycel.model.limits import TOOL_ARGUMENT_BYTES_MAX
from mycel.syntax.gc_pause import collector_paused

if TYPE_CHECKING:
    from collections.abc import Callable
    from socket import socket

    from starlette.applications import Starlette

    from mycel.api.graph import Graph
    from mycel.api.open_branches import OpenBranches
    from mycel.http.policy import Policy, Token
    from mycel.http.request_guard import RequestGate

HOST = "127.0.0.1"
PORT = 6923
"""The letters MYCE on a telephone. Nothing else is known to use it."""
MCP_PATH = "/mcp"
MCP_BODY_BYTES_MAX = 4 * TOOL_ARGUMENT_BYTES_MAX
"""Larger than the limit of arguments, so that a call above that gets its own error."""
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
    help="First bring what is in this directory into the graph",
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
    readonly: bool,
    context_size: int | None,
    sampling: bool,
    open_page: bool,
    verbose: bool,
) -> None:
    """Serve the graph over HTTP until Ctrl-C or SIGTERM.

    POST /kip takes commands of KIP, /mcp speaks the Model Context Protocol, /ui/ is the explorer
    for people, GET / says what there is. Unless told otherwise, only this machine can reach it. The
    database is created if it is not there, unless nothing may be written to it: by --readonly
    without --bootstrap.
    """
    from mycel.api.open_branches import OpenBranches
    from mycel.http.policy import Policy, names_of, origins_of
    from mycel.http.server import bind, is_loopback, resolve, run, url_of
    from mycel.http.stop_watch import stop_watch
    from mycel.http.supervisor import Supervisor, check_possible, listening_again

    addresses = resolve(host, port)
    token = _token(session.out, token_file)
    if token is None and not is_loopback(addresses):
        raise AccessDenied(
            f"Others can reach {host}, so the server needs a token.",
            hint=f"Name a file that holds one with --token-file, or set {TOKEN_VARIABLE}; or"
            f" listen on {HOST}.",
        )
    if workers > 1:
        check_possible()
        _check_alone(open_page=open_page, sampling=sampling)
    policy = Policy(
        hosts=names_of(host, allow_host),
        origins=origins_of(allow_origin),
        token=token,
        readonly=readonly,
        files=files,
        requests_max=concurrency,
        timeout_s=timeout_s,
        write_s=write_s,
        connections_max=connections,
        streams_max=streams,
        answers_bytes_max=(answers_mib << 20) // workers,
        processes=workers,
    )
    sockets = bind(addresses, shared=workers > 1)

    def serve_here(
        db: Graph, bound: list[socket], number: int, **calls: Callable[..., object]
    ) -> None:
        with ExitStack() as stack:
            if not readonly and number == 0:
                from mycel.mirror.follower import Follower

                stack.callback(Follower(db).close)
            branches = stack.enter_context(closing(OpenBranches(db)))
            workspace = session.workspace(folder)
            app = _application(
                db,
                branches,
                policy,
                workspace,
                folder,
                context_size,
                sampling=sampling,
                opens_page=open_page,
            )
            run(app, bound, policy, grace_s=grace_s, **calls)

    def serve_as(number: int, on_ready: Callable[[], None]) -> None:
        """Serve as one of several processes."""
        with _graph(session, policy, readonly=readonly) as db:
            bound = listening_again(sockets)
            serve_here(db, bound, number, on_ready=on_ready, on_stop=lambda _running: None)

    try:
        folder = (root or _project_folder(session, project)).resolve()
        if files and token_file is not None and token_file.resolve().is_relative_to(folder):
            session.out.warn([f"The token is in {folder}, whose files are served. Move it away."])
        here, there = url_of(sockets[0], host), url_of(sockets[0], host, allow_host)
        url = here if session.as_json else there
        _prepare_logs(verbose=verbose)
        # What --bootstrap brings in is written here, whatever others may do.
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
                    on_stop=lambda running: _say_stopping(session, running, grace_s),
                    on_cut=lambda: _say_stopped(session),
                )
        if workers > 1:
            # Before they are forked, so that they share the memory and start at once.
            import mycel.http.app
            import mycel.mcp.web  # noqa: F401

            gc.freeze()
            Supervisor(workers, serve_as, grace_s=grace_s).run(
                on_ready=lambda: _be_ready(session, db, url, folder, policy, open_page=False),
                on_stop=lambda: _tell(session, "Stopping.", "stopping"),
            )
    finally:
        for each in sockets:
            each.close()
    _say_stopped(session)


def _project_folder(session: Invocation, project: Path | None) -> Path:
    """The folder of the project; the graph of one that is brought in is chosen here."""
    if project is None:
        return session.root()
    choose_graph(session, project.resolve(), has_options=False)
    return project


def _check_alone(*, open_page: bool, sampling: bool) -> None:
    """Refuse what only one process can do: it is kept in its memory."""
    for option, is_given in (("--open", open_page), ("--sampling", sampling)):
        if is_given:
            raise click.UsageError(f"{option} needs a single process: leave --workers out.")


def _token(out: Output, path: Path | None) -> Token | None:
    from mycel.http.policy import Token

    if path is not None:
        return Token(_secret(out, path))
    given = os.environ.get(TOKEN_VARIABLE)
    return None if given is None else Token(given.strip())


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


# The graph.


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


def _application(
    db: Graph,
    branches: OpenBranches,
    policy: Policy,
    workspace: str,
    root: Path,
    context_size: int | None,
    *,
    sampling: bool,
    opens_page: bool,
) -> RequestGate:
    # Thousands of objects are made by loading and none is garbage: to look for it takes a fifth of
    # the time.
    with collector_paused(True):
        # These take longest to load.
        from mycel.http.app import Mount, build_app
        from mycel.http.worker_pool import Workers
        from mycel.knowledge.active_context import Contexts, NoContexts

        workers = Workers()
        kind = Contexts if policy.processes == 1 else NoContexts
        contexts = kind() if context_size is None else kind(size_max=context_size)

        def load_mcp() -> Starlette:
            with collector_paused(True):
                # The SDK of the protocol takes longer to load than all else: the server is ready
                # without it.
                from mycel.mcp.web import http_app

                made = http_app(
                    db,
                    path=MCP_PATH,
                    body_bytes_max=MCP_BODY_BYTES_MAX,
                    workspace=workspace,
                    root=root if policy.files else None,
                    readonly=policy.readonly,
                    contexts=contexts,
                    branches=branches,
                    runner=workers.run,
                    sampling=sampling,
                )
                gc.freeze()
            return made

        app = build_app(
            db,
            policy,
            doors=[Mount(MCP_PATH, "mcp", load_mcp, MCP_BODY_BYTES_MAX)],
            branches=branches,
            workspace=workspace,
            root=root,
            workers=workers,
            opens_page=opens_page,
        )
        gc.freeze()
    return app


# What people and scripts see.


def _prepare_logs(*, verbose: bool) -> None:
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s"
    )
    # What strangers send is answered, and no reason to fill a log.
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    logging.getLogger("mycel.http.requests").setLevel(logging.INFO if verbose else logging.WARNING)


def _be_ready(
    session: Invocation, db: Graph, url: str, root: Path, policy: Policy, *, open_page: bool
) -> None:
    _say_ready(session, db, url, root, policy, brief=open_page)
    if open_page:
        # A browser may take long to start, and some ways to start one wait for its end.
        threading.Thread(
            target=_open_page, args=(session, f"{url}/ui/", policy), daemon=True
        ).start()


def _open_page(session: Invocation, address: str, policy: Policy) -> None:
    """Open the page in a browser; without one, tell the address, with time to copy it."""
    # Late: only a person at a desktop needs it.
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
    path = str(Path(db.path).resolve())
    out = session.out
    if out.as_json:
        payload = {"event": "ready", "url": url, "explorer": f"{url}/ui/", "kip": f"{url}/kip"}
        out.object(payload | {"mcp": f"{url}{MCP_PATH}", "path": path, "pid": os.getpid()})
    elif brief:
        out.line(out.style(f"Explorer: {url}/ui/", bold=True))
        out.line(f"Mycel serves {path} (Ctrl-C stops it)")
    else:
        place = session.place()
        # The same graph, the same URIs and the same files, wherever a client starts it.
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


def _say_stopping(session: Invocation, running: int, grace_s: float) -> None:
    waits = f"; {running} in progress get up to {grace_s:g} s" if running else ""
    _tell(session, f"Stopping: no new requests{waits}.", "stopping", in_progress=running)


def _say_stopped(session: Invocation) -> None:
    _tell(session, "Stopped.", "stopped")


def _tell(session: Invocation, text: str, event: str, **more: int) -> None:
    """Say what the server does. If nobody listens any more, it does it all the same."""
    with suppress(PipeClosed, BrokenPipeError):
        session.out.say(text, {"event": event, **more})
        sys.stdout.flush()
