"""What a tool call gives back: text for the model, a small structured part for programs.

Clients cut results at about 25,000 tokens, warn at 10,000, and some show a model the structured
part instead of the text, or both. So both together stay below `TOOL_RESULT_TOKENS_MAX`, whatever is
asked for; and what was left out is said, with a way to get it. A cut is never silent: half a list
that looks like a whole one is worse than an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import orjson

from mycel.errors import MycelError
from mycel.graph.costs import TOKEN_CHARACTERS
from mycel.model.limits import TOOL_RESULT_TOKENS_MAX
from mycel.model.values import JsonObject

TEXT_TOKENS_MAX: Final = TOOL_RESULT_TOKENS_MAX * 3 // 4
DATA_TOKENS_MAX: Final = TOOL_RESULT_TOKENS_MAX // 5
ENVELOPE_TOKENS_MAX: Final = TOOL_RESULT_TOKENS_MAX * 9 // 20
"""A response of KIP is sent twice, as text and as data."""
CLOSING_TOKENS: Final = 600
"""Kept free for what is said at the end: what was left out, and how to get it."""

_SMALL: Final = 4_000
"""So many characters are never too many; nobody counts them."""


def estimate(text: str) -> int:
    """About how many tokens a text has. Scripts other than Latin take more: bytes are counted."""
    size = len(text) if text.isascii() else len(text.encode(errors="replace"))
    return -(-size // TOKEN_CHARACTERS)


class Answer(NamedTuple):
    """What a tool call gives back."""

    text: str
    data: JsonObject | None = None
    failed: bool = False

    def to_wire(self) -> dict[str, Any]:
        """The result as MCP has it, within its bounds."""
        told: dict[str, Any] = {
            "content": [{"type": "text", "text": _bounded(self.text)}],
            "isError": self.failed,
        }
        if self.data is not None:
            told["structuredContent"] = self.data
        return told


def failure(error: MycelError) -> Answer:
    """An error as a model reads it: code, what happened, what to do next."""
    wire = error.to_dict()
    text = f"{error.code} {error.name}: {error.message}\nHint: {error.hint}"
    # What messages quote may be a text that JSON cannot carry.
    told = orjson.loads(orjson.dumps(_sendable(wire), option=orjson.OPT_NON_STR_KEYS, default=repr))
    return Answer(_sendable(text), {"error": _smaller(told, DATA_TOKENS_MAX)}, failed=True)


def _sendable(value: Any) -> Any:
    match value:
        case str():
            return value.encode(errors="replace").decode()
        case dict():
            return {_sendable(key): _sendable(each) for key, each in value.items()}
        case list() | tuple():
            return [_sendable(each) for each in value]
    return value


def _bounded(text: str) -> str:
    """A text that fits, if need be without its end. Those who write long ones should not need it."""
    if len(text) <= _SMALL or estimate(text) <= TOOL_RESULT_TOKENS_MAX:
        return text
    return f"{_beginning(text, TEXT_TOKENS_MAX)}\n… cut off here: ask for less at once."


def _beginning(text: str, tokens: int) -> str:
    """As much of a text as has about so many tokens."""
    size = min(len(text), tokens * TOKEN_CHARACTERS)
    while size and estimate(text[:size]) > tokens:
        size = size * 3 // 4
    return text[:size]


class Page:
    """Text that grows line by line until its budget is used up."""

    def __init__(self, tokens_max: int = TEXT_TOKENS_MAX) -> None:
        self._lines: list[str] = []
        self._left = tokens_max - CLOSING_TOKENS

    @property
    def left(self) -> int:
        """How many tokens there is still room for."""
        return self._left

    def add(self, text: str) -> bool:
        """Add a text if there is room for all of it."""
        size = estimate(text) + 1
        if size > self._left:
            return False
        self._left -= size
        self._lines.append(text)
        return True

    def add_beginning(self, text: str) -> int:
        """Add as much of a text as there is room for. Returns how many characters that was."""
        shown = _beginning(text, max(self._left - 1, 0))
        if shown:
            self.add(shown)
        return len(shown)

    def close(self, text: str) -> None:
        """Add a short text whatever room there is."""
        self._lines.append(text)

    def __str__(self) -> str:
        return "\n".join(self._lines)


def data_within(data: JsonObject) -> JsonObject:
    """The structured part of an answer, small enough."""
    return _smaller(data, DATA_TOKENS_MAX) if _size(data) > DATA_TOKENS_MAX else data


# Responses of KIP.


def envelope(response: Mapping[str, Any]) -> Answer:
    """A response of KIP: as it is, or with fewer rows and a warning that says so."""
    told = dict(response)
    text = _json(told)
    if len(text) > _SMALL and estimate(text) > ENVELOPE_TOKENS_MAX:
        told = _fewer(told)
        text = _json(told)
    return Answer(text, told, failed="error" in told)


def _fewer(response: JsonObject) -> JsonObject:
    rows = response.get("result")
    told = {key: value for key, value in response.items() if key != "next_cursor"}
    room = ENVELOPE_TOKENS_MAX - CLOSING_TOKENS
    if "result" in response:
        told["result"] = _fewer_columns(rows, room) if _is_columns(rows) else _smaller(rows, room)
    else:
        told = _smaller(told, room)
    shown, whole = _length(told.get("result")), _length(rows)
    what = f"{shown} of {whole} rows are shown, or not all of each" if whole else "not all is shown"
    said = (
        f"The result is too large for one answer: {what}. Ask for fewer expressions, for single"
        " attributes instead of whole elements, or page with LIMIT and CURSOR."
    )
    told["warnings"] = [said, *_smaller(list(response.get("warnings", ())), CLOSING_TOKENS)]
    return told


def _is_columns(result: Any) -> bool:
    """Whether a result is a list of columns, which have to be cut at the same row."""
    if not isinstance(result, list) or len(result) < 2:
        return False
    lengths = {len(each) if isinstance(each, list) else -1 for each in result}
    return len(lengths) == 1 and lengths.pop() > 1


def _length(result: Any) -> int:
    if _is_columns(result):
        return len(result[0])
    return len(result) if isinstance(result, list) else 0


def _fewer_columns(columns: list[list[Any]], tokens: int) -> list[list[Any]]:
    few, many = 0, len(columns[0])
    while few < many:
        middle = (few + many + 1) // 2
        if _size([column[:middle] for column in columns]) <= tokens:
            few = middle
        else:
            many = middle - 1
    return [column[:few] for column in columns]


def _smaller(value: Any, tokens: int) -> Any:
    """A value with as much of its content as has room: beginnings of lists and texts."""
    if _size(value) <= tokens:
        return value
    match value:
        case str():
            shown = _beginning(value, max(tokens - 10, 0))
            return f"{shown}… ({len(value) - len(shown)} more characters)"
        case list():
            kept: list[Any] = []
            for each in value:
                size = _size(each)
                if size > tokens:
                    if not kept:
                        kept.append(_smaller(each, tokens))
                    break
                kept.append(each)
                tokens -= size
            return kept
        case dict():
            sizes = sorted((_size(each) + _size(key), key) for key, each in value.items())
            told = {}
            for place, (size, key) in enumerate(sizes):
                share = tokens // (len(sizes) - place)
                if share <= 0:
                    break
                told[key] = value[key] if size <= share else _smaller(value[key], share)
                tokens -= min(size, share)
            return {key: told[key] for key in value if key in told}
    return value


def _size(value: Any) -> int:
    return estimate(value) + 1 if isinstance(value, str) else estimate(_json(value)) + 1


def _json(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS, default=str).decode()
