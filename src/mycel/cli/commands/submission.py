"""`mycel submit` and `mycel proposal`: changes to an earlier state, and the review of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import rich_click as click

from mycel.cli.console.context import Command, Group, Invocation, pass_session
from mycel.cli.console.output import visible
from mycel.cli.console.parameters import read_text
from mycel.errors import InvalidSyntax, RemoteFailed
from mycel.model.commits import short
from mycel.model.names import count

if TYPE_CHECKING:
    from mycel.knowledge.knowledge import Knowledge

CONFLICTING = 1
CHANGES_BYTES_MAX = 64 << 20
VALUE_CHARACTERS = 400


@click.command(cls=Command)
@click.argument("changes", metavar="FILE", help="JSON; - reads standard input")
@click.option("--base", metavar="COMMIT", help="The commit that was edited; by default the head")
@click.option("--key", metavar="KEY", help="A name of this submission: it is committed once")
@click.option(
    "--on-conflict",
    type=click.Choice(["fail", "merge", "propose"]),
    default="fail",
    help="What to do if the base is not the head",
)
@click.option("--remote", metavar="NAME", help="To this registered workspace; it needs no clone")
@pass_session
def submit(
    session: Invocation,
    *,
    changes: str,
    base: str | None,
    key: str | None,
    on_conflict: Any,
    remote: str | None,
) -> int:
    """Commit changes that were made to an earlier state, or propose them.

    FILE is a JSON list of changes of nodes and links, as docs/remote-protocol.md describes them, or
    - for standard input. With propose, they wait for a review (`mycel proposal list`). If an answer
    was lost, the same submission with the same --key gets it again.
    """
    from mycel.knowledge.submission import submit as send

    content = _read_changes(read_text(changes, CHANGES_BYTES_MAX).encode())
    options = {"base": base, "key": key, "on_conflict": on_conflict}
    if remote is None:
        with session.open() as db:
            outcome = send(_knowledge(session, db), content, **options)
    else:
        from mycel.knowledge.elsewhere import Elsewhere

        options |= {"actor": session.actor(), "message": session.options.get("message", "")}
        outcome = Elsewhere().submit(remote, content, **options)
    return _show(session, outcome.to_dict())


def _read_changes(text: bytes) -> list[Any]:
    from mycel.model.json_text import read_request

    try:
        content = read_request(text)
    except ValueError as error:
        raise InvalidSyntax(
            f"The file is not JSON: {error}.", hint='A list of changes, or {"changes": […]}.'
        ) from None
    if isinstance(content, dict):
        content = content.get("changes")
    if not isinstance(content, list):
        raise InvalidSyntax(
            "The file has no list of changes.", hint='A list of changes, or {"changes": […]}.'
        )
    return content


def _knowledge(session: Invocation, db: Any) -> Knowledge:
    from mycel.knowledge.knowledge import Knowledge

    return Knowledge(db, workspace=session.workspace(session.root()))


def _show(session: Invocation, outcome: Mapping[str, Any]) -> int:
    match outcome["status"]:
        case "committed":
            counts = ", ".join(
                f"{number} {kind}" for kind, number in outcome["counts"].items() if number
            )
            session.out.say(f"{short(outcome['commit'])}: {counts}.", outcome)
        case "unchanged":
            session.out.say("Nothing had to change.", outcome)
        case "proposed":
            conflicts = outcome["conflicts"]
            contested = f" It has {count(conflicts, 'conflict')}." if conflicts else ""
            session.out.say(f"Proposed as {outcome['proposal']}.{contested}", outcome)
        case "conflicts":
            if session.out.as_json:
                session.out.object(outcome)
            else:
                _show_conflicts(session, outcome["conflicts"])
                session.out.note("Nothing was committed. Read the new state, and submit again.")
            return CONFLICTING
    session.out.warn(outcome.get("warnings", ()))
    return 0


def _show_conflicts(session: Invocation, conflicts: Iterable[Mapping[str, Any]]) -> None:
    from mycel.history.conflict_text import plain_lines

    for conflict in conflicts:
        for line in plain_lines(conflict, characters_max=VALUE_CHARACTERS):
            session.out.line(visible(line))


class ReviewQueue(Protocol):
    """The proposals of a graph or of a remote, each in its JSON form."""

    def list(self, status: str) -> list[dict[str, Any]]:
        """Proposals of a status, newest first."""
        ...

    def show(self, id_: str) -> dict[str, Any]:
        """One proposal; an open one with its changes to the present state."""
        ...

    def review(self, id_: str, action: str, text: str = "", message: str = "") -> dict[str, Any]:
        """Accept, reject, comment or withdraw a proposal."""
        ...


class _GraphProposals:
    """The proposals of a graph on this machine."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge
        self._db = knowledge.db

    def list(self, status: str) -> list[dict[str, Any]]:
        return [item.to_dict(edits=False) for item in self._db.proposals.list(status)]

    def show(self, id_: str) -> dict[str, Any]:
        record = self._db.proposals.get(id_)
        is_open = record.status == "open"
        return record.to_dict() | (self._db.proposals.preview(record).to_dict() if is_open else {})

    def review(self, id_: str, action: str, text: str = "", message: str = "") -> dict[str, Any]:
        from mycel.knowledge.submission import review

        outcome = review(self._knowledge, id_, action, text=text, message=message)
        return outcome.to_dict()


