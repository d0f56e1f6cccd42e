"""`mycel remote`, `clone`, `pull`, `push` and `follow`: workspaces of others, and clones."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from mycel.cli.console.context import Command, Group, Invocation, pass_session
from mycel.cli.console.output import visible
from mycel.model.commits import short
from mycel.model.names import count

if TYPE_CHECKING:
    from mycel.api.graph import Graph
    from mycel.remote.copying import Pulled
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
@click.argument("url", help="https://host/ws/NAME, or the path or URL of a graph")
@click.option(
    "--token-env", default="", metavar="VARIABLE", help="The environment variable with the token"
)
@click.option("--token-file", default="", metavar="FILE", help="A file with it, of mode 600")
@click.option("--key", default="", metavar="KEY", help="The key that signs its heads")
@click.option(
    "--cache",
    "cache_s",
    type=int,
    default=0,
    metavar="SECONDS",
    help="Use younger answers again without a request; by default the remote is asked if an"
    " answer changed",
)
@pass_session
def add(
    session: Invocation,
    *,
    name: str,
    url: str,
    token_env: str,
    token_file: str,
    key: str,
    cache_s: int,
) -> None:
    """Register a workspace under a name.

    With --key, no head counts that the key has not signed; otherwise a key is pinned when it is
    first seen.
    """
    from mycel.remote.registry import RemoteEntry, RemoteRegistry

    path = _absolute(token_file)
    entry = RemoteEntry(name, _address(url), token_env, path, key=key, cache_s=cache_s)
    RemoteRegistry().add(entry)
    session.out.say(f"Registered {name}: {visible(entry.url)}", {"name": name, "url": entry.url})


@remote.command("list", cls=Command)
@click.argument(
    "server", required=False, metavar="URL", help="List the workspaces of this server instead"
)
@click.option(
    "--token-env", default="", metavar="VARIABLE", help="The environment variable with the token"
)
@click.option("--token-file", default="", metavar="FILE", help="A file with it, of mode 600")
@pass_session
def list_(session: Invocation, *, server: str | None, token_env: str, token_file: str) -> None:
    """List the registered workspaces, or the workspaces of a server that a token may see."""
    from mycel.remote.registry import RemoteRegistry

    if server is not None:
        _list_server(session, server, token_env, token_file)
        return
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
            "branch": entry.branch,
            "path": entry.path,
            "key": entry.key,
            "cache_s": entry.cache_s,
            "entries": entry.entries,
            "journal_root": entry.journal_root,
        },
    )


def _list_server(session: Invocation, url: str, token_env: str, token_file: str) -> None:
    from mycel.errors import RemoteFailed
    from mycel.remote.http_client import HttpClient
    from mycel.remote.registry import RemoteEntry, check_entry

    entry = RemoteEntry("server", url, token_env, _absolute(token_file))
    check_entry(entry)
    if not entry.is_http:
        raise click.UsageError("Give the address of a server: https://host.")
    client = HttpClient(url, entry.token())
    try:
        payload = client.get_json("/ws")
    finally:
        client.close()
    try:
        rows = [
            (row["workspace"], url.rstrip("/") + row["path"], row["can"])
            for row in payload["workspaces"]
        ]
    except (KeyError, TypeError) as error:
        raise RemoteFailed(f"The answer of the server cannot be read: {error!r}.") from None
    session.out.list(
        rows,
        ("name", "url", "can"),
        lambda row: (*row[:2], ", ".join(row[2])),
        lambda row: {"name": row[0], "url": row[1], "can": row[2]},
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
@click.option(
    "--as", "called", metavar="NAME", help="The name under which a new address is registered"
)
@click.option(
    "--token-env", default="", metavar="VARIABLE", help="The environment variable with the token"
)
@click.option("--token-file", default="", metavar="FILE", help="A file with it, of mode 600")
@click.option("--path", "part", default="", metavar="PATH", help="Only elements under a path")
@pass_session
def clone(
    session: Invocation,
    *,
    name: str,
    target: Path | None,
    called: str | None,
    token_env: str,
    token_file: str,
    part: str,
) -> None:
    """Copy a workspace exactly: the same commits, roots and history.

    `--branch` names the branch to copy. With `--path`, the clone has only that part, with a history
    of its own; it is pulled and pushed like any other clone. A copy that was interrupted continues
    where it stopped. The head is pinned: later pulls refuse a remote whose history was rewritten.
    """
    from mycel.remote.copying import clone as copy
    from mycel.remote.registry import RemoteEntry, RemoteRegistry
    from mycel.remote.sources import open_source
    from mycel.workspaces import workspace_at

    registry = RemoteRegistry()
    entry = registry.find(name)
    if entry is None:
        url = _address(name)
        called = called or workspace_at(url)
        entry = RemoteEntry(
            called,
            url,
            token_env,
            _absolute(token_file),
            branch=session.options.get("branch", ""),
            path=_pattern(part),
        )
        registry.check_new(entry)
    elif part or "branch" in session.options:
        raise click.UsageError(
            f"{entry.name} is registered. Clone its address with --as, to register a part of it."
        )
    place = (target or Path(f"{entry.name}.db")).resolve()
    with open_source(entry) as source:
        head = copy(source, place)
    if registry.find(entry.name) is None:
        registry.add(entry)
    registry.release(str(place))  # A clone of another workspace was deleted there.
    _pin(registry, entry, head, str(place))
    session.out.say(
        f"Cloned {entry.name} to {place}: {head.entries} entries at {short(head.commit)}.",
        {"name": entry.name, "path": str(place), "commit": head.commit, "entries": head.entries},
    )


@click.command(cls=Command)
@click.argument("name", required=False, help="The workspace; by default the one it was cloned from")
@pass_session
def pull(session: Invocation, *, name: str | None) -> int:
    """Bring a clone up to date with its remote; only missing entries are transferred.

    If both have commits of their own, the remote is merged. The exit status is 1 if conflicts are
    left: `mycel conflicts` shows them.
    """
    from mycel.remote.copying import pull as follow
    from mycel.remote.registry import RemoteRegistry
    from mycel.remote.sources import open_source

    registry = RemoteRegistry()
    with session.open() as db:
        entry = _entry_of(registry, db, name)
        with open_source(entry) as source:
            result = follow(db, source, pinned=entry.pinned, name=entry.name)
        _pin(registry, entry, result.head, _file_of(db))
    session.out.say(_words(entry, result), result.to_dict())
    return CONFLICTING if result.status == "conflicts" else 0


def _words(entry: RemoteEntry, result: Pulled) -> str:
    words = {
        "up_to_date": "Nothing is missing here.",
        "ahead": "Nothing is missing here; `mycel push` sends what the remote lacks.",
        "forward": f"{result.entries} entries arrived, up to {short(result.head.commit)}.",
        "merged": f"Merged {entry.name} at {short(result.head.commit)}.",
        "conflicts": "Conflicts are left: `mycel conflicts` shows them.",
    }
    return words[result.status]


@click.command(cls=Command)
@click.argument("name", required=False, help="The workspace; by default the one it was cloned from")
@pass_session
def follow(session: Invocation, *, name: str | None) -> int:
    """Keep a clone up to date: pull each new commit at once, until Ctrl-C.

    While the remote cannot be reached, it is tried again; nothing is lost meanwhile. The exit
    status is 1 if conflicts are left: decide them and follow again.
    """
    from mycel.remote.following import Away
    from mycel.remote.following import follow as pulls
    from mycel.remote.registry import RemoteRegistry
    from mycel.remote.sources import open_source

    registry = RemoteRegistry()
    with session.open() as db:
        entry = _entry_of(registry, db, name)
        place = _file_of(db)
        with open_source(entry) as source:
            for result in pulls(db, source, pinned=entry.pinned, name=entry.name):
                if isinstance(result, Away):
                    words = f"{result.reason} Trying again in {result.pause_s:g} s."
                else:
                    words = _words(entry, result)
                    _pin(registry, entry, result.head, place)
                session.out.say(words, result.to_dict())
                sys.stdout.flush()
                if result.to_dict()["status"] == "conflicts":
                    return CONFLICTING
    return 0


@click.command(cls=Command)
@click.argument("name", required=False, help="The workspace; by default the one it was cloned from")
@click.option("--propose", is_flag=True, help="As a proposal, which others review")
@click.option("--squash", is_flag=True, help="As one commit")
@pass_session
def push(session: Invocation, *, name: str | None, propose: bool, squash: bool) -> None:
    """Submit the commits that the remote lacks, one by one.

    Each commit keeps its message; its author is the actor of the token. With a token that may only
    propose, all of them are proposed as one change. After a commit, this graph pulls.
    """
    from mycel.errors import DatabaseBusy
    from mycel.remote.copying import pull as follow
    from mycel.remote.copying import push as send
    from mycel.remote.registry import RemoteRegistry
    from mycel.remote.sources import open_source

    registry = RemoteRegistry()
    with session.open() as db:
        entry = _entry_of(registry, db, name)
        with open_source(entry, actor=session.actor()) as source:
            result = send(
                db,
                source,
                name=entry.name,
                propose=propose,
                squash=squash,
                message=session.options.get("message", ""),
            )
            if result.status == "committed":
                with suppress(DatabaseBusy):  # Another process is pulling it.
                    follow_up = follow(db, source, pinned=entry.pinned, name=entry.name)
                    _pin(registry, entry, follow_up.head, _file_of(db))
    words = {
        "committed": f"Pushed {count(result.changes, 'change')} to {entry.name}.",
        "unchanged": f"{entry.name} has all of it.",
        "proposed": f"Proposed {count(result.changes, 'change')} to {entry.name};"
        f" `mycel proposal show {result.answer.get('proposal')} --remote {entry.name}` follows it.",
    }
    session.out.say(words.get(result.status, result.status), result.to_dict())


def _address(url: str) -> str:
    """An address in the form of the registry: paths become absolute."""
    return url if "://" in url else _absolute(url)


def _absolute(path: str) -> str:
    """An absolute path without `..`; symbolic links are kept, and an empty path stays empty."""
    if not path:
        return ""
    return os.path.abspath(Path(path).expanduser())  # noqa: PTH100 - pathlib keeps `..`


def _file_of(db: Graph) -> str:
    """The file of a graph in the form of the registry."""
    return str(Path(db.path).resolve())


def _pattern(part: str) -> str:
    """The pattern for a path of a workspace and everything below it."""
    return f"/{part.strip('/').removesuffix('/**')}/**" if part else ""


def _entry_of(registry: RemoteRegistry, db: Graph, name: str | None) -> RemoteEntry:
    """The remote with this name; without a name, the one that the graph was cloned from."""
    from mycel.errors import NotFound

    if name is not None:
        return registry.get(name)
    entry = registry.of_graph(_file_of(db))
    if entry is None:
        raise NotFound(
            "This graph was not cloned from a registered workspace.",
            hint="Name the workspace: `mycel pull NAME`. `mycel remote list` shows them.",
        )
    return entry


def _pin(registry: RemoteRegistry, entry: RemoteEntry, head: RemoteHead, graph: str) -> None:
    from mycel.remote.signing import can_check

    root = head.journal_root.hex()
    key = head.key if can_check() else ""
    registry.pin(entry.name, head.entries, root, graph=graph, key=key)
