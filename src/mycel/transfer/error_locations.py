"""Re-reads sources to attach lines to errors, and to list further errors.

A load keeps no list of the rows that it has read, because the list would take as much memory as the
rows. When the commit finds an error that no single row shows (two rows with the same unique value,
a node with too many edges), the sources are read again, if they can be. When a row is wrong, they
are read again for other wrong rows, so that all of them can be corrected together.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import islice, repeat
from typing import Any, Final, NamedTuple

import orjson

from mycel.engine.violation_list import LISTED_MAX, apart, together
from mycel.errors import ConstraintViolation, InvalidSyntax, InvalidValueType, MycelError
from mycel.schema.model import ENDS
from mycel.schema.property_values import BadValue, canonical, format_value
from mycel.store.database import Store
from mycel.transfer.load_errors import RowRefusal
from mycel.transfer.load_targets import ReadCatalog, Targets
from mycel.transfer.source_rows import EdgeRow, NodeRow, RowError, RowSource, SourceRow

LOOKED_AT_MAX: Final = 200_000
"""The number of rows that are searched for further errors."""
PLACES_MAX: Final = 2
"""The number of lines that a message about a unique value names."""

_OF_ROWS: Final = (ConstraintViolation, InvalidSyntax, InvalidValueType)
"""Errors about a single row, after which other rows may have errors too."""


class Spot(NamedTuple):
    """The place of a row."""

    source: RowSource
    line: int

    def __str__(self) -> str:
        place = f"{self.source.unit} {self.line}"
        return place if self.source.name is None else f"{self.source.name}, {place}"


def name_other(error: MycelError, first: Spot, template: str = "{} has it too") -> None:
    """Add the place of an earlier row to an error."""
    error.message = f"{error.message.removesuffix('.')}: {template.format(first)}."
    error.data[f"other_{first.source.unit}"] = first.line
    if first.source.name is not None:
        error.data["other_file"] = first.source.name


@dataclass(frozen=True, slots=True)
class ErrorLocator:
    """Reads the sources of a load again, after its transaction has been rolled back."""

    store: Store
    read_catalog: ReadCatalog
    sources: Sequence[RowSource]
    is_whole: bool
    """True if a row has all properties of its element, as in all modes except "merge"."""

    def located(self, error: MycelError | RowError, at: int) -> MycelError:
        """An error of the load with its place, and with errors about other rows.

        `at` is the source of a `RowError`.
        """
        if isinstance(error, RowError):
            return self._with_others(self._placed(error, self.sources[at]))
        return self._with_others(self._locate(error))

    @contextmanager
    def _rows(
        self, refused: RowRefusal | None = None
    ) -> Iterator[Generator[tuple[RowSource, SourceRow], None, None]]:
        """All rows of the sources that can be read again; rows may have changed since."""

        def rows() -> Generator[tuple[RowSource, SourceRow], None, None]:
            for source in self.sources:
                if source.can_reread:
                    with closing(source.rows(targets, refused)) as generator:
                        for row in generator:
                            yield source, row

        with self.store.reading() as reader:
            targets = Targets(reader, self.read_catalog(reader), repeat(""))
            with suppress(MycelError), closing(rows()) as row_stream:
                yield row_stream

    def _placed(self, bad: RowError, source: RowSource) -> MycelError:
        error, row = bad.error, bad.row
        if "max" in error.data:
            # Among rows that are written together, an earlier row may be the first edge too many.
            self._locate(error)
        is_repeated = error.data.pop("repeated", False)
        if is_repeated and not any(key.startswith("other_") for key in error.data):
            identity = _identity(row)
            with self._rows() as rows:
                for other, other_row in rows:
                    if _identity(other_row) == identity:
                        name_other(error, Spot(other, other_row.line))
                        break
        if source.unit in error.data:
            return error
        more = {} if "type" in error.data else {"type": row.target.label}
        return source.placed(error, row.line, **more)

    def _locate(self, error: MycelError) -> MycelError:
        """An error of the commit, with the lines of its rows if they can be found.

        If the error lists several violations, each gets its own lines.
        """
        if {"file", "line", "row"} & error.data.keys() or "type" not in error.data:
            return error
        sought = [_RowSearch(part) for part in apart(error)]
        with self._rows() as rows:
            for source, row in rows:
                for search in sought:
                    search.look_at(source, row)
                if all(row_search.is_done for row_search in sought):
                    break
        return together(
            [row_search.placed() for row_search in sought], has_more="has_more" in error.data
        )

    def _with_others(self, error: MycelError) -> MycelError:
        """An error about one row, with those about other rows, in the order of the rows."""
        is_of_row = error.data.keys() & {"line", "row"} and "violations" not in error.data
        if not is_of_row or not isinstance(error, _OF_ROWS):
            return error
        errors: list[MycelError] = []
        with self._rows(errors.append) as rows:
            for source, row in islice(rows, LOOKED_AT_MAX):
                try:
                    name = row.name if isinstance(row, NodeRow) else None
                    row.target.check(row.attributes, name, is_whole=self.is_whole)
                except MycelError as other:
                    errors.append(source.placed(other, row.line))
                if len(errors) > LISTED_MAX:
                    break
        places = [_place(error) for error in errors]
        if _place(error) in places:
            errors[places.index(_place(error))] = error
        else:
            errors.insert(0, error)
        return together(errors[:LISTED_MAX], has_more=len(errors) > LISTED_MAX)


def _identity(row: SourceRow) -> tuple[Any, ...]:
    # A second reading makes new targets, so their names are compared.
    if isinstance(row, NodeRow):
        return row.target.type, row.name
    return row.target.predicate, row.subject, row.object


def _place(error: MycelError) -> tuple[Any, ...]:
    return tuple(error.data.get(key) for key in ("file", "line", "row"))


class _RowSearch:
    """The search for the rows of an error of the commit."""

    def __init__(self, error: MycelError) -> None:
        self.error: Final = error
        data = error.data
        self._is_it: Callable[[SourceRow], bool] | None = None
        self._wanted, self._said = 1, "{} has it too"
        if isinstance(data.get("properties"), list):
            self._is_it, self._wanted = _repeats(data), PLACES_MAX
        elif "name" in data and isinstance(data.get("max"), int):
            self._is_it, self._wanted = _leaves(data), data["max"] + 1
            self._said = "the first is on {}"
        elif "name" in data:
            self._is_it = _is_named(data)
        self._locate: Final[list[Spot]] = []

    @property
    def is_done(self) -> bool:
        return self._is_it is None or len(self._locate) >= self._wanted

    def look_at(self, source: RowSource, row: SourceRow) -> None:
        if self._is_it is not None and not self.is_done and self._is_it(row):
            self._locate.append(Spot(source, row.line))

    def placed(self) -> MycelError:
        """The error with the lines that were found."""
        if self._locate:
            first, last = self._locate[0], self._locate[-1]
            last.source.placed(self.error, last.line)
            if last != first:
                name_other(self.error, first, self._said)
        return self.error


def _repeats(data: Mapping[str, Any]) -> Callable[[SourceRow], bool]:
    """A test for rows with a tuple of values that must be unique."""
    return lambda row: (
        row.target.label == data.get("type")
        and ", ".join(_text(row, name) for name in data["properties"]) == data.get("value")
    )


def _leaves(data: Mapping[str, Any]) -> Callable[[SourceRow], bool]:
    """A test for edges of a node that has too many of them."""
    return lambda row: (
        isinstance(row, EdgeRow)
        and row.target.label == data.get("type")
        and row.subject[1] == data["name"]
    )


def _is_named(data: Mapping[str, Any]) -> Callable[[SourceRow], bool]:
    """A test for the row of the node that an error names."""
    return lambda row: (
        isinstance(row, NodeRow)
        and row.target.label == data.get("type")
        and data["name"] in (row.name, format_value(row.name))
    )


def _text(row: SourceRow, name: str) -> str:
    """A cell in the form of a message about unique tuples."""
    if isinstance(row, EdgeRow) and name in ENDS:
        return str((row.subject if name == ENDS[0] else row.object)[1])
    value = row.attributes.get(name)
    with suppress(BadValue, KeyError):
        value = canonical(row.target.properties[name], value)
    return value if isinstance(value, str) else orjson.dumps(value).decode()
