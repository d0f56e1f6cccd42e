"""Where something stands that only the commit could find; and what else is wrong.

A load keeps no list of what it has read: that would take as much memory as the rows themselves. So
when something turns out to be wrong that a row alone does not show (two rows with the same unique
value, a source with too many edges), the sources are read once more, those that can be. And when a
row is wrong, they are read once more for others that are, so that all can be mended together.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, suppress
from itertools import islice
from typing import Any, Final, NamedTuple

import orjson

from mycel.engine.violation_list import LISTED_MAX, apart, together
from mycel.errors import MycelError
from mycel.schema.model import ENDS
from mycel.schema.property_values import BadValue, canonical, shown
from mycel.transfer.load_errors import Refused, placed
from mycel.transfer.load_targets import Targets
from mycel.transfer.source_rows import EdgeRow, NodeRow, Row
from mycel.transfer.sources import Source

LOOKED_AT_MAX: Final = 200_000
"""How many rows are looked at for more that is wrong, once something is."""
PLACES_MAX: Final = 2
"""How many lines a message names; who has these two can find the others."""


class Spot(NamedTuple):
    """Where a row stands."""

    source: Source
    line: int

    def __str__(self) -> str:
        place = f"{self.source.unit} {self.line}"
        return place if self.source.name is None else f"{self.source.name}, {place}"


def _rows(
    sources: Sequence[Source], targets: Targets, refused: Refused | None = None
) -> Generator[tuple[Source, Row], None, None]:
    """All rows of the sources that can be read once more."""
    for source in sources:
        if source.can_reread:
            with closing(source.rows(targets, refused)) as rows:
                for row in rows:
                    yield source, row


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
    is_it = same_as(row)
    # The source may say something else than the first time.
    with suppress(MycelError), closing(_rows(sources, targets)) as rows:
        for source, each in rows:
            if is_it(each):
                name_other(error, Spot(source, each.line))
                return


def name_other(error: MycelError, first: Spot, said: str = "{} has it too") -> None:
    """Say in an error where the row before it stands."""
    error.message = f"{error.message.removesuffix('.')}: {said.format(first)}."
    error.data[f"other_{first.source.unit}"] = first.line
    if first.source.name is not None:
        error.data["other_file"] = first.source.name


class _Sought:
    """Rows that an error of the commit is about."""

    def __init__(self, error: MycelError) -> None:
        self.error: Final = error
        data = error.data
        self._is_it, self._wanted, self._said = _repeated(data), PLACES_MAX, "{} has it too"
        if self._is_it is None and isinstance(data.get("max"), int):
            self._is_it, self._wanted = _from_source(data), data["max"] + 1
            self._said = "the first is on {}"
        if self._is_it is None:
            self._is_it, self._wanted = _named(data), 1
        self._found: Final[list[Spot]] = []

    @property
    def is_done(self) -> bool:
        return self._is_it is None or len(self._found) >= self._wanted

    def look_at(self, source: Source, row: Row) -> None:
        if not self.is_done and self._is_it is not None and self._is_it(row):
            self._found.append(Spot(source, row.line))

    def placed(self) -> MycelError:
        """The error with the lines that were found."""
        if self._found:
            first, last = self._found[0], self._found[-1]
            placed(self.error, last.source.name, last.source.unit, last.line)
            if last != first:
                name_other(self.error, first, self._said)
        return self.error


def with_lines(error: MycelError, sources: Sequence[Source], targets: Targets) -> MycelError:
    """An error of the commit, with the lines that it is about if they can be found.

    If it lists several violations, each gets its own.
    """
    sought = [_Sought(each) for each in apart(error)]
    with suppress(MycelError), closing(_rows(sources, targets)) as rows:
        for source, row in rows:
            for each in sought:
                each.look_at(source, row)
            if all(each.is_done for each in sought):
                break
    return together([each.placed() for each in sought], has_more="has_more" in error.data)


def with_others(
    error: MycelError, sources: Sequence[Source], targets: Targets, *, whole: bool
) -> MycelError:
    """An error about one row, with those about others: rows that are none, or break their rules.

    They are told in the order of their rows, of which only the first are looked at. With `whole`, a
    row says all that its element has.
    """
    found: list[MycelError] = []
    with suppress(MycelError), closing(_rows(sources, targets, found.append)) as rows:
        for source, row in islice(rows, LOOKED_AT_MAX):
            try:
                name = row.name if isinstance(row, NodeRow) else None
                row.target.check(row.attributes, name, whole=whole)
            except MycelError as other:
                found.append(placed(other, source.name, source.unit, row.line))
            if len(found) > LISTED_MAX:
                break
    places = [_place(each) for each in found]
    if _place(error) in places:
        found[places.index(_place(error))] = error
    else:
        found.insert(0, error)
    return together(found[:LISTED_MAX], has_more=len(found) > LISTED_MAX)


def _place(error: MycelError) -> tuple[Any, ...]:
    return tuple(error.data.get(key) for key in ("file", "line", "row"))


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
