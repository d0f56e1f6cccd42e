"""`mycel remote`, `clone`, `pull` and `push`: workspaces that are elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from mycel.cli.console.context import Command, Group, Invocation, pass_session
from mycel.cli.console.output import visible
from mycel.model.commits import short
from mycel.model.names import count

if TYPE_CHECKING:
    from mycel.api.graph import Graph
    from mycel.remote.registry import RemoteEntry, RemoteRegistry
    from mycel.remote.sources import RemoteHead

CONFLICTING = 1


@click.group(cls=Group)
def remote() -> None:
    """Register workspaces that are elsewhere: on a server, or in a file of another folder.

    The registry is ~/.config/mycel/workspaces.toml. It has no tokens, only where they are.
    """


@remote.command("add", cls=Command)
@click.argument("name", help="The workspace, as in its URIs: concept://NAME/…")
@click.argument("url", help="https://host/ws/NAME, or the path of a graph")
@click.option("--token-env", default="", metavar="VARIABLE", help="The variable with the token")
@click.option("--token-file", default="", metavar="FILE", help="A file with it, of mode 600")
@pass_session
def add(session: Invocation, *, name: str, url: str, token_env: str, token_file: str) -> None:
    """Register a workspace under a name."""
    from mycel.remote.registry import RemoteEntry, RemoteRegistry

    path = str(Path(token_file).expanduser().absolute()) if token_file else ""
    entry = RemoteEntry(name, _address(url), token_env, path)
    RemoteRegistry().add(entry)
    session.out.say(f"Registered {name}: {visible(entry.url)}", {"name": name, "url": entry.url})


@remote.command("list", cls=Command)
@pass_session
def list_(session: Invocation) -> None:
    """List the registered workspaces."""
    from mycel.remote.registry import RemoteRegistry

    session.out.list(
        list(RemoteRegistry()),
        ("name", "url", "token", "graph", "entries"),
        lambda entry: (
            entry.name,
            entry.url,
            entry.token_env or entry.token_file,
            entry.graph,
            entry.entries,
        ),
        lambda entry: {
            "name": entry.name,
            "url": entry.url,
            "token_env": entry.token_env,
            "token_file": entry.token_file,
            "graph": entry.graph,
            "entries": entry.entries,
            "journal_root": entry.journal_root,
        },
    )


@remote.command("remove", cls=Command)
@click.argument("name", help="The workspace")
@pass_session
def remove(session: Invocation, *, name: str) -> None:
    """Forget a workspace, and the head that was pinned. Graphs stay."""
    from mycel.remote.registry import RemoteRegistry

    entry = RemoteRegistry().remove(name)
    session.out.say(f"Forgot {name}.", {"name": name, "url": entry.url})


@click.command(cls=Command)
@click.argument("name", help="A registered workspace, or its address")
@click.argument(
    "target", required=False, type=click.Path(path_type=Path), help="The new file; NAME.db if none"
)
@click.option("--as", "called", metavar="NAME", help="The name in the registry of a new address")
@click.option("--token-env", default="", metavar="VARIABLE", help="The variable with the token")
@click.option("--token-file", default="", metavar="FILE", help="A file with it, of mode 600")
@pass_session
def clone(
    session: Invocation,
    *,
    name: str,
    target: Path | None,
    called: str | None,
    token_env: str,
    token_file: str,
) -> None:
    """Copy a workspace exactly: the same commits, roots and history.

    A copy that was cut goes on where it was. The head is pinned: later pulls refuse a remote whose
    history was rewritten.
    """
    from mycel.knowledge.uris import workspace_named
    from mycel.remote.copying import clone as copy
    from mycel.remote.registry import RemoteEntry, RemoteRegistry
    from mycel.remote.sources import open_source

    registry = RemoteRegistry()
    entry = registry.find(name)
    if entry is None:
        url = _address(name)
        called = called or workspace_named(Path(url.rstrip("/")).name.removesuffix(".db"))
        path = str(Path(token_file).expanduser().absolute()) if token_file else ""
        entry = RemoteEntry(called, url, token_env, path)
        registry.check_new(entry)
    place = (target or Path(f"{entry.name}.db")).absolute()
    with open_source(entry) as source:
        head = copy(source, place)
    if registry.find(entry.name) is None:
        registry.add(entry)
    _pin(registry, entry, head, str(place))
    session.out.say(
        f"Cloned {entry.name} to {place}: {head.entries} entries at {short(head.commit)}.",
        {"name": entry.name, "path": str(place), "commit": head.commit, "entries": head.entries},
    )


@click.command(cls=Command)
@click.argument("name", required=False, help="The workspace; by default the one it was cloned from")
@pass_session
def pull(session: Invocation, *, name: str | None) -> int:
    """Bring a clone up to date with its remote; only what is missing travels.

    If both have commits of their own, the remote is merged. The exit status is 1 if conflicts are
    left: `mycel conflicts` shows them.
    """
    from mycel.remote.copying import pull as follow
    from mycel.remote.registry import RemoteRegistry
    from mycel.remote.sources import open_source

    registry = RemoteRegistry()
    with session.open() as db:
        entry = _entry_of(registry, db, name)
        pinned = (entry.entries, bytes.fromhex(entry.journal_root)) if entry.entries else None
        with open_source(entry) as source:
            result = follow(db, source, pinned=pinned, name=entry.name)
        _pin(registry, entry, result.head, str(Path(db.path).absolute()))
    words = {
        "up_to_date": "Nothing is missing here.",
        "ahead": "Nothing is missing here; `mycel push` sends what the remote lacks.",
        "forward": f"{result.entries} entries came, up to {short(result.head.commit)}.",
        "merged": f"Merged {entry.name} at {short(result.head.commit)}.",
        "conflicts": "Conflicts are left: `mycel conflicts` shows them.",
    }
    session.out.say(words[result.status], result.to_dict())
    return CONFLICTING if result.status == "conflicts" else 0


@click.command(cls=Command)
@click.argument("name", required=False, help="The workspace; by default the one it was cloned from")
@click.option("--propose", is_flag=True, help="As a proposal, which others review")
@pass_session
def push(session: Invocation, *, name: str | None, propose: bool) -> None:
    """Submit what this graph has beyond its remote, as one commit there.

    A token that may only propose makes a proposal. After a commit this graph pulls.
    """
    from mycel.remote.copying import pull as follow
    from mycel.remote.copying import push as send
    from mycel.remote.registry import RemoteRegistry
    from mycel.remote.sources import open_source

    registry = RemoteRegistry()
    with session.open() as db:
        entry = _entry_of(registry, db, name)
        with open_source(entry) as source:
            result = send(db, source, name=entry.name, propose=propose)
            if result.status == "committed":
                pinned = (entry.entries, bytes.fromhex(entry.journal_root))
                follow_up = follow(
                    db, source, pinned=pinned if entry.entries else None, name=entry.name
                )
                _pin(registry, entry, follow_up.head, str(Path(db.path).absolute()))
    words = {
        "committed": f"Pushed {count(result.changes, 'change')} to {entry.name}.",
        "unchanged": f"{entry.name} has all of it.",
        "proposed": f"Proposed {count(result.changes, 'change')} to {entry.name}.",
    }
    session.out.say(words.get(result.status, result.status), result.to_dict())


def _address(url: str) -> str:
    """An address as it is registered; a path is absolute."""
    return url if "://" in url else str(Path(url).expanduser().absolute())


def _entry_of(registry: RemoteRegistry, db: Graph, name: str | None) -> RemoteEntry:
    """The remote of a graph: as named, or the one that it was cloned from."""
    from mycel.errors import NotFound

    if name is not None:
        return registry.get(name)
    entry = registry.of_graph(str(Path(db.path).absolute()))
    if entry is None:
        raise NotFound(
            "This graph was not cloned from a registered workspace.",
            hint="Name the workspace: `mycel pull NAME`. `mycel remote list` shows them.",
        )
    return entry


def _pin(registry: RemoteRegistry, entry: RemoteEntry, head: RemoteHead, graph: str) -> None:
    registry.pin(entry.name, head.entries, head.journal_root.hex(), graph=graph)
