"""Rows as Arrow: a batch at a time, with the schema that the catalog says.

A moment is a date64, as the catalog says: milliseconds, with the time of day. Parquet and others
take a date64 for a day, so in files it is a timestamp.

A table holds what the schema declares. Metadata, weights, and attributes that an `@open` type has
beyond its properties have no column; `Lost` counts the rows that have such. A flexible type has
two columns (an edge four): its id, and its attributes as JSON text.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from typing import Any, Final

import orjson

from mycel.model.values import JsonObject
from mycel.schema.arrow import pyarrow
from mycel.schema.catalog import Catalog
from mycel.schema.model import PropertyType
from mycel.store.transaction import DEFAULT_WEIGHT
from mycel.transfer.jsonl import ATTRIBUTES
from mycel.transfer.targets import EdgeTarget, NodeTarget, Target
from mycel.transfer.unloading import Edge, Name, Node, Unloading

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Lost:
    """How many rows have something that a table has no column for."""

    def __init__(self) -> None:
        self.metadata = 0
        self.weights = 0
        self.attributes = 0
        self.empty = 0
        """Text that is empty, which only CSV cannot tell from none."""

    def note(self, target: Target, row: Node | Edge) -> None:
        self.metadata += bool(row.metadata)
        self.weights += isinstance(row, Edge) and row.weight != DEFAULT_WEIGHT
        if target.is_typed and not target.is_closed:
            self.attributes += not row.attributes.keys() <= target.properties.keys()

    def warnings(self) -> Iterator[str]:
        for count, what in (
            (self.metadata, "metadata"),
            (self.weights, "a weight"),
            (self.attributes, "attributes beyond the schema"),
            (self.empty, "an empty text"),
        ):
            if count:
                rows = "1 row has" if count == 1 else f"{count} rows have"
                yield f"{rows} {what}, which a table cannot carry; JSON Lines can."


def arrow_schema(catalog: Catalog, target: Target) -> Any:
    """The columns of a target."""
    if target.is_typed:
        return catalog.arrow(target.label)
    pa = pyarrow()
    names = ("id", "src", "dst") if isinstance(target, EdgeTarget) else ("id",)
    fields = [pa.field(name, pa.utf8(), nullable=False) for name in (*names, ATTRIBUTES)]
    return pa.schema(fields)


def file_schema(schema: Any) -> Any:
    """The columns in a file. There a date64 is a day, and a moment needs another type."""
    pa = pyarrow()
    moment, days = pa.timestamp("ms", "UTC"), (pa.date64(), pa.list_(pa.field("item", pa.date64())))
    moments = moment, pa.list_(pa.field("item", moment))
    kinds = dict(zip(days, moments, strict=True))
    return pa.schema([field.with_type(kinds.get(field.type, field.type)) for field in schema])


def batches(unloading: Unloading, schema: Any, target: Target, lost: Lost) -> Iterator[Any]:
    """All rows of a target, as record batches of this schema."""
    pa = pyarrow()
    makers = [_maker(target, field.name) for field in schema]
    for rows in unloading.rows(target):
        for row in rows:
            lost.note(target, row)
        arrays = [
            _array(pa, field.type, [make(row) for row in rows])
            for field, make in zip(schema, makers, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def table(unloading: Unloading, catalog: Catalog, target: Target) -> Any:
    """All rows of a target as a `pyarrow.Table`."""
    schema = arrow_schema(catalog, target)
    made = list(batches(unloading, schema, target, Lost()))
    return pyarrow().Table.from_batches(made, schema=schema)


def _maker(target: Target, column: str) -> Callable[[Any], Any]:
    """What takes the value of a column from a row."""
    type_ = target.properties.get(column)
    if type_ is not None:
        convert = _converter(type_)
        return lambda row: _converted(row.attributes, column, convert)
    match column:
        case "id":
            return _name if isinstance(target, NodeTarget) else _id
        case "src":
            return lambda row: end_name(row.subject)
        case "dst":
            return lambda row: end_name(row.object)
        case _:
            return lambda row: orjson.dumps(row.attributes, option=orjson.OPT_SORT_KEYS).decode()


def _name(row: Node) -> str:
    return row.name


def _id(row: Edge) -> str:
    return row.id


def end_name(end: Name | JsonObject) -> str:
    """An end in a cell: the name of a concept; a link is the JSON that says which."""
    return end[1] if isinstance(end, tuple) else orjson.dumps(end).decode()


def _converted(attributes: JsonObject, name: str, convert: Callable[[Any], Any] | None) -> Any:
    value = attributes.get(name)
    if value is None or convert is None:
        return value
    return convert(value)


def _converter(type_: PropertyType) -> Callable[[Any], Any] | None:
    one = _SCALARS.get(type_.scalar)
    if one is None or not type_.is_list:
        return one
    return lambda items: [one(item) for item in items]


def _milliseconds(text: str) -> int:
    moment = datetime.fromisoformat(text)
    return round((moment - _EPOCH).total_seconds() * 1000)


_SCALARS: Final[dict[str, Callable[[Any], Any]]] = {
    "Blob": b64decode,
    "Date": date.fromisoformat,
    "DateTime": _milliseconds,
}


def _array(pa: Any, type_: Any, values: list[Any]) -> Any:
    """A column. Moments are counted in milliseconds, whatever they are called."""
    one = type_.value_type if pa.types.is_list(type_) else type_
    if not pa.types.is_date64(one) and not pa.types.is_timestamp(one):
        return pa.array(values, type_)
    counted = pa.int64()
    if one is not type_:
        counted = pa.list_(pa.field("item", counted))
    return pa.array(values, counted).view(type_)