@contextmanager
def _queue(
    session: Invocation, remote: str | None, *, reading: bool = False
) -> Iterator[ReviewQueue]:
    """The proposals of the graph, or of a registered workspace."""
    from mycel.knowledge.knowledge import Knowledge
    from mycel.remote.proposals import ServerProposals
    from mycel.remote.registry import RemoteRegistry
    from mycel.workspaces import workspace_at

    if remote is None:
        with session.open(reading=reading) as db:
            yield _GraphProposals(_knowledge(session, db))
        return
    entry = RemoteRegistry().get(remote)
    if not entry.is_http:
        session.options["db"] = entry.url
        session.options.pop("workspace", None)
        if entry.branch:
            session.options["branch"] = entry.branch
        with session.open(reading=reading) as db:
            yield _GraphProposals(Knowledge(db, workspace=workspace_at(entry.url)))
        return
    with closing(ServerProposals(entry)) as proposals:
        yield proposals


@click.group(cls=Group)
def proposal() -> None:
    """List, show, accept, reject, comment and withdraw proposed changes."""


_on_remote = click.option(
    "--remote", metavar="NAME", help="Of this registered workspace, instead of the graph here"
)


@proposal.command("list", cls=Command)
@click.option(
    "--status",
    type=click.Choice(["open", "accepted", "rejected", "withdrawn", "all"]),
    default="open",
    help="Of the proposals",
)
@_on_remote
@pass_session
def list_(session: Invocation, *, status: str, remote: str | None) -> None:
    """List proposals, newest first."""
    columns = ("id", "status", "actor", "changes", "comments", "message")
    with _queue(session, remote, reading=True) as proposals:
        items = proposals.list(status)
    session.out.list(items, columns, lambda item: [item.get(key) for key in columns], dict)
    place = session.place()
    if not items and remote is None and place.url is None:
        from mycel.remote.registry import RemoteRegistry

        entry = RemoteRegistry().of_graph(str(place.path))
        if entry is not None:
            session.out.note(f"Those of {entry.name}: `mycel proposal list --remote {entry.name}`")


@proposal.command("show", cls=Command)
@click.argument("id", help="The proposal, or the beginning of its id")
@_on_remote
@pass_session
def show(session: Invocation, *, id: str, remote: str | None) -> None:  # noqa: A002 - the word for it
    """Show a proposal: its changes to the present state, conflicts and comments."""
    with _queue(session, remote, reading=True) as proposals:
        record = proposals.show(id)
    if session.out.as_json:
        session.out.object(record)
        return
    try:
        _show_record(session, record)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise RemoteFailed(f"The answer of the remote cannot be read: {error!r}.") from None


def _show_record(session: Invocation, record: Mapping[str, Any]) -> None:
    from mycel.cli.commands.differences import show_changes

    def line(text: str) -> None:
        session.out.line(visible(text))

    line(
        f"{record['id']} by {record['actor']}, {record['status']}:"
        f" {record['message'] or 'no message'}"
    )
    show_changes(session.out, record.get("diff", ()))
    _show_conflicts(session, record.get("conflicts", ()))
    for comment in record["comments"]:
        line(f"{comment['actor']}: {comment['text']}")
    if ended := record.get("ended"):
        line(f"{record['status']} by {ended['by']}: {ended['reason']}")


@proposal.command("accept", cls=Command)
@click.argument("id", help="The proposal, or the beginning of its id")
@_on_remote
@pass_session
def accept(session: Invocation, *, id: str, remote: str | None) -> int:  # noqa: A002 - as above
    """Commit a proposal. Its author is the author of the commit."""
    with _queue(session, remote) as proposals:
        outcome = proposals.review(id, "accept", message=session.options.get("message", ""))
    return _show(session, outcome)


@proposal.command("reject", cls=Command)
@click.argument("id", help="The proposal, or the beginning of its id")
@click.option("--reason", required=True, metavar="TEXT", help="The reason, for the author")
@_on_remote
@pass_session
def reject(session: Invocation, *, id: str, reason: str, remote: str | None) -> None:  # noqa: A002 - as above
    """Reject a proposal, with the reason."""
    _review(session, id, "reject", reason, remote)


@proposal.command("comment", cls=Command)
@click.argument("id", help="The proposal, or the beginning of its id")
@click.argument("text", help="The comment")
@_on_remote
@pass_session
def comment(session: Invocation, *, id: str, text: str, remote: str | None) -> None:  # noqa: A002 - as above
    """Say something about a proposal."""
    _review(session, id, "comment", text, remote)


@proposal.command("withdraw", cls=Command)
@click.argument("id", help="The proposal, or the beginning of its id")
@_on_remote
@pass_session
def withdraw(session: Invocation, *, id: str, remote: str | None) -> None:  # noqa: A002 - as above
    """Take a proposal back."""
    _review(session, id, "withdraw", "", remote)


def _review(session: Invocation, id_: str, action: str, text: str, remote: str | None) -> None:
    with _queue(session, remote) as proposals:
        outcome = proposals.review(id_, action, text)
    session.out.say(visible(f"{outcome.get('id')} is {outcome.get('status')}."), outcome)
