"""Turns any exception into one message and an exit status.

Statuses: 0 for success, 1 for failure, 2 for a wrong command line or value. As in shells, 130
stands for Ctrl-C and 141 for a pipe that its reader closed. Developers get a traceback with
`MYCEL_DEBUG=1`.
"""

from __future__ import annotations

import os
import sys
import traceback

import rich_click as click

from mycel.cli.console.output import has_colour, json_line, visible
from mycel.errors import (
    InternalError,
    InvalidSyntax,
    InvalidValueType,
    MycelError,
    ResourceExhausted,
)

INTERRUPTED = 130
TERMINATED = 143
PIPE_CLOSED = 141


def report(error: Exception, *, as_json: bool) -> int:
    """Print an error once, to standard error; return the exit status."""
    failure = _as_mycel_error(error)
    if as_json:
        click.echo(json_line({"error": failure.to_dict()}, sys.stderr.encoding), err=True)
    else:
        name = f"{failure.code} {failure.name}:"
        if sys.stderr.isatty() and has_colour():
            name = click.style(name, fg="red", bold=True)
        click.echo(f"{name} {_format_error(failure)}\n  {_one_line(failure.hint)}", err=True)
    if os.environ.get("MYCEL_DEBUG") == "1":
        click.echo("".join(traceback.format_exception(error)), err=True)
    return failure.category.exit_code


def _as_mycel_error(error: Exception) -> MycelError:
    """Convert any error to a `MycelError`."""
    match error:
        case MycelError():
            return error
        case click.ClickException():
            return InvalidSyntax(error.format_message(), hint=_usage_hint(error))
        case UnicodeError():
            # Arguments that are not UTF-8 arrive with lone surrogates in them.
            return InvalidValueType(
                f"This text is no valid Unicode: {error}.", hint="Write it in UTF-8."
            )
        case MemoryError():
            return ResourceExhausted(
                "There is too little memory for this.",
                hint="Give it less at once, or run it where more memory is free.",
            )
        case OSError():
            return InternalError(
                _operating_system_message(error),
                hint="Check the path, the disk and the permissions.",
            )
        case _:
            return InternalError(
                f"{type(error).__name__}: {error}",
                hint="This is a bug in Mycel. MYCEL_DEBUG=1 shows where it happened.",
            )


def _usage_hint(error: click.ClickException) -> str:
    context = error.ctx if isinstance(error, click.UsageError) else None
    return f"See `{context.command_path if context else 'mycel'} --help`."


def _operating_system_message(error: OSError) -> str:
    message = error.strerror or str(error)
    return f"{message}: {os.fspath(error.filename)!r}." if error.filename else f"{message}."


def _format_error(error: MycelError) -> str:
    """The error on one line, followed by its place in the text if it has one."""
    excerpt = error.data.get("excerpt")
    if not isinstance(excerpt, str):
        return _one_line(error.message)
    lines = (f"\n    {visible(line)}" for line in excerpt.splitlines())
    return _one_line(error.message.replace(excerpt, "")) + "".join(lines)


def _one_line(text: str) -> str:
    return visible(" ".join(text.split()))
