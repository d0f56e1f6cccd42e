"""When an element holds: its present period and its former ones."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from mycel.model import times
from mycel.model.values import JsonObject

KEYS = ("valid_from", "valid_until", "former_periods")


class Span(NamedTuple):
    """A period, with its ends as numbers and as they were written."""

    begin: float
    end: float
    texts: tuple[Any, Any]

    def __bool__(self) -> bool:
        return self.begin < self.end

    def meets(self, other: Span) -> bool:
        return bool(Span(max(self.begin, other.begin), min(self.end, other.end), (None, None)))


def span(given: JsonObject) -> Span:
    """The period of `valid_from` and `valid_until`; what is no time is open."""
    begin, end = (given.get(key) if times.is_time(given.get(key)) else None for key in KEYS[:2])
    return Span(
        -math.inf if begin is None else times.from_text(begin),
        math.inf if end is None else times.from_text(end),
        (begin, end),
    )


def former(metadata: JsonObject) -> list[Span]:
    """The former periods, without entries that are none."""
    given = metadata.get("former_periods")
    return together(
        [
            span(entry)
            for entry in (given if isinstance(given, list) else [])
            if isinstance(entry, dict)
            and set(entry) <= {"valid_from", "valid_until"}
            and all(value is None or times.is_time(value) for value in entry.values())
            and span(entry).texts != (None, None)
        ]
    )


def together(spans: list[Span]) -> list[Span]:
    """Periods in their order, those that meet or touch as one."""
    found: list[Span] = []
    for one in sorted(filter(None, spans), key=lambda each: each[:2]):
        if found and one.begin <= found[-1].end:
            last = found.pop()
            longer = one if one.end > last.end else last
            found.append(Span(last.begin, longer.end, (last.texts[0], longer.texts[1])))
        else:
            found.append(one)
    return found


def holds(metadata: JsonObject, moment: int) -> bool:
    """Whether a time is in one of the former periods."""
    return any(one.begin <= moment < one.end for one in former(metadata))


def said(now: Span, before: list[Span]) -> JsonObject:
    """The metadata for these periods."""

    def entry(one: Span) -> JsonObject:
        pairs = zip(KEYS[:2], one.texts, strict=True)
        return {key: text for key, text in pairs if text is not None}

    return entry(now) | ({"former_periods": [entry(one) for one in before]} if before else {})


def merged(before: JsonObject, given: JsonObject) -> JsonObject:
    """The metadata of a link after keys were set; it keeps the periods that it had."""
    after = before | given
    new_dates = {key for key in KEYS[:2] if key in given}
    if not new_dates or "former_periods" in given:
        return after
    old, new, earlier = span(before), span(after), former(before)
    if new[:2] == old[:2]:
        return after
    begin, end = new.texts
    known = {**after, **{key: before.get(key) for key in KEYS[:2]}}
    known = {key: value for key, value in known.items() if key in before or key not in KEYS}
    if new_dates == {"valid_from"} and begin is not None:
        if any(one.begin <= new.begin < one.end for one in earlier):
            return known
        if not new and old:
            new = Span(new.begin, math.inf, (begin, None))
    elif (
        new_dates == {"valid_until"}
        and end is not None
        and not new
        and any(one.begin < new.end <= one.end for one in earlier)
    ):
        return known
    if not old or not new or old.meets(new):
        return after
    first, last = sorted((old, new))
    rest = [
        one
        for one in together([*earlier, first])
        if not (last.begin <= one.begin and one.end <= last.end)
    ]
    return {key: value for key, value in after.items() if key not in KEYS} | said(last, rest)
