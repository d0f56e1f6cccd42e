"""Parts of `mycel serve` for one graph and for many: the application of a graph, logs, messages."""

from __future__ import annotations

import gc
import logging
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from mycel.cli.console.context import Invocation
from mycel.cli.console.output import PipeClosed
from mycel.model.limits import TOOL_ARGUMENT_BYTES_MAX
from mycel.syntax.gc_pause import collector_paused

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from mycel.api.graph import Graph
    from mycel.api.open_branches import OpenBranches
    from mycel.http.app import Mount
    from mycel.http.policy import Policy
    from mycel.http.request_guard import RequestGate
    from mycel.http.worker_pool import Workers
    from mycel.knowledge.active_context import Contexts

MCP_PATH = "/mcp"
MCP_BODY_BYTES_MAX = 4 * TOOL_ARGUMENT_BYTES_MAX
"""Larger than the limit of arguments, so that a call with too long arguments gets the error
about them."""


def mcp_mount(
    db: Graph,
    branches: OpenBranches,
    policy: Policy,
    workspace: str,
    root: Path | None,
    *,
    contexts: Contexts,
    workers: Workers,
    sampling: bool,
    is_frozen: bool,
) -> Mount:
    """The MCP server of a graph as a mount. `is_frozen` exempts loaded objects from collection."""
    from mycel.http.app import Mount

    def load_mcp() -> Starlette:
        with collector_paused(True):
            # The MCP SDK takes longest to load, so the server starts without it.
            from mycel.mcp.web import http_app

            app = http_app(
                db,
                path=MCP_PATH,
                body_bytes_max=MCP_BODY_BYTES_MAX,
                workspace=workspace,
                root=root,
                readonly=policy.readonly,
                contexts=contexts,
                branches=branches,
                runner=workers.run,
                sampling=sampling,
            )
            if is_frozen:
                gc.freeze()
        return app

    return Mount(MCP_PATH, "mcp", load_mcp, MCP_BODY_BYTES_MAX)


def contexts_for(policy: Policy, size_max: int | None) -> Contexts:
    """The active contexts of a graph; there are none if several processes serve it."""
    from mycel.knowledge.active_context import Contexts, NoContexts

    kind = Contexts if policy.processes == 1 else NoContexts
    return kind() if size_max is None else kind(size_max=size_max)


def graph_application(
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
    """The application of a server of one graph."""
    # Loading creates thousands of objects and no garbage; the collector would take a fifth of the
    # time.
    with collector_paused(True):
        # These modules take longest to load.
        from mycel.http.app import build_app
        from mycel.http.worker_pool import Workers
        from mycel.remote.signing import signer_of

        workers = Workers()
        mount = mcp_mount(
            db,
            branches,
            policy,
            workspace,
            root if policy.files else None,
            contexts=contexts_for(policy, context_size),
            workers=workers,
            sampling=sampling,
            is_frozen=True,
        )
        app = build_app(
            db,
            policy,
            mounts=[mount],
            branches=branches,
            workspace=workspace,
            root=root,
            workers=workers,
            signer=signer_of(db.path),
            opens_page=opens_page,
        )
        gc.freeze()
    return app


def prepare_logs(*, verbose: bool) -> None:
    """Send the log to standard error."""
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s"
    )
    # Malformed requests of strangers are answered with an error, and must not fill the log.
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    logging.getLogger("mycel.http.requests").setLevel(logging.INFO if verbose else logging.WARNING)


def say_stopping(session: Invocation, running: int, grace_s: float) -> None:
    """Say that the server stops."""
    waits = f"; {running} in progress get up to {grace_s:g} s" if running else ""
    tell(session, f"Stopping: no new requests{waits}.", "stopping", in_progress=running)


def say_stopped(session: Invocation) -> None:
    """Say that the server has stopped."""
    tell(session, "Stopped.", "stopped")


def tell(session: Invocation, text: str, event: str, **more: int) -> None:
    """Print an event of the server; a closed output is no error."""
    with suppress(PipeClosed, BrokenPipeError):
        session.out.say(text, {"event": event, **more})
        sys.stdout.flush()
