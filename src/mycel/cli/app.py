"""The root command with all others under it; `main` turns arguments into an exit status."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from io import StringIO
from keyword import iskeyword
from types import FrameType
from typing import Final, NoReturn

import rich_click as click

from mycel.cli.console.context import Group, Invocation
from mycel.cli.console.exit_status import INTERRUPTED, PIPE_CLOSED, TERMINATED, report
from mycel.cli.console.output import PipeClosed
from mycel.errors import InternalError


class Outline(click.RichCommand):
    """A command in help and completion, whose module is not loaded yet."""

    def __init__(self, name: str, module: str, says: str) -> None:
        super().__init__(name=name, short_help=says, add_help_option=False)
        self._module = module

    def load(self) -> click.Command:
        """Import the module of the command; returns the command."""
        # The function of a command named by a Python keyword, such as import, ends in an
        # underscore.
        name = f"{self.name}_" if iskeyword(self.name or "") else self.name
        command = getattr(import_module(f"mycel.cli.commands.{self._module}"), name or "")
        if not isinstance(command, click.Command):
            raise InternalError(f"mycel.cli.commands.{self._module} has no command {self.name!r}.")
        return command


class Root(Group):
    """The root command. It has an outline of each command, and loads only the one that is called.

    Loading all commands would double the time of help. A test compares each outline with its
    command.
    """

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, command, more = super().resolve_command(ctx, args)
        return name, command.load() if isinstance(command, Outline) else command, more


_MODULES: Final = {
    "databases": "init doctor",
    "backups": "backup copy restore",
    "capsules": "capsule",
    "transfer": "load export",
    "imports": "import",
    "install": "install uninstall",
    "concepts": "define concept search",
    "nodes": "note show ls",
    "edges": "edge find",
    "traversal": "traverse",
    "history": "log tag history snapshot purge scrub",
    "branches": "branch",
    "merges": "merge conflicts resolve choices",
    "differences": "diff rollback revert",
    "proofs": "prove verify",
    "submission": "submit proposal",
    "remotes": "remote clone pull push follow",
    "trust": "key witness",
}
"""The commands of a module; modules with one command of the same name are left out."""

_PANELS: Final = {
    "Database": {
        "init": "Create the database; an existing one is kept.",
        "status": "Show which graph is used here, its branch, size and last change, and who"
        " writes.",
        "workspace": "List, show, add, rename, move and remove the graphs of this machine.",
        "doctor": "Check the installation and the database; exit status 1 if something is broken.",
        "backup": "Copy the graph to a file, or with all of its branches into a folder, and verify"
        " the copy.",
        "copy": "Copy the graph to another place, with its whole journal, and verify the copy.",
        "restore": "Replace the graph with a backup, which is verified first.",
        "sleep": "Run one cycle of upkeep: due elements, duplicates, contradictions.",
        "retention": "Set how long elements are kept and what happens then; or show the rules.",
        "tend": "Show the next task of upkeep, or one by its id; or decide a task, and show the"
        " next one.",
        "demo": "Show the main commands on a small example graph.",
    },
    "Language": {
        "kip": "Run a command of KIP, or start a session.",
        "query": "Named queries: commands of KIP with a name, typed parameters and a description.",
        "capsule": "Apply, list and export capsules: knowledge as text, in UPSERT statements.",
    },
    "Knowledge": {
        "note": "Write a note: a text with a title, and relations to its subjects.",
        "show": "Show a node: its text, its properties, and its relations.",
        "ls": "List the nodes directly below a path, with the number of nodes below each.",
        "bootstrap": "Bring a folder into the graph: files, folders, symbols, sections, and their"
        " relations.",
    },
    "Schema and data": {
        "schema": "Show, check, plan and apply schemas: types, properties and constraints, in .pg"
        " files.",
        "load": "Load rows of JSON Lines, CSV, TSV, Parquet or Arrow: all of them, or none.",
        "export": "Export rows as JSON Lines, or each type as a table: CSV, TSV, Parquet or Arrow.",
        "import": "Import the memory of other programs: conversations, notes, memories.",
    },
    "Graph": {
        "define": "Define a type of concepts, or a predicate of edges.",
        "concept": "Write, show, archive and retire concepts.",
        "edge": "Add, remove and show edges.",
        "find": "Find the elements that can be reached from an element, nearest first.",
        "traverse": "Show the elements near an element, nearest first: an edge costs its weight.",
        "search": "Find elements that fit a question or some words, best first.",
        "embed": "Show and choose the model that makes vectors for search, and rebuild them.",
    },
    "Clients": {
        "install": "Connect the clients of this machine to Mycel: server, hooks and a short skill.",
        "uninstall": "Remove everything that `mycel install` wrote, and nothing else; graphs stay.",
        "hook": "Answer the hooks of a client: memory that works without being asked for.",
    },
    "Servers": {
        "mcp": "Serve the graph to an agent over MCP, on standard input and output.",
        "serve": "Serve the graph over HTTP until Ctrl-C or SIGTERM.",
        "token": "Make, list and revoke the tokens of `mycel serve --workspaces`.",
        "explore": "See the graph in a browser: start a server, open it, and stop it with Ctrl-C.",
    },
    "Other workspaces": {
        "remote": "Register workspaces that are elsewhere: on a server, or in a file of another"
        " folder.",
        "clone": "Copy a workspace exactly: the same commits, roots and history.",
        "pull": "Bring a clone up to date with its remote; only missing entries are transferred.",
        "push": "Submit the commits that the remote lacks, one by one.",
        "follow": "Keep a clone up to date: pull each new commit at once, until Ctrl-C.",
        "key": "Make and show the key with which a server signs the heads of a graph.",
        "witness": "Keep the heads that a remote shows, and fail if its history was rewritten.",
    },
    "History and proofs": {
        "log": "List transactions, newest first; each is a commit.",
        "tag": "Name a commit, or list the names.",
        "branch": "Create, list, delete and switch branches of the graph.",
        "mirror": "Show the graph as files in a Git repository, and bring edits of them back.",
        "merge": "Merge a branch into the one in use, value by value.",
        "conflicts": "Show the conflicts of open merges: base, ours and theirs side by side.",
        "resolve": "Decide a conflict: take a side, or give a value.",
        "choices": "List the values that rules have chosen in merges, newest first, each with its"
        " reason.",
        "submit": "Commit changes that were made to an earlier state, or propose them.",
        "proposal": "List, show, accept, reject, comment and withdraw proposed changes.",
        "diff": "Show what differs between two states of the graph.",
        "rollback": "Return the graph, or a part of it, to an earlier state.",
        "revert": "Undo the changes of one commit, and keep later changes.",
        "history": "List every version of an element, oldest first.",
        "snapshot": "Show all roots of this moment.",
        "prove": "Prove that an element is part of the state, or that there is none with this"
        " identity.",
        "verify": "Check every part of the file against the others; exit status 1 if anything"
        " disagrees.",
        "purge": "Forget an element for good, with every edge that ever touched it.",
        "scrub": "Forget for good what was removed, superseded or hidden before a moment.",
    },
}
"""The commands by the panels of help, each with the first sentence of its own help."""


def _show_version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if not value or ctx.resilient_parsing:
        return
    from mycel import __version__

    session = ctx.ensure_object(Invocation)
    session.out.say(f"mycel {__version__}", {"version": __version__})
    ctx.exit()


@click.group(cls=Root, root=True, command_panels=_PANELS, context_settings={"show_default": True})
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

    Elements are named by their ids (C:12, P:13:treats), as Type:name, or by the URI or path of a
    node. `mycel demo` shows what this is about; `mycel init` creates a database for the current
    directory.
    """


