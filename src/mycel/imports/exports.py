"""Exports of ChatGPT and Claude, and plain files of turns.

ChatGPT stores a conversation as a tree: each time an answer was generated again, a branch begins.
Only the branch that the user saw last is read, which ends at `current_node`. Claude stores a list
of messages. A plain file has a turn in each line: `{"conversation": …, "speaker": …, "text": …,
"time": …}`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from mycel.imports.text_streams import json_items, json_lines
from mycel.imports.turns import (
    ASSISTANT,
    USER,
    SourceProblem,
    Turn,
    TurnItems,
    cut_text,
    utc_time,
)

_KEYS: Final[dict[str, tuple[str, ...]]] = {
    "conversation": ("conversation", "conversation_id", "session", "session_id", "thread", "group"),
    "speaker": ("speaker", "role", "author", "who", "sender", "from"),
    "text": ("text", "content", "message"),
    "time": ("time", "timestamp", "created_at", "date", "when"),
    "id": ("id", "message_id", "uuid"),
    "position": ("position", "index", "turn", "pos"),
}
"""The keys of a plain turn, the first one as documented."""
_SPEAKERS: Final = {"human": USER, "ai": ASSISTANT, "bot": ASSISTANT, "model": ASSISTANT}


def chatgpt_turns(path: Path) -> TurnItems:
    """The turns of `conversations.json` of ChatGPT."""
    for item in json_items(path):
        if isinstance(item, SourceProblem):
            yield item
            continue
        mapping = item.value.get("mapping") if isinstance(item.value, dict) else None
        if not isinstance(mapping, dict):
            yield SourceProblem(item.place, "it is no conversation: it has no mapping")
            continue
        yield from _chatgpt_conversation(item.value, mapping, item.place)


def _chatgpt_conversation(
    conversation: Mapping[str, Any], mapping: Mapping[str, Any], place: str
) -> TurnItems:
    id_ = conversation.get("conversation_id") or conversation.get("id") or _digest(place)
    title = conversation.get("title")
    for position, node in enumerate(_branch(mapping, conversation.get("current_node"))):
        message = node.get("message")
        if not isinstance(message, dict):
            continue
        author = message.get("author")
        role = author.get("role") if isinstance(author, dict) else None
        if role not in (USER, ASSISTANT):
            continue
        content = message.get("content")
        parts = content.get("parts") if isinstance(content, dict) else None
        kind = content.get("content_type") if isinstance(content, dict) else None
        if kind not in ("text", "multimodal_text") or not isinstance(parts, list):
            continue
        text = cut_text("\n".join(part for part in parts if isinstance(part, str)))
        if text:
            name = author.get("name") if isinstance(author, dict) else None
            yield Turn(
                str(id_),
                str(message.get("id") or position),
                name if isinstance(name, str) and name else role,
                text,
                position,
                utc_time(message.get("create_time") or conversation.get("create_time")),
                title if isinstance(title, str) else "",
            )


def _branch(mapping: Mapping[str, Any], current: object) -> list[Mapping[str, Any]]:
    """The nodes from the root to the current node; without a current node, to the last leaf."""
    if not isinstance(current, str) or current not in mapping:
        leaves = [
            key
            for key, node in mapping.items()
            if isinstance(node, dict) and not node.get("children")
        ]
        current = leaves[-1] if leaves else None
    nodes: list[Mapping[str, Any]] = []
    visited: set[object] = set()
    while isinstance(current, str) and current not in visited:
        visited.add(current)
        node = mapping.get(current)
        if not isinstance(node, dict):
            break
        nodes.append(node)
        current = node.get("parent")
    return nodes[::-1]


def claude_turns(path: Path) -> TurnItems:
    """The turns of `conversations.json` of Claude."""
    for item in json_items(path):
        if isinstance(item, SourceProblem):
            yield item
            continue
        value = item.value
        messages = value.get("chat_messages") if isinstance(value, dict) else None
        if not isinstance(messages, list):
            yield SourceProblem(item.place, "it is no conversation: it has no chat_messages")
            continue
        id_ = str(value.get("uuid") or _digest(item.place))
        title = value.get("name")
        for position, message in enumerate(messages):
            if not isinstance(message, dict):
                yield SourceProblem(f"{item.place}, message {position + 1}", "it is no message")
                continue
            text = cut_text(_claude_text(message))
            speaker = str(message.get("sender", USER))
            if text:
                yield Turn(
                    id_,
                    str(message.get("uuid") or position),
                    _SPEAKERS.get(speaker, speaker),
                    text,
                    position,
                    utc_time(message.get("created_at") or value.get("created_at")),
                    title if isinstance(title, str) else "",
                )


def _claude_text(message: Mapping[str, Any]) -> str:
    blocks = message.get("content")
    texts = [
        block["text"]
        for block in (blocks if isinstance(blocks, list) else ())
        if isinstance(block, dict)
        and block.get("type") == "text"
        and isinstance(block.get("text"), str)
    ]
    text = message.get("text")
    return "\n\n".join(texts) if texts else text if isinstance(text, str) else ""


def plain_turns(path: Path) -> TurnItems:
    """The turns of a plain file, one in each line, or of a JSON list of them."""
    is_list = path.suffix.lower() == ".json"
    counts: Counter[str] = Counter()
    for item in json_items(path, ("turns", "messages")) if is_list else json_lines(path):
        if isinstance(item, SourceProblem):
            yield item
        elif isinstance(item.value, dict) and isinstance(_of(item.value, "text"), str):
            yield from _plain_turn(item.value, path.stem, counts)
        else:
            yield SourceProblem(item.place, "it is no turn: it has no text")


def _plain_turn(value: Mapping[str, Any], stem: str, counts: Counter[str]) -> Iterator[Turn]:
    conversation = str(_of(value, "conversation") or stem)
    text = cut_text(_of(value, "text"))
    position = _of(value, "position")
    at = position if isinstance(position, int) else counts[conversation]
    counts[conversation] += 1
    if not text:
        return
    speaker = str(_of(value, "speaker") or USER)
    yield Turn(
        conversation,
        str(_of(value, "id") or at),
        _SPEAKERS.get(speaker.lower(), speaker),
        text,
        at,
        utc_time(_of(value, "time")),
        str(value.get("title") or ""),
    )


def _of(value: Mapping[str, Any], key: str) -> Any:
    return next((value[name] for name in _KEYS[key] if value.get(name) is not None), None)


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]
