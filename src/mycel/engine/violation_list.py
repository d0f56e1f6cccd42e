"""Several violations as one error: the first is the error, and the others are listed with it.

The message names a few of the others, one per line. `violations` in the data has all that were
gathered, each with its message and its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mycel.errors import MycelError
from mycel.model.values import JsonObject

LISTED_MAX: Final = 20
"""The maximum number of violations that are gathered."""
SHOWN_MAX: Final = 5
"""The maximum number of violations that a message names."""
UNLIMITED: Final = "mycel.engine.violation_list.UNLIMITED"
"""A key in the memo of a transaction: all its violations are gathered, without a limit."""

_TOLD: Final[tuple[str, ...]] = (
    *("file", "line", "row", "other_file", "other_line", "other_row"),
    *("type", "id", "name", "subject", "object", "elements"),
    *("property", "properties", "value", "constraint", "count", "min", "max"),
)


def entry(error: MycelError) -> JsonObject:
    """A violation as data: its message without the period, and the fields that name its place."""
    about = {key: error.data[key] for key in _TOLD if key in error.data}
    return {**about, "message": error.message.rstrip(".")}


def apart(error: MycelError) -> list[MycelError]:
    """Split an error of `together` into its violations; the first is the same object."""
    violations = error.data.pop("violations", None)
    if violations is None:
        return [error]
    error.message = f"{violations[0]['message']}."
    others = [
        type(error)(
            f"{violation['message']}.",
            data={key: violation[key] for key in _TOLD if key in violation},
        )
        for violation in violations[1:]
    ]
    return [error, *others]


def together(violations: Sequence[MycelError], *, has_more: bool) -> MycelError:
    """Join violations to one error: the first one, with the others listed in it."""
    first, *others = violations
    if others:
        first.data["violations"] = [entry(violation) for violation in violations]
        if has_more:
            first.data["has_more"] = True
        lines = [first.message, *(f"  {other.message}" for other in others[: SHOWN_MAX - 1])]
        left = len(violations) - len(lines)
        if left or has_more:
            lines.append(f"  and {'at least ' * has_more}{max(left, 1)} more")
        first.message = "\n".join(lines)
    return first
