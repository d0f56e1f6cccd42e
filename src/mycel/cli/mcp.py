"""`mycel mcp`: the graph as a server of the Model Context Protocol, on standard input and output."""

from __future__ import annotations

import gc
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from mycel.cli.context import Command, Session, pass_session
from mycel.cli.failures import INTERRUPTED

if TYPE_CHECKING:
    from mycel.knowledge.knowledge import Knowledge
    from mycel.nexus import Nexus

COMPATIBLE = ("memory",)


@click.command(cls=Command)
@click.option(
    "--root",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="PATH",
    help="The folder that file:// URIs are relative to; the current one unless said otherwise",
)
@click.option("--readonly", is_flag=True, help="Offer no tool that writes")
@click.option(
    "--compat",
    type=click.Choice(COMPATIBLE),
    help="Offer the tools of another server under their own names: memory is the official one",
)
@pass_session
def mcp(session: Session, *, root: Path | None, readonly: bool, compat: str | None) -> int:
    """Serve the graph to an agent over MCP, on standard input and output.

    A client starts this command by itself; docs/mcp.md shows how to tell it. The database is created
    if it is not there. The server ends when its input does.
    """
    # Late, and first: what is loaded after this finds the SDK without its web parts.
    from mycel.mcp import lean

    lean.load()
    from mycel.mcp.stdio import serve

    with open_or_create(session) as db:
        folder = (Path.cwd() if root is None else root).resolve()
        server = _server(db, knowledge_of(session, db, folder), compat, readonly=readonly)
        # What was loaded stays; there is no need to look through it for garbage again and again.
        gc.collect()
        gc.freeze()
        stopped_by = serve(server)
    return INTERRUPTED if stopped_by == signal.SIGINT else 0


def _server(db: Nexus, knowledge: Knowledge, compat: str | None, *, readonly: bool) -> Any:
    if compat == "memory":
        # Late: see above.
        from mycel.mcp.compat import build_server as build_memory_server

        return build_memory_server(db, knowledge, readonly=readonly)
    from mycel.mcp.server import build_server

    return build_server(db, knowledge, readonly=readonly)


def open_or_create(session: Session) -> Nexus:
    """The database of a session; a new one knows the core capsules."""
    # Late: see the package's docstring.
    import mycel

    place = session.place()
    if place.path.exists() and place.path.stat().st_size > 0:
        return session.open()
    if place.is_default:
        place.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    actor = session.given.get("actor", session.environment.get("actor"))
    return mycel.open(place.path, **({} if actor is None else {"actor": actor}))


def knowledge_of(session: Session, db: Nexus, root: Path) -> Knowledge:
    """The knowledge of a session's workspace, with its files below a folder."""
    # Late: see the package's docstring.
    from mycel.knowledge.knowledge import Knowledge

    return Knowledge(db, workspace=session.workspace(root), root=root)
