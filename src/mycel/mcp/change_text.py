"""Elements that differ between two states, in short lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from mycel.mcp.results import json_text
from mycel.model.names import shorten
from mycel.store.query.diff import ABSENT, SIGNS, ElementChange, ValueChange, label_of

_VALUE_CHARACTERS: Final = 400


def change_text(change: ElementChange) -> str:
    """One element that differs, with its values before and after."""
    return "\n".join([f"{SIGNS[change.kind]} {change.label}", *_values(change)])


def _values(change: ElementChange) -> Iterator[str]:
    for value in change.told_values:
        differing = value.lines()
        if differing:
            yield f"  {value.where}:"
            yield from (f"    {line}" for line in differing)
        else:
            yield f"  {value.where}: {_side(value, value.old)} -> {_side(value, value.new)}"


def _side(value: ValueChange, side: Any) -> str:
    if side is ABSENT:
        return "(none)"
    if value.field in ("subject", "object"):
        return label_of(side)
    return shorten(json_text(side), _VALUE_CHARACTERS)
