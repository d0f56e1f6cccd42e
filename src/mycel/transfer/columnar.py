"""Arrow and Parquet to rows: tables of one type each, read a batch at a time.

pyarrow is an extra, imported with the first table. A null in a column counts as no value.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final

from mycel.errors import InvalidSyntax, InvalidValueType, MycelError
from mycel.schema.arrow import pyarrow
from mycel.schema.model import PropertyType
from mycel.schema.property_values import BadValue, from_python
from mycel.schema.scalars import Scalar
from mycel.transfer.delimited import check_columns
from mycel.transfer.jsonl import flat
from mycel.transfer.load_errors import RowRefusal
from mycel.transfer.load_targets import Target, Targets
from mycel.transfer.source_rows import RowSource, SourceRow
from mycel.transfer.streams import Stream

BATCH_ROWS: Final = 8192
_SCALARS: Final[dict[type, Scalar]] = {
    datetime: "DateTime",  # Before `date`, because `datetime` is a subclass of it.
    date: "Date",
    bytes: "Blob",
    Decimal: "F64",
}


class ColumnarSource(RowSource):
    """A table: in a file, or in memory."""

    def __init__(
        self,
        batches: Callable[[], Generator[Any, None, None]],
        type_name: str,
        *,
        stream: Stream | None = None,
        can_reread: bool = True,
    ) -> None:
        super().__init__(stream, type_name, can_reread=can_reread)
        self._name: Final = type_name
        self._batches: Final = batches

    def rows(
        self, targets: Targets, refused: RowRefusal | None = None
    ) -> Generator[SourceRow, None, None]:
        count = 0

        def read(at: int, values: tuple[Any, ...]) -> SourceRow:
            return flat(at, target, _cells(target, names, values), targets)

        try:
            with _translated(), closing(self._batches()) as batches:
                for batch in _slices(batches):
                    names = batch.schema.names
                    target = targets.find_target(self._name, names)
                    check_columns(target, names)
                    columns = map(_values, names, batch.columns)
                    numbered = enumerate(zip(*columns, strict=True), count + 1)
                    count += batch.num_rows
                    yield from self._read_numbered(numbered, read, refused)
        except MycelError as error:
            raise self._placed_once(error, count) from None


def _cells(target: Target, names: list[str], values: tuple[Any, ...]) -> dict[str, Any]:
    cells, types = {}, target.properties
    for name, value in zip(names, values, strict=True):
        if value is None:
            continue
        type_ = types.get(name)
        try:
            cells[name] = _untyped(value) if type_ is None else from_python(type_, value)
        except BadValue as error:
            raise target.bad(name, value, error) from None
    return cells


def _untyped(value: object) -> Any:
    """A value without a declared type, as the nearest JSON."""
    if isinstance(value, list):
        return [_untyped(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _untyped(item) for key, item in value.items()}
    scalar = next((name for kind, name in _SCALARS.items() if isinstance(value, kind)), None)
    return value if scalar is None else from_python(PropertyType(scalar), value)


def _values(name: str, column: Any) -> list[Any]:
    """A column as Python objects; timestamps of any unit become datetimes."""
    plain = _plain_type(column.type)
    try:
        if plain != column.type:
            column = column.cast(plain, safe=False)
        values: list[Any] = column.to_pylist()
    except (OverflowError, ValueError) as error:
        raise InvalidValueType(
            f"The column {name!r} holds a value that Python cannot represent: {error}.",
            hint="Days and times are those of the years 0001 to 9999.",
            data={"property": name},
        ) from None
    return values


def _plain_type(type_: Any) -> Any:
    """The type to which a column is cast, so that its Python objects are exact."""
    pa = pyarrow()
    if pa.types.is_date64(type_):  # As Python objects, they would lose the time of day.
        return pa.timestamp("ms")
    if pa.types.is_timestamp(type_) and type_.unit == "ns":
        return pa.timestamp("us", tz=type_.tz)
    if pa.types.is_dictionary(type_):
        return _plain_type(type_.value_type)
    is_fixed = pa.types.is_fixed_size_list(type_)
    if not is_fixed and not pa.types.is_list(type_) and not pa.types.is_large_list(type_):
        return type_
    item = _plain_type(type_.value_type)
    if item == type_.value_type:
        return type_
    return pa.list_(item, type_.list_size) if is_fixed else pa.large_list(item)


def _slices(batches: Iterable[Any]) -> Iterator[Any]:
    """Batches of at most `BATCH_ROWS`: a file may consist of a single batch."""
    for batch in batches:
        for at in range(0, max(batch.num_rows, 1), BATCH_ROWS):
            yield batch.slice(at, BATCH_ROWS)


@contextmanager
def _translated() -> Iterator[None]:
    """Turns errors of pyarrow about a damaged file into errors of Mycel."""
    pa = pyarrow()
    try:
        yield
    except pa.ArrowException as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise InvalidSyntax(
            f"It cannot be read as a table: {lines[0].rstrip('.')}.",
            hint="Check that the file is complete, and that its name has the right ending.",
        ) from None


def file_batches(stream: Stream, *, is_parquet: bool) -> Generator[Any, None, None]:
    pa = pyarrow()
    with stream.binary() as file:
        if not hasattr(file, "seekable") or not file.seekable():
            if is_parquet:
                raise InvalidSyntax(
                    "Parquet cannot be read from a pipe.",
                    hint="It has its directory at the end: save it to a file first.",
                )
            yield from pa.ipc.open_stream(file)
        elif is_parquet:
            from pyarrow import parquet  # noqa: PLC0415 - part of an extra

            yield from parquet.ParquetFile(file).iter_batches(batch_size=BATCH_ROWS)
        else:
            yield from _ipc_batches(pa, file)


def _ipc_batches(pa: Any, file: Any) -> Iterator[Any]:
    """The batches of a file or a stream in Arrow's IPC format (Feather is such a file)."""
    start = file.tell()
    try:
        reader = pa.ipc.open_file(file)
    except pa.ArrowInvalid:
        file.seek(start)
        yield from pa.ipc.open_stream(file)
        return
    for at in range(reader.num_record_batches):
        yield reader.get_batch(at)


def table_batches(table: Any) -> tuple[Callable[[], Generator[Any, None, None]], bool] | None:
    """The batches of a table in memory, and True if they can be read twice; None for other objects.

    Tables are those of pyarrow and pandas, and others with Arrow's C stream interface.
    """
    kind = type(table)
    if kind.__module__.partition(".")[0] == "pandas" and kind.__name__ == "DataFrame":
        pa = pyarrow()
        pandas = pa.Table.from_pandas(table, preserve_index=False)
        return lambda: _generator(pandas.to_batches(BATCH_ROWS)), True
    if not hasattr(table, "__arrow_c_stream__") and not hasattr(table, "__arrow_c_array__"):
        return None
    pa = pyarrow()
    if isinstance(table, pa.RecordBatch):
        return lambda: _generator((table,)), True
    if isinstance(table, pa.Table):
        return lambda: _generator(table.to_batches(BATCH_ROWS)), True
    return lambda: _generator(pa.RecordBatchReader.from_stream(table)), False


def _generator(batches: Iterable[Any]) -> Generator[Any, None, None]:
    yield from batches
