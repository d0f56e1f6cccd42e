"""The answer to a tool call: text for the model, a small structured part for programs.

Clients cut results at about 25,000 tokens, and some show both parts to the model. So the sum of
both stays below `TOOL_RESULT_TOKENS_MAX`. If an answer was cut, it says so and how to get the rest.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import takewhile
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from mycel.errors import MycelError
from mycel.graph.costs import TOKEN_CHARACTERS
from mycel.model.limits import TOOL_RESULT_TOKENS_MAX
from mycel.model.names import first_few, shorten
from mycel.model.values import JsonObject

if TYPE_CHECKING:
    from mycel.history.merge.outcome import Merge

COMPLETE: Final = {"resultType": "complete"}
"""A field of every result in the newer era of MCP; the SDK drops it in the older era."""
TEXT_TOKENS_MAX: Final = TOOL_RESULT_TOKENS_MAX * 3 // 4
DATA_TOKENS_MAX: Final = TOOL_RESULT_TOKENS_MAX // 5
CLOSING_TOKENS: Final = 600
"""Room for the last lines, which name omitted parts and how to get them."""

_REMARK_TOKENS: Final = 12
"""Room for a remark on the missing part of a text."""
_FAILURES_TOLD: Final = 10
"""The maximum number of failed nodes that are listed with their errors."""
_URI_CHARACTERS: Final = 200


def estimate(text: str) -> int:
    """The estimated tokens of a text, by its bytes: scripts other than Latin take more tokens."""
    size = len(text) if text.isascii() else len(text.encode(errors="replace"))
    return -(-size // TOKEN_CHARACTERS)


class Undecided(NamedTuple):
    """An open merge, and its conflicts that the policy leaves to a person."""

    merge: Merge
    personal: frozenset[str]
    is_for_model: bool = True
    """True until the model was asked and has made its decisions."""


class Answer(NamedTuple):
    """The answer to a tool call."""

    text: str
    data: JsonObject | None = None
    failed: bool = False
    asks: Undecided | None = None
    """Conflicts that may be put to the client as questions."""
    view: JsonObject | None = None
    """The part of the graph that the page beside a chat shows."""

    def to_wire(self) -> dict[str, Any]:
        """The result in the form of MCP."""
        payload: dict[str, Any] = {
            "content": [{"type": "text", "text": _bounded(self.text)}],
            "isError": self.failed,
        }
        if self.data is not None:
            payload["structuredContent"] = self.data
        if self.view is not None:
            payload["_meta"] = {"mycel/view": self.view}
        return payload


def failure(error: MycelError) -> Answer:
    """An error as a model reads it: code, message and hint."""
    text = f"{error.code} {error.name}: {error.message}\nHint: {error.hint}"
    payload = smaller(_sendable(error.to_dict()), DATA_TOKENS_MAX)
    return Answer(_sendable(text), {"error": payload}, failed=True)


Failures = Mapping[str, MycelError]
"""Errors by URI, as the call passed it."""


def answer_about(count: int, failures: Failures, page: TextPage, data: JsonObject) -> Answer:
    """The answer to a call on several nodes, with the failed ones; an error if all failed."""
    if failures and len(failures) == count:
        return _all_failed(failures)
    if failures:
        for line in _lines(failures):
            page.close(line)
        data["failed"] = _failed(failures)
    return Answer(str(page), data_within(data))


def _all_failed(failures: Failures) -> Answer:
    (uri, first), *others = failures.items()
    answer = failure(first)
    if not others:
        return answer
    page = TextPage()
    name = _sendable(shorten(uri, _URI_CHARACTERS))
    page.add_all((f"{name}: {answer.text}", *_lines(dict(others))))
    return Answer(
        str(page), data_within({**(answer.data or {}), "failed": _failed(failures)}), True
    )


def _lines(failures: Failures) -> list[str]:
    lines = [
        f"{shorten(uri, _URI_CHARACTERS)}: {error.code} {error.name}: {error.message} {error.hint}"
        for uri, error in failures.items()
    ]
    return [_sendable(line) for line in first_few(lines, _FAILURES_TOLD)]


def _failed(failures: Failures) -> list[JsonObject]:
    return [
        _sendable({"uri": shorten(uri, _URI_CHARACTERS), "code": error.code, "name": error.name})
        for uri, error in failures.items()
    ]


def _sendable(value: Any) -> Any:
    """A part of an error without invalid Unicode, which quotes of the input may contain."""
    match value:
        case str():
            return value.encode(errors="replace").decode()
        case dict():
            return {_sendable(str(key)): _sendable(member) for key, member in value.items()}
        case list() | tuple():
            return [_sendable(member) for member in value]
        case None | bool() | int():
            return value
        case float() if isfinite(value):
            return value
    return _sendable(repr(value))


def _bounded(text: str) -> str:
    """A text cut to the size of an answer, as a last resort."""
    if estimate(text) <= TOOL_RESULT_TOKENS_MAX:
        return text
    return f"{_beginning(text, TEXT_TOKENS_MAX)}\n… cut off here: ask for less at once."


def _beginning(text: str, tokens: int) -> str:
    """The beginning of a text with about this number of tokens."""
    size = min(len(text), tokens * TOKEN_CHARACTERS)
    while size and estimate(text[:size]) > tokens:
        size = size * 3 // 4
    return text[:size]


class TextPage:
    """Text that grows line by line until its budget is used up."""

    def __init__(self, tokens_max: int = TEXT_TOKENS_MAX) -> None:
        self._lines: list[str] = []
        self._left = tokens_max - CLOSING_TOKENS

    @property
    def tokens_left(self) -> int:
        """The tokens left of the budget."""
        return self._left

    def add(self, text: str) -> bool:
        """Add a text if the whole of it fits."""
        size = estimate(text) + 1
        if size > self._left:
            return False
        self._left -= size
        self._lines.append(text)
        return True

    def add_all(self, texts: Iterable[str]) -> int:
        """Add texts up to the first that does not fit. Returns how many were added."""
        return sum(1 for _ in takewhile(self.add, texts))

    def add_beginning(self, text: str) -> int:
        """Add as much of a text as fits. Returns the number of characters."""
        beginning = _beginning(text, max(self._left - 1, 0))
        if beginning:
            self.add(beginning)
        return len(beginning)

    def close(self, text: str) -> None:
        """Add a short last text, even beyond the budget."""
        self._lines.append(text)

    def __str__(self) -> str:
        return "\n".join(self._lines)


def data_within(data: JsonObject) -> JsonObject:
    """The structured part of an answer, cut to its size."""
    return smaller(data, DATA_TOKENS_MAX) if size_of(data) > DATA_TOKENS_MAX else data


def smaller(value: Any, tokens: int) -> Any:
    """A value cut to a number of tokens: its lists and texts are shortened at the end."""
    if size_of(value) <= tokens:
        return value
    match value:
        case str():
            beginning = (
                _beginning(value, tokens - _REMARK_TOKENS) if tokens > _REMARK_TOKENS else ""
            )
            return (
                f"{beginning}… ({len(value) - len(beginning)} more characters)"
                if beginning
                else "…"
            )
        case list():
            members: list[Any] = []
            for member in value:
                size = size_of(member)
                if size > tokens:
                    if not members:
                        members.append(smaller(member, tokens))
                    break
                members.append(member)
                tokens -= size
            return members
        case dict():
            sizes = sorted((size_of(member) + size_of(key), key) for key, member in value.items())
            payload = {}
            for place, (size, key) in enumerate(sizes):
                share = tokens // (len(sizes) - place)
                room = share - size_of(key)
                if room <= 0:
                    break
                payload[key] = value[key] if size <= share else smaller(value[key], room)
                tokens -= min(size, share)
            return {key: payload[key] for key in value if key in payload}
    return value


def size_of(value: Any) -> int:
    """The estimated tokens of a value as JSON."""
    return estimate(value) + 1 if isinstance(value, str) else estimate(json_text(value)) + 1


def json_text(value: Any) -> str:
    """A value as JSON, without spaces."""
    try:
        return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS, default=str).decode()
    except TypeError:  # An integer of more than 64 bits.
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
