"""Runs KIP commands for `mycel kip`, its session and `mycel capsule`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import rich_click as click

from mycel.cli.console.parameters import json_object, together
from mycel.errors import InvalidSyntax, UnknownReference
from mycel.kip.statements import first_word
from mycel.model.json_text import read_json

if TYPE_CHECKING:
    from mycel.api.graph import Graph
    from mycel.engine.result import Result


def named_value(text: str) -> tuple[str, Any]:
    """Split `name=value`; a value that is not JSON is taken as text.

    >>> named_value("dose=5"), named_value("name=Aspirin"), named_value('name="5"')
    (('dose', 5), ('name', 'Aspirin'), ('name', '5'))

    Raises:
        click.BadParameter: there is no equals sign, or no name before it.
    """
    name, sign, value = text.removeprefix(":").partition("=")
    if not (sign and name):
        raise click.BadParameter("write it as name=value.")
    try:
        return name, read_json(value)
    except InvalidSyntax as error:
        raise click.BadParameter(f"{error.message} {error.hint}") from None
    except ValueError:
        return name, value


def _object_or_file(text: str) -> dict[str, Any]:
    return json_object(text if text.lstrip()[:1] in ("{", "[", "@") else f"@{text}")


with_parameters = together(
    click.option(
        "--params",
        type=_object_or_file,
        metavar="JSON|FILE",
        help="Values of placeholders: an object, or a file that holds one",
    ),
    click.option(
        "--param",
        type=named_value,
        metavar="NAME=VALUE",
        multiple=True,
        help="The value of a placeholder, as JSON or else as text; may be repeated",
    ),
)
"""The options for placeholders: `param` and `params`."""


def gathered(
    param: tuple[tuple[str, Any], ...], params: Mapping[str, Any] | None
) -> dict[str, Any]:
    """The values of placeholders from both options; `param` overrides `params`."""
    return {**(params or {}), **dict(param)}


@contextmanager
def parameters_by(way: str) -> Iterator[None]:
    """Let errors about a missing parameter name `way`, the option that gives it."""
    try:
        yield
    except UnknownReference as error:
        name = error.data.get("parameter")
        if isinstance(name, str):
            rest = error.hint.removeprefix(f"Add {name!r} to the parameters.")
            error.hint = f"Give it a value: {way} {name}=… {rest}".rstrip()
        raise


class Done(NamedTuple):
    """The result of a command."""

    result: Result
    changed: bool
    """False if the journal did not grow."""


def execute(
    db: Graph,
    command: str,
    values: Mapping[str, Any],
    *,
    readonly: bool,
    dry_run: bool,
) -> Done:
    """Run one command or capsule; a capsule may be longer than a command.

    Raises:
        MycelError: the command failed, or writes with `readonly`; nothing was written.
    """
    if first_word(command) == "UPSERT":
        return apply_capsule(db, command, values, readonly=readonly, dry_run=dry_run)
    return Done(db.execute(command, values, readonly=readonly, dry_run=dry_run), True)


def apply_capsule(
    db: Graph, capsule: str, values: Mapping[str, Any], *, readonly: bool = False, dry_run: bool
) -> Done:
    """Apply a capsule, and compare the journal before and after."""
    before = db.snapshot().seq
    result = db.apply_capsule(capsule, values, readonly=readonly, dry_run=dry_run)
    return Done(result, dry_run or db.snapshot().seq != before)
