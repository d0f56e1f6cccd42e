"""CSV and TSV to rows: one type per file, a header with its properties, cells typed by the schema.

An empty cell counts as no value. Lists and vectors are JSON arrays in their cells. All cells of a
flexible type, which no schema declares, are text.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from typing import Any, Final

from mycel.errors import ConstraintViolation, InvalidSyntax, MycelError, ResourceExhausted
from mycel.model.limits import LINE_BYTES_MAX
from mycel.schema.property_values import BadValue, from_text
from mycel.transfer.jsonl import flat
from mycel.transfer.load_errors import RowRefusal
from mycel.transfer.load_targets import EdgeTarget, Target, Targets
from mycel.transfer.source_rows import RowSource, SourceRow
from mycel.transfer.streams import Stream

_DELIMITERS: Final = ";\t|,"
_IDENTITY: Final = ("id", "src", "dst", "from", "to")

Cell = Callable[[str], Any]


class DelimitedSource(RowSource):
    """A file of delimited cells, the first line of which names the columns."""

    unit = "line"

    def __init__(self, stream: Stream, type_name: str, delimiter: str) -> None:
        super().__init__(stream, type_name)
        self._name: Final = type_name
        self._open: Final = stream.lines
        self._delimiter: Final = delimiter

    def rows(
        self, targets: Targets, refused: RowRefusal | None = None
    ) -> Generator[SourceRow, None, None]:
        """Every record below the header as a row; empty lines are left out."""
        # The limit applies to the whole process, so it is only raised.
        csv.field_size_limit(max(csv.field_size_limit(), LINE_BYTES_MAX))
        line = 1

        def records() -> Iterator[tuple[int, list[str]]]:
            nonlocal line
            for record in reader:
                at, line = line, reader.line_num + 1
                if record:
                    yield at, record

        def read(at: int, record: list[str]) -> SourceRow:
            return flat(at, target, _cells(record, columns, target), targets)

        # Closed here, and with it the file, because an error may keep its traceback for long.
        with closing(self._lines()) as lines:
            reader = csv.reader(lines, delimiter=self._delimiter, strict=True)
            try:
                header = [name.strip() for name in next(reader, ())]
                target = targets.find_target(self._name, header)
                columns = [(name, _cell(target, name)) for name in _checked(header, target)]
                line = reader.line_num + 1
                yield from self._read_numbered(records(), read, refused)
            except csv.Error as error:
                raise self.placed(_no_csv(error), line) from None
            except MycelError as error:
                raise self._placed_once(error, line) from None

    def _lines(self) -> Generator[str, None, None]:
        with closing(self._open()) as lines:
            for number, line in lines:
                try:
                    yield line if isinstance(line, str) else line.decode()
                except UnicodeDecodeError as error:
                    bad = InvalidSyntax(
                        f"It is not UTF-8: {error}.", hint="Save the file as UTF-8."
                    )
                    raise self.placed(bad, number) from None


def _checked(header: list[str], target: Target) -> list[str]:
    if not any(header):
        raise InvalidSyntax(
            "There is no header.", hint=f"The first line names the columns of {target.label}."
        )
    try:
        check_columns(target, header)
    except ConstraintViolation as error:
        error.hint = _other_delimiter(header, target) or error.hint
        raise
    return header


def check_columns(target: Target, names: Sequence[str]) -> None:
    """Refuse columns without a unique name, and columns that this type cannot have."""
    for at, name in enumerate(names):
        if not name or name in names[:at]:
            problem = f"Two columns are called {name!r}" if name else f"Column {at + 1} has no name"
            raise InvalidSyntax(f"{problem}.", hint="Give every column a unique name.")
        if name in target.properties or name in target.beside or not target.is_closed:
            continue
        if name not in (_IDENTITY if isinstance(target, EdgeTarget) else _IDENTITY[:1]):
            raise target.refuse_unknown(name)


def _other_delimiter(header: list[str], target: Target) -> str | None:
    """The hint about a header whose only column seems to hold several names."""
    for delimiter in _DELIMITERS if len(header) == 1 else "":
        names = {name.strip() for name in header[0].split(delimiter)}
        if len(names) > 1 and names & {*target.properties, *target.beside, *_IDENTITY}:
            return f"Cells seem to be separated by {delimiter!r}: name it with `delimiter`."
    return None


def _cell(target: Target, name: str) -> Cell:
    """A function from the text of a cell to its value."""
    type_ = target.properties.get(name)
    if type_ is None:
        return _number if target.beside.get(name) == "weight" else str
    if (type_.scalar, type_.is_list, type_.enum_values) == ("String", False, None):
        return str
    return lambda text: from_text(type_, text)


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text  # An invalid weight is refused later, like all others.


def _cells(record: list[str], columns: list[tuple[str, Cell]], target: Target) -> dict[str, Any]:
    if len(record) != len(columns):
        raise InvalidSyntax(
            f"It has {len(record)} cells, and the header has {len(columns)}.",
            hint="Quote cells that hold the delimiter or line ends.",
            data={"type": target.label},
        )
    cells = {}
    for (name, cell), text in zip(columns, record, strict=True):
        if text:
            try:
                cells[name] = cell(text)
            except BadValue as error:
                raise target.bad(name, text, error) from None
    return cells


def _no_csv(error: csv.Error) -> MycelError:
    if "field larger" in str(error):
        return ResourceExhausted(
            f"A cell has more than {LINE_BYTES_MAX} bytes.",
            hint="Is a quotation mark missing? Large content is better kept outside the graph.",
        )
    if "new-line character" in str(error):
        return InvalidSyntax(
            "Its line ends are single carriage returns.",
            hint="Save it with the line ends of Unix or Windows.",
        )
    return InvalidSyntax(f"It is not CSV: {error}.", hint="Quotation marks come in pairs.")
