"""`mycel serve`: one graph over HTTP, for KIP and for MCP.

The layers `http` and `mcp` know nothing of each other; here they come together. Without options
the server is for this machine alone. Whoever opens it to others has to give it a token.
"""

from __future__ import annotations

import gc
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from mycel.cli.clients import connection_help
from mycel.cli.context import Command, Session, pass_session
from mycel.cli.mcp import knowledge_of, open_or_create
from mycel.errors import AccessDenied

if TYPE_CHECKING:
    from mycel.http.app import Door
    from mycel.http.guarding import Guard
    from mycel.http.policy import Policy, Token
    from mycel.nexus import Nexus

HOST = "127.0.0.1"
PORT = 6923
"""The letters MYCE on a telephone. Nothing else is known to use it."""
TOKEN_VARIABLE = "MYCEL_TOKEN"
_TOKEN_BYTES_MAX = 4096


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
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="PATH",
    help="Ask for the token in this file (or MYCEL_TOKEN); needed unless only this machine can"
    " reach the server",
)
@click.option(
    "--allow-host", multiple=True, metavar="NAME", help="Another name under which it may be asked"
)
@click.option(
    "--allow-origin",
    multiple=True,
    metavar="ORIGIN",
    help="Let pages of this origin ask, as in https://app.example.org",
)
@click.option(
    "--timeout",
    "timeout_s",
    default=30.0,
    type=click.FloatRange(0.05, 3600),
    metavar="SECONDS",
    help="How long a command may run, and a body may take to arrive",
)
@click.option(
    "--concurrency",
    default=64,
    type=click.IntRange(1, 10_000),
    metavar="N",
    help="How many requests may be in progress at once",
)
@click.option(
    "--grace",
    "grace_s",
    default=10.0,
    type=click.FloatRange(1, 3600),
    metavar="SECONDS",
    help="How long requests in progress get to end when it is stopped",
)
@click.option(
    "--bootstrap",
    "project",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="PATH",
    help="First bring what is in this directory into the graph",
)
@click.option("--verbose", is_flag=True, help="A line for each request, to standard error")
@pass_session
def serve(
    session: Session,
    *,
    host: str,
    port: int,
    token_file: Path | None,
    allow_host: tuple[str, ...],
    allow_origin: tuple[str, ...],
    timeout_s: float,
    concurrency: int,
    grace_s: float,
    project: Path | None,
    verbose: bool,
) -> None:
    """Serve the graph over HTTP until Ctrl-C or SIGTERM.

    POST /kip takes commands of KIP, /mcp speaks the Model Context Protocol, GET / says what there
    is. Unless told otherwise, only this machine can reach it.
    """
    # Late: see the package's docstring.
    from mycel.http.policy import Policy, names_of, origins_of
    from mycel.http.serving import bind, is_loopback, resolve, run, url_of

    addresses = resolve(host, port)
    token = _token(token_file)
    if token is None and not is_loopback(addresses):
        raise AccessDenied(
            f"Others can reach {host}, so the server needs a token.",
            hint=f"Name a file that holds one with --token-file, or set {TOKEN_VARIABLE}; or"
            f" listen on {HOST}.",
        )
    policy = Policy(
        hosts=names_of(host, allow_host),
        origins=origins_of(allow_origin),
        token=token,
        requests_max=concurrency,
        timeout_s=timeout_s,
    )
    sockets = bind(addresses)
    try:
        with _graph(session, project, timeout_s) as db:
            _prepare_logs(verbose=verbose)
            app = _application(session, db, policy, project)
            url = url_of(sockets[0], host)
            run(
                app,
                sockets,
                policy,
                on_ready=lambda: _say_ready(session, db, url),
                on_stop=lambda running: _say_stopping(session, running, grace_s),
                grace_s=grace_s,
            )
    finally:
        for each in sockets:
            each.close()
    session.out.say("Stopped.", {"event": "stopped"})


def _token(path: Path | None) -> Token | None:
    # Late: see the package's docstring.
    from mycel.http.policy import Token

    if path is not None:
        with path.open("rb") as file:
            secret = file.read(_TOKEN_BYTES_MAX).decode(errors="replace").strip()
        return Token(secret)
    given = os.environ.get(TOKEN_VARIABLE)
    return None if given is None else Token(given.strip())


# The graph.


@contextmanager
def _graph(session: Session, project: Path | None, timeout_s: float) -> Iterator[Nexus]:
    with open_or_create(session, timeout_s=timeout_s, busy_timeout_s=timeout_s) as db:
        if project is not None:
            _bring_in(session, db, project.resolve())
        yield db


def _bring_in(session: Session, db: Nexus, root: Path) -> None:
    # Late: see the package's docstring.
    from mycel.knowledge.bootstrap import bootstrap

    with session.out.waiting(f"Reading {root}"):
        summary = bootstrap(knowledge_of(session, db, root), root)
    session.out.note(f"{root}: {summary}")


def _application(session: Session, db: Nexus, policy: Policy, project: Path | None) -> Guard:
    # Late: see the package's docstring.
    from mycel.syntax.collecting import collector_paused

    # Thousands of objects are made by loading and none is garbage: to look for it takes a fifth of
    # the time.
    with collector_paused(True):
        # Later still: these take longest to load.
        from mycel.http.app import build_app

        app = build_app(db, policy, doors=[_door(session, db, project)])
        gc.freeze()
    return app


def _door(session: Session, db: Nexus, project: Path | None) -> Door:
    # Late: see the package's docstring.
    from mycel.http.app import Door
    from mycel.mcp.web import BODY_BYTES_MAX, PATH, http_app

    root = (project or Path.cwd()).resolve()
    app = http_app(db, workspace=session.workspace(root), root=root)
    return Door(PATH, "mcp", app, BODY_BYTES_MAX)


# What people and scripts see.


def _prepare_logs(*, verbose: bool) -> None:
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s"
    )
    # What strangers send is answered, and no reason to fill a log.
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    logging.getLogger("mycel.http.requests").setLevel(logging.INFO if verbose else logging.WARNING)


def _say_ready(session: Session, db: Nexus, url: str) -> None:
    path = str(Path(db.path).resolve())
    out = session.out
    if out.as_json:
        told = {"event": "ready", "url": url, "kip": f"{url}/kip", "mcp": f"{url}/mcp"}
        out.object(told | {"path": path, "pid": os.getpid()})
    else:
        command = [sys.executable, "-m", "mycel", "mcp", "--db", path]
        out.line(f"{connection_help(f'{url}/mcp', command)}\n")
        out.line(out.style(f"Mycel serves {path} at {url} (Ctrl-C stops it)", bold=True))
    sys.stdout.flush()


def _say_stopping(session: Session, running: int, grace_s: float) -> None:
    waits = f"; {running} in progress get up to {grace_s:g} s" if running else ""
    session.out.say(
        f"Stopping: no new requests{waits}.", {"event": "stopping", "in_progress": running}
    )
    sys.stdout.flush()