_module_of = {name: module for module, names in _MODULES.items() for name in names.split()}
for _panel, _texts in _PANELS.items():
    for _name, _says in _texts.items():
        _command = Outline(_name, _module_of.get(_name, _name), _says)
        _command.panel = _panel
        app.add_command(_command)


def main(args: Sequence[str] | None = None) -> int:
    """Run one command line, by default the process's own, and return its exit status.

    Nothing is raised: every failure becomes a message on standard error.
    """
    _prepare_streams()
    session = Invocation()
    try:
        with _orderly_end():
            status = _run(args, session)
            sys.stdout.flush()
    except (PipeClosed, BrokenPipeError):
        _leave_output()
        return PIPE_CLOSED
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted.", err=True)
        return INTERRUPTED
    except _Terminated:
        return TERMINATED
    except Exception as error:  # noqa: BLE001 - the edge: a user never sees a traceback.
        _leave_output()
        words_typed = sys.argv[1:] if args is None else args
        # If the parsing of arguments failed, `as_json` is not set yet.
        return report(error, as_json=session.as_json or "--json" in words_typed)
    return status


class _Terminated(BaseException):
    """The process was told to end."""


@contextmanager
def _orderly_end() -> Iterator[None]:
    """Let SIGTERM end the command as Ctrl-C does, so that no half-made file is left."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return

    def terminate(_number: int, _frame: FrameType | None) -> NoReturn:
        raise _Terminated

    signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _prepare_streams() -> None:
    if sys.stdin is None:
        sys.stdin = StringIO()
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # Started with a closed stream: `mycel log >&-`.
            setattr(sys, name, StringIO())
        elif hasattr(stream, "reconfigure"):
            # Characters that the terminal cannot show are escaped.
            stream.reconfigure(errors="backslashreplace")


def _run(args: Sequence[str] | None, session: Invocation) -> int:
    try:
        # Commands return their exit status, or nothing when all is well.
        result = app.main(args, prog_name="mycel", standalone_mode=False, obj=session)
        session.follow_up()
    except SystemExit as leaving:  # Help was shown, as there were no arguments.
        result = leaving.code
    return result if isinstance(result, int) else 0


def _leave_output() -> None:
    """Flush standard output; if that fails, send the rest to the null device.

    Otherwise the interpreter would flush again when it ends, and print an error.
    """
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
