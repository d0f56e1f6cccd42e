"""`mycel explore`: the graph in a browser, or as a file to send or to commit."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import rich_click as click

from mycel.cli.commands.mcp import knowledge_of
from mycel.cli.commands.serve import TOKEN_VARIABLE, serve
from mycel.cli.console.context import Command, Invocation, pass_session
from mycel.cli.console.parameters import ELEMENT, node_reference
from mycel.model.names import count

NODES = 300
NODES_MAX = 2_000


@click.command(cls=Command)
@click.option(
    "--export",
    "target",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Start nothing, and write a page in one file (.html), a drawing (.svg) or data (.json)",
)
@click.option("--center", metavar=ELEMENT, help="Export the surroundings of this node")
@click.option("--at", metavar="MOMENT", help="Export the state at a commit, tag, time or position")
@click.option(
    "--limit",
    default=NODES,
    type=click.IntRange(1, NODES_MAX),
    metavar="N",
    help="Export at most this many nodes, the most linked ones",
)
@click.option(
    "--shared", is_flag=True, help="Let other users of this machine read the exported file"
)
@click.option(
    "--port",
    default=0,
    type=click.IntRange(0, 65535),
    metavar="N",
    help="The port; 0 takes any that is free",
)
@click.option("--readonly", is_flag=True, help="Show the graph, and let nothing be changed")
@pass_session
@click.pass_context
def explore(
    context: click.Context,
    session: Invocation,
    *,
    target: Path | None,
    center: str | None,
    at: str | None,
    limit: int,
    shared: bool,
    port: int,
    readonly: bool,
) -> None:
    """See the graph in a browser: start a server, open it, and stop it with Ctrl-C.

    Only the browser that is opened can see the graph. With --export, a file is written instead that
    needs no server. It holds only the nodes that it shows.
    """
    if target is not None:
        _export(session, target, center, at, limit, shared=shared)
        return
    if center is not None or at is not None or shared:
        raise click.UsageError("--center, --at and --shared are for --export.")
    session.open(reading=True).close()  # Fails if there is no graph; `serve` would create one.
    # Other programs on this machine can reach the port, so the server needs a token.
    os.environ.setdefault(TOKEN_VARIABLE, secrets.token_urlsafe(32))
    # Only the user who started the command can open the page, so it may show sources that
    # `PublishedFiles` allows.
    context.invoke(serve, port=port, readonly=readonly, open_page=True, files=True)


def _export(
    session: Invocation,
    target: Path,
    center: str | None,
    at: str | None,
    limit: int,
    *,
    shared: bool,
) -> None:
    import orjson

    from mycel.explorer.drawing import svg
    from mycel.explorer.explorer import Explorer
    from mycel.explorer.snapshot import page, snapshot

    kind = target.suffix.lower()
    if kind not in (".html", ".svg", ".json"):
        raise click.BadParameter(
            f"{target.name!r} does not end in .html, .svg or .json.", param_hint="'--export'"
        )
    with session.open(reading=True) as db:
        knowledge = knowledge_of(session, db, session.root())
        explorer = Explorer(db, knowledge, readonly=True)
        if center is not None and at is None:
            center = node_reference(session, knowledge, center)
        total = sum(explorer.view("about", {})["counts"]["types"].values())
        data = snapshot(explorer, center=center, limit=limit, at=at)
    match kind:
        case ".html":
            content = page(data)
        case ".svg":
            content = svg(data["nodes"], data["links"], data["about"]["workspace"]).encode()
        case _:
            content = orjson.dumps(data)
    try:
        _write(target, content, mode=0o666 if shared else 0o600)
    except OSError as error:
        message = f"{str(target)!r} cannot be written: {error.strerror}."
        raise click.BadParameter(message, param_hint="'--export'") from None
    node_count = len(data["nodes"])
    payload = {"path": str(target), "nodes": node_count, "of": total, "links": len(data["links"])}
    parts = f"{node_count:,} of {total:,} nodes, {len(data['links']):,} links"
    has_texts = "" if kind == ".svg" else f", {count(len(data['commits']), 'commit')}, and texts"
    session.out.say(f"{target}: {parts}{has_texts}", payload)


def _write(target: Path, content: bytes, *, mode: int) -> None:
    """Write a file; a new one gets this mode, as far as the user's mask allows."""
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
