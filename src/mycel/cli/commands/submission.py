"""`mycel submit` and `mycel proposal`: changes to an earlier state, and the review of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import rich_click as click

from mycel.cli.console.context import Command, Group, Invocation, pass_session
from mycel.cli.console.output import visible
from mycel.cli.console.parameters import read_text
from mycel.errors import InvalidSyntax
from mycel.model.commits import short
from mycel.model.names import count

if TYPE_CHECKING:
    from mycel.history.merge.outcome import Conflict
    from mycel.history.proposals import Proposal
    from mycel.history.submissions import Submission
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
@pass_session
def submit(
    session: Invocation, *, changes: str, base: str | None, key: str | None, on_conflict: Any
) -> int:
    """Commit changes that were made to an earlier state, or propose them.

    FILE is a JSON list of changes of nodes and links, as docs/remote-protocol.md describes them, or
    - for standard input. With propose, they wait for a review (`mycel proposal list`).
    """
    from mycel.knowledge.submission import submit as send

    content = _read_changes(read_text(changes, CHANGES_BYTES_MAX).encode())
    with session.open() as db:
        outcome = send(
            _knowledge(session, db), content, base=base, key=key, on_conflict=on_conflict
        )
    return _show(session, outcome)


def _read_changes(text: bytes) -> list[Any]:
    from mycel.model.json_text import read_request

    try:
        content = read_request(text)
    except ValueError as error:
        raise InvalidSyntax(f"The file is not JSON: {error}.") from None
    if isinstance(content, dict):
        content = content.get("changes")
    if not isinstance(content, list):
        raise InvalidSyntax("The file has no list of changes.")
    return content


def _knowledge(session: Invocation, db: Any) -> Knowledge:
    from mycel.knowledge.knowledge import Knowledge

    return Knowledge(db, workspace=session.workspace(session.root()))


def _show(session: Invocation, outcome: Submission) -> int:
    match outcome.status:
        case "committed":
            counts = ", ".join(
                f"{number} {kind}" for kind, number in outcome.counts.items() if number
            )
            session.out.say(f"{short(outcome.commit)}: {counts}.", outcome.to_dict())
        case "unchanged":
            session.out.say("Nothing had to change.", outcome.to_dict())
        case "proposed":
            contested = (
                f" It has {count(outcome.contested, 'conflict')}." if outcome.contested else ""
            )
            session.out.say(f"Proposed as {outcome.proposal}.{contested}", outcome.to_dict())
        case "conflicts":
            if session.out.as_json:
                session.out.object(outcome.to_dict())
            else:
                _show_conflicts(session, outcome.conflicts)
                session.out.note("Nothing was committed. Read the new state, and submit again.")
            return CONFLICTING
    session.out.warn(outcome.warnings)
    return 0


def _show_conflicts(session: Invocation, conflicts: Iterable[Conflict]) -> None:
    from mycel.history.conflict_text import plain_lines

    for conflict in conflicts:
        for line in plain_lines(conflict.to_dict(), characters_max=VALUE_CHARACTERS):
            session.out.line(visible(line))


@click.group(cls=Group)
def proposal() -> None:
    """List, show, accept, reject, comment and withdraw proposed changes."""


@proposal.command("list", cls=Command)
@click.option(
    "--status",
    type=click.Choice(["open", "accepted", "rejected", "withdrawn", "all"]),
    default="open",
    help="Of the proposals",
)
@pass_session
def list_(session: Invocation, *, status: str) -> None:
    """List proposals, newest first."""
    with session.open(reading=True) as db:
        proposals = db.proposals.list(status)
    session.out.list(
        proposals,
        ("id", "status", "actor", "changes", "comments", "message"),
        lambda item: (
            item.id,
            item.status,
            item.actor,
            len(item.edits),
            len(item.comments),
            item.message,
        ),
        lambda item: item.to_dict(edits=False),
    )


@proposal.command("show", cls=Command)
@click.argument("id", help="The proposal, or the beginning of its id")
@pass_session
def show(session: Invocation, *, id: str) -> None:  # noqa: A002 - the word for it
    """Show a proposal: what it would change now, its conflicts and comments."""
    from mycel.cli.commands.differences import show_diff

    with session.open(reading=True) as db:
        record = db.proposals.get(id)
        preview = db.proposals.preview(record) if record.status == "open" else None
    if session.out.as_json:
        session.out.object(record.to_dict() | ({} if preview is None else preview.to_dict()))
        return
    session.out.line(
        f"{record.id} by {record.actor}, {record.status}: {record.message or 'no message'}"
    )
    if preview is not None:
        show_diff(session.out, preview.changes)
        if preview.conflicts:
            _show_conflicts(session, preview.conflicts)
    for comment in record.comments:
        session.out.line(f"{comment['actor']}: {comment['text']}")
    if record.ended:
        session.out.line(f"{record.status} by {record.ended['by']}: {record.ended['reason']}")


@proposal.command("accept", cls=Command)
@click.argument("id", help="The proposal, or the beginning of its id")
@pass_session
def accept(session: Invocation, *, id: str) -> int:  # noqa: A002 - as above
    """Commit a proposal. Its author is the author of the commit."""
    from mycel.knowledge.submission import review

    with session.open() as db:
        outcome = review(
            _knowledge(session, db), id, "accept", message=session.given.get("message", "")
        )
    return _show(session, outcome)  # type: ignore[arg-type]  # It is no proposal then.


@proposal.command("reject", cls=Command)
@click.argument("id", help="The proposal, or the beginning of its id")
@click.option("--reason", required=True, metavar="TEXT", help="For whoever proposed it")
@pass_session
def reject(session: Invocation, *, id: str, reason: str) -> None:  # noqa: A002 - as above
    """Reject a proposal, with the reason."""
    _review(session, id, "reject", reason)


@proposal.command("comment", cls=Command)
@click.argument("id", help="The proposal, or the beginning of its id")
@click.argument("text", help="The comment")
@pass_session
def comment(session: Invocation, *, id: str, text: str) -> None:  # noqa: A002 - as above
    """Say something about a proposal."""
    _review(session, id, "comment", text)


@proposal.command("withdraw", cls=Command)
@click.argument("id", help="The proposal, or the beginning of its id")
@pass_session
def withdraw(session: Invocation, *, id: str) -> None:  # noqa: A002 - as above
    """Take a proposal back."""
    _review(session, id, "withdraw", "")


def _review(session: Invocation, id_: str, action: str, text: str) -> None:
    from mycel.knowledge.submission import review

    with session.open() as db:
        outcome: Proposal = review(_knowledge(session, db), id_, action, text=text)  # type: ignore[assignment]  # It is no submission then.
    session.out.say(f"{outcome.id} is {outcome.status}.", outcome.to_dict(edits=False))
