"""`mycel install` and `uninstall`: add Mycel to the clients of this machine, and remove it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from mycel import workspaces
from mycel.cli.console.context import Command, Invocation, pass_session
from mycel.clients import programs
from mycel.errors import MycelError, NotFound
from mycel.model.names import count

if TYPE_CHECKING:
    from mycel.clients.installation import FileChange, Part

_client_option = click.option(
    "--client",
    "client_names",
    multiple=True,
    type=click.Choice(programs.CLIENTS),
    help="Only this client; may be repeated. By default all that are found on this machine",
)


@click.command(cls=Command)
@_client_option
@click.option("--no-hooks", is_flag=True, help="Connect no hooks")
@click.option("--no-skill", is_flag=True, help="Write no skill")
@click.option("--print", "only_print", is_flag=True, help="Only show the planned changes")
@click.option("--yes", is_flag=True, help="Do not ask")
@pass_session
def install(
    session: Invocation,
    *,
    client_names: tuple[programs.ClientName, ...],
    no_hooks: bool,
    no_skill: bool,
    only_print: bool,
    yes: bool,
) -> int:
    """Connect the clients of this machine to Mycel: server, hooks and a short skill.

    It finds Claude Code, Claude Desktop, Cursor, VS Code, Codex, Gemini CLI, OpenCode, Zed and
    Copilot CLI, shows what it will write, and writes it into the settings of this user. Each
    project then has the graph of its folder. Other entries stay, and doing it again changes
    nothing. `mycel uninstall` takes back exactly this; `mycel init --client` is for one project.
    """
    from mycel.clients import installation

    out = session.out
    names = list(dict.fromkeys(client_names)) or installation.present_clients()
    if not names:
        raise NotFound(
            "No client was found on this machine.",
            hint=f"Name one with --client: {', '.join(programs.CLIENTS)}.",
        )
    skipped = {"hooks": no_hooks, "skill": no_skill}
    parts = [part for part in installation.PARTS if not skipped.get(part)]
    changes, errors = _planned(names, parts)
    new = [change for change in changes if change.is_change]
    out.list(
        changes,
        ("client", "what", "file", "change"),
        lambda change: (change.client, change.part, change.path, _verb(change)),
        lambda change: {
            "client": change.client,
            "part": change.part,
            "path": str(change.path),
            "change": _verb(change),
        },
    )
    out.warn(f"{error.message} {error.hint}" for error in errors)
    if only_print:
        for change in new:
            out.say(f"\n{change.path}:\n\n{change.after}", {"path": str(change.path)})
        return int(bool(errors))
    if new and _asks(session, yes=yes) and not click.confirm("Write this?", default=True):
        return 0
    written = installation.write_changes(changes)
    text = f"{count(len(set(written)), 'file')} written." if written else "All is there already."
    if written:
        text += " Start new sessions of the clients; `mycel doctor` checks each."
        if any(change.client == "codex" and change.part == "hooks" for change in new):
            text += f" {installation.TRUST_HELP}."
    out.say(text, {"written": sorted({str(path) for path in written})})
    return int(bool(errors))


def _asks(session: Invocation, *, yes: bool) -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty() and not yes and not session.out.as_json


def _planned(
    names: list[programs.ClientName], parts: list[Part]
) -> tuple[list[FileChange], list[MycelError]]:
    from mycel.clients import installation

    home, folder = Path.home(), Path.cwd()
    place = workspaces.WorkspaceLocation(folder / "graph.db", None, "the folder of the client")
    server = programs.Server(programs.own_program(), place, folder, form="everywhere")
    personal = programs.Server(
        programs.own_program(),
        workspaces.workspace_location(home, installation.PERSONAL, "--workspace"),
        home,
        name=programs.NAME,
    )
    planned = list(installation.plan_changes(names, server, personal, parts))
    errors = [change for change in planned if isinstance(change, MycelError)]
    return [change for change in planned if not isinstance(change, MycelError)], errors


def _verb(change: FileChange) -> str:
    if not change.is_change:
        return "there already"
    return "is made" if change.before is None else "gets our entry"


@click.command(cls=Command)
@_client_option
@click.option("--yes", is_flag=True, help="Do not ask")
@pass_session
def uninstall(
    session: Invocation, *, client_names: tuple[programs.ClientName, ...], yes: bool
) -> None:
    """Remove everything that `mycel install` wrote, and nothing else; graphs stay.

    A file that was not edited after the install is restored. From an edited one only the entries of
    Mycel are removed. Without --client, processes that keep a graph open for hooks end too.
    """
    from mycel.clients import installation

    names = client_names or None
    files = installation.written_files(names)
    if files and _asks(session, yes=yes):
        session.out.line("\n".join(map(str, files)))
        if not click.confirm("Take back what Mycel wrote into these files?", default=True):
            return
    restored = installation.take_back(names)
    if not client_names and os.name == "posix":
        from mycel.hooks.warm_server import end_kept

        end_kept()
    session.out.list(
        restored,
        ("file", "how"),
        lambda file: (file.path, file.how),
        lambda file: {"path": str(file.path), "how": file.how},
        empty="Nothing was installed.",
    )
