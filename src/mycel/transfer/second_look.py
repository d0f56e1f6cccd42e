"""On which line something stands that only the commit could find, or that stands there twice.

A load keeps no list of what it has read: that would take as much memory as the rows themselves. So
when something turns out to be wrong that a row alone does not show (two rows with the same unique
value, a source with too many edges), the sources are read once more, those that can be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, Final, NamedTuple

import orjson

from mycel.errors import MycelError
from mycel.schema.model import ENDS
from mycel.schema.values import BadValue, canonical, shown
from mycel.transfer.complaints import placed
from mycel.transfer.rows import EdgeRow, NodeRow, Row
from mycel.transfer.sources import Source
from mycel.transfer.targets import Targets

PLACES_MAX: Final = 2
"""How many lines a message names; who has these two can find the others."""


class Spot(NamedTuple):
    """Where a row stands."""

    source: Source
    line: int

    def __str__(self) -> str:
        place = f"{self.source.unit} {self.line}"
        return place if self.source.name is None else f"{self.source.name}, {place}"


def spots(
    sources: Sequence[Source], targets: Targets, is_it: Callable[[Row], bool]
) -> Iterator[Spot]:
    """Where rows of a kind stand, in order."""
    for source in sources:
        if source.can_reread:
            for row in source.rows(targets):
                if is_it(row):
                    yield Spot(source, row.line)


def same_as(row: Row) -> Callable[[Row], bool]:
    """Whether another row is about the same element."""
    identity = _identity(row)
    return lambda other: _identity(other) == identity


def _identity(row: Row) -> tuple[Any, ...]:
    # Targets are made anew for a second look, so they are told by what they are called.
    if isinstance(row, NodeRow):
        return row.target.type, row.name
    return row.target.predicate, row.subject, row.object


def with_first_line(
    error: MycelError, row: Row, sources: Sequence[Source], targets: Targets
) -> None:
    """Say where else the row stands, if that can be found."""
    first = next(_safely(spots(sources, targets, same_as(row))), None)
    if first is not None:
        name_other(error, first)


def name_other(error: MycelError, first: Spot, said: str = "{} has it too") -> None:
    """Say in an error where the row before it stands."""
    error.message = f"{error.message.removesuffix('.')}: {said.format(first)}."
    error.data[f"other_{first.source.unit}"] = first.line
    if first.source.name is not None:
        error.data["other_file"] = first.source.name


def with_lines(error: MycelError, sources: Sequence[Source], targets: Targets) -> MycelError:
    """An error of the commit, with the lines that it is about if they can be found."""
    data = error.data
    is_it, wanted, said = _repeated(data), PLACES_MAX, "{} has it too"
    if is_it is None and isinstance(data.get("max"), int):
        is_it, wanted, said = _from_source(data), data["max"] + 1, "the first is on {}"
    if is_it is None:
        is_it, wanted = _named(data), 1
    if is_it is None:
        return error
    found = list(islice(_safely(spots(sources, targets, is_it)), wanted))
    if found:
        first, last = found[0], found[-1]
        placed(error, last.source.name, last.source.unit, last.line)
        if last != first:
            name_other(error, first, said)
    return error


def _safely(found: Iterator[Spot]) -> Iterator[Spot]:
    """Until the source says something else than the first time."""
    try:
        yield from found
    except MycelError:
        return


def _repeated(data: Mapping[str, Any]) -> Callable[[Row], bool] | None:
    """Which rows hold a tuple that must be unique."""
    names, value = data.get("properties"), data.get("value")
    if not isinstance(names, list):
        return None
    return lambda row: (
        row.target.label == data.get("type")
        and ", ".join(_text(row, name) for name in names) == value
    )


def _from_source(data: Mapping[str, Any]) -> Callable[[Row], bool] | None:
    """Which edges leave a node that has too many of them."""
    if "name" not in data:
        return None
    return lambda row: (
        isinstance(row, EdgeRow)
        and row.target.label == data.get("type")
        and row.subject[1] == data["name"]
    )


def _named(data: Mapping[str, Any]) -> Callable[[Row], bool] | None:
    """Which row is about the node that an error names."""
    if "name" not in data:
        return None
    return lambda row: (
        isinstance(row, NodeRow)
        and row.target.label == data.get("type")
        and data["name"] in (row.name, shown(row.name))
    )


def _text(row: Row, name: str) -> str:
    """A cell as a message about unique tuples writes it."""
    if isinstance(row, EdgeRow) and name in ENDS:
        return str((row.subject if name == ENDS[0] else row.object)[1])
    value = row.attributes.get(name)
    with suppress(BadValue, KeyError):
        value = canonical(row.target.properties[name], value)
    return value if isinstance(value, str) else orjson.dumps(value).decode()
