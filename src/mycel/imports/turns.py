"""The model of conversations that imports and hooks share, and the counts of what is written.

A turn is what one speaker said at once. Its id is its identity: the same turn is never written
twice, and one that the user deleted is not written again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, NamedTuple

USER: Final = "user"
ASSISTANT: Final = "assistant"
TURN_CHARACTERS_MAX: Final = 20_000
"""A longer text is cut as it is read, because pasted logs and files say little."""
_EARLIEST_YEAR: Final = 1970
_MILLISECONDS_FROM: Final = 1e11
"""A number above this is a time in milliseconds since 1970; any other one is in seconds."""


class Turn(NamedTuple):
    """The words that one speaker said at once."""

    conversation: str
    """The id of the conversation, unique within its source."""
    id: str
    """Unique within the conversation."""
    speaker: str
    text: str
    position: int
    time: str | None = None
    """ISO 8601 in UTC."""
    title: str = ""
    """The title of the conversation, if it is known when the turn is read."""


class SourceProblem(NamedTuple):
    """A part of a source that cannot be read: its place, and why."""

    place: str
    why: str


@dataclass(slots=True)
class ImportCounts:
    """The result of writing turns or notes."""

    written: int = 0
    known: int = 0
    """Turns that were there before, and notes whose source has not changed."""
    deleted: int = 0
    """Items that the user deleted; they stay deleted."""
    archived: int = 0
    """Notes whose files are gone."""
    conversations: int = 0
    """Conversations that were new."""
    links: int = 0
    secrets: Counter[str] = field(default_factory=Counter)
    """Secrets that were redacted in what was written, by kind."""


TurnItem = Turn | SourceProblem
TurnItems = Iterator[TurnItem]


def utc_time(value: object) -> str | None:
    """A time of a source as ISO 8601 in UTC; None if the value is no time.

    >>> utc_time(1767225600), utc_time("2026-01-01T01:00:00+01:00"), utc_time("soon")
    ('2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', None)
    """
    try:
        if isinstance(value, bool):
            return None
        if isinstance(value, int | float):
            seconds = value / 1000 if value > _MILLISECONDS_FROM else value
            time = datetime.fromtimestamp(seconds, UTC)
        elif isinstance(value, str) and value:
            time = datetime.fromisoformat(value)
            time = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
        else:
            return None
    except (ValueError, OverflowError, OSError):
        return None
    if time.year < _EARLIEST_YEAR:
        return None
    return time.isoformat(timespec="seconds").replace("+00:00", "Z")


def cut_text(text: str) -> str:
    """A text without spaces around it, cut to the maximum length of a turn."""
    text = text.strip()
    if len(text) <= TURN_CHARACTERS_MAX:
        return text
    left_out = len(text) - TURN_CHARACTERS_MAX
    return f"{text[:TURN_CHARACTERS_MAX].rstrip()}\n[… {left_out} more characters]"
