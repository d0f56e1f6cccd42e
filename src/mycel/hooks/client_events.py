"""Common names for the events of all clients, and the form of an answer for each client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple, get_args

import orjson

HookEventName = Literal["session-start", "prompt", "pre-compact", "stop", "session-end"]
HOOK_EVENTS: Final[tuple[HookEventName, ...]] = get_args(HookEventName)
HookClient = Literal["claude-code", "codex", "cursor", "gemini", "copilot"]
HOOK_CLIENTS: Final[tuple[HookClient, ...]] = get_args(HookClient)

CLIENT_EVENTS: Final[dict[HookClient, dict[HookEventName, str]]] = {
    "claude-code": {
        "session-start": "SessionStart",
        "prompt": "UserPromptSubmit",
        "pre-compact": "PreCompact",
        "session-end": "SessionEnd",
    },
    "codex": {
        "session-start": "SessionStart",
        "prompt": "UserPromptSubmit",
        "pre-compact": "PreCompact",
        "stop": "Stop",
    },
    "cursor": {"session-start": "sessionStart", "pre-compact": "preCompact", "stop": "stop"},
    "gemini": {
        "session-start": "SessionStart",
        "prompt": "BeforeAgent",
        "pre-compact": "PreCompress",
        "session-end": "SessionEnd",
    },
    "copilot": {"session-start": "sessionStart", "session-end": "sessionEnd"},
}
"""The events that `mycel install` connects, by the client's own names."""
INJECTING: Final = frozenset(("session-start", "prompt"))
"""The events whose answer the model reads."""


class HookEvent(NamedTuple):
    """An event of a client."""

    name: HookEventName
    client: str
    session: str
    prompt: str
    transcript: str
    """The path of the session's transcript; empty if the client names none."""
    folder: str
    source: str
    """The reason of a session's start or end, such as `resume` or `clear`."""


def read_event(name: HookEventName, client: str, payload: bytes) -> HookEvent:
    """The event in a client's JSON; fields that the client leaves out are empty."""
    try:
        wire = orjson.loads(payload) if payload.strip() else {}
    except ValueError:
        wire = {}
    wire = wire if isinstance(wire, dict) else {}
    roots = wire.get("workspace_roots")
    return HookEvent(
        name,
        client,
        _text(wire, "session_id", "conversation_id", "sessionId"),
        _text(wire, "prompt", "user_prompt", "input"),
        _text(wire, "transcript_path", "transcriptPath"),
        _text(wire, "cwd") or (str(roots[0]) if isinstance(roots, list) and roots else ""),
        _text(wire, "source", "reason", "trigger"),
    )


def _text(wire: Mapping[str, Any], *keys: str) -> str:
    return next((wire[key] for key in keys if isinstance(wire.get(key), str)), "")


def answer_text(event: HookEvent, text: str) -> bytes:
    """The output that makes a client give a text to its model; empty for an empty text."""
    if not text or event.name not in INJECTING:
        return b""
    if event.client in ("cursor", "copilot"):
        return orjson.dumps({"additional_context": text, "additionalContext": text}) + b"\n"
    events = CLIENT_EVENTS.get(event.client, CLIENT_EVENTS["claude-code"])  # type: ignore[call-overload]
    output = {"hookEventName": events[event.name], "additionalContext": text}
    return orjson.dumps({"hookSpecificOutput": output}) + b"\n"
