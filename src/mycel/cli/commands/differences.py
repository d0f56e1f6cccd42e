"""`mycel diff`, `rollback` and `revert`: show what changed between two states, and undo it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import rich_click as click

from mycel.cli.console.context import Command, Invocation, pass_session
from mycel.cli.console.output import Output, cell, visible
from mycel.cli.console.parameters import confirmed, moment
from mycel.model.commits import short
from mycel.model.names import count

if TYPE_CHECKING:
    from mycel.history.rollback import Rollback
    from mycel.store.query.diff import Diff, ValueChange

_COLOURS = {"+": "green", "-": "red", "~": "yellow", ">": "cyan", "@": "cyan"}
_BAR_WIDTH = 40


@click.command(cls=Command)
@click.argument("a", type=moment, metavar="FROM", help="A commit, a tag, a time or an entry")
@click.argument(
    "b", type=moment, metavar="[TO]", required=False, help="The later state; by default the present"
)
@click.option("--path", "paths", multiple=True, metavar="URI|ID", help="Only elements under it")
@click.option("--stat", is_flag=True, help="Count the changes of each type instead")
@pass_session
def diff(
    session: Invocation, a: int | str, b: int | str | None, *, paths: tuple[str, ...], stat: bool
) -> None:
    """Show what differs between two states of the graph.

    Each element that was added (+), removed (-), changed (~) or moved (>) is shown with the values
    that differ, and texts by their lines. A link is shown under the path of its subject.
    """
    with session.open(reading=True) as db:
        difference = db.history.diff(a, b, paths=paths)
    if stat:
        _stat(session.out, difference)
    else:
        show_diff(session.out, difference)


@click.command(cls=Command)
@click.argument("to", type=moment, metavar="MOMENT", help="A commit, a tag, a time or an entry")
@click.option("--path", "paths", multiple=True, metavar="URI|ID", help="Only elements under it")
@click.option("--dry-run", is_flag=True, help="Only show the changes")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation")
@pass_session
def rollback(
    session: Invocation, to: int | str, *, paths: tuple[str, ...], dry_run: bool, yes: bool
) -> int:
    """Return the graph, or a part of it, to an earlier state.

    It is a new commit: nothing of history is lost, and a rollback can be rolled back. If rules of
    the graph do not allow it, nothing changes, and everything that would break is listed.
    """
    with session.open() as db:
        planned = db.history.rollback(to, paths=paths, dry_run=True)
        if dry_run:
            show_diff(session.out, planned.diff)
            return 0
        question = f"Change {count(len(planned.diff.elements), 'element')} back?"
        if planned.diff and not yes and not confirmed(session, question):
            session.out.note("Nothing was changed.")
            return 1
        _print_outcome(session, db.history.rollback(to, paths=paths))
    return 0


@click.command(cls=Command)
@click.argument("commit", type=moment, help="A commit or a tag")
@click.option("--dry-run", is_flag=True, help="Only show the changes")
@pass_session
def revert(session: Invocation, commit: int | str, *, dry_run: bool) -> None:
    """Undo the changes of one commit, and keep later changes.

    If a value that it changed has changed again since, nothing is done, and all such values are
    listed.
    """
    with session.open() as db:
        outcome = db.history.revert(commit, dry_run=dry_run)
    if dry_run:
        show_diff(session.out, outcome.diff)
    else:
        _print_outcome(session, outcome)


def _print_outcome(session: Invocation, outcome: Rollback) -> None:
    wire: dict[str, Any] = {"commit": outcome.commit} | outcome.diff.counts
    if outcome.commit is None:
        session.out.say("Nothing had to change.", wire)
    else:
        session.out.say(f"{short(outcome.commit)}: {counted(outcome.diff)}.", wire)


def counted(diff: Diff) -> str:
    """The number of changes of each kind, in words."""
    return ", ".join(f"{number} {kind}" for kind, number in diff.counts.items() if number)


def _stat(out: Output, diff: Diff) -> None:
    """A line for each type and predicate, with a bar of its changes."""
    from mycel.store.query.diff import SIGNS

    counts: dict[str, Counter[str]] = {}
    for change in diff.elements:
        name = str(change.identity.get("predicate") or change.identity.get("type"))
        counts.setdefault(name, Counter())[change.kind] += 1
    if out.as_json:
        out.object(
            diff.counts | {"types": {name: dict(by_kind) for name, by_kind in counts.items()}}
        )
        return
    width = max(map(len, counts), default=0)
    most = max((count.total() for count in counts.values()), default=0)
    for name, by_kind in sorted(counts.items()):
        bar = "".join(
            out.style(sign * _share(by_kind[kind], most), fg=_COLOURS[sign])
            for kind, sign in SIGNS.items()
        )
        out.line(f"{visible(name).ljust(width)}  {by_kind.total():>6}  {bar}")
    out.line(counted(diff) or "No differences.")


def _share(number: int, most: int) -> int:
    """The length of the bar for a number of changes."""
    return number if most <= _BAR_WIDTH else -(-number * _BAR_WIDTH // most)


def show_diff(out: Output, diff: Diff) -> None:
    """Print the elements that differ, each with its values, in colour or as JSON."""
    from mycel.store.query.diff import SIGNS

    if out.as_json:
        out.object(diff.to_dict())
        return
    for change in diff.elements:
        _show_change(out, SIGNS[change.kind], change.label, change.told_values)
    if diff.purged:
        out.note(f"{count(diff.purged, 'element')} purged in between cannot be shown.")
    if not diff.elements:
        out.note("No differences.")


def show_changes(out: Output, changes: Iterable[Mapping[str, Any]]) -> None:
    """Print elements that differ, in the form of JSON."""
    from mycel.store.query.diff import ABSENT, SIGNS, ValueChange, label_of

    for change in changes:
        kind = change["change"]
        identity = {key: change[key] for key in change.keys() - {"change", "id", "values"}}
        is_whole = kind in ("added", "removed")
        values = [
            ValueChange(
                value["field"],
                value.get("key", ""),
                *(value.get(k, ABSENT) for k in ("old", "new")),
            )
            for value in change["values"]
            if not is_whole or value["field"] in ("attributes", "metadata")
        ]
        _show_change(out, SIGNS[kind], label_of(identity), values)


def _show_change(out: Output, sign: str, label: str, values: Iterable[ValueChange]) -> None:
    out.line(out.style(f"{sign} {visible(label)}", fg=_COLOURS[sign], bold=True))
    for line in _lines(values):
        colour = _COLOURS.get(line.lstrip()[:1])
        out.line(out.style(line, fg=colour) if colour else line)


def _lines(values: Iterable[ValueChange]) -> Iterator[str]:
    for value in values:
        lines = value.lines()
        if lines:
            yield f"    {visible(value.where)}:"
            yield from (f"      {visible(line)}" for line in lines)
            continue
        yield from _sides(value)


def _sides(value: ValueChange) -> Iterator[str]:
    from mycel.store.query.diff import ABSENT, label_of

    for sign, side in (("-", value.old), ("+", value.new)):
        if side is not ABSENT:
            text = label_of(side) if value.field in ("subject", "object") else cell(side)
            yield f"    {sign} {visible(value.where)}: {text.replace(chr(10), ' ')}"
