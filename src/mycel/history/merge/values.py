"""Merges one value in three versions: objects by key, lists by item, texts by line.

If only one side has changed a value, the value of that side is taken. If both sides have changed it
in different ways, the value is *contested*, and a judge decides (`rules`, or a person). This module
knows nothing of graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Final, Literal, NamedTuple

import orjson

from mycel.history.merge.sequences import Region, regions
from mycel.store.query.diff import ABSENT, LINES_MAX, same_value

Path = tuple[str, ...]
"""The key of an attribute, and below it keys of nested objects."""

ContestKind = Literal["value", "text", "array"]


class Unknown(Enum):
    """The type of `UNKNOWN`, a value on which several bases disagree. It equals nothing."""

    UNKNOWN = "unknown"


UNKNOWN: Final = Unknown.UNKNOWN


class Contest(NamedTuple):
    """A value that both sides have changed in different ways."""

    kind: ContestKind
    path: Path
    base: Any
    ours: Any
    theirs: Any
    regions: tuple[Region, ...] = ()
    """For a text: its lines, in regions; regions without a merged value are contested."""


ValueJudge = Callable[[Contest], Any]
"""A function that decides about a contested value, and returns the value to use."""


def equal_values(one: Any, other: Any) -> bool:
    """True if two values are equal; an unknown value equals nothing."""
    return one is not UNKNOWN and other is not UNKNOWN and same_value(one, other)


def settle(base: Any, ours: Any, theirs: Any, contested: Callable[[], Any]) -> Any:
    """The changed value, if one side changed it or both alike; otherwise that of `contested`."""
    if equal_values(ours, theirs) or equal_values(base, theirs):
        return ours
    return theirs if equal_values(base, ours) else contested()


def merge_value(path: Path, base: Any, ours: Any, theirs: Any, judge: ValueJudge) -> Any:
    """The merged value; ABSENT if there is none."""
    return settle(base, ours, theirs, lambda: combine(path, base, ours, theirs, judge))


def combine(path: Path, base: Any, ours: Any, theirs: Any, judge: ValueJudge) -> Any:
    """The merged value if both sides differ from the base and from each other."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return _objects(path, base, ours, theirs, judge)
    if isinstance(ours, list) and isinstance(theirs, list):
        items = base if isinstance(base, list) else []
        merged = None if base is UNKNOWN else merge_lists(items, ours, theirs)
        if merged is not None:
            return merged
        return judge(Contest("array", path, base, ours, theirs))
    if isinstance(ours, str) and isinstance(theirs, str) and "\n" in ours + theirs:
        return _texts(path, base, ours, theirs, judge)
    return judge(Contest("value", path, base, ours, theirs))


def _objects(path: Path, base: Any, ours: Any, theirs: Any, judge: ValueJudge) -> dict[str, Any]:
    before = base if isinstance(base, dict) else {}
    nothing = UNKNOWN if base is UNKNOWN else ABSENT
    merged = {
        key: merge_value(
            (*path, key),
            before.get(key, nothing),
            ours.get(key, ABSENT),
            theirs.get(key, ABSENT),
            judge,
        )
        for key in sorted({*before, *ours, *theirs})
    }
    return {key: value for key, value in merged.items() if value is not ABSENT}


# Lists.


def merge_lists(base: list[Any], ours: list[Any], theirs: list[Any]) -> list[Any] | None:
    """The merged list; None if both sides have changed the same place, and the list is no set.

    A list of different scalars counts as a set: it gets the items that either side added, and loses
    those that either side removed, wherever they are.
    """
    texts = [list(map(_text, items)) for items in (base, ours, theirs)]
    values = {
        text: item
        for items, item_texts in zip((base, ours, theirs), texts, strict=True)
        for item, text in zip(items, item_texts, strict=True)
    }
    is_set = all(len(set(text)) == len(text) for text in texts) and not any(
        isinstance(item, dict | list) for item in values.values()
    )
    merged: list[str] = []
    for region in regions(*texts):
        part = region.merged
        if part is None and not is_set:
            return None
        merged += _united(region) if part is None else part
    if is_set:
        removals = {*texts[0]} - ({*texts[1]} & {*texts[2]})
        merged = [key for key in dict.fromkeys(merged) if key not in removals]
    return [values[key] for key in merged]


