"""The root command, all others under it, and one call of them: from words to an exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from io import StringIO

import rich_click as click

from mycel.cli import (
    bootstrap,
    capsules,
    concepts,
    databases,
    demo,
    edges,
    history,
    importing,
    kip,
    mcp,
    proofs,
    schema,
    serve,
    transfer,
    traversal,
)
from mycel.cli.context import Group, Session
from mycel.cli.failures import INTERRUPTED, PIPE_CLOSED, report
from mycel.cli.output import PipeClosed

_PANELS: dict[str, tuple[click.RichCommand, ...]] = {
    "Database": (databases.init, databases.doctor, demo.demo),
    "Language": (kip.kip, capsules.capsule),
    "Knowledge": (bootstrap.bootstrap,),
    "Schema and data": (schema.schema, transfer.load, transfer.export, importing.import_),
    "Graph": (
        concepts.define,
        concepts.concept,
        edges.edge,
        edges.find,
        traversal.traverse,
        concepts.search,
    ),
    "Servers": (mcp.mcp, serve.serve),
    "History and proofs": (
        history.log,
        history.history,
        history.snapshot,
        proofs.prove,
        proofs.verify,
        history.purge,
    ),
}


def _show_version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if not value or ctx.resilient_parsing:
        return
    # Late: see the package's docstring.
    from mycel import __version__

    session = ctx.ensure_object(Session)
    session.out.say(f"mycel {__version__}", {"version": __version__})
    ctx.exit()


@click.group(cls=Group, root=True, command_panels=_PANELS, context_settings={"show_default": True})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit",
)
def app() -> None:
    """An embedded, verifiable knowledge graph for AI agents.

    Elements are named by their ids (C:12, P:13:treats) or as Type:name. `mycel demo` shows what
    this is about; `mycel init` creates a database for the current directory.
    """


for _panel, _commands in _PANELS.items():
    for _command in _commands:
        _command.panel = _panel
        app.add_command(_command)


def main(args: Sequence[str] | None = None) -> int:
    """Run one command line, by default the process's own, and return its exit status.

    Nothing is raised: every failure becomes a message on standard error.
    """
    _prepare_streams()
    session = Session()
    try:
        status = _run(args, session)
        sys.stdout.flush()
    except (PipeClosed, BrokenPipeError):
        _leave_output()
        return PIPE_CLOSED
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted.", err=True)
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the edge: a user never sees a traceback.
        _leave_output()
        words_typed = sys.argv[1:] if args is None else args
        # Where parsing itself failed, nothing has looked at --json yet.
        return report(error, as_json=session.as_json or "--json" in words_typed)
    return status


def _prepare_streams() -> None:
    if sys.stdin is None:
        sys.stdin = StringIO()
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # The process was started with it closed: `mycel log >&-`.
            setattr(sys, name, StringIO())
        elif hasattr(stream, "reconfigure"):
            # A name that the terminal cannot show is shown escaped.
            stream.reconfigure(errors="backslashreplace")


def _run(args: Sequence[str] | None, session: Session) -> int:
    try:
        # Commands return their exit status, or nothing when all is well.
        result = app.main(args, prog_name="mycel", standalone_mode=False, obj=session)
    except SystemExit as leaving:  # Help that was shown because nothing was asked for.
        result = leaving.code
    return result if isinstance(result, int) else 0


def _leave_output() -> None:
    """Write what is still to be written; if that cannot be done, let it go nowhere, silently.

    Otherwise the interpreter would try again at its end, and complain.
    """
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
