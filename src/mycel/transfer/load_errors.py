"""Errors that say where: in which file, on which line, about which type, property and value.

The rules of a type know what is wrong with a row, but not where it stands. Whoever reads or writes
rows adds that, once, on the way out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias

from mycel.errors import MycelError

Unit: TypeAlias = Literal["line", "row"]
"""What the rows of a source are counted in: text has lines, tables have rows."""

Refused: TypeAlias = Callable[[MycelError], object]
"""What is told of a row that is none, by a source that then goes on with the next."""

_PLACED: Final = ("line", "row")


def placed(
    error: MycelError, file: str | None, unit: Unit, line: int | None, **more: Any
) -> MycelError:
    """The error with its place in front of the message and in its data; `more` goes there too."""
    known = {key: value for key, value in error.data.items() if key not in _PLACED}
    where = [] if file is None else [file]
    place: dict[str, Any] = {} if file is None else {"file": file}
    if line is not None:
        where.append(f"{unit} {line}")
        place[unit] = line
    if where:
        told = ", ".join(where)
        error.message = f"{told[0].upper() + told[1:] if file is None else told}: {error.message}"
    error.data = place | known | more
    return error


def refuse(
    error: MycelError, refused: Refused | None, file: str | None, unit: Unit, line: int
) -> None:
    """Tell of a row that is none, so that its source can go on; or raise it, if nobody listens.

    Raises:
        MycelError: the error, with its place.
    """
    complaint = placed_once(error, file, unit, line)
    if refused is None:
        raise complaint from None
    refused(complaint)


def placed_once(error: MycelError, file: str | None, unit: Unit, line: int) -> MycelError:
    """The error with its place, unless it has one; before the first line there is only the file."""
    has_place = unit in error.data or "file" in error.data
    return error if has_place else placed(error, file, unit, line or None)
