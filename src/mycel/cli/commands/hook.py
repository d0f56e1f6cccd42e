"""`mycel hook`: the command that clients call at events; its switches and its journal."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import rich_click as click

from mycel.cli.commands.mcp import knowledge_of
from mycel.cli.console.context import Group, Invocation, pass_session
from mycel.errors import MycelError
from mycel.hooks.light import INPUT_BYTES_MAX, OFF_VARIABLE, folder_in, is_far, is_off

if TYPE_CHECKING:
    from mycel.hooks.client_events import HookEventName
    from mycel.workspaces import WorkspaceLocation

CLIENTS: Final = ("claude-code", "codex", "cursor", "gemini", "copilot")
KEEP_MINUTES: Final = 30
KEEP_VARIABLE: Final = "MYCEL_HOOK_KEEP"
STATUS_ENTRIES: Final = 20


@click.group(cls=Group)
def hook() -> None:
    """Answer the hooks of a client: memory that works without being asked for.

    A client calls `mycel hook EVENT` with JSON on standard input. `mycel install` writes these
    calls into the settings of clients. A hook prints what the model should know, or nothing; it
    never fails the client. docs/hooks.md describes each.
    """


def _event_command(name: str, text: str) -> None:
    @hook.command(name, help=text)
    @click.option(
        "--client", type=click.Choice(CLIENTS), default="claude-code", help="The client's form"
    )
    @pass_session
    def command(session: Invocation, *, client: str) -> None:
        _answer(session, cast("HookEventName", name), client)


_event_command("session-start", "Print a brief of the graph: tasks, changes, conflicts.")


@hook.command()
@click.option(
    "--client", type=click.Choice(CLIENTS), default="claude-code", help="The client's form"
)
@click.option("--try", "trial", metavar="PROMPT", help="Show what this prompt would get, as text")
@pass_session
def prompt(session: Invocation, *, client: str, trial: str | None) -> None:
    """Print the notes that fit the prompt, if any do."""
    if trial is None:
        _answer(session, "prompt", client)
        return
    from mycel.hooks.prompt_notes import notes_for

    with session.open(reading=True) as db:
        knowledge = knowledge_of(session, db, session.root())
        injection = notes_for(knowledge, trial, (), session.actor())
    wire = {"text": injection.text, "shown": list(injection.uris), "why": injection.why}
    session.out.say(injection.text or f"Nothing is shown: {injection.why}.", wire)


_event_command("pre-compact", "Keep what was decided and changed in the session so far.")
_event_command("stop", "The same, at the end of a turn.")
_event_command("session-end", "The same, at the end of the session.")


def _answer(session: Invocation, name: HookEventName, client: str) -> None:
    """Answer an event in this process, because no process has the graph open."""
    payload = getattr(sys.stdin, "buffer", sys.stdin).read(INPUT_BYTES_MAX)
    payload = payload.encode() if isinstance(payload, str) else payload
    if is_off():
        return
    folder = folder_in(payload)
    if folder and Path(folder).is_dir():
        session.directory = Path(folder)
    session.says_graph = False
    try:
        place = session.place()
        if not place.path.exists():
            return
        from mycel.hooks.answering import answer

        with session.open(by_person=False, memory="modest") as db:
            knowledge = knowledge_of(session, db, session.root())
            output = answer(knowledge, name, client, payload, path=place.path, person=session.actor)
            is_main = db.branch == "main"
    except MycelError:
        return  # A hook never fails the client; `mycel doctor` says what is wrong.
    if is_main:
        _keep_warm(session, place)
    sys.stdout.write(output.decode())


def _keep_warm(session: Invocation, place: WorkspaceLocation) -> None:
    """Start a process that answers the next prompts, unless that is switched off.

    The process answers the hooks of all shells. So it is not started if this call has options of
    its own, and it does not inherit the variable that switches off the hooks of one shell.
    """
    if place.url is not None:
        return  # The graph is on a database server, so it needs no warm process.
    if is_off(KEEP_VARIABLE) or is_far() or session.options.keys() - {"db"} or os.name != "posix":
        return
    # A path is relative to the folder of this process, not to the folder that the client names.
    is_named = "db" in session.options or "db" in session.environment
    where = ["--db", str(place.path.absolute())] if is_named else []
    subprocess.Popen(
        [sys.executable, "-m", "mycel", "hook", "keep", *where],
        cwd=session.directory,
        env={name: value for name, value in os.environ.items() if name != OFF_VARIABLE},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


@hook.command()
@click.option("--minutes", type=float, default=KEEP_MINUTES, help="End after this time without use")
@pass_session
def keep(session: Invocation, *, minutes: float) -> None:
    """Keep the graph open and answer hooks quickly; ends by itself after some time without a hook.

    The first hook of a session starts it, if no `mycel mcp` or `mycel serve` has the graph open.
    MYCEL_HOOK_KEEP=off prevents that, and `mycel uninstall` ends it.
    """
    from mycel.hooks.warm_server import WarmServer, serve_until_idle

    place = session.place()
    with session.open(by_person=False, memory="modest") as db:
        knowledge = knowledge_of(session, db, session.root())
        if db.branch != "main":
            raise click.UsageError("Only hooks of the branch main are answered by a kept process.")
        server = WarmServer(knowledge, place.path, place.folder, session.actor, is_kept=True)
        if server.is_serving:
            server.warm_up()
            session.out.say(f"Answering hooks of {place.path}.", {"graph": str(place.path)})
            sys.stdout.flush()
        try:
            serve_until_idle(server, minutes * 60)
        finally:
            server.close()


@hook.command()
@click.option("--limit", type=click.IntRange(1), default=STATUS_ENTRIES, help="Entries, at most")
@pass_session
def status(session: Invocation, *, limit: int) -> None:
    """Show the switches, and what hooks showed and kept, newest first, each with its reason."""
    from mycel.hooks.journal import SWITCHES, HookJournal

    journal = HookJournal(session.place().path)
    out = session.out
    switches = dict.fromkeys(SWITCHES, "off") if is_off() else journal.switches()
    out.fields(switches.items(), {"switches": switches})
    entries = list(journal.entries())[-limit:][::-1]
    columns = ("time", "event", "client", "ms", "shown", "kept", "why")
    out.list(
        entries,
        columns,
        lambda entry: (
            entry.get("time"),
            entry.get("event"),
            entry.get("client"),
            entry.get("ms"),
            ", ".join(entry.get("shown", ())),
            entry.get("captured"),
            entry.get("error") or entry.get("why"),
        ),
        dict,
        empty="No hook was called yet. `mycel install` connects clients.",
    )


@hook.command()
@click.argument("kind", help="brief, prompt, capture or all")
@click.argument("state", help="on or off; capture also proposal: on a branch of its own")
@pass_session
def switch(session: Invocation, *, kind: str, state: str) -> None:
    """Switch a kind of hooks on or off for this graph."""
    from mycel.hooks.journal import HookJournal

    journal = HookJournal(session.place().path)
    journal.switch(kind, state)
    switches = journal.switches()
    text = ", ".join(f"{name} is {value}" for name, value in switches.items())
    session.out.say(f"{text}.", {"switches": switches})
