"""Turns an event of a client into the answer for its model, and captures sessions.

No error leaves this module: after an error the answer is empty, and the journal has the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import Any, Final

from mycel.errors import MycelError
from mycel.hooks.brief import session_brief
from mycel.hooks.capture import capture_session
from mycel.hooks.client_events import HookEvent, HookEventName, answer_text, read_event
from mycel.hooks.journal import HookJournal
from mycel.hooks.prompt_notes import Injection, notes_for
from mycel.knowledge.knowledge import Knowledge

_KIND_OF_EVENT: Final[dict[HookEventName, str]] = {
    "session-start": "brief",
    "prompt": "prompt",
    "pre-compact": "capture",
    "stop": "capture",
    "session-end": "capture",
}
"""The switch of each event."""


def answer(
    knowledge: Knowledge,
    name: HookEventName,
    client: str,
    payload: bytes,
    *,
    path: Path,
    person: Callable[[], str] = str,
) -> bytes:
    """The output for an event.

    `path` is the file of the graph on its main branch; `person` returns the actor whose words are
    the user's own.
    """
    started = perf_counter()
    journal = HookJournal(path)
    output, entry = b"", dict[str, Any]()
    event = read_event(name, client, payload)
    state = journal.switches()[_KIND_OF_EVENT[name]]
    try:
        if state == "off":
            entry = {"why": f"{_KIND_OF_EVENT[name]} is switched off"}
        elif name in ("session-start", "prompt"):
            injection = _injection(knowledge, event, journal, person())
            output = answer_text(event, injection.text)
            entry = {"shown": list(injection.uris), "why": injection.why}
            entry["characters"] = len(injection.text)
        else:
            entry = _captured(knowledge, event, proposal=state == "proposal")
    except MycelError as error:
        entry = {"error": f"{error.code}: {error.message}"}
    except Exception as error:  # noqa: BLE001 - the edge: a hook never fails the client's turn.
        entry = {"error": f"{type(error).__name__}: {error}"}
    milliseconds = round((perf_counter() - started) * 1000, 1)
    with suppress(RuntimeError):  # There is no home directory.
        journal.add(
            {"event": name, "client": client, "session": event.session, **entry, "ms": milliseconds}
        )
    return output


def _injection(
    knowledge: Knowledge, event: HookEvent, journal: HookJournal, person: str
) -> Injection:
    if event.name == "prompt":
        return notes_for(knowledge, event.prompt, journal.shown_in(event.session), person)
    return session_brief(knowledge, journal.last_capture(event.session), person)


def _captured(knowledge: Knowledge, event: HookEvent, *, proposal: bool) -> dict[str, Any]:
    capture = capture_session(knowledge, event.client, event.transcript, proposal=proposal)
    entry: dict[str, Any] = {"why": capture.why}
    if capture.uri:
        entry |= {"captured": capture.uri, "secrets": capture.secrets}
    if capture.branch:
        entry["branch"] = capture.branch
    return entry
