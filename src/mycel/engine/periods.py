"""The period in which an element holds, by its metadata `valid_from` and `valid_until`."""

from __future__ import annotations

from mycel.model import times
from mycel.model.limits import INTEGER_MAX
from mycel.model.values import JsonObject
from mycel.store.index.lifetimes import VALID_FROM, VALID_UNTIL


def period_us(metadata: JsonObject) -> tuple[int, int]:
    """The period in microseconds; an end that is missing or no time is open."""
    since, until = (metadata.get(key) for key in (VALID_FROM, VALID_UNTIL))
    return (
        times.from_text(since) if times.is_time(since) else -INTEGER_MAX,
        times.from_text(until) if times.is_time(until) else INTEGER_MAX,
    )


def period_text(metadata: JsonObject) -> str:
    """The period in words."""
    words = [
        f"{word} {metadata[key]}"
        for word, key in (("from", VALID_FROM), ("until", VALID_UNTIL))
        if metadata.get(key) is not None
    ]
    return " ".join(words) or "without dates"
