"""`mycel kip`: one command of the language, from wherever it comes, or a session of them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import rich_click as click

from mycel.cli.answers import answer, first_word
from mycel.cli.context import Command, Session, pass_session
from mycel.cli.output import is_terminal
from mycel.cli.parameters import json_object, read_text
from mycel.errors import ImmutableTarget

if TYPE_CHECKING:
    from mycel.engine.result import Result
    from mycel.nexus import Nexus

READS = ("FIND", "SEARCH", "DESCRIBE", "EXPORT", "EXPLAIN")

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def named_value(text: str) -> tuple[str, Any]:
    """`name=value`, where the value is JSON, or else a text.

    >>> named_value("dose=5"), named_value("name=Aspirin"), named_value('name="5"')
    (('dose', 5), ('name', 'Aspirin'), ('name', '5'))

    Raises:
        click.BadParameter: there is no equals sign, or no name before it.
    """
    name, sign, value = text.removeprefix(":").partition("=")
    if not (sign and name):
        raise click.BadParameter("write it as name=value.")
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        return name, value


def _object_or_file(text: str) -> dict[str, Any]:
    return json_object(text if text.lstrip()[:1] in ("{", "[", "@") else f"@{text}")


def with_parameters(command: Decorated) -> Decorated:
    """Give a command the options for placeholders: `param` and `params`."""
    one = click.option(
        "--param",
        type=named_value,
        metavar="NAME=VALUE",
        multiple=True,
        help="The value of a placeholder, as JSON or else as text; may be repeated",
    )
    many = click.option(
        "--params",
        type=_object_or_file,
        metavar="JSON|FILE",
        help="Values of placeholders: an object, or a file that holds one",
    )
    return many(one(command))


def gathered(
    param: tuple[tuple[str, Any], ...], params: Mapping[str, Any] | None
) -> dict[str, Any]:
    """All values of placeholders; those that were named alone count more."""
    return {**(params or {}), **dict(param)}


@click.command(cls=Command)
@click.argument(
    "words",
    metavar="[COMMAND]",
    nargs=-1,
    help="The command, best in single quotes; - reads standard input",
)
@click.option("--file", metavar="FILE", help="Read the command from there; - is standard input")
@with_parameters
@click.option("--readonly", is_flag=True, help="Refuse a command that writes")
@click.option("--dry-run", is_flag=True, help="Check the command, and write nothing")
@click.option("--strict", is_flag=True, help="Refuse elements that lack a required attribute")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Give up after so long; 30 unless said otherwise",
)
@pass_session
def kip(
    session: Session,
    *,
    words: tuple[str, ...],
    file: str | None,
    param: tuple[tuple[str, Any], ...],
    params: dict[str, Any] | None,
    readonly: bool,
    dry_run: bool,
    strict: bool,
    timeout: float | None,
) -> None:
    """Run a command of KIP, or start a session.

    The command stands on the command line, in a file, or comes through a pipe; without any of them,
    on a terminal, a session begins. A file holds one command. Several UPSERT statements one after
    another are one command, a capsule: it is applied as a whole or not at all, and may have 64 MiB
    where other commands have 256 KiB.

    With --json the answer is the response of KIP: result, and next_cursor and warnings if there are
    any.
    """
    if words and file is not None:
        raise click.UsageError("Give a command or --file, not both.")
    values = gathered(param, params)
    how: dict[str, Any] = {"strict": strict}
    if timeout is not None:
        how["timeout_s"] = timeout
    if not words and file is None and sys.stdin.isatty():
        _session(session, how, values, readonly=readonly, dry_run=dry_run)
        return
    text = " ".join(words) if words and words != ("-",) else read_text(file or "-")
    asks = readonly or first_word(text) in READS
    with session.open(reading=asks, **how) as db:
        answer(session.out, text, execute(db, text, values, readonly=readonly, dry_run=dry_run))


def _session(
    session: Session, how: dict[str, Any], values: dict[str, Any], *, readonly: bool, dry_run: bool
) -> None:
    if not is_terminal():
        raise click.UsageError("Give a command: a session needs a terminal to write to.")
    # Late: see the package's docstring.
    from mycel.cli.shell import Shell

    with session.open(reading=True, **how) as db:
        shell = Shell(db, as_json=session.as_json, readonly=readonly, dry_run=dry_run)
        shell.parameters |= values
        shell.run(session.place().path)


def execute(
    db: Nexus, command: str, values: Mapping[str, Any], *, readonly: bool, dry_run: bool
) -> Result:
    """Run one command; a capsule may be larger than others.

    Raises:
        MycelError: it failed, or writes although it must not; nothing was written then.
    """
    # Late: see the package's docstring.
    from mycel.engine.result import Result
    from mycel.kip import is_write, parse

    is_capsule = first_word(command) == "UPSERT"
    if readonly and (is_capsule or is_write(parse(command))):
        raise ImmutableTarget(
            "This command writes, and only reading is allowed here.",
            hint="Leave --readonly out, or say .readonly in a session, if it should write.",
        )
    if is_capsule:
        return db.apply_capsule(command, values, dry_run=dry_run)
    if dry_run:
        return Result.of(*db.run(command, values, readonly=readonly, dry_run=True))
    return db.execute(command, values)
