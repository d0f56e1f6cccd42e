"""Places of errors: the file and the line or row, in the message and in the data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from mycel.errors import MycelError

Unit: TypeAlias = Literal["line", "row"]
"""The unit of the places in a source: text has lines, tables have rows."""

RowRefusal: TypeAlias = Callable[[MycelError], object]
"""A function that takes the error about a row, so that the source continues with the next row."""


def placed(
    error: MycelError, file: str | None, unit: Unit, line: int | None, **more: Any
) -> MycelError:
    """The error with its place in front of the message and, with `more`, in its data."""
    other_data = {key: value for key, value in error.data.items() if key not in ("line", "row")}
    place: dict[str, Any] = {} if file is None else {"file": file}
    where = list(place.values())
    if line is not None:
        where.append(f"{unit if where else unit.capitalize()} {line}")
        place[unit] = line
    if where:
        error.message = f"{', '.join(where)}: {error.message}"
    error.data = place | other_data | more
    return error
