"""`mycel mcp`: the graph as a server of the Model Context Protocol, on stdin and stdout."""

from __future__ import annotations

import gc
import signal
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from mycel.cli.console.context import Command, Invocation, pass_session
from mycel.cli.console.exit_status import INTERRUPTED
from mycel.errors import NotADatabase
from mycel.syntax.gc_pause import collector_paused

if TYPE_CHECKING:
    from mycel.api.graph import Graph
    from mycel.knowledge.knowledge import Knowledge
    from mycel.knowledge.knowledge_view import OtherWorkspaces
    from mycel.mcp.query_tools import QueryOffer

COMPATIBLE = ("memory",)

context_option = click.option(
    "--context-size",
    type=int,
    metavar="NODES",
    help="Size of the active context in nodes; 100 by default",
)
"""The option of every command that serves active contexts."""

sampling_option = click.option(
    "--sampling",
    is_flag=True,
    help="Let the client's own model decide conflicts of merges, if the client offers that",
)
"""The option of every command that serves MCP."""


@click.command(cls=Command)
@click.option(
    "--root",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="PATH",
    help="The folder of the project, by default the current one: its graph is served, unless"
    " another is named, and file:// URIs are relative to it",
)
@click.option("--readonly", is_flag=True, help="Offer no tool that writes")
@click.option(
    "--compat",
    type=click.Choice(COMPATIBLE),
    help="Offer the tools of another server under their own names: memory is the official one",
)
@click.option(
    "--queries",
    type=click.Choice(("marked", "all", "none")),
    default="marked",
    help="The named queries that are tools of their own: those marked @tool, all, or none",
)
@click.option("--only-queries", is_flag=True, help="Offer nothing but named queries")
@context_option
@sampling_option
@pass_session
def mcp(
    session: Invocation,
    *,
    root: Path | None,
    readonly: bool,
    compat: str | None,
    queries: QueryOffer,
    only_queries: bool,
    context_size: int | None,
    sampling: bool,
) -> int:
    """Serve the graph to an agent over MCP, on standard input and output.

    A client starts this command by itself; docs/mcp.md shows how to tell it. The database is
    created if it does not exist, except with --readonly. The server ends with its input.
    """
    if root is not None:
        session.directory = root.resolve()
    with ExitStack() as stack:
        # Loading creates many objects and no garbage, so the collector is paused.
        with collector_paused(True):
            from mycel.api.open_branches import OpenBranches
            from mycel.mcp.stdio import serve

            db = stack.enter_context(open_served(session, readonly=readonly))
            branches = stack.enter_context(closing(OpenBranches(db)))
            if not readonly:
                from mycel.mirror.follower import Follower

                stack.callback(Follower(db).close)
            folder = (session.root() if root is None else root).resolve()
            if compat == "memory":
                from mycel.mcp import memory_tools as memory

                server = memory.build_server(db, readonly=readonly)
            else:
                from mycel.knowledge.elsewhere import Elsewhere
                from mycel.knowledge.several import local_workspaces
                from mycel.mcp.server import build_server
                from mycel.store.file.workspace_databases import local_database

                knowledge = knowledge_of(
                    session,
                    db,
                    folder,
                    context_size=context_size,
                    # Only the user of this machine may open it: it has their tokens.
                    elsewhere=Elsewhere(local=local_database),
                )
                server = build_server(
                    db,
                    knowledge,
                    readonly=readonly,
                    branches=branches,
                    sampling=sampling,
                    queries=queries,
                    only_queries=only_queries,
                    open_workspaces=local_workspaces,
                )
                answer_hooks(session, stack, knowledge)
            gc.freeze()  # The loaded objects stay, so the collector never needs to scan them.
        stopped_by = serve(server)
    return INTERRUPTED if stopped_by == signal.SIGINT else 0


def answer_hooks(session: Invocation, stack: ExitStack, knowledge: Knowledge) -> None:
    """Answer the hooks of clients beside the work of a server, until the stack is closed."""
    place = session.place()
    if knowledge.db.branch == "main" and place.url is None:
        from mycel.hooks.warm_server import WarmServer

        warm = WarmServer(knowledge, place.path, place.folder, session.actor)
        stack.callback(warm.close)


def open_served(session: Invocation, *, readonly: bool, **options: Any) -> Graph:
    """Open the database to serve. With `readonly` none is created: it would stay empty.

    `options` goes to `mycel.open`.

    Raises:
        NotADatabase: there is no database, and none may be created.
    """
    if readonly:
        return session.open(reading=True, memory="modest", **options)
    return open_or_create(session, by_person=False, **options)


def open_or_create(session: Invocation, **options: Any) -> Graph:
    """Open the database of a session; a missing one is created, with the core capsules.

    `options` goes to `mycel.open`.
    """
    import mycel

    try:
        return session.open(memory="modest", **options)
    except NotADatabase:
        place = session.place()
        if place.is_default:
            # The memory of an agent is private.
            place.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if candidates := session.candidates(namesakes=True):
            session.out.note(f"A new graph is made for this folder. {candidates}")
        # This also completes a database whose creation was interrupted, and refuses any other file.
        mycel.open(place.opened).close()
        session.claim(place)
    return session.open(memory="modest", **options)


def knowledge_of(
    session: Invocation,
    db: Graph,
    root: Path,
    *,
    context_size: int | None = None,
    elsewhere: OtherWorkspaces | None = None,
) -> Knowledge:
    """The knowledge of a session's workspace, with its files below a folder.

    Raises:
        ConstraintViolation: there is no context of this size.
    """
    from mycel.knowledge.active_context import ActiveContext
    from mycel.knowledge.knowledge import Knowledge

    context = None if context_size is None else ActiveContext(context_size)
    return Knowledge(
        db,
        workspace=session.workspace(root),
        root=root,
        context=context,
        elsewhere=elsewhere,
    )
