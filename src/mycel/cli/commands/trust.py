"""`mycel key` and `mycel witness`: keys that sign heads, and witnesses that check heads."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from mycel.cli.console.context import Command, Group, Invocation, pass_session
from mycel.cli.console.output import visible
from mycel.errors import Unsupported
from mycel.model.commits import short
from mycel.model.names import count

if TYPE_CHECKING:
    from mycel.remote.registry import RemoteEntry
    from mycel.remote.sources import RemoteHead


@click.group(cls=Group)
def key() -> None:
    """Make and show the key with which a server signs the heads of a graph.

    It is a file beside the graph, which only its user can read. Servers use it from their next
    start on; clients pin the public key.
    """


def _key_file(session: Invocation) -> Path:
    from mycel.remote.signing import key_file

    place = session.place()
    if place.url is not None:
        raise Unsupported(
            "The database of a graph holds no key.",
            hint="A server has it in its folder: `mycel key create --db DIR/NAME.db`.",
        )
    return key_file(place.path)


@key.command("create", cls=Command)
@pass_session
def create(session: Invocation) -> None:
    """Make the key of a graph, and print its public key."""
    from mycel.remote.signing import create_key

    path = _key_file(session)
    signer = create_key(path)
    session.out.say(signer.key, {"key": signer.key, "path": str(path)})


@key.command("show", cls=Command)
@pass_session
def show(session: Invocation) -> None:
    """Print the public key of a graph."""
    from mycel.remote.signing import HeadSigner

    path = _key_file(session)
    session.out.say(HeadSigner(path).key, {"key": HeadSigner(path).key, "path": str(path)})


@click.command(cls=Command)
@click.argument("name", help="A registered workspace, or its address")
@click.option(
    "--file",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("witness.jsonl"),
    metavar="FILE",
    help="The heads that were seen, a line of JSON each; witness.jsonl if left out",
)
@click.option(
    "--compare",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    metavar="FILE",
    help="The heads that another witness has seen of it, under any address",
)
@click.option(
    "--every",
    "interval_s",
    type=click.IntRange(1, 1_000_000),
    metavar="SECONDS",
    help="Look again and again, until Ctrl-C",
)
@click.option("--token-env", default="", metavar="VARIABLE", help="The variable with the token")
@pass_session
def witness(
    session: Invocation,
    *,
    name: str,
    file: Path,
    compare: Path | None,
    interval_s: int | None,
    token_env: str,
) -> None:
    """Keep the heads that a remote shows, and fail if its history was rewritten.

    Each head has to continue the newest one of the file. Two witnesses who compare their files find
    a remote that shows each of them another history.
    """
    from mycel.errors import RemoteFailed
    from mycel.remote.registry import RemoteEntry, RemoteRegistry, check_entry
    from mycel.remote.sources import open_source
    from mycel.remote.witness import Witness, read_heads

    entry = RemoteRegistry().find(name)
    if entry is None:
        url = name if "://" in name else str(Path(name).expanduser().absolute())
        entry = RemoteEntry("witnessed", url, token_env)
        check_entry(entry)
    heads = Witness(file, entry.url)
    while True:
        try:
            with open_source(entry, readonly=True) as source:
                seen_head = heads.look(source, time.time_ns() // 1000)
                compared = 0 if compare is None else heads.compare(source, read_heads(compare))
        except RemoteFailed as error:
            if interval_s is None or error.name != "RemoteFailed":
                raise
            session.out.note(error.message)
        else:
            also = f" {count(compared, 'head')} of the other witness fit." if compare else ""
            signed = f", signed by {seen_head.key}" if seen_head.key else ""
            session.out.say(
                f"{visible(entry.url)} is at entry {seen_head.entries} with the root"
                f" {seen_head.overall_root}{signed}.{also}",
                seen_head._asdict() | {"compared": compared},
            )
            sys.stdout.flush()
        if interval_s is None:
            return
        time.sleep(interval_s)


def verify_remote(session: Invocation, name: str) -> int:
    """`mycel verify --remote`: check the signature of a remote, its history and its clone."""
    from mycel.errors import RemoteFailed
    from mycel.remote.registry import RemoteRegistry
    from mycel.remote.sources import check_continues, open_source

    entry = RemoteRegistry().get(name)
    checks: list[dict[str, str]] = []
    problem = ""
    try:
        with open_source(entry, readonly=True) as source:
            head = source.head()
            checks.append(_signed(entry, head))
            if entry.pinned:
                check_continues(source, head, *entry.pinned)
                checks.append({"check": "history", "says": f"continues entry {entry.entries}"})
            else:
                checks.append({"check": "history", "says": "nothing was pinned yet"})
            if entry.graph and Path(entry.graph).exists():
                checks.append({"check": "clone", "says": _clone_says(entry, head)})
    except RemoteFailed as error:
        problem = error.message
    says = [f"ok    {item['check']}: {item['says']}" for item in checks]
    says += [f"FAIL  {problem}"] if problem else []
    session.out.say(
        "\n".join(map(visible, says)), {"ok": not problem, "checks": checks, "problem": problem}
    )
    return 1 if problem else 0


def _signed(entry: RemoteEntry, head: RemoteHead) -> dict[str, str]:
    if entry.key:
        words = f"head {short(head.commit)} is signed by the pinned key {entry.key}"
    elif head.key:
        words = f"head {short(head.commit)} is signed by {head.key}, which is not pinned"
    else:
        words = f"head {short(head.commit)} is not signed"
    return {"check": "signature", "says": words}


def _clone_says(entry: RemoteEntry, head: RemoteHead) -> str:
    """A sentence on the relation of a clone to its remote."""
    import mycel
    from mycel.store.query.commits import journal_root_at

    with mycel.open(entry.graph, create=False) as db, db.reading() as reader:
        position = reader.position
        if position < head.entries:
            return f"has {position} of {head.entries} entries: `mycel pull`"
        if journal_root_at(reader, head.entries) != head.journal_root.hex():
            return "has commits of its own; `mycel pull` says if others are missing"
        own = position - head.entries
        return f"has all of it, and {count(own, 'entry')} of its own" if own else "equal"
