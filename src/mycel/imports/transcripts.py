"""Sessions of Claude Code and Codex: from the lines of a transcript to turns and actions.

A line is an event. Turns are the texts that the user typed and the assistant answered. Actions are
calls of tools: written files, and commands with their outcome; a hook makes the summary of a
session from them. Nothing in a transcript is executed or followed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from mycel.imports.text_streams import json_lines
from mycel.imports.turns import ASSISTANT, USER, SourceProblem, Turn, TurnItems, cut_text, utc_time

_NOT_TYPED: Final = re.compile(
    r"\s*(?:<(?:command-name|command-message|command-args|local-command|system-reminder"
    r"|environment_context|user_instructions|permissions|turn_context|INSTRUCTIONS|skill"
    r"|task-notification|bash-|mycel-memory)|Caveat: The messages below|# AGENTS\.md instructions"
    r"|This session is being continued from|\[Request interrupted)"
)
"""A pattern for texts that the client wrote, and not the user."""
_WRITING: Final = frozenset(
    ("write", "edit", "multiedit", "notebookedit", "str_replace", "create_file", "write_file")
)
_RUNNING: Final = frozenset(("bash", "shell", "exec_command", "local_shell", "run_shell_command"))
_EXIT: Final = re.compile(
    r"(?:exit code:?|exited with code|exit_code\W{1,4})\s*(\d{1,3})", re.IGNORECASE
)
_PATCHED: Final = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (\S[^\n]{0,400})", re.MULTILINE)


class ToolAction(NamedTuple):
    """A call of a tool: a file that was written, or a command that was run."""

    id: str
    file: str = ""
    command: str = ""


class ActionOutcome(NamedTuple):
    """The outcome of a call."""

    id: str
    failed: bool


TranscriptItem = Turn | SourceProblem | ToolAction | ActionOutcome


def read_transcript(path: Path) -> Iterator[TranscriptItem]:
    """The turns and actions of a session of Claude Code or Codex."""
    reader = _Reader(path.stem)
    for item in json_lines(path):
        if isinstance(item, SourceProblem):
            yield item
        elif isinstance(item.value, dict):
            yield from reader.items(item.value)
        else:
            yield SourceProblem(item.place, "it is no event of a session")


def transcript_turns(path: Path) -> TurnItems:
    """The turns of a session."""
    return (item for item in read_transcript(path) if isinstance(item, Turn | SourceProblem))


class _Reader:
    """Reads the events of one session."""

    def __init__(self, name: str) -> None:
        self._conversation = name
        self._title = ""
        self._position = 0

    def items(self, event: Mapping[str, Any]) -> Iterator[TranscriptItem]:
        """The turns and actions of one event."""
        payload, kind = event.get("payload"), event.get("type")
        if kind in ("session_meta", "response_item", "event_msg", "turn_context"):
            if isinstance(payload, dict):
                yield from self._codex(kind, payload, utc_time(event.get("timestamp")))
            return
        if kind in ("summary", "ai-title", "custom-title"):
            title = event.get("summary") or event.get("title") or event.get("aiTitle")
            self._title = title if isinstance(title, str) else self._title
            return
        if kind not in (USER, ASSISTANT) or event.get("isMeta") or event.get("isSidechain"):
            return
        message = event.get("message")
        if not isinstance(message, dict):
            return
        session = event.get("sessionId")
        if isinstance(session, str) and session:
            self._conversation = session
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict):
                yield from _claude_action(block)
        yield from self._turn(
            kind, _texts_in(content), event.get("uuid"), utc_time(event.get("timestamp"))
        )

    def _codex(
        self, kind: str, payload: Mapping[str, Any], time: str | None
    ) -> Iterator[TranscriptItem]:
        if kind == "session_meta" and isinstance(payload.get("id"), str):
            self._conversation = payload["id"]
        if kind != "response_item":
            return
        match payload.get("type"):
            case "message":
                role = payload.get("role")
                if role in (USER, ASSISTANT):
                    yield from self._turn(
                        role, _texts_in(payload.get("content")), payload.get("id"), time
                    )
            case "function_call" | "local_shell_call" | "custom_tool_call":
                yield from _codex_action(payload)
            case "function_call_output" | "custom_tool_call_output":
                yield ActionOutcome(
                    str(payload.get("call_id", "")), _has_failed(payload.get("output"))
                )

    def _turn(
        self, speaker: str, text: str, id_: object, time: str | None
    ) -> Iterator[TranscriptItem]:
        text = cut_text(text)
        if not text or (speaker == USER and _NOT_TYPED.match(text)):
            return
        name = id_ if isinstance(id_, str) and id_ else f"{self._position:06d}"
        turn = Turn(self._conversation, name, speaker, text, self._position, time, self._title)
        self._position += 1
        yield turn


def _texts_in(content: object) -> str:
    """The words of a message, from its text blocks."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = [
        block["text"]
        for block in content
        if isinstance(block, dict)
        and block.get("type") in ("text", "input_text", "output_text")
        and isinstance(block.get("text"), str)
    ]
    return "\n\n".join(text for text in texts if not _NOT_TYPED.match(text))


def _claude_action(block: Mapping[str, Any]) -> Iterator[TranscriptItem]:
    arguments = block.get("input")
    if block.get("type") == "tool_use" and isinstance(arguments, dict):
        tool, id_ = str(block.get("name", "")).lower(), str(block.get("id", ""))
        path = arguments.get("file_path") or arguments.get("path") or arguments.get("notebook_path")
        if tool in _WRITING and isinstance(path, str):
            yield ToolAction(id_, file=path)
        elif tool in _RUNNING and isinstance(arguments.get("command"), str):
            yield ToolAction(id_, command=arguments["command"])
    elif block.get("type") == "tool_result":
        failed = bool(block.get("is_error")) or _has_failed(block.get("content"))
        yield ActionOutcome(str(block.get("tool_use_id", "")), failed)


def _codex_action(payload: Mapping[str, Any]) -> Iterator[TranscriptItem]:
    id_ = str(payload.get("call_id", ""))
    arguments: Any = payload.get("arguments") or payload.get("input") or payload.get("action")
    text = arguments if isinstance(arguments, str) else ""
    for file in _PATCHED.findall(text.replace("\\n", "\n")):
        yield ToolAction(id_, file=file)
    if text.startswith("{"):
        import orjson  # noqa: PLC0415 - few events need it.

        try:
            arguments = orjson.loads(text)
        except ValueError:
            return
    command = (
        arguments.get("command") or arguments.get("cmd") if isinstance(arguments, dict) else None
    )
    if isinstance(command, list):
        command = " ".join(map(str, command[2:] if command[:2] == ["bash", "-lc"] else command))
    if isinstance(command, str) and "*** Begin Patch" not in command:
        yield ToolAction(id_, command=command)


def _has_failed(output: object) -> bool:
    text = output if isinstance(output, str) else str(output)
    match = _EXIT.search(text[:4_000])
    return match is not None and match[1] != "0"