def merge_sets(base: list[Any], ours: list[Any], theirs: list[Any]) -> list[Any]:
    """The union of two lists, each item once, without items that either side has removed."""
    values = {_text(item): item for items in (base, ours, theirs) for item in items}
    texts = (tuple(map(_text, items)) for items in (base, ours, theirs))
    united = _united(Region(*texts))
    return [values[key] for key in dict.fromkeys(united)]


def _united(region: Region) -> list[str]:
    """Items of the base that both sides kept, then added items; sorted, if both sides added."""
    base, ours, theirs = map(set, region)
    common = [key for key in region.base if key in ours and key in theirs]
    added = [ours - base, theirs - base]
    if not all(added):  # If only one side has added items, its order counts.
        side = region.ours if added[0] else region.theirs
        return [*common, *(key for key in side if key not in base)]
    return [*common, *sorted(added[0] | added[1])]


def _text(item: Any) -> str:
    return orjson.dumps(item, option=orjson.OPT_SORT_KEYS).decode()


# Texts.


def _texts(path: Path, base: Any, ours: str, theirs: str, judge: ValueJudge) -> Any:
    before = base if isinstance(base, str) else ""
    texts = [_lines(text) for text in (before, ours, theirs)]
    if base is UNKNOWN or max(len(text.lines) for text in texts) > LINES_MAX:
        return judge(Contest("text", path, base, ours, theirs))
    text_regions = regions(*(text.lines for text in texts))
    parts = [region.merged for region in text_regions]
    if None in parts:
        return judge(Contest("text", path, base, ours, theirs, tuple(text_regions)))
    merged = [line for part in parts if part is not None for line in part]
    return _ended("".join(merged), *texts)


def with_lines(contest: Contest, new_parts: Sequence[str]) -> str:
    """A text whose contested parts are replaced by given texts, one for each part."""
    rest = iter(new_parts)
    parts = (region.merged for region in contest.regions)
    merged = (next(rest) if part is None else "".join(part) for part in parts)
    text = "".join(part if not part or _is_ended(part) else f"{part}\n" for part in merged)
    before = contest.base if isinstance(contest.base, str) else ""
    return _ended(text, *(_lines(version) for version in (before, contest.ours, contest.theirs)))


def _ended(merged: str, base: Lines, ours: Lines, theirs: Lines) -> str:
    """A merged text. Whether its last line has a line end is merged three-way as well."""
    is_ended = settle(base.is_ended, ours.is_ended, theirs.is_ended, lambda: True)
    return merged if is_ended else _without_end(merged)


def _is_ended(text: str) -> bool:
    return _without_end(text) != text


class Lines(NamedTuple):
    """The lines of a text, each with a line end, and True if the last line really has one."""

    lines: tuple[str, ...]
    is_ended: bool | None
    """False if the last line of the text has no line end; None if the text is empty."""


def _lines(text: str) -> Lines:
    """The lines of a text.

    The last line gets a line end, so that a further line does not change it.
    """
    lines = text.splitlines(keepends=True)
    if not lines:
        return Lines((), None)
    is_ended = _is_ended(lines[-1])
    if not is_ended:
        end = lines[0][len(_without_end(lines[0])) :] if len(lines) > 1 else "\n"
        lines[-1] += end
    return Lines(tuple(lines), is_ended)


def _without_end(text: str) -> str:
    """A text without the line end of its last line."""
    lines = text.splitlines(keepends=True)
    return text if not lines else text[: len(text) - len(lines[-1])] + lines[-1].splitlines()[0]
