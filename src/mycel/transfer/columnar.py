"""Arrow and Parquet to rows: tables of one type each, read a batch at a time.

pyarrow is an extra, imported when somebody brings a table. A null in a column is no value.
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
from mycel.transfer.delimited import check_columns
from mycel.transfer.jsonl import flat
from mycel.transfer.load_errors import Refused, Unit, placed_once, refuse
from mycel.transfer.load_targets import Target, Targets
from mycel.transfer.source_rows import Row
from mycel.transfer.streams import Stream

BATCH_ROWS: Final = 8192


class Columnar:
    """A table: in a file, or in memory."""

    unit: Unit = "row"

    def __init__(
        self,
        batches: Callable[[], Generator[Any, None, None]],
        type_name: str,
        *,
        stream: Stream | None = None,
        can_reread: bool = True,
    ) -> None:
        self._batches: Final = batches
        self.type_name: Final = type_name
        self._stream: Final = stream
        self.name: Final = None if stream is None else stream.name
        self.can_reread: Final = can_reread
        self.total: Final = None if stream is None else stream.total

    @property
    def position(self) -> int | None:
        return None if self._stream is None else self._stream.position

    def rows(self, targets: Targets, refused: Refused | None = None) -> Generator[Row, None, None]:
        """Every row of the table."""
        at = 0
        try:
            with _translated(), closing(self._batches()) as batches:
                for batch in _slices(batches):
                    names = batch.schema.names
                    target = targets.named(self.type_name, names)
                    check_columns(target, names)
                    columns = list(map(_values, names, batch.columns))
                    for values in zip(*columns, strict=True):
                        at += 1
                        try:
                            row = flat(at, target, _cells(target, names, values), targets)
                        except MycelError as error:
                            refuse(error, refused, self.name, "row", at)
                        else:
                            yield row
        except MycelError as error:
            raise placed_once(error, self.name, "row", at) from None


def _cells(target: Target, names: list[str], values: tuple[Any, ...]) -> dict[str, Any]:
    made, types = {}, target.properties
    for name, value in zip(names, values, strict=True):
        if value is None:
            continue
        type_ = types.get(name)
        try:
            made[name] = _untyped(value) if type_ is None else from_python(type_, value)
        except BadValue as error:
            raise target.bad(name, value, error) from None
    return made


def _untyped(value: object) -> Any:
    """A value about which no schema says anything, as the JSON that comes nearest."""
    match value:
        case datetime():
            return from_python(PropertyType("DateTime"), value)
        case date():
            return from_python(PropertyType("Date"), value)
        case bytes():
            return from_python(PropertyType("Blob"), value)
        case Decimal():
            return from_python(PropertyType("F64"), value)
        case list():
            return [_untyped(item) for item in value]
        case dict():
            return {str(key): _untyped(item) for key, item in value.items()}
    return value


def _values(name: str, column: Any) -> list[Any]:
    """A column as Python objects; moments as such, whatever unit they are counted in."""
    plain = _plain_type(column.type)
    try:
        if plain != column.type:
            column = column.cast(plain, safe=False)
        values: list[Any] = column.to_pylist()
    except (OverflowError, ValueError) as error:
        raise InvalidValueType(
            f"The column {name!r} holds what Python has no value for: {error}.",
            hint="Days and times are those of the years 0001 to 9999.",
            data={"property": name},
        ) from None
    return values


def _plain_type(type_: Any) -> Any:
    """The type as which a column becomes objects that say all that it says, and no more."""
    pa = pyarrow()
    if pa.types.is_date64(type_):  # As objects, they would lose the time of day.
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
    """Batches that are never large: whoever made a file may have put all of it into one."""
    for batch in batches:
        for at in range(0, max(batch.num_rows, 1), BATCH_ROWS):
            yield batch.slice(at, BATCH_ROWS)


@contextmanager
def _translated() -> Iterator[None]:
    """What pyarrow says about a file that is none of its own, as an error of ours."""
    pa = pyarrow()
    try:
        yield
    except pa.ArrowException as error:
        said = str(error).strip().splitlines() or [type(error).__name__]
        raise InvalidSyntax(
            f"It cannot be read as a table: {said[0].rstrip('.')}.",
            hint="Is it whole, and is the format the one that its name says?",
        ) from None


def file_batches(stream: Stream, *, is_parquet: bool) -> Generator[Any, None, None]:
    """The batches of a file."""
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
    """Arrow's own format comes as a file, which Feather is too, or as a stream."""
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
    """The batches of a table in memory, and whether they can be read twice; None if it is none.

    Tables are those of pyarrow and pandas, and whatever else speaks Arrow's C stream interface.
    """
    kind = type(table)
    if kind.__module__.partition(".")[0] == "pandas" and kind.__name__ == "DataFrame":
        pa = pyarrow()
        made = pa.Table.from_pandas(table, preserve_index=False)
        return lambda: _each(made.to_batches(BATCH_ROWS)), True
    if not hasattr(table, "__arrow_c_stream__") and not hasattr(table, "__arrow_c_array__"):
        return None
    pa = pyarrow()
    if isinstance(table, pa.RecordBatch):
        return lambda: _each((table,)), True
    if isinstance(table, pa.Table):
        return lambda: _each(table.to_batches(BATCH_ROWS)), True
    return lambda: _each(pa.RecordBatchReader.from_stream(table)), False


def _each(batches: Iterable[Any]) -> Generator[Any, None, None]:
    yield from batches
