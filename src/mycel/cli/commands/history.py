"""`mycel log`, `history`, `snapshot`, `purge`, `scrub`: show the history, and erase from it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import rich_click as click

from mycel.cli.console.context import Command, Invocation, pass_session
from mycel.cli.console.labels import readable
from mycel.cli.console.parameters import ELEMENT, confirmed, moment, resolve
from mycel.model.commits import short, with_short_hashes
from mycel.model.names import count
from mycel.model.times import to_datetime

if TYPE_CHECKING:
    from mycel.api.graph import Graph
    from mycel.store.write.scrub import Scrubbed

_BUSY = "Others kept the file busy: traces may remain in unused space. Run `mycel scrub` later."
_ON_SERVER = (
    "Only tables that this role owns were rewritten. Traces may remain in others, and in the"
    " server's write-ahead log, replicas and backups."
)


@click.command(cls=Command)
@click.option("--limit", type=click.IntRange(min=1), default=20, help="Maximum number of rows")
@click.option("--before", type=int, metavar="SEQ", help="Only transactions before this entry")
@click.option("--path", metavar="URI", help="Only commits that changed something under this URI")
@click.option("--type", metavar="NAME", help="Only commits that changed this type or predicate")
@click.option("--by", "actor", metavar="ACTOR", help="Only commits of this actor")
@click.option("--since", type=moment, metavar="MOMENT", help="Only commits from this moment on")
@click.option("--until", type=moment, metavar="MOMENT", help="Only commits up to this moment")
@click.option("--text", metavar="TEXT", help="Only commits with this text in their message")
@pass_session
def log(session: Invocation, /, limit: int, **conditions: Any) -> None:
    """List transactions, newest first; each is a commit.

    A moment is a commit, a tag, a time or the number of a journal entry. Only transactions that
    meet all conditions are listed.
    """
    with session.open(reading=True) as db:
        entries = list(db.history.log(limit=limit + 1, **conditions))
    session.out.list(
        entries[:limit],
        ("commit", "time", "actor", "changes", "message"),
        lambda transaction: (
            short(transaction.commit),
            transaction.time,
            transaction.actor,
            transaction.changes,
            with_short_hashes(transaction.message),
        ),
        empty="No transactions.",
    )
    if len(entries) > limit:
        session.out.note(f"Older ones: mycel log --before {entries[limit - 1].seq}")


@click.command(cls=Command)
@click.argument("name", required=False, help="The tag; without it, all are listed")
@click.argument("commit", type=moment, required=False, help="A moment; by default the present")
@click.option("--delete", is_flag=True, help="Take the tag back")
@pass_session
def tag(session: Invocation, name: str | None, commit: int | str | None, *, delete: bool) -> None:
    """Name a commit, or list the names.

    A tag is part of the journal and can be given in place of any moment.
    """
    if delete and (name is None or commit is not None):
        raise click.UsageError("Name the tag to take back, and nothing else.")
    with session.open(reading=name is None) as db:
        if name is None:
            session.out.list(
                db.history.tags().items(),
                ("tag", "commit"),
                lambda pair: (pair[0], short(pair[1])),
                lambda pair: {"tag": pair[0], "commit": pair[1]},
                empty="No tags.",
            )
        elif delete:
            db.history.untag(name)
            session.out.say(f"{name} is no tag any more.", {"tag": name, "commit": None})
        else:
            commit_hash = db.history.tag(name, commit)
            session.out.say(
                f"{name} is {short(commit_hash)}.", {"tag": name, "commit": commit_hash}
            )


@click.command(cls=Command)
@click.argument("element", metavar=ELEMENT, help="The element")
@pass_session
def history(session: Invocation, element: str) -> None:
    """List every version of an element, oldest first."""
    with session.open(reading=True) as db:
        versions = db.history.versions(resolve(db, element, removed=True))
    session.out.list(
        versions,
        ("seq", "time", "actor", "what", "reason", "content"),
        lambda version: (
            version.seq,
            version.transaction.time,
            version.transaction.actor,
            version.kind,
            version.reason,
            None if version.element is None else readable(version.element).attributes or None,
        ),
    )


@click.command(cls=Command)
@click.option("--as-of", type=moment, metavar="SEQ|TIME", help="The roots of this moment instead")
@pass_session
def snapshot(session: Invocation, as_of: int | str | None) -> None:
    """Show all roots of this moment.

    With the overall root, anybody can check a proof of this moment offline.
    """
    with session.open(reading=True) as db:
        wire = (db if as_of is None else db.as_of(as_of)).snapshot().to_dict()
    session.out.fields(_with_time(wire), wire)


def _with_time(wire: dict[str, Any]) -> Iterator[tuple[str, object]]:
    for name, value in wire.items():
        yield name, value
        if name == "time_us":
            yield "time", to_datetime(value)


@click.command(cls=Command)
@click.argument("element", metavar=ELEMENT, help="The element")
@click.option("--reason", required=True, metavar="TEXT", help="Why, for the journal")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation")
@pass_session
def purge(session: Invocation, element: str, reason: str, yes: bool) -> int:
    """Forget an element for good, with every edge that ever touched it.

    Its content goes from history and journal too; only hashes stay, so that the journal can still
    be verified. This cannot be undone.
    """
    with session.open() as db:
        id_ = resolve(db, element, exact=True)
        question = f"Forget {id_} and all that refers to it, for good?"
        if not yes and not confirmed(session, question):
            session.out.note("Nothing was purged.")
            return 1
        outcome, others = db.purge(id_, reason), _other_branches(db)
    parts = (
        (outcome.concepts, "concept"),
        (outcome.propositions, "edge"),
        (outcome.entries, "journal entry"),
    )
    message = ", ".join(count(number, noun) for number, noun in parts)
    session.out.say(f"Purged {id_}: {message}.", {"id": id_} | outcome._asdict())
    _name_branches(session, others)
    return _traces(session, outcome.scrubbed)


@click.command(cls=Command)
@click.option(
    "--before",
    type=moment,
    metavar="SEQ|TIME",
    help="Forget versions and elements that were gone by this moment",
)
@click.option("--reason", metavar="TEXT", default="", help="Why, for the journal")
@click.option("--dry-run", is_flag=True, help="Only count the versions and elements")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation")
@pass_session
def scrub(
    session: Invocation, before: int | str | None, reason: str, *, dry_run: bool, yes: bool
) -> int:
    """Forget for good what was removed, superseded or hidden before a moment.

    The state at that moment and all later states stay; earlier states can no longer be read. Only
    hashes stay of what is forgotten, so that the journal can still be verified. Without --before,
    only the file is rewritten, to remove traces that a purge had to leave.
    """
    with session.open() as db:
        if before is None:
            outcome = db.scrub(dry_run=dry_run)
            session.out.say(
                "The file was rewritten." if outcome.scrubbed else "", outcome._asdict()
            )
            return _traces(session, outcome.scrubbed or dry_run)
        counted = db.scrub(before, dry_run=True)
        message = _forgotten(counted)
        if dry_run:
            session.out.say(f"Would forget {message}.", counted._asdict())
            return 0
        if not reason:
            raise click.UsageError("Say why, for the journal: --reason TEXT.")
        if not yes and not confirmed(session, f"Forget {message}, for good?"):
            session.out.note("Nothing was forgotten.")
            return 1
        with session.out.waiting("Forgetting"):
            outcome, others = db.scrub(before, reason), _other_branches(db)
    session.out.say(f"Forgot {_forgotten(outcome)}.", outcome._asdict())
    _name_branches(session, others)
    return _traces(session, outcome.scrubbed)


def _forgotten(scrubbed: Scrubbed) -> str:
    parts = (
        (scrubbed.concepts, "removed concept"),
        (scrubbed.propositions, "removed edge"),
        (scrubbed.versions, "superseded version"),
    )
    message = ", ".join(count(number, noun) for number, noun in parts)
    hidden = f", and hidden {', '.join(scrubbed.hidden)}" if scrubbed.hidden else ""
    return f"{message}{hidden}, from before entry {scrubbed.until}"


def _other_branches(db: Graph) -> list[str]:
    return [name for name in (*db.branches.names(), *db.branches.unreadable()) if name != db.branch]


def _name_branches(session: Invocation, others: list[str]) -> None:
    if others:
        session.out.note(f"Other branches still have what was forgotten here: {', '.join(others)}.")


def _traces(session: Invocation, is_clean: bool) -> int:
    if not is_clean:
        session.out.note(_BUSY if session.place().url is None else _ON_SERVER)
    return 0
