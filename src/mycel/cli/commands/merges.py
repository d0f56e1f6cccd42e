"""`mycel merge`, `conflicts`, `resolve` and `choices`: merge branches, and decide conflicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rich_click as click

from mycel.cli.commands.differences import show_diff
from mycel.cli.console.context import Command, Invocation, pass_session
from mycel.cli.console.output import Output, cell, visible
from mycel.cli.console.parameters import ELEMENT, json_value, moment, read_text
from mycel.cli.console.parameters import resolve as resolve_element
from mycel.history.conflict_text import (
    SideRow,
    element_lines,
    resolution_text,
    side_rows,
    summary,
    title,
)
from mycel.model.limits import JSON_BYTES_MAX
from mycel.model.names import count
from mycel.schema.merge_policies import GENERAL_WORDS, SPECIAL_WORDS

if TYPE_CHECKING:
    from rich.console import RenderableType

    from mycel.api.graph import Graph
    from mycel.history.merge.outcome import Choice, Conflict, Merge

CONFLICTS = 1
"""The exit status while conflicts are left to decide."""
_CHOICES = ("ours", "theirs", "base")
_SIDE_STYLES = ("dim", "green", "magenta")
"""The colours of base, ours and theirs."""


@click.command(cls=Command)
@click.argument("source", required=False, metavar="[SOURCE]", help="The branch to take from")
@click.option("--into", metavar="BRANCH", help="The branch to merge into, if not the one in use")
@click.option(
    "--policy",
    "policies",
    multiple=True,
    metavar="[TYPE.PROPERTY=]WORD",
    help=f"The choice where both changed a value: {', '.join(GENERAL_WORDS)}; for one property also"
    f" {', '.join(SPECIAL_WORDS)}. May be repeated",
)
@click.option(
    "--trust",
    multiple=True,
    metavar="ACTOR",
    help="Prefer what this actor wrote; may be repeated, the first actor counts most",
)
@click.option(
    "--granularity",
    type=click.Choice(("key", "element")),
    default="key",
    help="element: an element that both changed is one conflict, even if they changed different"
    " values",
)
@click.option("--restore-purged", is_flag=True, help="Add again elements that were purged here")
@click.option("--dry-run", is_flag=True, help="Only show the changes")
@click.option(
    "--continue", "go_on", is_flag=True, help="Commit the merge whose conflicts are resolved"
)
@click.option("--abort", is_flag=True, help="Give the open merge up; nothing has changed")
@click.option("--merge", "merge_id", metavar="ID", help="The merge, if several are open")
@pass_session
def merge(
    session: Invocation,
    /,
    *,
    source: str | None,
    policies: tuple[str, ...],
    trust: tuple[str, ...],
    dry_run: bool,
    go_on: bool,
    abort: bool,
    merge_id: str | None,
    **options: Any,
) -> int:
    """Merge a branch into the one in use, value by value.

    Without conflicts it is one commit. Otherwise nothing changes yet: `mycel conflicts` shows what
    both sides changed, `mycel resolve` decides, and `mycel merge --continue` commits. An open merge
    survives a restart; `mycel merge --abort` gives it up.

    The exit status is 0 if it is merged, or would be, and 1 if conflicts are left.
    """
    if sum((source is not None, go_on, abort)) != 1:
        raise click.UsageError("Give a branch to merge, or --continue, or --abort.")
    with session.open() as db:
        if abort:
            return _report(session, db.merges.abort(merge_id))
        if go_on:
            return _report(session, _committed(session, db, merge_id))
        outcome = db.merge(
            source or "",
            policy=_policy(policies),
            trust=trust or None,
            dry_run=dry_run,
            **options,
        )
    return _report(session, outcome, dry_run=dry_run)


def _committed(session: Invocation, db: Graph, merge_id: str | None) -> Merge:
    """Commit a merge and return it. If conflicts are undecided, return it without a commit."""
    merge = _open_merge(db, merge_id)
    if merge is not None and merge.unresolved:
        return merge
    return db.merges.commit(merge_id, message=session.options.get("message", ""))


def _open_merge(db: Graph, merge_id: str | None) -> Merge | None:
    """The open merge whose id begins with `merge_id`; without one, the only open merge.

    Returns None unless exactly one fits.
    """
    merges = [merge for merge in db.merges if merge_id is None or merge.id.startswith(merge_id)]
    return merges[0] if len(merges) == 1 else None


def _policy(words: tuple[str, ...]) -> dict[str, str] | None:
    """The policies in the options: `*` for all values, and one for each named property."""
    policies: dict[str, str] = {}
    for argument in words:
        key, equals, word = argument.rpartition("=")
        policies[key if equals else "*"] = word
    return policies or None


def _report(session: Invocation, outcome: Merge, *, dry_run: bool = False) -> int:
    out = session.out
    left = len(outcome.unresolved)
    if out.as_json:
        out.object(outcome.to_dict())
        return CONFLICTS if left else 0
    out.warn(outcome.warnings)
    if dry_run:
        show_diff(out, outcome.diff)
    for choice in outcome.choices if outcome.status != "aborted" else ():
        out.note(visible(f"{choice.id} {choice.label}, {_where(choice)}: {choice.reason}"))
    for conflict in outcome.unresolved:
        _show_conflict(out, conflict, outcome)
    out.line(_summary(outcome))
    return CONFLICTS if left else 0


def _summary(outcome: Merge) -> str:
    """The outcome of a merge, and the next command."""
    if not outcome.is_open or outcome.status != "conflicts":
        return summary(outcome)
    if outcome.unresolved:
        return f"{summary(outcome)} `mycel resolve ID ours|theirs|base` decides one."
    return f"{summary(outcome)} `mycel merge --continue` commits."


@click.command(cls=Command)
@click.argument("conflict", required=False, metavar="[ID]", help="One conflict, by its id")
@click.option("--element", metavar=ELEMENT, help="Only those of one element")
@pass_session
def conflicts(session: Invocation, *, conflict: str | None, element: str | None) -> int:
    """Show the conflicts of open merges: base, ours and theirs side by side.

    The exit status is 0 if none is left to decide, and 1 otherwise.
    """
    with session.open(reading=True) as db:
        merges = {merge.id: merge for merge in db.merges}
        matches = (
            db.merges.conflicts()
            if element is None
            else db.merges.conflicts(resolve_element(db, element))
        )
    if conflict is not None:
        matches = [match for match in matches if match.id.startswith(conflict)]
    left = [conflict for conflict in matches if conflict.resolution is None]
    if session.as_json:
        for match in matches:
            session.out.object(match.to_dict())
        return CONFLICTS if left else 0
    for match in matches:
        _show_conflict(session.out, match, merges[match.merge])
    if not matches:
        session.out.note("There are no conflicts.")
    elif left:
        session.out.note(f"{count(len(left), 'conflict')} to decide: `mycel resolve ID ours`.")
    else:
        session.out.note("All conflicts are resolved: `mycel merge --continue` commits.")
    return CONFLICTS if left else 0


@click.command(cls=Command)
@click.argument("conflict", metavar="ID", help="The conflict; `all` for every one that is left")
@click.argument(
    "choice",
    required=False,
    type=click.Choice(_CHOICES),
    metavar="[ours|theirs|base]",
    help="The side to take",
)
@click.option("--value", metavar="JSON", help="This value instead; JSON, or @file")
@click.option(
    "--lines",
    multiple=True,
    metavar="TEXT",
    help="New lines for a contested part of a text; once for each contested part; @file reads a"
    " file",
)
@click.option("--edit", is_flag=True, help="Edit the value in your editor (VISUAL, EDITOR)")
@pass_session
def resolve(
    session: Invocation,
    *,
    conflict: str,
    choice: str | None,
    value: str | None,
    lines: tuple[str, ...],
    edit: bool,
) -> None:
    """Decide a conflict: take a side, or give a value.

    With --lines, the rest of a text stays merged, and only its contested lines are replaced.

    ID may be the beginning of an id; `all` stands for every conflict that is left. A choice that a
    rule made is overruled in the same way while the merge is open. Nothing is committed:
    `mycel merge --continue` does that.
    """
    if sum((choice is not None, value is not None, bool(lines), edit)) != 1:
        raise click.UsageError("Give ours, theirs or base, or a --value, or --lines, or --edit.")
    with session.open() as db:
        conflict_id = "*" if conflict == "all" else conflict
        if choice is not None:
            outcome = db.merges.resolve(conflict_id, choice)
        elif value is not None:
            outcome = db.merges.resolve(conflict_id, "value", json_value(value))
        elif lines:
            outcome = db.merges.resolve(conflict_id, "lines", [_lines(text) for text in lines])
        else:
            edited = _edited(session, db, conflict)
            if edited is None:
                return
            outcome = db.merges.resolve(*edited)
    left = len(outcome.unresolved)
    words = _summary(outcome) if not left else f"{count(left, 'conflict')} left."
    session.out.say(f"Resolved. {words}", outcome.to_dict())


def _lines(text: str) -> str:
    return read_text(text[1:], JSON_BYTES_MAX) if text.startswith("@") else text


def _edited(session: Invocation, db: Graph, conflict: str) -> tuple[str, str, Any] | None:
    """Have the user edit a conflict; returns its id, the choice `value` and the value, or None."""
    from mycel.cli.console.conflict_editor import NothingEdited, edited_value

    conflicts = [
        candidate for candidate in db.merges.conflicts() if candidate.id.startswith(conflict)
    ]
    if len(conflicts) != 1:
        raise click.UsageError(f"{conflict!r} names {len(conflicts)} conflicts: `mycel conflicts`.")
    try:
        return conflicts[0].id, "value", edited_value(conflicts[0].to_dict())
    except NothingEdited:
        session.out.note("Nothing was resolved.")
        return None


@click.command(cls=Command)
@click.argument(
    "commit", required=False, type=moment, metavar="[COMMIT]", help="Of this merge only"
)
@click.option("--undo", metavar="ID", help="Take the other value, in a new commit")
@pass_session
def choices(session: Invocation, *, commit: int | str | None, undo: str | None) -> None:
    """List the values that rules have chosen in merges, newest first, each with its reason.

    Those of an open merge are shown by `mycel merge`, and overruled by `mycel resolve`.
    """
    with session.open(reading=undo is None) as db:
        if undo is not None:
            new_commit = db.merges.undo_choice(undo)
            session.out.say(f"Took the other value, in {new_commit}.", {"commit": new_commit})
            return
        rows = db.merges.choices(commit)
    session.out.list(
        rows,
        ("id", "element", "value", "rule", "reason"),
        lambda choice: (choice.id, choice.label, _where(choice), choice.rule, choice.reason),
    )


def _where(about: Choice | Conflict) -> str:
    return ".".join((about.field, *about.path)).strip(".")


# The table of sides.


def _show_conflict(out: Output, conflict: Conflict, merge: Merge) -> None:
    payload = conflict.to_dict()
    out.line(out.style(visible(title(payload)), fg="yellow", bold=True))
    out.line(f"  {visible(conflict.reason)}")
    for line in element_lines(payload):
        out.line(f"  - {visible(line)}")
    rows = side_rows(payload)
    if rows:
        names = ("base", f"ours ({merge.into})", f"theirs ({merge.source})")
        out.render(_side_by_side(rows, names))
    if conflict.resolution is not None:
        decided = cell(resolution_text(payload["resolution"]))
        out.line("  resolved: " + decided.replace("\n", "\n    "))
    elif conflict.suggestion:
        out.line(f"  suggestion: {conflict.suggestion}")


def _side_by_side(rows: list[SideRow], names: tuple[str, ...]) -> RenderableType:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", expand=False)
    with_names = any(row.name for row in rows)
    if with_names:
        table.add_column("", style="cyan", overflow="fold")
    for name in names:
        table.add_column(Text(visible(name)), overflow="fold", ratio=1)
    for row in rows:
        styles = _SIDE_STYLES if row.contested else ("dim",) * 3
        cells = [
            Text(visible(text), style=style)
            for text, style in zip(row.versions, styles, strict=True)
        ]
        table.add_row(*([Text(row.name)] if with_names else []), *cells)
    return table
