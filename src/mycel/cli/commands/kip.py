"""`mycel kip`: run commands of KIP from an argument, a file or a pipe, or a session."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from pathlib import Path
from typing import Any

import rich_click as click

from mycel.cli.console.context import Command, Invocation, pass_session
from mycel.cli.console.kip_command import execute, gathered, parameters_by, with_parameters
from mycel.cli.console.kip_output import answer
from mycel.cli.console.labels import labels
from mycel.cli.console.output import is_terminal
from mycel.cli.console.parameters import read_text
from mycel.errors import InvalidSyntax
from mycel.kip.statements import EXPLAIN, READING, first_word
from mycel.model.limits import CAPSULE_BYTES_MAX


@click.command(cls=Command)
@click.argument(
    "command",
    metavar="[COMMAND]",
    nargs=-1,
    help="The command, best in single quotes; - reads standard input",
)
@click.option("--file", metavar="FILE", help="Read the command from it; - is standard input")
@with_parameters
@click.option("--readonly", is_flag=True, help="Refuse a command that writes")
@click.option("--dry-run", is_flag=True, help="Check the command, and write nothing")
@click.option("--strict", is_flag=True, help="Refuse elements that lack a required attribute")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Deadline of the command; 30 by default, none for SEARCH",
)
@pass_session
def kip(
    session: Invocation,
    *,
    command: tuple[str, ...],
    file: str | None,
    param: tuple[tuple[str, Any], ...],
    params: dict[str, Any] | None,
    readonly: bool,
    dry_run: bool,
    strict: bool,
    timeout: float | None,
) -> None:
    """Run a command of KIP, or start a session.

    The command is given on the command line, in a file, or through a pipe; without any of them,
    on a terminal, a session begins. Several commands, with semicolons between them, run one after
    the other until one fails. Several UPSERT statements one after another are one command, a
    capsule: it is applied as a whole or not at all, and may have 64 MiB where other commands have
    256 KiB.

    With --json the answer is the response of KIP: result, and next_cursor and warnings if there are
    any.
    """
    if command and file is not None:
        raise click.UsageError("Give a command or --file, not both.")
    values = gathered(param, params)
    options: dict[str, Any] = {"strict": strict}
    if timeout is not None:
        options["timeout_s"] = timeout
    if not command and file is None and sys.stdin.isatty():
        _session(session, options, values, readonly=readonly, dry_run=dry_run)
        return
    is_typed = bool(command) and command != ("-",)
    text = " ".join(command) if is_typed else read_text(file or "-", CAPSULE_BYTES_MAX)
    statements = _separated(text)
    asks = readonly or all(first_word(one) in (*READING, EXPLAIN) for one in statements)
    if timeout is None and all(first_word(one) == "SEARCH" for one in statements):
        options["timeout_s"] = inf  # Without a deadline, for the reason that `mycel search` gives.
    in_short = False
    with session.open(reading=asks, **options) as db:
        for one in statements:
            with parameters_by("--param"), _as_typed_here(text if is_typed else ""):
                execution = execute(db, one, values, readonly=readonly, dry_run=dry_run)
            in_short |= answer(
                session.out, one, execution.result, labels(db), changed=execution.changed
            )
    if in_short and is_terminal():
        session.out.note("Elements are shown in short; --json shows everything.")


def _separated(text: str) -> list[str]:
    """The commands of a text, at least one.

    White space before each keeps the line numbers of errors.
    """
    if ";" not in text:
        return [text]
    from mycel.cli.session.completion import split_at_semicolons

    return split_at_semicolons(text)


@contextmanager
def _as_typed_here(typed: str) -> Iterator[None]:
    """Adapt the hints of syntax errors to the command line: several commands, names of files."""
    try:
        yield
    except InvalidSyntax as error:
        if error.hint.startswith("One statement per command"):
            error.hint = "Put a semicolon between commands; UPSERT statements need none."
        if typed and _is_file(typed):
            error.hint = f"This is the name of a file: use --file {shlex.quote(typed)}"
        raise


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # The text cannot be the name of a file.
        return False


def _session(
    session: Invocation,
    options: dict[str, Any],
    values: dict[str, Any],
    *,
    readonly: bool,
    dry_run: bool,
) -> None:
    if not is_terminal():
        raise click.UsageError("Give a command: a session needs a terminal to write to.")
    from mycel.cli.session.shell import Shell

    with session.open(reading=True, **options) as db:
        shell = Shell(db, as_json=session.as_json, readonly=readonly, dry_run=dry_run)
        shell.parameters |= values
        shell.run(Path(db.path))
